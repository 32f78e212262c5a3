"""What the baselines share: sparse inputs by feature name, scaled and normalised by row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError
from grafenne.estimators.base import NetworkEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class BaselineSettings(NetworkEstimator):
    """Settings of all baselines, beside those of every estimator.

    Args:
        feature_dropout: Share of the stored values dropped in training: the dropout of a plain
            network's inputs.
        scaling: As in :class:`~grafenne.GrafenneClassifier`, but off by default.
        normalise_rows: Whether a node's values are divided by the sum of their sizes.
    """

    feature_dropout: float = 0.5
    scaling: Any = "none"
    normalise_rows: bool = True

    def _scale(self, graph: FeatureGraph) -> FeatureGraph:
        scaled = super()._scale(graph)
        return normalised_rows(scaled) if self.normalise_rows else scaled


@dataclass(kw_only=True, eq=False, repr=False)
class FixedInputSettings(BaselineSettings):
    """Settings of the baselines whose inputs are the features they were trained with.

    A feature that was not there in training is ignored: these methods have no weight for it.
    Features are matched by name.
    """

    def _scale(self, graph: FeatureGraph) -> FeatureGraph:
        names = Vocabulary(self.feature_names_in_.tolist(), kind="feature")
        return super()._scale(with_features(graph, names))

    @abstractmethod
    def _make_encoder(self, num_features: int) -> nn.Module:
        """An untrained encoder for that many features."""

    def _build_network(self, graph: AllotropicGraph) -> nn.Module:
        return self._make_network(self._make_encoder(graph.num_features))

    def _rebuild_network(self, kind: Any, names: Vocabulary, feature_edges: bool) -> nn.Module:
        return self._make_network(self._make_encoder(len(names)))

    def embed(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None, *, of: str = "nodes"
    ) -> NDArray[np.float32]:
        """Embeddings of the nodes; these methods have none of features."""
        self._check_fitted()
        if of != "nodes":
            raise ParameterError(f"{type(self).__name__} embeds nodes only, got of={of!r}.")
        return super().embed(graph, nodes)


def with_features(graph: FeatureGraph, names: Vocabulary) -> FeatureGraph:
    """The graph with exactly these features, in this order; others are left out."""
    if graph.features == names:
        return graph
    place = names.find(graph.features)[graph.values.indices]
    known = place >= 0
    return graph.replace(
        features=names,
        values=FeatureValues.build(
            graph.values.rows[known],
            place[known],
            graph.values.data[known],
            nodes=graph.nodes,
            features=names,
        ),
        feature_edges=EdgeList.empty(len(names)),
    )


def normalised_rows(graph: FeatureGraph) -> FeatureGraph:
    """The graph with each node's values divided by the sum of their sizes."""
    values = graph.values
    size = np.abs(values.data)
    total = np.bincount(values.rows, size, minlength=values.num_nodes)
    data = values.data / np.where(total > 0, total, 1)[values.rows]
    scaled = FeatureValues(
        values.indptr, values.indices, data.astype(values.data.dtype), values.num_features
    )
    return graph.replace(values=scaled)


def without_zeros(graph: FeatureGraph) -> FeatureGraph:
    """The graph without its observed zeros, which add nothing to a sum."""
    zero = graph.values.data == 0
    return graph.replace(values=graph.values.take(~zero)) if zero.any() else graph
