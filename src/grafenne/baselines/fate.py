"""FATE: feature extrapolation over the feature-data graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.baselines.settings import BaselineSettings, without_zeros
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError
from grafenne.estimators.classifier import NodeClassifier
from grafenne.nn.encoder import NodeEncoder, kept_values
from grafenne.nn.model import Encoded
from grafenne.ops import Dropout, sparse_product


class Fate(NodeEncoder):
    r"""FATE (Wu, Yang & Yan, "Towards Open-World Feature Extrapolation: An Inductive Graph
    Learning Approach", NeurIPS 2021), with the graph's own edges added.

    Features have embeddings :math:`w_f`, the first layer of a perceptron, and exchange messages
    with the nodes that have them, without activations; nodes start at zero:

    .. math:: s_v \leftarrow P (s_v + \mathrm{mean}_{f \in F_v} w_f +
        \mathrm{mean}_{u \in N_v} s_u), \qquad
        w_f \leftarrow P (w_f + \mathrm{mean}_{v \ni f} s_v)

    Both sides use the states before the step. The prediction is
    :math:`\phi(\sum_f x_{vf} w_f + s_v)`. The publication has no edges among nodes; without
    ``node_edges`` the mean over neighbours and the last :math:`s_v` are left out, as there.

    So that features without a trained embedding can be used, each training step takes the
    embeddings of a random share of the features away (the publication's splitting of features
    into folds): they start at zero, as unseen ones do, and are inferred from the nodes.

    Args:
        names: The features known in training.
        width: Width of all states.
        num_layers: Number of exchanges.
        folds: One in so many features is taken away in each training step; 1 takes none.
        node_edges: Whether nodes exchange messages along the graph's edges.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of the edges between nodes and features left out in training.
    """

    def __init__(
        self,
        names: Vocabulary,
        *,
        width: int = 64,
        num_layers: int = 2,
        folds: int = 5,
        node_edges: bool = True,
        dropout: float = 0.5,
        feature_dropout: float = 0.5,
    ) -> None:
        super().__init__(width, width, feature_dropout)
        self.names, self.node_edges = names, node_edges
        self.weight = nn.Parameter(torch.empty(len(names), width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(num_layers))
        self.hidden = nn.Linear(width, width)
        self.unseen = Dropout(1 / folds if folds > 1 else 0.0)
        self.dropout = Dropout(dropout)
        nn.init.xavier_uniform_(self.weight)

    def start(self, graph: AllotropicGraph) -> Tensor:
        """The features' first embeddings: zero for those that are unseen, or taken away."""
        place = torch.arange(graph.num_features, device=self.weight.device)
        if graph.features != self.names:
            place = torch.from_numpy(self.names.find(graph.features)).to(self.weight.device)
        known = place >= 0
        keep = self.unseen.keep(len(place), self.weight.dtype, self.weight.device)
        if keep is not None:
            known = known & (keep > 0)
        if not len(self.names):
            return self.weight.new_zeros(len(place), self.width)
        return self.weight[place.clamp(min=0)] * known.unsqueeze(1)

    def encode(self, graph: AllotropicGraph, keep: Tensor | None) -> Encoded:
        """The exchanges, and the perceptron on what they give."""
        there, back = graph.incidence, graph.incidence.transpose
        dtype, back_keep = self.dtype, None
        if keep is not None:
            back_keep = keep.index_select(0, there.permutation)
        share = kept_values(there.mean_weights(dtype), keep)
        back_share = kept_values(back.mean_weights(dtype), back_keep)
        features = self.start(graph)
        states, nodes = [features], features.new_zeros(graph.num_nodes, self.width)
        for linear in self.layers:
            gathered = nodes + sparse_product(there, share, features)
            if self.node_edges:
                mean = graph.adjacency.mean_weights(dtype)
                gathered = gathered + sparse_product(graph.adjacency.pattern, mean, nodes)
            features = linear(features + sparse_product(back, back_share, nodes))
            nodes = linear(gathered)
            states.append(features)
        values = kept_values(graph.edge_values(dtype), keep)
        total = sparse_product(there, values, features) + self.bias
        total = total + nodes if self.node_edges else total
        hidden = self.hidden(self.dropout(functional.relu(total)))
        return Encoded(self.dropout(functional.relu(hidden)), states)


@dataclass(kw_only=True, eq=False, repr=False)
class FateClassifier(BaselineSettings, NodeClassifier):
    """FATE (Wu et al., 2021); see :class:`Fate`.

    Features that were not there in training are used: their embeddings are inferred. Parameters
    that :class:`~grafenne.GrafenneClassifier` has too mean the same.

    Args:
        folds: One in so many features is taken away in each training step; 1 takes none.
        node_edges: Whether the graph's own edges are added to the feature-data graph.
    """

    folds: int = 5
    node_edges: bool = True

    def _scale(self, graph: FeatureGraph) -> FeatureGraph:
        # A node and a feature are joined if the node has the feature: a zero is not having it.
        return without_zeros(super()._scale(graph))

    def _build_network(self, graph: AllotropicGraph) -> nn.Module:
        return self._rebuild_network(None, graph.features, False)

    def _rebuild_network(self, kind: Any, names: Vocabulary, feature_edges: bool) -> nn.Module:
        if not (isinstance(self.folds, int) and self.folds >= 1):
            raise ParameterError(f"folds must be a whole number from 1, got {self.folds!r}.")
        return self._make_network(
            Fate(
                names,
                width=self.width,
                num_layers=self._num_layers,
                folds=self.folds,
                node_edges=self.node_edges,
                dropout=self.dropout,
                feature_dropout=self.feature_dropout,
            )
        )
