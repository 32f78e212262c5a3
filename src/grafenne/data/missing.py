"""Hides features at random, without ever making a nodes x features array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from grafenne.data.seeds import seeded
from grafenne.data.values import FeatureValues
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph

MOST_ZEROS = 200_000_000
"""Most observed zeros that are drawn; each of them takes 12 bytes or more."""

MANY_ZEROS, BLOCK = 20_000_000, 1 << 22
"""More zeros than that are drawn cell by cell, in blocks of cells: sorting would take longer."""


def drop_features(
    graph: FeatureGraph,
    rate: float,
    *,
    seed: int,
    pattern: Literal["uniform", "structural"] = "uniform",
    observed_zeros: bool = False,
) -> FeatureGraph:
    """A copy of a graph in which features are missing at random.

    With ``uniform`` each of the |V| x |F| cells is dropped on its own with probability ``rate``;
    with ``structural`` a node keeps all of its cells or loses all of them. F is every name in
    the vocabulary of the graph.

    Args:
        graph: The complete graph.
        rate: Probability of being dropped, from 0 to 1.
        seed: Seed of the draw.
        pattern: ``uniform`` or ``structural``.
        observed_zeros: What a cell without value is. Without it, absent cells stay absent and
            only values are dropped (the paper connects "only features having value 1"). With
            it, each of them is an observed zero that survives like a value. The memory is that
            of the survivors; more than 200 million of them are refused.
    """
    if not 0 <= rate <= 1:
        raise ParameterError(f"The missing rate must be from 0 to 1, got {rate!r}.")
    if pattern not in ("uniform", "structural"):
        raise ParameterError(f"pattern must be 'uniform' or 'structural', got {pattern!r}.")
    generator = seeded(seed)
    values = graph.values
    if pattern == "uniform":
        rows = np.arange(values.num_nodes, dtype=np.int64)
        kept = generator.random(len(values)) >= rate
    else:
        stays = generator.random(values.num_nodes) >= rate
        rows = np.flatnonzero(stays)
        kept = stays[values.rows]
    survivors = values.take(kept)
    if observed_zeros:
        chance = 1.0 if pattern == "structural" else 1 - rate
        expected = chance * count_absent(values, rows)
        if expected > MOST_ZEROS:
            raise ParameterError(
                f"A missing rate of {rate} would leave about {expected:,.0f} observed zeros, more "
                f"than {MOST_ZEROS:,}; use a higher rate or observed_zeros=False."
            )
        node, feature = draw_absent_cells(values, rows, chance, generator)
        survivors = FeatureValues.build(
            np.concatenate((survivors.rows, node)),
            np.concatenate((survivors.indices, feature)),
            np.concatenate((survivors.data, np.zeros(len(node), dtype=survivors.data.dtype))),
            nodes=graph.nodes,
            features=graph.features,
        )
    return graph.replace(values=survivors)


def count_absent(values: FeatureValues, rows: NDArray[np.int64]) -> int:
    """Number of cells of these nodes that hold no value."""
    return len(rows) * values.num_features - int(values.counts[rows].sum())


def draw_absent_cells(
    values: FeatureValues,
    rows: NDArray[np.int64],
    chance: float,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draws each absent cell of the given nodes with probability ``chance``.

    The absent cells are thought of as one long row; how many are drawn is binomial, and which
    ones is a set of distinct ranks in that row. A rank is turned into a cell by counting the
    stored cells before it, so the work is that of the values and the cells drawn.

    Args:
        values: The stored cells.
        rows: Positions of distinct nodes, rising.
        chance: Probability of each absent cell.
        generator: Source of randomness.

    Returns:
        Node and feature positions, by node and then by feature.
    """
    total = count_absent(values, rows)
    if chance * total > MANY_ZEROS:
        ranks = draw_each(total, chance, generator)
    else:
        ranks = draw_distinct(total, int(generator.binomial(total, chance)), generator)
    counts = values.counts[rows]
    stored_before = np.concatenate(([0], np.cumsum(counts)))
    absent_before = np.arange(len(rows) + 1) * values.num_features - stored_before
    # The stored cells of these rows, and for each how many absent ones lie before it.
    within = np.arange(int(stored_before[-1])) - np.repeat(stored_before[:-1], counts)
    columns = values.indices[np.repeat(values.indptr[rows], counts) + within]
    rank_of_stored = np.repeat(absent_before[:-1], counts) + columns - within
    # Ranks rise, so rows and stored cells look for their places among them, not the other way
    # round: they are fewer, and how many lie before a rank is then a matter of counting.
    drawn = np.diff(np.searchsorted(ranks, absent_before))
    first_after = np.searchsorted(ranks, rank_of_stored)
    stored = np.cumsum(np.bincount(first_after, minlength=len(ranks) + 1))[: len(ranks)]
    stored -= np.repeat(stored_before[:-1], drawn)
    feature = ranks - np.repeat(absent_before[:-1], drawn) + stored
    return np.repeat(rows, drawn), feature


def draw_each(total: int, chance: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """The whole numbers below ``total`` that stay when each does with probability ``chance``."""
    parts = [np.empty(0, dtype=np.int64)]
    for begin in range(0, total, BLOCK):
        size = min(BLOCK, total - begin)
        parts.append(begin + np.flatnonzero(generator.random(size, dtype=np.float32) < chance))
    return np.concatenate(parts)


def draw_distinct(total: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """``count`` distinct whole numbers below ``total``, sorted, every set as likely as another.

    ``Generator.choice`` would shuffle all ``total`` of them when ``count`` is above 2 %.
    """
    if 2 * count > total:  # draw the few that stay out instead
        chosen = np.ones(total, dtype=bool)
        chosen[draw_distinct(total, total - count, generator)] = False
        return np.flatnonzero(chosen)
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        missing = count - len(drawn)
        more = generator.integers(0, total, size=missing + missing // 4 + 8)
        drawn = np.sort(np.concatenate((drawn, more)))  # np.unique hashes, seven times slower
        drawn = drawn[np.concatenate(([True], drawn[1:] != drawn[:-1]))]
    if len(drawn) > count:  # the surplus leaves at random, or large numbers would be rarer
        surplus = generator.permutation(len(drawn))[: len(drawn) - count]
        drawn = np.delete(drawn, surplus)
    return drawn
