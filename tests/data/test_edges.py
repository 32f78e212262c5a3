from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grafenne.data.edges import EdgeList
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError

NAMES = Vocabulary(["a", "b", "c", "d"], kind="node")


def build(
    pairs: list[tuple[int, int]], weights: list[float] | None = None, **rules: Any
) -> EdgeList:
    sources = np.array([pair[0] for pair in pairs], dtype=np.int64)
    targets = np.array([pair[1] for pair in pairs], dtype=np.int64)
    return EdgeList.build(sources, targets, weights, names=NAMES, **rules)


def pairs_of(edges: EdgeList) -> list[tuple[int, int]]:
    return list(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))


def test_undirected_edges_are_stored_once_from_low_to_high() -> None:
    edges = build([(2, 1), (3, 3), (0, 1)], [5.0, 6.0, 7.0])
    assert pairs_of(edges) == [(0, 1), (1, 2), (3, 3)]
    assert edges.weights is not None
    assert edges.weights.tolist() == [7.0, 5.0, 6.0]
    assert (len(edges), edges.size, edges.directed) == (3, 4, False)


def test_directed_edges_keep_their_direction() -> None:
    edges = build([(2, 1), (1, 2), (0, 1)], directed=True)
    assert pairs_of(edges) == [(0, 1), (1, 2), (2, 1)]
    assert edges.weights is None


def test_an_undirected_table_may_list_both_directions() -> None:
    edges = build([(0, 1), (2, 1), (1, 0), (1, 2)], [3.0, 4.0, 3.0, 4.0])
    assert pairs_of(edges) == [(0, 1), (1, 2)]
    assert edges.weights is not None
    assert edges.weights.tolist() == [3.0, 4.0]
    assert pairs_of(build([(0, 1), (1, 0)])) == [(0, 1)]


def test_two_directions_with_different_weights_contradict() -> None:
    with pytest.raises(DataError, match="between 'a' and 'b' has two different weights") as caught:
        build([(1, 2), (0, 1), (1, 0)], [1.0, 2.0, 3.0])
    assert caught.value.row == 2


@pytest.mark.parametrize("directed", [False, True])
def test_an_edge_listed_twice_is_named(directed: bool) -> None:
    with pytest.raises(DataError, match="from 'c' to 'b' is listed twice") as caught:
        build([(2, 1), (0, 1), (2, 1)], directed=directed)
    assert caught.value.row == 2
    with pytest.raises(DataError, match="from 'a' to 'a' is listed twice"):
        build([(0, 0), (0, 0)], directed=directed)


@pytest.mark.parametrize(("rule", "weight"), [("first", 1.0), ("last", 4.0), ("sum", 7.0)])
def test_duplicates_merge_by_rule(rule: str, weight: float) -> None:
    edges = build([(1, 0), (2, 3), (0, 1), (1, 0)], [1.0, 9.0, 2.0, 4.0], duplicates=rule)
    assert pairs_of(edges) == [(0, 1), (2, 3)]
    assert edges.weights is not None
    assert edges.weights.tolist() == [weight, 9.0]
    assert pairs_of(build([(0, 1), (0, 1)], duplicates=rule)) == [(0, 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [4]), "target position 4, but there are 4 nodes"),
        (([-1], [0]), "source position -1"),
        (([0, 1], [1]), "2 edge sources but 1 targets"),
        (([0.5], [1]), "must be whole numbers"),
        ((["a"], ["b"]), "must be whole numbers"),
        (([0], [1], [1.0, 2.0]), "1 edges but 2 weights"),
        (([2], [1], [np.nan]), "an edge from 'c' is nan"),
        (([2], [1], [-np.inf]), "an edge from 'c' is -inf"),
    ],
)
def test_bad_edges_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        EdgeList.build(*arguments, names=NAMES)


def test_bad_rules_are_refused() -> None:
    with pytest.raises(ParameterError, match="'mean'"):
        build([], duplicates="mean")
    with pytest.raises(ParameterError, match="'up'"):
        build([(0, 1)], directed=True).incoming("up")
    with pytest.raises(DataError, match="between 'a' and 'b' have no finite sum"):
        build([(0, 1), (0, 1)], [1e308, 1e308], duplicates="sum")


def test_degrees_by_hand() -> None:
    assert build([(0, 1), (1, 2), (2, 2)]).degrees.tolist() == [1, 2, 2, 0]
    directed = build([(0, 1), (1, 0), (3, 3)], directed=True)
    assert directed.degrees.tolist() == [2, 2, 0, 1]
    assert EdgeList.empty(2).degrees.tolist() == [0, 0]
    assert EdgeList.empty(0).degrees.tolist() == []


def neighbours(edges: EdgeList, direction: str) -> list[dict[int, float]]:
    matrix = edges.incoming(direction)
    return [
        {
            int(column): float(weight)
            for column, weight in zip(
                matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]],
                matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]],
                strict=True,
            )
        }
        for row in range(edges.size)
    ]


def test_messages_follow_the_direction() -> None:
    edges = build([(0, 1), (1, 0), (1, 2), (3, 3)], [5.0, 6.0, 7.0, 8.0], directed=True)
    assert neighbours(edges, "in") == [{1: 6.0}, {0: 5.0}, {1: 7.0}, {3: 8.0}]
    assert neighbours(edges, "out") == [{1: 5.0}, {0: 6.0, 2: 7.0}, {}, {3: 8.0}]
    both = neighbours(edges, "both")
    assert [set(row) for row in both] == [{1}, {0, 2}, {1}, {3}]
    assert both[2] == {1: 7.0}
    assert edges.incoming("in") is edges.incoming("in")  # built once


def test_undirected_messages_go_both_ways() -> None:
    edges = build([(0, 1), (2, 2)])
    for direction in ("in", "out", "both"):
        assert neighbours(edges, direction) == [{1: 1.0}, {0: 1.0}, {2: 1.0}, {}]


def test_some_of_the_edges_and_other_places() -> None:
    edges = build([(0, 1), (1, 2), (2, 3)], [1.0, 2.0, 3.0])
    kept = edges.take(np.array([True, False, True]))
    assert pairs_of(kept) == [(0, 1), (2, 3)]
    assert kept.weights is not None
    assert kept.weights.tolist() == [1.0, 3.0]
    names = Vocabulary(["d", "c", "b"], kind="node")
    moved = edges.renumbered(np.array([-1, 2, 1, 0]), names)
    assert pairs_of(moved) == [(0, 1), (1, 2)]
    assert moved.weights is not None
    assert moved.weights.tolist() == [3.0, 2.0]
    assert (moved.size, edges.resized(9).size) == (3, 9)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), unique=True),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_the_order_of_the_table_does_not_matter(
    pairs: list[tuple[int, int]], random: Any, directed: bool
) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    if not directed:
        shuffled = [pair[::-1] if random.random() < 0.5 else pair for pair in shuffled]
        shuffled = list(dict.fromkeys(shuffled))
    expected = {pair if directed else (min(pair), max(pair)) for pair in pairs}
    for given_pairs in (pairs, shuffled):
        assert pairs_of(build(given_pairs, directed=directed)) == sorted(expected)
