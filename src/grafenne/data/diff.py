"""Finds the change between two graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.columns import family_of_names
from grafenne.data.delta_rows import Rows
from grafenne.data.label_changes import diff_labels
from grafenne.data.sorted_keys import find_sorted
from grafenne.data.wide_numbering import JointNumbering
from grafenne.errors import DataError

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.edges import EdgeList
    from grafenne.data.feature_graph import FeatureGraph


def diff_graphs(before: FeatureGraph, after: FeatureGraph) -> GraphDelta:
    """The change that turns one graph into another: ``a.apply(diff_graphs(a, b)) == b``.

    Graphs of different directedness, or with labels of different kinds, have no difference that
    a delta could express; that is a :class:`DataError`. Feature names that ``after`` knows but
    neither a node nor a feature edge uses are not part of the difference.
    """
    from grafenne.data.delta import GraphDelta

    for what, one, other in (
        ("edges", before.edges, after.edges),
        ("feature edges", before.feature_edges, after.feature_edges),
    ):
        if one.directed != other.directed:
            was, becomes = ("directed" if e.directed else "undirected" for e in (one, other))
            raise DataError(f"A delta cannot turn {was} {what} into {becomes} ones.")
    earlier, later = family_of_names(before.nodes), family_of_names(after.nodes)
    if earlier is not None and later is not None and earlier != later:
        raise DataError(
            f"A delta cannot turn nodes that are {earlier}, such as {before.nodes[0]!r}, into "
            f"{later}, such as {after.nodes[0]!r}: none would be the same."
        )
    nodes = JointNumbering(before.nodes, after.nodes)
    features = JointNumbering(before.features, after.features)
    parts = {
        "nodes_added": Rows("nodes_added", [nodes.names_at(nodes.new)]),
        "nodes_removed": Rows("nodes_removed", [nodes.names_at(np.flatnonzero(~nodes.stays))]),
        **_diff_values(before, after, nodes, features),
        **_diff_edges("edges", before.edges, after.edges, nodes),
        **_diff_edges("feature_edges", before.feature_edges, after.feature_edges, features),
    }
    labels, kind = diff_labels(before.labels, after.labels, nodes)
    return GraphDelta(**parts, **labels, label_kind=kind)


def _diff_values(
    before: FeatureGraph, after: FeatureGraph, nodes: JointNumbering, features: JointNumbering
) -> dict[str, Rows]:
    old_kept = nodes.stays[before.values.rows]
    old = before.values.rows[old_kept].astype(np.int64) * features.size
    old += before.values.indices[old_kept]
    new = nodes.place[after.values.rows] * features.size + features.place[after.values.indices]
    order = np.argsort(new)
    new = new[order]
    old_data, new_data = before.values.data[old_kept], after.values.data[order]
    added, changed, removed, at = _compare(old, new)
    changed = changed[old_data[at] != new_data[changed]]

    def names(keys: NDArray[np.int64]) -> list[list[Any]]:
        node, feature = np.divmod(keys, max(features.size, 1))
        return [nodes.names_at(node), features.names_at(feature)]

    return {
        "triples_added": Rows("triples_added", [*names(new[added]), new_data[added]]),
        "triples_changed": Rows("triples_changed", [*names(new[changed]), new_data[changed]]),
        "triples_removed": Rows("triples_removed", names(old[removed])),
    }


def _diff_edges(
    family: str, before: EdgeList, after: EdgeList, ends: JointNumbering
) -> dict[str, Rows]:
    # A feature never leaves, so its edges must be taken away one by one; a node takes them along.
    stays = ends.stays if family == "edges" else np.ones(len(ends.before), dtype=bool)
    old_kept = stays[before.sources] & stays[before.targets]
    old = before.sources[old_kept] * ends.size + before.targets[old_kept]
    source, target = ends.place[after.sources], ends.place[after.targets]
    if not after.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    new = source * ends.size + target
    order = np.argsort(new)
    new = new[order]
    old_weight, new_weight = _weights(before)[old_kept], _weights(after)[order]
    added, changed, removed, at = _compare(old, new)
    was, becomes = old_weight[at], new_weight[changed]
    changed = changed[(was != becomes) & ~(np.isnan(was) & np.isnan(becomes))]

    def names(keys: NDArray[np.int64]) -> list[list[Any]]:
        start, end = np.divmod(keys, max(ends.size, 1))
        return [ends.names_at(start), ends.names_at(end)]

    return {
        f"{family}_added": Rows(f"{family}_added", [*names(new[added]), new_weight[added]]),
        f"{family}_changed": Rows(f"{family}_changed", [*names(new[changed]), new_weight[changed]]),
        f"{family}_removed": Rows(f"{family}_removed", names(old[removed])),
    }


def _compare(
    old: NDArray[np.int64], new: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Places in ``new`` that are added or common, places in ``old`` removed or common."""
    place = find_sorted(old, new)
    common = np.flatnonzero(place >= 0)
    gone = np.ones(len(old), dtype=bool)
    gone[place[common]] = False
    return np.flatnonzero(place < 0), common, np.flatnonzero(gone), place[common]


def _weights(edges: EdgeList) -> NDArray[np.float64]:
    return np.full(len(edges), np.nan) if edges.weights is None else edges.weights
