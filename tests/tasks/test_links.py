"""Link prediction: a split that does not leak, honest negatives, metrics worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph, split_edges
from grafenne.errors import DataError, ParameterError
from grafenne.tasks.links import (
    EdgeSplit,
    count_negatives,
    edge_pairs,
    link_metrics,
    sample_negatives,
)


def as_set(pairs: np.ndarray, directed: bool) -> set[tuple[int, int]]:
    """Pairs as a set; without direction either way round is the same pair."""
    ends = pairs if directed else np.sort(pairs, axis=1)
    return {(int(a), int(b)) for a, b in ends}


def random_graph(nodes: int, share: float, seed: int, directed: bool) -> FeatureGraph:
    """Edges at random, self-loops among them."""
    rng = np.random.default_rng(seed)
    chosen = rng.random((nodes, nodes)) < share
    ends = np.argwhere(chosen if directed else np.triu(chosen))
    return FeatureGraph.from_arrays(nodes, 0, None, (ends[:, 0], ends[:, 1]), directed=directed)


def check_no_leak(graph: FeatureGraph, split: EdgeSplit) -> None:
    """What a split must hold, whatever the graph."""
    directed = graph.directed
    whole = as_set(edge_pairs(graph), directed)
    loops = {(a, b) for a, b in whole if a == b}  # seen, never asked for: no negative is like them
    parts = [as_set(getattr(split, name), directed) for name in ("train", "validation", "test")]
    assert set().union(*parts) == whole - loops
    assert sum(map(len, parts)) == len(whole - loops)
    assert as_set(edge_pairs(split.graph), directed) == parts[0] | loops

    negatives = np.concatenate((split.validation_negatives, split.test_negatives))
    drawn = as_set(negatives, directed)
    assert len(drawn) == len(negatives)  # distinct, either way round
    assert not drawn & whole
    assert all(a != b for a, b in drawn)
    assert len(split.validation_negatives) == len(split.validation)
    assert len(split.test_negatives) == len(split.test)
    # The features and labels are those of the whole graph.
    assert split.graph.nodes == graph.nodes


@settings(max_examples=60, deadline=None)
@given(
    nodes=st.integers(4, 25),
    share=st.floats(0.05, 0.6),
    seed=st.integers(0, 1000),
    directed=st.booleans(),
)
def test_no_split_leaks(nodes: int, share: float, seed: int, directed: bool) -> None:
    graph = random_graph(nodes, share, seed, directed)
    try:
        split = split_edges(graph, seed)
    except DataError:
        askable = int(np.diff(edge_pairs(graph)).astype(bool).sum())  # without loops
        rest = askable - round(0.6 * askable)
        assert askable < 2 or rest > count_negatives(graph)
        return
    check_no_leak(graph, split)


def test_the_messages_of_held_out_edges_are_gone_both_ways() -> None:
    graph = random_graph(20, 0.3, 1, directed=False)
    split = split_edges(graph, 0)
    messages = split.graph.edges.incoming("both")
    for a, b in np.concatenate((split.validation, split.test)):
        assert messages[a, b] == 0
        assert messages[b, a] == 0


def test_the_seed_fixes_everything() -> None:
    graph = random_graph(30, 0.2, 0, directed=False)
    first, second, other = (split_edges(graph, seed) for seed in (5, 5, 6))
    for name in ("train", "validation", "test", "validation_negatives", "test_negatives"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


def test_shares_are_kept() -> None:
    graph = random_graph(40, 0.2, 0, directed=True)
    split = split_edges(graph, 0, (0.5, 0.25, 0.25))
    assert len(split.train) == round(0.5 * int(np.diff(edge_pairs(graph)).astype(bool).sum()))
    assert abs(len(split.validation) - len(split.test)) <= 1
    for wrong in ((0.5, 0.5, 0.5), (1.2, -0.2, 0.0), (float("nan"), 0.5, 0.5)):
        with pytest.raises(ParameterError, match="add up to 1"):
            split_edges(graph, 0, wrong)


def test_dense_graphs_give_what_they_have_and_denser_ones_an_error() -> None:
    ends = np.argwhere(np.triu(np.ones((6, 6)), 1))[2:]  # all pairs but (0, 1) and (0, 2)
    graph = FeatureGraph.from_arrays(6, 0, None, (ends[:, 0], ends[:, 1]))
    assert count_negatives(graph) == 2
    generator = np.random.default_rng(0)
    assert as_set(sample_negatives(graph, 2, generator), False) == {(0, 1), (0, 2)}
    with pytest.raises(DataError, match=r"3 pairs without an edge are needed.*only 2"):
        sample_negatives(graph, 3, generator)
    with pytest.raises(DataError, match="only 2"):
        split_edges(graph, 0)


def test_self_loops_and_reverses_are_counted_right() -> None:
    loops = FeatureGraph.from_arrays(3, 0, None, ([0, 1, 0], [0, 1, 1]))
    assert count_negatives(loops) == 2
    assert as_set(sample_negatives(loops, 2, np.random.default_rng(0)), False) == {(0, 2), (1, 2)}
    directed = FeatureGraph.from_arrays(2, 0, None, ([0], [1]), directed=True)
    assert sample_negatives(directed, 1, np.random.default_rng(0)).tolist() == [[1, 0]]


def test_negatives_are_spread_over_all_free_pairs() -> None:
    graph = FeatureGraph.from_arrays(5, 0, None, ([0], [1]))
    generator = np.random.default_rng(0)
    counts: dict[tuple[int, int], int] = {}
    for _ in range(900):
        for pair in as_set(sample_negatives(graph, 1, generator), False):
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 9
    assert min(counts.values()) > 60  # 100 expected, about four standard deviations


def test_a_graph_without_edges_cannot_be_split() -> None:
    with pytest.raises(DataError, match="0 edges between different nodes is too small"):
        split_edges(FeatureGraph.from_arrays(4, 0), 0)


def test_metrics_equal_those_worked_out_by_hand() -> None:
    positives, negatives = np.array([3.0, 1.0, 2.0]), np.array([2.5, 0.0, 1.0, -1.0])
    result = link_metrics(positives, negatives, hits=(1, 2, 3, 100))
    # 3 beats all four, 2 beats three, 1 beats two and ties with one.
    assert result["auc"] == pytest.approx((4 + 3 + 2.5) / 12)
    # From the top: + - + and then the tie of one of each: precision 1, 2/3, 3/5 at the edges.
    assert result["average_precision"] == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    assert result["hits@1"] == pytest.approx(1 / 3)  # above 2.5
    assert result["hits@2"] == pytest.approx(2 / 3)  # above 1: the tie is not
    assert result["hits@3"] == pytest.approx(1.0)
    assert np.isnan(result["hits@100"])  # there are not as many negatives
    assert result["edges"] == 3


def test_metrics_need_both_kinds_of_pairs() -> None:
    for positives, negatives in (([], [1.0]), ([1.0], [])):
        with pytest.raises(DataError, match="at least one"):
            link_metrics(np.array(positives), np.array(negatives))
