"""The allotropic transform and its way back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, from_allotropic, to_allotropic
from grafenne.data.delta import GraphDelta
from tests.small_graphs import DEGENERATE, random_graph
from tests.strategies import feature_graphs


def example() -> FeatureGraph:
    """The paper's figure in small: three people, an edge of weight 2, values of all kinds."""
    return FeatureGraph.from_arrays(
        ["ann", "bob", "cid"],
        ["age", "city", "unused"],
        ([0, 0, 1], [0, 1, 0], [30.0, 1.0, 0.0]),
        ([0, 2], [1, 1], [2.0, 0.5]),
        directed=True,
        labels=["x", None, "y"],
        feature_edges=([0], [1]),
    )


def assert_identical(a: FeatureGraph, b: FeatureGraph) -> None:
    """The same arrays in the same order, not only the same content."""
    assert a == b
    assert list(a.nodes) == list(b.nodes)
    assert list(a.features) == list(b.features)
    assert a.labels is b.labels
    for mine, other in ((a.edges, b.edges), (a.feature_edges, b.feature_edges)):
        assert mine.directed == other.directed
        assert np.array_equal(mine.sources, other.sources)
        assert np.array_equal(mine.targets, other.targets)
    for part in ("indptr", "indices", "data"):
        mine, other = getattr(a.values, part), getattr(b.values, part)
        assert mine.dtype == other.dtype
        assert mine.tobytes() == other.tobytes()  # -0.0 stays -0.0


def assert_same_graph(a: AllotropicGraph, b: AllotropicGraph) -> None:
    for mine, other in (
        (a.incidence.indptr, b.incidence.indptr),
        (a.incidence.indices, b.incidence.indices),
        (a.values, b.values),
        (a.adjacency.edge_index()[0], b.adjacency.edge_index()[0]),
        (a.feature_adjacency.edge_index()[0], b.feature_adjacency.edge_index()[0]),
    ):
        assert torch.equal(mine, other)
    assert list(a.nodes) == list(b.nodes)
    assert list(a.features) == list(b.features)
    assert a.direction == b.direction


def test_by_hand() -> None:
    graph = to_allotropic(example())
    assert (graph.num_nodes, graph.num_features) == (3, 3)
    assert graph.incidence.rows.tolist() == [0, 0, 1]
    assert graph.incidence.indices.tolist() == [0, 1, 0]
    assert graph.values.tolist() == [30.0, 1.0, 0.0]  # an observed zero is an edge
    assert graph.incidence.transpose.counts.tolist() == [2, 1, 0]
    assert len(graph.feature_adjacency) == 2
    assert repr(graph) == (
        "AllotropicGraph(3 graph nodes, 3 feature nodes, 3 feature edges, 4 messages)"
    )


@pytest.mark.parametrize(
    ("direction", "pairs"),
    [
        ("in", {(0, 1, 2.0), (2, 1, 0.5)}),
        ("out", {(1, 0, 2.0), (1, 2, 0.5)}),
        ("both", {(0, 1, 2.0), (1, 0, 2.0), (2, 1, 0.5), (1, 2, 0.5)}),
    ],
)
def test_directions(direction: str, pairs: set[tuple[int, int, float]]) -> None:
    edges, weights = to_allotropic(example(), direction=direction).adjacency.edge_index()
    assert set(zip(*edges.tolist(), weights.tolist(), strict=True)) == pairs


@given(feature_graphs(), st.sampled_from(["in", "out", "both"]))
@settings(max_examples=100, deadline=None)
def test_the_way_back_is_exact(graph: FeatureGraph, direction: str) -> None:
    assert_identical(from_allotropic(to_allotropic(graph, direction=direction)), graph)


@pytest.mark.parametrize("name", DEGENERATE)
def test_the_way_back_from_degenerate_graphs(name: str) -> None:
    assert_identical(from_allotropic(to_allotropic(DEGENERATE[name])), DEGENERATE[name])


def test_binary_values_need_not_be_carried_along() -> None:
    binary = to_allotropic(random_graph(1, values="binary"))
    assert binary.is_binary
    assert binary.edge_values(torch.float32) is None
    other = to_allotropic(random_graph(1, values="zeros"))
    assert not other.is_binary
    assert other.edge_values(torch.float32).dtype == torch.float32
    assert other.edge_values(torch.float32) is other.edge_values(torch.float32)
    assert to_allotropic(DEGENERATE["everything absent"]).is_binary


def test_other_values_on_the_same_edges() -> None:
    graph = to_allotropic(random_graph(2, values="binary"))
    assert graph.is_binary
    scaled = graph.with_values(graph.values * 3)
    assert not scaled.is_binary
    assert scaled.edge_values(torch.float64).tolist() == [3.0] * len(graph.values)
    assert graph.is_binary
    assert scaled.incidence is graph.incidence


def test_apply_by_hand() -> None:
    delta = GraphDelta(
        nodes_added=["dee"],
        nodes_removed=["cid"],
        edges_added=[("dee", "ann", 4.0)],
        triples_added=[("dee", "height", 1.8), ("bob", "city", 1.0)],
        triples_changed=[("ann", "age", 31.0)],
        triples_removed=[("ann", "city")],
    )
    graph = to_allotropic(example(), direction="in").apply(delta)
    assert list(graph.nodes) == ["ann", "bob", "dee"]
    assert list(graph.features) == ["age", "city", "unused", "height"]
    after = from_allotropic(graph)
    assert after.features_of("ann") == {"age": 31.0}
    assert after.features_of("bob") == {"age": 0.0, "city": 1.0}
    assert after.features_of("dee") == {"height": 1.8}
    edges, weights = graph.adjacency.edge_index()
    assert set(zip(*edges.tolist(), weights.tolist(), strict=True)) == {(0, 1, 2.0), (2, 0, 4.0)}
    assert graph.direction == "in"


@given(feature_graphs(directed=True), feature_graphs(directed=True))
@settings(max_examples=60, deadline=None)
def test_apply_equals_the_transform_of_the_changed_graph(
    before: FeatureGraph, after: FeatureGraph
) -> None:
    assume(len({type(name) for graph in (before, after) for name in graph.nodes}) <= 1)
    if (before.labels is None) != (after.labels is None) or (
        before.labels is not None and before.labels.kind != after.labels.kind
    ):
        before, after = before.with_labels(None), after.with_labels(None)
    delta = before.diff(after)
    changed = to_allotropic(before, direction="in").apply(delta)
    assert from_allotropic(changed) == after
    assert_same_graph(changed, to_allotropic(before.apply(delta), direction="in"))


def test_the_same_device_keeps_the_arrays() -> None:
    graph = to_allotropic(example())
    moved = graph.to("cpu")
    assert moved.incidence is graph.incidence
    assert_same_graph(moved, graph)
    assert graph.to("meta").values.device.type == "meta"


def test_hetero_data_has_the_right_counts() -> None:
    graph = example()
    data = to_allotropic(graph).to_hetero()
    assert data["node"].num_nodes == 3
    assert data["feature"].num_nodes == 3
    assert data["feature", "of", "node"].edge_index.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert data["feature", "of", "node"].edge_attr.flatten().tolist() == [30.0, 1.0, 0.0]
    assert data["node", "has", "feature"].edge_index.shape == (2, 3)
    assert data["node", "to", "node"].edge_index.shape == (2, 2)
    assert data["feature", "to", "feature"].edge_index.shape[1] == 2


@pytest.mark.parametrize("name", DEGENERATE)
def test_hetero_data_of_degenerate_graphs(name: str) -> None:
    graph = DEGENERATE[name]
    data = to_allotropic(graph).to_hetero()
    assert data["node"].num_nodes == graph.num_nodes
    assert data["feature"].num_nodes == graph.num_features
    assert data["feature", "of", "node"].edge_index.shape == (2, graph.num_values)


def test_memory_is_filled_once() -> None:
    graph = to_allotropic(example())
    calls: list[int] = []

    def build() -> int:
        calls.append(1)
        return len(calls)

    assert graph.once("key", build) == graph.once("key", build) == 1
    assert graph.with_values(graph.values).once("key", build) == 2
