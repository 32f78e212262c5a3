"""The allotropic transform (paper, section "Graph Transformation").

A feature graph becomes a graph of two kinds of nodes: graph nodes and feature nodes. A triple
(v, f, x) becomes an edge of weight x between node v and feature node f; the original edges stay.
Absent features leave no edge behind, so nothing has to be imputed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.labels import Labels
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.ops import Adjacency, SparsePattern
from grafenne.ops.arrays import moved, shared_tensor

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

    from grafenne.data.delta import GraphDelta

Built = TypeVar("Built")


@dataclass(frozen=True, eq=False)
class AllotropicGraph:
    """Graph nodes and feature nodes, and the three kinds of edges among them.

    Attributes:
        nodes: Ids of the graph nodes.
        features: Names of the feature nodes.
        incidence: Feature edges E^feat, ``[nodes, features]``. Its transpose is their other end.
        values: Weight of each feature edge, in the order of ``incidence``.
        adjacency: Edges among graph nodes.
        feature_adjacency: Edges among feature nodes, for data that has them.
        edges: The original edges, for the way back.
        feature_edges: The original edges among features, for the way back.
        labels: What is known about the nodes; the model never reads it.
        direction: Which way messages run along directed edges.
    """

    nodes: Vocabulary
    features: Vocabulary
    incidence: SparsePattern
    values: Tensor
    adjacency: Adjacency
    feature_adjacency: Adjacency
    edges: EdgeList
    feature_edges: EdgeList
    labels: Labels | None
    direction: str
    _memory: dict[object, object] = field(default_factory=dict, repr=False)

    @property
    def num_nodes(self) -> int:
        """Number of graph nodes."""
        return len(self.nodes)

    @property
    def num_features(self) -> int:
        """Number of feature nodes."""
        return len(self.features)

    @property
    def is_binary(self) -> bool:
        """Whether all feature edges have weight 1, so that only their presence tells something."""
        return self.once("is_binary", lambda: bool((self.values == 1).all()))

    def edge_values(self, dtype: torch.dtype) -> Tensor | None:
        """The weights of the feature edges, ``None`` when they are all 1."""
        if self.is_binary:
            return None
        return self.once(("values", dtype), lambda: self.values.to(dtype))

    def once(self, key: object, build: Callable[[], Built]) -> Built:
        """Something derived from the graph alone, computed at the first call and then kept."""
        if key not in self._memory:
            self._memory[key] = build()
        return self._memory[key]  # type: ignore[return-value]

    def recall(self, key: object) -> Any:
        """What :meth:`once` made for a key, ``None`` if nothing was."""
        return self._memory.get(key)

    def with_values(self, values: Tensor) -> AllotropicGraph:
        """The same graph with other weights on its feature edges (scaled ones, say)."""
        return replace(self, values=values, _memory={})

    def with_adjacency(self, adjacency: Adjacency) -> AllotropicGraph:
        """The same graph with other edges among its nodes (some of them hidden, say)."""
        return replace(self, adjacency=adjacency)

    def apply(self, delta: GraphDelta) -> AllotropicGraph:
        """The transform of the changed graph.

        The arrays are those of the feature graph, so this costs the change plus a copy.
        """
        return to_allotropic(from_allotropic(self).apply(delta), direction=self.direction)

    def to(self, device: torch.device | str) -> AllotropicGraph:
        """The same graph on another device."""
        return replace(
            self,
            incidence=self.incidence.to(device),
            values=moved(self.values, device),
            adjacency=self.adjacency.to(device),
            feature_adjacency=self.feature_adjacency.to(device),
            _memory={},
        )

    def to_hetero(self) -> HeteroData:
        """The same graph as PyG ``HeteroData``, to look at or to use elsewhere."""
        return from_allotropic(self).to_pyg_hetero()

    def __repr__(self) -> str:
        return (
            f"AllotropicGraph({self.num_nodes:,} graph nodes, {self.num_features:,} feature nodes, "
            f"{self.incidence.num_entries:,} feature edges, {len(self.adjacency):,} messages)"
        )


def to_allotropic(graph: FeatureGraph, *, direction: str = "both") -> AllotropicGraph:
    """Decouples nodes and features.

    Args:
        graph: The feature graph.
        direction: Which way messages run along directed edges: ``in`` (from source to target, as
            in the paper), ``out``, or ``both``.
    """
    return AllotropicGraph(
        nodes=graph.nodes,
        features=graph.features,
        incidence=_incidence(graph.values),
        values=shared_tensor(graph.values.data, aligned=True),
        adjacency=_adjacency(graph.edges, direction),
        feature_adjacency=_adjacency(graph.feature_edges, "both"),
        edges=graph.edges,
        feature_edges=graph.feature_edges,
        labels=graph.labels,
        direction=direction,
    )


def from_allotropic(graph: AllotropicGraph) -> FeatureGraph:
    """The exact inverse of :func:`to_allotropic`."""
    values = FeatureValues(
        graph.incidence.indptr.cpu().numpy().astype(np.int64),
        graph.incidence.indices.cpu().numpy().astype(np.int32, copy=False),
        graph.values.cpu().numpy(),
        graph.num_features,
    )
    return FeatureGraph(
        graph.nodes, graph.features, values, graph.edges, graph.labels, graph.feature_edges
    )


def _incidence(values: FeatureValues) -> SparsePattern:
    # Not by way of SciPy, which would bring both index arrays to 64 bits first.
    pattern = SparsePattern(
        shared_tensor(values.indptr), shared_tensor(values.indices), values.num_features
    )
    known = vars(values).get("by_feature")  # from a mapped graph, or of an earlier question
    if known is not None:
        pattern.set_transpose(*map(shared_tensor, (known.indptr, known.indices, known.data)))
    return pattern


def _adjacency(edges: EdgeList, direction: str) -> Adjacency:
    return Adjacency.from_scipy(edges.incoming(direction), edges.weights is not None)
