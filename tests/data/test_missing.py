from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data import missing
from grafenne.data.missing import draw_absent_cells, draw_distinct, drop_features
from grafenne.errors import ParameterError
from tests.strategies import feature_graphs


def random_graph(nodes: int, features: int, values: int) -> FeatureGraph:
    generator = np.random.default_rng(0)
    cells = generator.choice(nodes * features, values, replace=False)
    return FeatureGraph.from_arrays(
        nodes, features, (cells // features, cells % features, np.ones(values))
    )


def cells_of(graph: FeatureGraph) -> dict[tuple[int, int], float]:
    keys = zip(graph.values.rows.tolist(), graph.values.indices.tolist(), strict=True)
    return dict(zip(keys, graph.values.data.tolist(), strict=True))


def within_six_sigma(found: int, cells: int, share: float) -> bool:
    spread = (cells * share * (1 - share)) ** 0.5
    return abs(found - cells * share) <= 6 * spread + 1e-9


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.99])
def test_values_survive_as_often_as_the_rate_says(rate: float) -> None:
    graph = random_graph(500, 100, 20_000)
    dropped = drop_features(graph, rate, seed=1)
    assert within_six_sigma(dropped.num_values, 20_000, 1 - rate)
    assert cells_of(dropped).items() <= cells_of(graph).items()
    assert dropped.features is graph.features


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.99])
def test_observed_zeros_survive_like_values(rate: float) -> None:
    graph = random_graph(500, 100, 20_000)
    dropped = cells_of(drop_features(graph, rate, seed=2, observed_zeros=True))
    stored = cells_of(graph)
    ones = {cell for cell, value in dropped.items() if value == 1}
    zeros = set(dropped) - ones
    assert within_six_sigma(len(ones), 20_000, 1 - rate)
    assert within_six_sigma(len(zeros), 30_000, 1 - rate)
    assert ones <= set(stored)
    assert not zeros & set(stored)
    if rate < 0.9:  # spread evenly over nodes and features
        node, feature = np.array(sorted(zeros)).T
        for counts in (np.bincount(node, minlength=500), np.bincount(feature, minlength=100)):
            assert counts.min() > counts.mean() / 3
            assert counts.max() < counts.mean() * 3


@settings(deadline=None)
@given(feature_graphs(), st.booleans(), st.sampled_from(["uniform", "structural"]))
def test_the_extreme_rates_are_exact(graph: FeatureGraph, zeros: bool, pattern: str) -> None:
    all_kept = drop_features(graph, 0, seed=0, pattern=pattern, observed_zeros=zeros)  # type: ignore[arg-type]
    cells = graph.num_nodes * graph.num_features
    assert all_kept.num_values == (cells if zeros else graph.num_values)
    assert cells_of(graph).items() <= cells_of(all_kept).items()
    assert sum(value != 0 for value in cells_of(all_kept).values()) == sum(graph.values.data != 0)
    nothing = drop_features(graph, 1, seed=0, pattern=pattern, observed_zeros=zeros)  # type: ignore[arg-type]
    assert nothing.num_values == 0
    assert (nothing.nodes, nothing.edges, nothing.labels) == (
        graph.nodes,
        graph.edges,
        graph.labels,
    )


def test_structural_loss_takes_all_or_nothing() -> None:
    graph = random_graph(1000, 20, 6000)
    dropped = drop_features(graph, 0.3, seed=0, pattern="structural")
    kept = dropped.values.counts == graph.values.counts
    assert (kept | (dropped.values.counts == 0)).all()
    assert within_six_sigma(int(kept.sum()), 1000, 0.7)
    zeros = drop_features(graph, 0.3, seed=0, pattern="structural", observed_zeros=True)
    assert set(zeros.values.counts.tolist()) == {0, 20}
    assert within_six_sigma(int((zeros.values.counts == 20).sum()), 1000, 0.7)


def test_the_seed_decides() -> None:
    graph = random_graph(100, 50, 1000)
    one = drop_features(graph, 0.5, seed=7, observed_zeros=True)
    assert one == drop_features(graph, 0.5, seed=7, observed_zeros=True)
    assert one != drop_features(graph, 0.5, seed=8, observed_zeros=True)


def test_the_size_of_physics_stays_sparse() -> None:
    nodes, features = 34_493, 8_415
    graph = random_graph_of_physics(nodes, features)
    dropped = drop_features(graph, 0.99999, seed=0, observed_zeros=True)
    assert within_six_sigma(dropped.num_values, nodes * features, 0.00001)
    assert 2_500 < dropped.num_values < 3_300


def random_graph_of_physics(nodes: int, features: int) -> FeatureGraph:
    generator = np.random.default_rng(0)
    node = np.repeat(np.arange(nodes), 30)
    return FeatureGraph.from_arrays(
        nodes,
        features,
        (node, generator.integers(0, features, len(node)), np.ones(len(node))),
        duplicates="first",
    )


def test_more_zeros_than_memory_holds_are_refused() -> None:
    graph = FeatureGraph.from_arrays(100_000, 50_000)
    with pytest.raises(ParameterError, match="2,500,000,000 observed zeros"):
        drop_features(graph, 0.5, seed=0, observed_zeros=True)
    with pytest.raises(ParameterError, match="observed zeros"):
        drop_features(graph, 0.5, seed=0, pattern="structural", observed_zeros=True)
    assert drop_features(graph, 0.5, seed=0).num_values == 0


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_the_rate_is_checked(rate: float) -> None:
    with pytest.raises(ParameterError, match="from 0 to 1"):
        drop_features(FeatureGraph.from_arrays(1, 1), rate, seed=0)


def test_the_pattern_is_checked() -> None:
    with pytest.raises(ParameterError, match="'random'"):
        drop_features(FeatureGraph.from_arrays(1, 1), 0.5, seed=0, pattern="random")  # type: ignore[arg-type]


@settings(deadline=None)
@given(feature_graphs(max_nodes=4, max_features=4), st.data())
def test_all_absent_cells_of_some_nodes_are_found(graph: FeatureGraph, data: st.DataObject) -> None:
    chosen = [row for row in range(graph.num_nodes) if data.draw(st.booleans())]
    node, feature = draw_absent_cells(
        graph.values, np.array(chosen, dtype=np.int64), 1.0, np.random.default_rng(0)
    )
    stored = cells_of(graph)
    absent = [
        (row, column)
        for row in chosen
        for column in range(graph.num_features)
        if (row, column) not in stored
    ]
    assert list(zip(node.tolist(), feature.tolist(), strict=True)) == absent


def test_many_zeros_are_drawn_cell_by_cell_with_the_same_chances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(missing, "MANY_ZEROS", 0)
    monkeypatch.setattr(missing, "BLOCK", 700)  # several blocks, the last of them not full
    graph = random_graph(100, 50, 1000)
    hits = np.zeros(100 * 50, dtype=np.int64)
    for seed in range(300):
        dropped = drop_features(graph, 0.7, seed=seed, observed_zeros=True)
        hits[dropped.values.rows * 50 + dropped.values.indices] += 1
    assert all(within_six_sigma(int(hit), 300, 0.3) for hit in hits)
    kept = drop_features(graph, 0.0, seed=0, observed_zeros=True)
    assert kept.num_values == 5000
    assert cells_of(graph).items() <= cells_of(kept).items()


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 10])
def test_distinct_numbers_are_drawn_evenly(count: int) -> None:
    generator = np.random.default_rng(count)
    hits = np.zeros(10, dtype=np.int64)
    for _ in range(2000):
        drawn = draw_distinct(10, count, generator)
        assert len(set(drawn.tolist())) == count
        assert (np.diff(drawn) > 0).all()
        hits[drawn] += 1
    assert all(within_six_sigma(int(hit), 2000, count / 10) for hit in hits)
