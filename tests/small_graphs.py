"""Small graphs for tests of the operators and the network, the degenerate ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from grafenne import FeatureGraph

VALUE_KINDS = ("binary", "positive", "continuous", "zeros")


def random_graph(
    seed: int = 0,
    *,
    nodes: int = 6,
    features: int = 5,
    values: str = "continuous",
    directed: bool = False,
    weighted: bool = False,
    feature_edges: bool = False,
) -> FeatureGraph:
    """A random graph whose last node has neither features nor edges, its last feature no node."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(rng.random((nodes - 1, features - 1)) < 0.6)
    pairs = np.argwhere(np.triu(rng.random((nodes - 1, nodes - 1)) < 0.5, 0 if directed else 1))
    edges: tuple[Any, ...] = (pairs[:, 0], pairs[:, 1])
    if directed:
        edges = edges[::-1]
    if weighted:
        edges += (rng.uniform(0.2, 2.0, len(pairs)),)
    links = (np.arange(features - 1), np.arange(1, features)) if feature_edges else None
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        features,
        (cells[:, 0], cells[:, 1], draw_values(rng, values, len(cells))),
        edges,  # type: ignore[arg-type]
        directed=directed,
        feature_edges=links,
    )


def draw_values(rng: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """Values of feature edges: all 1, above zero, of both signs, or with observed zeros."""
    if kind == "binary":
        return np.ones(count)
    if kind == "positive":
        return rng.uniform(0.1, 3.0, count)
    drawn = rng.normal(size=count)
    if kind == "zeros":
        drawn[::2] = 0.0
    return drawn


DEGENERATE = {
    "no edges": FeatureGraph.from_arrays(3, 2, ([0, 0, 1], [0, 1, 1], [1.0, -2.0, 0.0])),
    "featureless node": FeatureGraph.from_arrays(
        3, 2, ([0, 2], [0, 1], [0.5, 1.0]), ([0, 1], [1, 2])
    ),
    "unused feature": FeatureGraph.from_arrays(2, 3, ([0, 1], [0, 2], [1.0, 1.0]), ([0], [1])),
    "one node": FeatureGraph.from_arrays(1, 1, ([0], [0], [2.0])),
    "one node with a loop": FeatureGraph.from_arrays(1, 1, ([0], [0], [1.0]), ([0], [0])),
    "everything absent": FeatureGraph.from_arrays(3, 2, None, ([0], [1])),
    "no features": FeatureGraph.from_arrays(3, 0, None, ([0], [1])),
    "no nodes": FeatureGraph.from_arrays(0, 2),
    "empty": FeatureGraph.from_arrays(0, 0),
}


def permuted(graph: FeatureGraph, seed: int = 0) -> tuple[FeatureGraph, np.ndarray]:
    """The same graph with nodes, features, triples and edges listed in another order.

    Returns:
        The graph, and the old position of each of its nodes.
    """
    rng = np.random.default_rng(seed)
    node_order = rng.permutation(graph.num_nodes)
    feature_order = rng.permutation(graph.num_features)
    new_node, new_feature = np.argsort(node_order), np.argsort(feature_order)
    triples = rng.permutation(graph.num_values)
    edges = rng.permutation(graph.num_edges)
    shuffled: tuple[Any, ...] = (
        new_node[graph.edges.sources[edges]],
        new_node[graph.edges.targets[edges]],
    )
    if not graph.directed:  # the end that is listed first means nothing
        shuffled = shuffled[::-1]
    if graph.edges.weights is not None:
        shuffled += (graph.edges.weights[edges],)
    moved = FeatureGraph.from_arrays(
        graph.nodes.take(node_order),
        graph.features.take(feature_order),
        (
            new_node[graph.values.rows[triples]],
            new_feature[graph.values.indices[triples]],
            graph.values.data[triples],
        ),
        shuffled,  # type: ignore[arg-type]
        directed=graph.directed,
        feature_edges=(
            new_feature[graph.feature_edges.targets],
            new_feature[graph.feature_edges.sources],
        ),
    )
    return moved, node_order
