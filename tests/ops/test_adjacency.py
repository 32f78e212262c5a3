from __future__ import annotations

import pytest
import torch

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.ops import Adjacency, SparsePattern, sparse_product


def adjacency_of(weights: list[float] | None, directed: bool = False) -> Adjacency:
    """Edges 0-1, 0-2 and a loop at 2; node 3 has none."""
    edges = ([0, 0, 2], [1, 2, 2])
    given = edges if weights is None else (*edges, weights)
    graph = FeatureGraph.from_arrays(4, 0, None, given, directed=directed)
    return to_allotropic(graph, direction="in").adjacency


def test_messages_run_both_ways_along_undirected_edges() -> None:
    adjacency = adjacency_of(None)
    assert len(adjacency) == 5
    edges, weights = adjacency.edge_index()
    assert weights is None
    pairs = set(map(tuple, edges.t().tolist()))
    assert pairs == {(1, 0), (2, 0), (0, 1), (0, 2), (2, 2)}
    assert repr(adjacency) == "Adjacency(4 receivers, 5 unweighted edges)"


def test_directed_edges_run_from_source_to_target() -> None:
    adjacency = adjacency_of(None, directed=True)
    assert adjacency.edge_index()[0].tolist() == [[0, 0, 2], [1, 2, 2]]


def test_mean_weights_by_hand() -> None:
    assert adjacency_of(None).mean_weights(torch.double).tolist() == [0.5, 0.5, 1, 0.5, 0.5]
    # Receiver 0 hears 1 (weight 1) and 2 (weight 3), receiver 2 hears 0 (3) and itself (-1).
    weighted = adjacency_of([1.0, 3.0, -1.0])
    assert weighted.mean_weights(torch.double).tolist() == [0.25, 0.75, 1.0, 0.75, -0.25]


def test_weights_of_zero_make_a_mean_of_zero() -> None:
    adjacency = adjacency_of([0.0, 0.0, 0.0])
    mean = adjacency.mean_weights(torch.float32)
    states = sparse_product(adjacency.pattern, mean, torch.ones(4, 2))
    assert torch.equal(states, torch.zeros(4, 2))


def test_degrees_are_sums_of_incoming_weights() -> None:
    assert adjacency_of(None).degrees(torch.double).tolist() == [2, 1, 2, 0]
    assert adjacency_of([1.0, 3.0, 0.5]).degrees(torch.double).tolist() == [4, 1, 3.5, 0]
    directed = adjacency_of([1.0, 3.0, 0.5], directed=True)
    assert directed.degrees(torch.double).tolist() == [0, 1, 3.5, 0]


def test_given_degrees_are_those_of_the_whole_graph() -> None:
    pattern = SparsePattern(torch.tensor([0, 1]), torch.tensor([2]), 3)
    part = Adjacency(pattern, degrees=torch.tensor([5, 1, 7]))
    assert part.degrees(torch.float32).tolist() == [5.0, 1.0, 7.0]


def test_self_loops_are_added_once() -> None:
    looped, real = adjacency_of(None).with_self_loops()
    assert real is None
    assert looped.rows.tolist() == [0, 0, 0, 1, 1, 2, 2, 3]
    assert looped.indices.tolist() == [0, 1, 2, 0, 1, 0, 2, 3]


def test_an_edge_of_weight_zero_is_no_edge() -> None:
    adjacency = adjacency_of([1.0, 0.0, 0.0])  # 0-2 and the loop at 2 do not count
    edges, weights = adjacency.edge_index()
    assert edges.tolist() == [[1, 0], [0, 1]]
    assert weights.tolist() == [1.0, 1.0]
    looped, real = adjacency.with_self_loops()
    seen = zip(looped.rows.tolist(), looped.indices.tolist(), real.tolist(), strict=True)
    assert {(row, column) for row, column, counts in seen if counts} == {
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 2),
        (3, 3),
    }


def test_self_loops_of_a_part_are_at_the_receivers() -> None:
    pattern = SparsePattern(torch.tensor([0, 1, 2]), torch.tensor([3, 2]), 4)
    looped, _ = Adjacency(pattern).with_self_loops()
    assert looped.shape == (2, 4)
    assert looped.rows.tolist() == [0, 0, 1, 1]
    assert looped.indices.tolist() == [0, 3, 1, 2]


def test_derived_tensors_are_made_once_per_type() -> None:
    adjacency = adjacency_of([1.0, 3.0, 0.5])
    assert adjacency.edge_weights(torch.float32) is adjacency.edge_weights(torch.float32)
    assert adjacency.edge_weights(torch.float32).dtype == torch.float32
    assert adjacency.mean_weights(torch.float64).dtype == torch.float64
    assert adjacency.edge_index() is adjacency.edge_index()
    assert adjacency.with_self_loops() is adjacency.with_self_loops()


def test_to_another_device_takes_everything_along() -> None:
    adjacency = adjacency_of([1.0, 3.0, 0.5])
    assert adjacency.to("cpu") is adjacency
    moved = Adjacency(adjacency.pattern, adjacency.weights, torch.ones(4)).to("meta")
    assert moved.pattern.device.type == moved.weights.device.type == "meta"
    assert moved.degrees(torch.float32).device.type == "meta"


@pytest.mark.parametrize("size", [0, 1, 3])
def test_without_edges(size: int) -> None:
    adjacency = to_allotropic(FeatureGraph.from_arrays(size, 0)).adjacency
    assert len(adjacency) == 0
    assert adjacency.edge_index()[0].shape == (2, 0)
    assert adjacency.mean_weights(torch.double).shape == (0,)
    assert adjacency.degrees(torch.double).tolist() == [0] * size
    looped, _ = adjacency.with_self_loops()
    assert looped.indices.tolist() == looped.rows.tolist() == list(range(size))
