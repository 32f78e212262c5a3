from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne.data.feature_graph import FeatureGraph
from grafenne.datasets import load, load_stream, synthetic, synthetic_stream
from grafenne.errors import ParameterError


def same_class_share(graph: FeatureGraph) -> float:
    assert graph.labels is not None
    classes = graph.labels.values
    return float((classes[graph.edges.sources] == classes[graph.edges.targets]).mean())


def nearest_class_accuracy(graph: FeatureGraph) -> float:
    """Each even node gets the class whose odd nodes look most like it, by their mean values."""
    assert graph.labels is not None
    classes, matrix = graph.labels.values, graph.to_scipy().tocsr()
    odd, even = np.arange(1, graph.num_nodes, 2), np.arange(0, graph.num_nodes, 2)
    scores = []
    for number in range(len(graph.labels.classes)):
        members = matrix[odd[classes[odd] == number]]
        mean = np.asarray(members.sum(axis=0)).ravel() / members.shape[0]
        scores.append(matrix[even] @ mean - (mean @ mean) / 2)
    return float((np.argmax(scores, axis=0) == classes[even]).mean())


def test_the_counts_are_those_asked_for() -> None:
    graph = synthetic(5000, 400, 6, values_per_node=8, degree=6, seed=1)
    assert graph.num_nodes == 5000
    assert graph.num_features == graph.num_used_features == 400
    assert graph.labels is not None
    assert len(graph.labels.classes) == 6
    assert 7.5 < graph.num_values / 5000 < 8
    assert 2.9 < graph.num_edges / 5000 <= 3
    assert graph.values.is_binary
    assert (graph.values.counts >= 1).all()
    assert not (graph.edges.sources == graph.edges.targets).any()


@pytest.mark.parametrize("homophily", [0.0, 0.3, 1.0])
def test_homophily_is_the_share_of_edges_within_a_class(homophily: float) -> None:
    assert same_class_share(synthetic(4000, 50, 5, homophily=homophily)) == pytest.approx(
        homophily, abs=0.02
    )


@pytest.mark.parametrize("continuous", [False, True])
def test_the_signal_is_what_the_features_tell(continuous: bool) -> None:
    accuracy = [
        nearest_class_accuracy(synthetic(2000, 40, 4, signal=signal, continuous=continuous))
        for signal in (0.0, 0.9)
    ]
    assert accuracy[0] < 0.35
    assert accuracy[1] > 0.8


def test_with_continuous_values_presence_tells_nothing() -> None:
    graph = synthetic(2000, 40, 4, signal=0.9, continuous=True)
    present = graph.values.to_scipy(np.ones(graph.num_values))
    rows = graph.values.rows, graph.values.indices, np.ones(graph.num_values)
    assert graph.labels is not None
    only = FeatureGraph.from_arrays(2000, 40, rows, labels=graph.labels.values)
    assert present.nnz == only.num_values
    assert nearest_class_accuracy(only) < 0.35
    assert nearest_class_accuracy(graph) > 0.8


def test_noise_spreads_continuous_values() -> None:
    quiet, loud = (synthetic(500, 20, 2, continuous=True, noise=noise) for noise in (0.0, 5.0))
    assert len(np.unique(quiet.values.data)) <= 20 * 2
    assert loud.values.data.std() > 3


def test_unobserved_values_are_absent() -> None:
    everything, some = (synthetic(2000, 100, observed=share) for share in (1.0, 0.25))
    assert some.num_values / everything.num_values == pytest.approx(0.25, abs=0.02)


def test_feature_edges_join_features() -> None:
    graph = synthetic(100, 300, 3, feature_edges=4)
    assert 500 < len(graph.feature_edges) <= 600
    ends = graph.feature_edges.sources, graph.feature_edges.targets
    assert ((ends[0] - ends[1]) % 3 == 0).all()  # features of one class stand three apart
    assert len(synthetic(100).feature_edges) == 0


def test_the_seed_decides_everything() -> None:
    assert synthetic(seed=3) == synthetic(seed=3)
    assert synthetic(seed=3) != synthetic(seed=4)
    assert load("synthetic", num_nodes=50, seed=3) == synthetic(50, seed=3)


@pytest.mark.parametrize(
    "options",
    [
        {"num_nodes": 0},
        {"num_features": 0},
        {"num_classes": 0},
        {"values_per_node": -1},
        {"degree": float("inf")},
        {"homophily": 1.5},
        {"signal": -0.1},
        {"observed": 2},
        {"noise": float("nan")},
    ],
)
def test_impossible_arguments_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        synthetic(**options)


@settings(max_examples=40, deadline=None)
@given(
    num_nodes=st.integers(1, 12),
    num_features=st.integers(1, 6),
    num_classes=st.integers(1, 5),
    values_per_node=st.floats(0, 8),
    degree=st.floats(0, 6),
    homophily=st.floats(0, 1),
    continuous=st.booleans(),
    seed=st.integers(0, 9),
)
def test_tiny_graphs_are_sound(**options: Any) -> None:
    graph = synthetic(**options)
    rebuilt = FeatureGraph.from_arrays(
        graph.num_nodes,
        list(graph.features),
        (graph.values.rows, graph.values.indices, graph.values.data),
        (graph.edges.sources, graph.edges.targets),
        labels=[graph.label_of(node) for node in graph.nodes],
    )
    assert rebuilt == graph


def test_a_stream_replaces_features_nodes_and_edges() -> None:
    stream = synthetic_stream(
        400, 60, 3, steps=4, drift=0.5, node_churn=0.1, edge_churn=0.2, signal=0.9, seed=2
    )
    snapshots = list(stream)
    assert len(snapshots) == 4
    for before, after in pairwise(snapshots):
        used = [
            {graph.features[place] for place in np.flatnonzero(graph.values.feature_counts)}
            for graph in (before, after)
        ]
        assert len(used[1] - used[0]) == len(used[0] - used[1]) == 30
        assert len(set(after.nodes) - set(before.nodes)) == 40
        assert after.num_nodes == 400
        assert after.num_edges == pytest.approx(before.num_edges, rel=0.05)
        assert same_class_share(after) == pytest.approx(0.8, abs=0.06)
        assert list(after.features)[: before.num_features] == list(before.features)
        kept = sorted(set(before.nodes) & set(after.nodes))
        assert [before.label_of(node) for node in kept] == [after.label_of(node) for node in kept]
    for graph in snapshots:  # the new features carry the signal as the old ones did
        assert nearest_class_accuracy(graph) > 0.8


def test_a_stream_without_change_stands_still() -> None:
    first, second = synthetic_stream(100, steps=2, drift=0, node_churn=0, edge_churn=0)
    assert first == second == synthetic(100)


def test_missing_values_do_not_grow_from_step_to_step() -> None:
    counts = [
        graph.num_values
        for graph in synthetic_stream(1000, 100, steps=5, drift=0.5, observed=0.5, node_churn=0)
    ]
    assert counts[-1] > 0.8 * counts[0]


def test_continuous_streams_keep_the_values_of_lasting_features() -> None:
    first, second = load_stream("synthetic", num_nodes=50, steps=2, continuous=True)
    for node in set(first.nodes) & set(second.nodes):
        before, after = first.features_of(node), second.features_of(node)
        assert all(after[name] == before[name] for name in before.keys() & after.keys())


@pytest.mark.parametrize(
    ("name", "value"), [("steps", 0), ("drift", 1.1), ("node_churn", -1), ("edge_churn", 2)]
)
def test_impossible_streams_are_named(name: str, value: float) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ParameterError, match=name):
        synthetic_stream(**options)
