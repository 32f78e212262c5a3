"""Which nodes a change touches (the paper's affected nodes)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from grafenne.data.wide_numbering import WideNumbering

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph


def affected_nodes(graph: FeatureGraph, delta: GraphDelta) -> list[Hashable]:
    """Nodes after ``delta`` whose features or incident edges it changed, and the added ones."""
    nodes = WideNumbering.of_nodes(graph, delta)
    touched = np.zeros(len(nodes), dtype=bool)
    touched[len(graph.nodes) :] = True
    for rows, columns in (
        (delta.triples_added, ("node",)),
        (delta.triples_changed, ("node",)),
        (delta.triples_removed, ("node",)),
        (delta.edges_added, ("source", "target")),
        (delta.edges_changed, ("source", "target")),
        (delta.edges_removed, ("source", "target")),
    ):
        for name in columns:
            touched[nodes.positions(rows.ids(name))] = True
    if not nodes.kept.all():
        sources, targets = graph.edges.sources, graph.edges.targets
        touched[targets[~nodes.kept[sources]]] = True
        touched[sources[~nodes.kept[targets]]] = True
    touched &= nodes.kept
    old = graph.nodes.take(np.flatnonzero(touched[: len(graph.nodes)]))
    return [*old, *nodes.added]
