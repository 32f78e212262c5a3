"""Applies a change to a graph.

Everything is done by position, on sorted keys: a triple is ``node * features + feature`` and an
edge is ``source * nodes + target``. During the change the nodes are numbered *widely* (those of
the old graph, then the added ones); the removed ones are squeezed out last, which keeps every
order. The cost is that of the delta plus a copy of the arrays it touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grafenne.data.columns import family_of, family_of_names
from grafenne.data.delta_rows import Rows, thing
from grafenne.data.diff import diff_graphs
from grafenne.data.edges import EdgeList
from grafenne.data.label_changes import apply_labels
from grafenne.data.sorted_keys import find_sorted
from grafenne.data.values import FeatureValues
from grafenne.data.wide_numbering import WideNumbering
from grafenne.errors import DataError

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph

__all__ = ["apply_delta", "diff_graphs"]


def apply_delta(graph: FeatureGraph, delta: GraphDelta) -> FeatureGraph:
    """The graph after ``delta``.

    The surviving nodes keep their order and the added ones follow; no feature changes its
    position. A delta that does not fit raises a :class:`DataError` that names what is wrong.
    """
    if delta.is_empty:
        return graph
    _check_ids(graph, delta)
    nodes = WideNumbering.of_nodes(graph, delta)
    features = WideNumbering(
        graph.features,
        [
            *delta.triples_added.ids("feature"),
            *delta.feature_edges_added.ids("source"),
            *delta.feature_edges_added.ids("target"),
        ],
    )
    values = _apply_values(graph.values, delta, nodes, features)
    edges = _apply_edges(
        graph.edges, delta.edges_added, delta.edges_removed, delta.edges_changed, nodes
    )
    feature_edges = _apply_edges(
        graph.feature_edges,
        delta.feature_edges_added,
        delta.feature_edges_removed,
        delta.feature_edges_changed,
        features,
    )
    labels = apply_labels(graph.labels, delta, nodes)
    # The vocabularies grow last: a delta that does not fit leaves no trace in shared storage.
    return graph.replace(
        nodes=nodes.vocabulary(),
        features=features.vocabulary(),
        values=values,
        edges=edges,
        labels=labels,
        feature_edges=feature_edges,
    )


def _check_ids(graph: FeatureGraph, delta: GraphDelta) -> None:
    """Raises where a node would be added as ``1`` to nodes such as ``'1'``, or the reverse."""
    family = family_of_names(graph.nodes)
    if family is None or len(delta.nodes_removed) == graph.num_nodes:
        return
    for node in delta.nodes_added:
        other = family_of(type(node))
        if other != family and other in ("text", "whole numbers"):
            raise DataError(
                f"The new node {node!r} does not fit: the nodes of the graph are {family}, such as "
                f"{graph.nodes[0]!r}, not {other}."
            )


def _apply_values(
    values: FeatureValues, delta: GraphDelta, nodes: WideNumbering, features: WideNumbering
) -> FeatureValues:
    added, removed, changed = delta.triples_added, delta.triples_removed, delta.triples_changed
    if nodes.unchanged and not (len(added) or len(removed) or len(changed)):
        return values.resized(len(features))

    def keys_of(rows: Rows) -> NDArray[np.int64]:
        node = nodes.positions(rows.ids("node"))
        return node * len(features) + features.positions(rows.ids("feature"))

    keys = values.rows.astype(np.int64) * len(features) + values.indices
    kept = nodes.kept[values.rows]
    kept[_places_of(keys, keys_of(removed), removed)] = False
    new_keys = keys_of(added)
    _check_absent(keys, new_keys, added)
    new_values = added.numbers("value")
    data = values.data.astype(
        _narrowest(values.data, np.concatenate((new_values, changed.numbers("value"))))
    )
    data[_places_of(keys, keys_of(changed), changed)] = changed.numbers("value")

    order = np.argsort(new_keys)
    new_keys = new_keys[order]
    at = np.searchsorted(keys[kept], new_keys)
    rows = np.insert(values.rows[kept], at, new_keys // max(len(features), 1))
    counts = np.bincount(rows, minlength=len(nodes))[nodes.kept]
    return FeatureValues(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.insert(values.indices[kept], at, new_keys % max(len(features), 1)),
        np.insert(data[kept], at, new_values[order]),
        len(features),
    )


def _apply_edges(
    edges: EdgeList, added: Rows, removed: Rows, changed: Rows, places: WideNumbering
) -> EdgeList:
    if not (len(added) or len(removed) or len(changed)) and places.kept.all():
        return edges.resized(len(places))

    def keys_of(rows: Rows) -> NDArray[np.int64]:
        source = places.positions(rows.ids("source"))
        target = places.positions(rows.ids("target"))
        if not edges.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        return source * len(places) + target

    keys = edges.sources * len(places) + edges.targets
    removed_keys, changed_keys, new_keys = keys_of(removed), keys_of(changed), keys_of(added)
    _check_reversed((removed, changed, added), (removed_keys, changed_keys, new_keys))
    kept = places.kept[edges.sources] & places.kept[edges.targets]
    kept[_places_of(keys, removed_keys, removed)] = False
    _check_absent(keys, new_keys, added)
    weights = np.full(len(edges), np.nan) if edges.weights is None else edges.weights.copy()
    weights[_places_of(keys, changed_keys, changed)] = changed.numbers("weight")

    order = np.argsort(new_keys)
    new_keys = new_keys[order]
    at = np.searchsorted(keys[kept], new_keys)
    sources = np.insert(edges.sources[kept], at, new_keys // max(len(places), 1))
    targets = np.insert(edges.targets[kept], at, new_keys % max(len(places), 1))
    weights = np.insert(weights[kept], at, added.numbers("weight")[order])
    bare = np.isnan(weights)
    if bare.any() and not bare.all():
        row = int(np.argmax(bare))
        names = [
            places.old[end] if end < len(places.old) else places.added[end - len(places.old)]
            for end in (int(sources[row]), int(targets[row]))
        ]
        raise DataError(
            f"After the change {thing(added.part, names)} would have no weight while others have "
            "one; give all edges a weight or none."
        )
    final = places.final()
    return EdgeList(
        final[sources],
        final[targets],
        None if bare.all() else weights,
        int(places.kept.sum()),
        edges.directed,
    )


def _narrowest(data: NDArray[np.floating], values: NDArray[np.float64]) -> type[np.floating]:
    """``float32`` where the graph uses it and it holds the new values exactly."""
    if data.dtype != np.float32:
        return np.float64
    with np.errstate(over="ignore"):
        return np.float32 if (values.astype(np.float32) == values).all() else np.float64


def _places_of(keys: NDArray[np.int64], wanted: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    places = find_sorted(keys, wanted)
    if len(places) and places.min() < 0:
        key = rows[int(np.argmin(places >= 0))]
        action = rows.part.rpartition("_")[2]
        raise DataError(
            f"{rows.part} lists {thing(rows.part, key)}, which cannot be {action}: "
            "the graph does not have it."
        )
    return places


def _check_absent(keys: NDArray[np.int64], wanted: NDArray[np.int64], rows: Rows) -> None:
    places = find_sorted(keys, wanted)
    if len(places) and places.max() >= 0:
        key = rows[int(np.argmax(places >= 0))]
        raise DataError(
            f"{rows.part} lists {thing(rows.part, key)}, which cannot be added: "
            "the graph has it already."
        )


def _check_reversed(parts: Sequence[Rows], keys: Sequence[NDArray[np.int64]]) -> None:
    """An undirected edge and its reverse are one edge, so they may not both be listed."""
    every = np.concatenate(keys)
    order = np.argsort(every, kind="stable")
    twice = np.flatnonzero(np.diff(every[order]) == 0)
    if len(twice):
        place = int(order[twice[0] + 1])
        for rows in parts:
            if place < len(rows):
                raise DataError(
                    f"{rows.part} lists {thing(rows.part, rows[place])}, but the graph is "
                    "undirected and the delta lists the reverse too."
                )
            place -= len(rows)
