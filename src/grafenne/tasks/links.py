"""Link prediction: the split of the edges, negatives, and metrics.

The split comes before everything else. The graph that a model, an imputation or a scaler sees
has the training edges only, and the negatives of validation and test are drawn once, disjoint
from every edge of the whole graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.seeds import seeded
from grafenne.errors import DataError, ParameterError

Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeSplit:
    """Edges to learn from, to choose by, and to judge on.

    Attributes:
        graph: The graph with its training edges only: all that a model may see.
        train: Training edges, ``[n, 2]`` of source and target positions.
        validation: Validation edges.
        test: Test edges.
        validation_negatives: As many pairs without an edge.
        test_negatives: As many pairs without an edge.
        views: Graphs without some of the training edges, each of which is missing in one of them.
            Where there are any, a training step sees one of them and asks for what it lacks. They
            are for features that tell of edges, as filled in ones do; see :func:`hide_in_turns`.
    """

    graph: FeatureGraph
    train: Pairs
    validation: Pairs
    test: Pairs
    validation_negatives: Pairs
    test_negatives: Pairs
    views: tuple[FeatureGraph, ...] = ()


def split_edges(
    graph: FeatureGraph, seed: int, fractions: tuple[float, float, float] = (0.6, 0.2, 0.2)
) -> EdgeSplit:
    """Splits the edges at random and draws as many negatives for validation and test.

    Edges from a node to itself stay in the training graph and are never asked for: there are no
    negatives like them.

    Args:
        graph: The whole graph.
        seed: Seed of the split and of the negatives.
        fractions: Shares of training, validation and test edges.
    """
    if not (min(fractions) >= 0 and abs(sum(fractions) - 1) <= 1e-9):
        raise ParameterError(f"The three shares of an edge split add up to 1, got {fractions}.")
    generator = seeded(seed)
    pairs = edge_pairs(graph)
    askable = _between_nodes(graph)
    count = len(askable)
    train, validation = round(fractions[0] * count), round(fractions[1] * count)
    if train < 1:
        raise DataError(
            f"A graph with {count} edges between different nodes is too small to split its edges."
        )
    order = askable[generator.permutation(count)]
    chosen = np.split(order, (train, train + validation))
    kept = pairs[:, 0] == pairs[:, 1]
    kept[chosen[0]] = True
    rest = sum(len(part) for part in chosen[1:])
    negatives = sample_negatives(graph, rest, generator)
    return EdgeSplit(
        graph.replace(edges=graph.edges.take(kept)),
        pairs[np.sort(chosen[0])],
        pairs[np.sort(chosen[1])],
        pairs[np.sort(chosen[2])],
        negatives[: len(chosen[1])],
        negatives[len(chosen[1]) :],
    )


def hide_in_turns(graph: FeatureGraph, count: int, seed: int) -> list[FeatureGraph]:
    """``count`` copies of a graph, each without its share of the edges, drawn at random.

    Edges from a node to itself are in all of them, as nobody asks for them.

    Args:
        graph: The graph, with its training edges only.
        count: How many; at most as many as there are edges.
        seed: Seed of the draw.
    """
    askable = _between_nodes(graph)
    order = askable[seeded(seed).permutation(len(askable))]
    views = []
    for hidden in np.array_split(order, max(min(count, len(order)), 1)):
        kept = np.ones(graph.num_edges, dtype=bool)
        kept[hidden] = False
        views.append(graph.replace(edges=graph.edges.take(kept)))
    return views


def _between_nodes(graph: FeatureGraph) -> NDArray[np.int64]:
    """Positions of the edges between different nodes."""
    return np.flatnonzero(graph.edges.sources != graph.edges.targets)


def edge_pairs(graph: FeatureGraph) -> Pairs:
    """The edges as ``[num_edges, 2]`` positions."""
    return np.stack((graph.edges.sources, graph.edges.targets), axis=1)


def sample_negatives(graph: FeatureGraph, count: int, generator: np.random.Generator) -> Pairs:
    """Distinct pairs of different nodes that no edge of ``graph`` joins.

    Args:
        graph: The graph whose edges are to be avoided; in undirected graphs either way round.
        count: How many.
        generator: Source of randomness.
    """
    size, possible = graph.num_nodes, count_negatives(graph)
    taken = pair_keys(edge_pairs(graph), size, graph.directed)
    if count > possible:
        raise DataError(
            f"{count} pairs without an edge are needed, but the graph has only {possible}."
        )
    if count * 2 > possible:  # a dense graph: list them all instead of drawing again and again
        rows, columns = np.triu_indices(size, 1)
        every = np.stack((rows, columns), axis=1)
        if graph.directed:
            every = np.concatenate((every, every[:, ::-1]))
        free = every[~np.isin(pair_keys(every, size, graph.directed), taken)]
        return free[generator.permutation(len(free))[:count]]
    found = np.empty((0, 2), dtype=np.int64)
    while len(found) < count:
        drawn = generator.integers(size, size=(2 * (count - len(found)) + 16, 2))
        drawn = np.concatenate((found, drawn[drawn[:, 0] != drawn[:, 1]]))
        keys = pair_keys(drawn, size, graph.directed)
        _, first = np.unique(keys, return_index=True)
        fresh = np.sort(first)
        found = drawn[fresh[~np.isin(keys[fresh], taken)]]
    return found[:count]


def count_negatives(graph: FeatureGraph) -> int:
    """How many pairs of different nodes no edge joins."""
    pairs = graph.num_nodes * (graph.num_nodes - 1) // (1 if graph.directed else 2)
    return pairs - int((graph.edges.sources != graph.edges.targets).sum())


def pair_keys(pairs: Pairs, size: int, directed: bool) -> NDArray[np.int64]:
    """A number for each pair of positions, in undirected graphs the same either way round.

    Args:
        pairs: The pairs, ``[n, 2]``.
        size: Number of nodes.
        directed: Whether the order of a pair counts.
    """
    if not directed:
        pairs = np.sort(pairs, axis=1)
    return pairs[:, 0] * size + pairs[:, 1]


def link_metrics(
    positives: NDArray[np.floating],
    negatives: NDArray[np.floating],
    hits: tuple[int, ...] = (10, 50, 100),
) -> dict[str, float | int]:
    """AUC-ROC, average precision and hits@k.

    hits@k is the share of the edges that score above the k-th best negative.

    Args:
        positives: Scores of edges.
        negatives: Scores of pairs without an edge.
        hits: The values of k; where there are fewer negatives the result is NaN.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    if not len(positives) or not len(negatives):
        raise DataError("Link metrics need at least one edge and one pair without an edge.")
    truth = np.concatenate((np.ones(len(positives)), np.zeros(len(negatives))))
    scores = np.concatenate((positives, negatives))
    best = -np.sort(-negatives)
    result: dict[str, float | int] = {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        "edges": len(positives),
    }
    for k in hits:
        known = k <= len(best)
        result[f"hits@{k}"] = float((positives > best[k - 1]).mean()) if known else math.nan
    return result
