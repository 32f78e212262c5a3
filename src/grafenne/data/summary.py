"""What a person wants to know about a graph at a glance, and whether two graphs are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.edges import EdgeList
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.vocabulary import Vocabulary


def one_line(graph: FeatureGraph) -> str:
    """``FeatureGraph(2,708 nodes, 5,278 edges, 1,433 features, 49,216 values, 7 classes)``."""
    parts = [
        f"{graph.num_nodes:,} nodes",
        f"{graph.num_edges:,} {'directed ' if graph.directed else ''}edges",
        f"{graph.num_used_features:,} features",
        f"{graph.num_values:,} values",
    ]
    if graph.labels is not None:
        kind = f"{len(graph.labels.classes)} classes"
        parts.append(kind if graph.labels.kind == "class" else "numeric labels")
    return f"FeatureGraph({', '.join(parts)})"


def describe(graph: FeatureGraph) -> pd.DataFrame:
    """A table of one column, one row per quantity."""
    import pandas as pd

    cells = graph.num_nodes * graph.num_used_features
    per_node, degrees = graph.values.counts, graph.edges.degrees
    per_feature = graph.values.feature_counts[graph.values.feature_counts > 0]
    rows: dict[str, object] = {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "edges as messages": int(graph.edges.incoming("both").nnz),
        "directed": graph.directed,
        "weighted edges": graph.edges.weights is not None,
        "features": graph.num_used_features,
        "feature names never used": graph.num_features - graph.num_used_features,
        "feature-feature edges": len(graph.feature_edges),
        "values": graph.num_values,
        "share of cells with a value": graph.num_values / cells if cells else 0.0,
        "observed zeros": int((graph.values.data == 0).sum()),
        "binary values": graph.values.is_binary,
        "features per node (mean)": _mean(per_node),
        "features per node (most)": int(per_node.max(initial=0)),
        "nodes without features": int((per_node == 0).sum()),
        "nodes per feature (mean)": _mean(per_feature),
        "nodes per feature (most)": int(per_feature.max(initial=0)),
        "degree (mean)": _mean(degrees),
        "degree (most)": int(degrees.max(initial=0)),
        "nodes without edges": int((degrees == 0).sum()),
    }
    if graph.labels is not None:
        rows["labelled nodes"] = int(graph.labels.known.sum())
        if graph.labels.kind == "class":
            rows["classes"] = len(graph.labels.classes)
    table: pd.DataFrame = pd.DataFrame({"value": pd.Series(rows, dtype=object)})
    return table


def _mean(counts: NDArray[np.int64]) -> float:
    return float(counts.mean()) if len(counts) else 0.0


def same_content(a: FeatureGraph, b: FeatureGraph) -> bool:
    """Whether two graphs have the same nodes, triples, edges and labels, in whatever order."""
    if (a.num_nodes, a.num_values, a.num_edges, a.directed) != (
        (b.num_nodes, b.num_values, b.num_edges, b.directed)
    ):
        return False
    node = a.nodes.find(b.nodes)  # where each node of b stands in a
    if (node < 0).any():
        return False
    return (
        _same_values(a, b, node)
        and _same_edges(a.edges, b.edges, node, a.nodes)
        and _same_edges(a.feature_edges, b.feature_edges, a.features.find(b.features), a.features)
        and _same_labels(a, b, node)
    )


def _same_values(a: FeatureGraph, b: FeatureGraph, node: NDArray[np.int64]) -> bool:
    feature = a.features.find(b.features)[b.values.indices]
    if (feature < 0).any():
        return False
    row = node[b.values.rows]
    order = np.lexsort((feature, row))
    return (
        np.array_equal(a.values.rows, row[order])
        and np.array_equal(a.values.indices, feature[order])
        and np.array_equal(a.values.data, b.values.data[order])
    )


def _same_edges(a: EdgeList, b: EdgeList, place: NDArray[np.int64], names: Vocabulary) -> bool:
    if len(a) != len(b) or a.directed != b.directed or (a.weights is None) != (b.weights is None):
        return len(a) == len(b) == 0 and a.directed == b.directed
    if len(b) and min(place[b.sources].min(), place[b.targets].min()) < 0:
        return False
    moved = b.renumbered(place, names)
    return (
        np.array_equal(a.sources, moved.sources)
        and np.array_equal(a.targets, moved.targets)
        and (
            a.weights is None
            or (moved.weights is not None and np.array_equal(a.weights, moved.weights))
        )
    )


def _same_labels(a: FeatureGraph, b: FeatureGraph, node: NDArray[np.int64]) -> bool:
    known_a = a.labels is not None and bool(a.labels.known.any())
    known_b = b.labels is not None and bool(b.labels.known.any())
    if a.labels is None or b.labels is None or not (known_a and known_b):
        return known_a == known_b  # no label at all, said in one way or another
    if a.labels.kind != b.labels.kind:
        return False
    if a.labels.kind == "number":
        return np.array_equal(a.labels.values[node], b.labels.values, equal_nan=True)
    mine = [a.labels.label(position) for position in node.tolist()]
    return mine == [b.labels.label(position) for position in range(b.num_nodes)]
