"""Small graphs with observed and missing cells, and loop versions of the imputations."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from grafenne import FeatureGraph

Table = np.ndarray[Any, Any]


def chain() -> FeatureGraph:
    """a - b - c - d; f is 4 at a and 1 at c; g is an observed zero at b and 6 at d."""
    return FeatureGraph.from_arrays(
        list("abcd"),
        ["f", "g"],
        ([0, 2, 1, 3], [0, 0, 1, 1], [4.0, 1.0, 0.0, 6.0]),
        ([0, 1, 2], [1, 2, 3]),
    )


def partly_observed(seed: int = 0, *, nodes: int = 12, features: int = 7) -> FeatureGraph:
    """A random graph with observed zeros, a feature nobody has, and a lonely node."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(rng.random((nodes, features - 1)) < 0.3)
    value = rng.normal(size=len(cells)).round(2)
    value[rng.random(len(cells)) < 0.3] = 0.0
    pairs = np.argwhere(np.triu(rng.random((nodes - 1, nodes - 1)) < 0.25, 1))
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        features,
        (cells[:, 0], cells[:, 1], value),
        (pairs[:, 0], pairs[:, 1]),
    )


def tables(graph: FeatureGraph) -> tuple[Table, Table, list[list[int]]]:
    """Values (0 where missing), the mask of observed cells, and the neighbours of each node."""
    values = np.zeros((graph.num_nodes, graph.num_features))
    observed = np.zeros(values.shape, dtype=bool)
    values[graph.values.rows, graph.values.indices] = graph.values.data
    observed[graph.values.rows, graph.values.indices] = True
    neighbours = [graph.nodes.positions(graph.neighbors(node)).tolist() for node in graph.nodes]
    return values, observed, neighbours


def neighbourhood_mean(graph: FeatureGraph) -> Table:
    values, observed, neighbours = tables(graph)
    result = values.copy()
    for v, f in np.argwhere(~observed):
        known = [values[u, f] for u in neighbours[v] if observed[u, f]]
        result[v, f] = np.mean(known) if known else 0.0
    return result


def pcfi(graph: FeatureGraph, alpha: float, beta: float, iterations: int) -> Table:
    """The two parts of PCFI as they are written, one cell after the other."""
    values, observed, neighbours = tables(graph)
    nodes, features = values.shape
    sure = np.zeros(values.shape)
    for f in range(features):
        for v in range(nodes):
            distance = steps_to_observed(v, observed[:, f], neighbours)
            sure[v, f] = 0.0 if distance is None else alpha**distance
    diffused = values.copy()
    for _ in range(iterations):
        before = diffused.copy()
        for v, f in np.argwhere(~observed):
            total = sum(sure[u, f] for u in neighbours[v])
            weighted = sum(sure[u, f] * before[u, f] for u in neighbours[v])
            diffused[v, f] = weighted / total if total else 0.0
    mean = diffused.mean(axis=0)
    result = diffused.copy()
    for v in range(nodes):
        for f in range(features):
            for g in range(features):
                if g != f and diffused[:, f].std() > 0 and diffused[:, g].std() > 0:
                    related = np.corrcoef(diffused[:, f], diffused[:, g])[0, 1]
                    told = sure[v, g] * (diffused[v, g] - mean[g]) * related
                    result[v, f] += beta * (1 - sure[v, f]) * told
    return result


def steps_to_observed(start: int, observed: Table, neighbours: list[list[int]]) -> int | None:
    waiting, seen = deque([(start, 0)]), {start}
    while waiting:
        node, distance = waiting.popleft()
        if observed[node]:
            return distance
        for other in neighbours[node]:
            if other not in seen:
                seen.add(other)
                waiting.append((other, distance + 1))
    return None
