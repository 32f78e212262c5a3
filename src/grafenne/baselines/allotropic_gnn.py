"""Traditional message passing on the allotropic graph: one kind of node, one kind of edge."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.baselines.settings import BaselineSettings
from grafenne.data.vocabulary import Vocabulary
from grafenne.estimators.classifier import NodeClassifier
from grafenne.estimators.link_predictor import LinkPredictor
from grafenne.nn.encoder import NodeEncoder, kept_values
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.features import is_learned, make_features
from grafenne.nn.layer import make_norm
from grafenne.nn.model import Encoded
from grafenne.nn.node_to_node import SageConvolution
from grafenne.ops import Adjacency, Dropout, SparsePattern
from grafenne.training.label_features import FeaturesAndLabels, LabelFeatures


class AllotropicGnn(NodeEncoder):
    r"""GraphSAGE over graph nodes and feature nodes alike (the paper's ablation).

    .. math:: h_v \leftarrow \sigma(W_1 h_v + W_2 \,\mathrm{mean}_{u \in N_v \cup F_v} h_u)

    for a graph node, and the same, with the same matrices, for a feature node and the nodes that
    have it. The mean is weighted by the values of feature edges and the weights of edges. Feature
    nodes start at Φ, graph nodes at one trained vector.

    Args:
        features: Φ, the starting states of the feature nodes.
        width: Width of all states.
        num_layers: Number of layers.
        normalisation: ``layer``, ``batch`` or ``none``.
        skip: Whether the embedding joins the states of all layers.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of feature edges left out in training.
    """

    def __init__(
        self,
        features: FeatureEmbedding,
        *,
        width: int = 64,
        num_layers: int = 2,
        normalisation: str = "layer",
        skip: bool = True,
        dropout: float = 0.5,
        feature_dropout: float = 0.5,
    ) -> None:
        super().__init__(width, width * num_layers if skip else width, feature_dropout)
        self.features, self.skip = features, skip
        self.first = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(SageConvolution(width, width) for _ in range(num_layers))
        self.norms = nn.ModuleList(make_norm(normalisation, width) for _ in range(num_layers))
        self.dropout = Dropout(dropout)

    def encode(self, graph: AllotropicGraph, keep: Tensor | None) -> Encoded:
        """The layers one after another."""
        adjacency, count = homogeneous(graph, keep, self.dtype), graph.num_nodes
        features = self.features(graph)
        state = torch.cat((self.first.expand(count, -1), features))
        parts, states = [], [features]
        for layer, norm in zip(self.layers, self.norms, strict=True):
            state = functional.relu(norm(layer(adjacency, state)))
            parts.append(state[:count])
            states.append(state[count:])
            state = self.dropout(state)
        nodes = torch.cat(parts, dim=1) if self.skip else parts[-1]
        return Encoded(self.dropout(nodes), states)


def homogeneous(graph: AllotropicGraph, keep: Tensor | None, dtype: torch.dtype) -> Adjacency:
    """The allotropic graph as one graph: nodes first, then features.

    Edges among features play no part.
    """
    pattern, source = graph.once("homogeneous", lambda: _joined(graph))
    # The edges may be weighted differently each time (some are hidden), so only places are kept.
    along = graph.adjacency.edge_weights(dtype)
    along = graph.adjacency.pattern.ones(dtype) if along is None else along
    values = kept_values(graph.edge_values(dtype), keep)
    values = graph.incidence.ones(dtype) if values is None else values
    return Adjacency(pattern, torch.cat((along, values))[source])


def _joined(graph: AllotropicGraph) -> tuple[SparsePattern, Tensor]:
    """The places of all edges, and for each which edge or triple it is."""
    edges, triples = graph.adjacency.pattern, graph.incidence
    first = _numbered(edges, 0)
    second = _numbered(triples, edges.num_entries)
    blocks: Any = [[first, second], [second.T, None]]
    whole = sparse.csr_array(sparse.block_array(blocks))
    whole.sort_indices()
    device = triples.device
    return SparsePattern.from_scipy(whole).to(device), torch.from_numpy(whole.data).to(device)


def _numbered(pattern: SparsePattern, start: int) -> sparse.csr_array:
    order = np.arange(start, start + pattern.num_entries, dtype=np.int64)
    indices, indptr = pattern.indices.cpu().numpy(), pattern.indptr.cpu().numpy()
    return sparse.csr_array((order, indices, indptr), shape=pattern.shape)


@dataclass(kw_only=True, eq=False, repr=False)
class AllotropicGnnSettings(BaselineSettings):
    """Settings of the two estimators below."""

    features: Any = "learned"
    normalisation: str = "layer"
    skip: bool = True
    scaling: Any = "standard"
    normalise_rows: bool = False

    def _build_network(self, graph: AllotropicGraph) -> nn.Module:
        return self._rebuild_network(self.features, graph.features, False)

    def _rebuild_network(self, kind: Any, names: Vocabulary, feature_edges: bool) -> nn.Module:
        encoder = AllotropicGnn(
            self._make_features(kind, names),
            width=self.width,
            num_layers=self._num_layers,
            normalisation=self.normalisation,
            skip=self.skip,
            dropout=self.dropout,
            feature_dropout=self.feature_dropout,
        )
        return self._make_network(encoder)

    def _make_features(self, kind: Any, names: Vocabulary) -> FeatureEmbedding:
        own = deepcopy(kind) if isinstance(kind, FeatureEmbedding) else kind
        shown: LabelFeatures | None = getattr(self, "label_features_", None)
        if shown is None or is_learned(kind):
            return make_features(own, names, self.width)
        others = Vocabulary(names[: len(names) - len(shown.names)], kind="feature")
        return FeaturesAndLabels(make_features(own, others, self.width), shown.names)


@dataclass(kw_only=True, eq=False, repr=False)
class AllotropicGnnClassifier(AllotropicGnnSettings, NodeClassifier):
    """GraphSAGE over the allotropic graph, without the three phases; see :class:`AllotropicGnn`.

    Parameters that :class:`~grafenne.GrafenneClassifier` has too mean the same.
    """

    labels_as_features: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class AllotropicGnnLinkPredictor(AllotropicGnnSettings, LinkPredictor):
    """The same for links; parameters as in :class:`AllotropicGnnClassifier`."""

    dropout: float = 0.0
    feature_dropout: float = 0.5
    validation_share: float = 0.1
