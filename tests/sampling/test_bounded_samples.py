"""Bounds: parts of the graph, drawn evenly, with sums that stay right on average."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.errors import ParameterError
from grafenne.sampling import Sampler
from tests.sampling.cases import SEEDS, encode, make_model, random_graph


def dense_graph(**more: Any) -> AllotropicGraph:
    """30 nodes; each hears from all before it, and feature f occurs on every (f + 1)th node."""
    node, feature = np.nonzero(np.arange(30)[:, None] % (np.arange(12) + 1) == 0)
    target, source = np.nonzero(np.tri(30, 30, -1))
    graph = FeatureGraph.from_arrays(
        30, 12, (node, feature, node + feature / 100), (source, target), directed=True, **more
    )
    return to_allotropic(graph, direction="in")


@pytest.mark.parametrize("fixed", [False, True])
def test_bounded_samples_are_parts_of_the_graph(fixed: bool) -> None:
    graph = dense_graph()
    rows, columns = graph.incidence.rows, graph.incidence.indices
    known = graph.adjacency.pattern
    edges = set(zip(known.indices.tolist(), known.rows.tolist(), strict=True))
    sampler = Sampler(
        graph, 2, neighbours=[2, 5], features_per_node=3, nodes_per_feature=4, dtype=torch.float64
    )
    seeds = [0, 29, 14]
    sample = sampler.sample(seeds, fixed_features=fixed)
    assert sample.node_positions[1][:3].tolist() == seeds
    for block, bound, nodes, features in zip(
        sample.blocks,
        [2, 5],
        sample.node_positions,
        sample.feature_positions_per_layer,
        strict=True,
    ):
        assert len(set(nodes.tolist())) == len(nodes)
        assert len(set(features.tolist())) == len(features)
        places = block.incidence_places
        assert places is not None
        assert block.values is not None
        assert torch.equal(rows[places].long(), nodes[block.incidence.rows.long()])
        assert torch.equal(columns[places].long(), features[block.incidence.indices.long()])
        assert torch.equal(block.values, graph.values[places].double())
        assert torch.equal(block.incidence.counts, graph.incidence.counts[nodes].clamp(max=3))
        assert len(set(places.tolist())) == len(places)

        pattern = block.adjacency.pattern
        degrees = graph.adjacency.pattern.counts[nodes[: pattern.num_rows]]
        assert torch.equal(pattern.counts, degrees.clamp(max=bound))
        drawn = torch.stack((nodes[pattern.indices.long()], nodes[pattern.rows.long()]))
        assert set(zip(*drawn.tolist(), strict=True)) <= edges
        assert len(set(zip(*drawn.tolist(), strict=True))) == pattern.num_entries
    assert sample.blocks[1].back_incidence is None
    back, places = sample.blocks[0].back_incidence, sample.blocks[0].back_places
    if fixed:
        assert back is None
        return
    features = sample.feature_positions_per_layer[1]
    assert back is not None
    assert places is not None
    assert back.num_columns == sample.blocks[0].num_nodes_out
    assert torch.equal(back.counts, graph.incidence.transpose.counts[features].clamp(max=4))
    assert torch.equal(columns[places].long(), features[back.rows.long()])
    assert torch.equal(rows[places].long(), sample.node_positions[0][back.indices.long()])
    assert sample.blocks[0].back_values is not None
    assert torch.equal(sample.blocks[0].back_values, graph.values[places].double())
    assert encode(make_model(graph), graph, sample).isfinite().all()


@pytest.mark.parametrize(("size", "bound"), [(6, 2), (6, 3), (6, 4), (7, 6), (40, 1), (40, 2)])
def test_every_subset_is_equally_likely(size: int, bound: int) -> None:
    copies = 6000
    node, feature = np.divmod(np.arange(copies * size), size)
    graph = to_allotropic(
        FeatureGraph.from_arrays(copies, size, (node, feature, np.ones(len(node))))
    )
    sample = Sampler(graph, 1, features_per_node=bound).sample(np.arange(copies))
    incidence = sample.blocks[0].incidence
    drawn = sample.feature_positions[incidence.indices.long()].view(copies, bound)
    subsets = {subset: number for number, subset in enumerate(combinations(range(size), bound))}
    counts = np.zeros(len(subsets))
    for row in drawn.tolist():
        counts[subsets[tuple(row)]] += 1  # a KeyError here: not rising, or a repeated feature
    expected = copies / len(subsets)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = len(subsets) - 1
    assert abs(chi_square - freedom) < 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_drawn_entries_are_unbiased(weighted: bool) -> None:
    # 2000 receivers with the same 8 senders and the same 8 features, and 2000 features on the
    # same 8 nodes: one sample is 2000 draws of 3 out of 8.
    copies = 2000
    few, many = np.tile(np.arange(8), copies), np.repeat(np.arange(8, copies + 8), 8)
    triples = (np.concatenate((many, few)), np.concatenate((few, many)), np.ones(16 * copies))
    weights = np.arange(1.0, 9.0) if weighted else np.ones(8)
    edges: Any = (few, many, weights[few]) if weighted else (few, many)
    graph = to_allotropic(
        FeatureGraph.from_arrays(copies + 8, copies + 8, triples, edges, directed=True),
        direction="in",
    )
    receivers = np.arange(8, copies + 8)

    def mean_per_column(weights: Tensor | None, global_columns: Tensor) -> Tensor:
        assert weights is not None
        total = torch.zeros(copies + 8, dtype=torch.float64)
        return total.index_add_(0, global_columns, weights)[:8] / copies

    # A drawn weight is 8/3 of its own with probability 3/8: the mean's deviation is 0.029.
    tolerance: dict[str, float] = {"rtol": 0.15, "atol": 0}
    sampler = Sampler(graph, 1, neighbours=3, features_per_node=3, dtype=torch.float64)
    sample = sampler.sample(receivers)
    adjacency, incidence = sample.blocks[0].adjacency, sample.blocks[0].incidence
    senders = sample.node_positions[0][adjacency.pattern.indices.long()]
    edge_weights = mean_per_column(adjacency.edge_weights(torch.float64), senders)
    torch.testing.assert_close(edge_weights, torch.from_numpy(weights), **tolerance)

    own = incidence.rows < copies  # the senders stand behind the receivers
    features = sample.feature_positions[incidence.indices.long()]
    forward = sample.keeps(scale_sums=True)[0][0]
    assert forward is not None
    ones = torch.ones(8, dtype=torch.float64)
    torch.testing.assert_close(mean_per_column(forward[own], features[own]), ones, **tolerance)

    sample = Sampler(graph, 2, nodes_per_feature=3, dtype=torch.float64).sample(receivers)
    back = sample.blocks[0].back_incidence
    assert back is not None
    weight = sample.keeps(scale_sums=True)[0][1]
    assert weight is not None
    common = sample.feature_positions_per_layer[1][back.rows.long()] >= 8
    nodes = sample.node_positions[0][back.indices.long()]
    torch.testing.assert_close(mean_per_column(weight[common], nodes[common]), ones, **tolerance)


def test_scaling_leaves_means_alone_and_happens_only_where_something_was_cut() -> None:
    graph = dense_graph()
    block = Sampler(graph, 1, neighbours=4).sample([20, 2]).blocks[0]
    weights = block.adjacency.edge_weights(torch.float32)
    assert weights is not None
    assert weights.tolist() == [5.0, 5.0, 5.0, 5.0, 1.0, 1.0]  # nodes 0 to 19, and 0 and 1
    mean = block.adjacency.mean_weights(torch.float32)
    torch.testing.assert_close(mean, torch.tensor([0.25] * 4 + [0.5] * 2))
    whole = Sampler(graph, 1, neighbours=29).sample([20, 2])
    assert whole.blocks[0].adjacency.weights is None
    assert whole.scales == [(None, None)]


def test_same_seed_same_samples_and_no_trace_of_earlier_ones() -> None:
    graph = random_graph()
    bounds: dict[str, Any] = {"neighbours": 1, "features_per_node": 1, "nodes_per_feature": 1}
    first, second = Sampler(graph, 2, **bounds, seed=5), Sampler(graph, 2, **bounds, seed=5)
    for _ in range(3):
        one, two = first.sample(SEEDS), second.sample(SEEDS)
        assert torch.equal(one.node_positions[0], two.node_positions[0])
        assert torch.equal(one.feature_positions, two.feature_positions)

    sampler = Sampler(graph, 2)
    alone = sampler.sample(SEEDS)
    sampler.sample([50, 60, 70], fixed_features=True)
    with pytest.raises(ParameterError, match="Seed 3 is given twice"):
        sampler.sample([3, 9, 3])
    again = sampler.sample(SEEDS)
    assert torch.equal(alone.node_positions[0], again.node_positions[0])
    assert torch.equal(alone.feature_positions, again.feature_positions)


def test_a_huge_row_costs_no_more_than_its_bound() -> None:
    size = 300_000
    graph = to_allotropic(
        FeatureGraph.from_arrays(size, 1, (np.arange(size), np.zeros(size, int), np.ones(size)))
    )
    sample = Sampler(graph, 2, nodes_per_feature=10).sample([5])
    assert len(sample.node_positions[0]) in (10, 11)
    assert sample.node_positions[0].max() < size


def test_wrong_arguments_are_named() -> None:
    graph = random_graph()
    with pytest.raises(ParameterError, match="neighbours must give one bound for each of the 2"):
        Sampler(graph, 2, neighbours=[1, 2, 3])
    for name in ("neighbours", "features_per_node", "nodes_per_feature"):
        with pytest.raises(ParameterError, match=f"{name} must be at least 1"):
            Sampler(graph, 2, **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="num_layers must be at least 1"):
        Sampler(graph, 0)
    with pytest.raises(ParameterError, match="reach must not be negative"):
        Sampler(graph, 2, reach=-1)
    with pytest.raises(ParameterError, match=r"dtype must be torch.float32 or torch.float64"):
        Sampler(graph, 2, dtype=torch.int32)
    sampler = Sampler(graph, 2)
    with pytest.raises(ParameterError, match="Seed 120 is no position among the 120 nodes"):
        sampler.sample([0, 120])
    with pytest.raises(ParameterError, match="Seed -1 "):
        sampler.sample([-1])
    with pytest.raises(ParameterError, match="float64"):
        sampler.sample([0.5])


def test_bounds_may_differ_from_layer_to_layer() -> None:
    graph = dense_graph()
    sampler = Sampler(graph, 2, features_per_node=[4, 1], nodes_per_feature=(2, 9))
    first, last = sampler.sample([28, 29, 24]).blocks
    assert int(first.incidence.counts.max()) == 4
    assert int(last.incidence.counts.max()) == 1
    assert first.back_incidence is not None
    assert int(first.back_incidence.counts.max()) == 2
    with pytest.raises(ParameterError, match="features_per_node must give one bound for each"):
        Sampler(graph, 2, features_per_node=[1])
    with pytest.raises(ParameterError, match="nodes_per_feature must be at least 1"):
        Sampler(graph, 2, nodes_per_feature=[1, 0])


def test_a_sample_may_have_a_generator_of_its_own() -> None:
    graph = dense_graph()
    sampler = Sampler(graph, 2, neighbours=3, seed=4)
    drawn = [
        sampler.sample([29, 20], generator=np.random.default_rng(seed)).node_positions[0].tolist()
        for seed in (1, 2, 1)
    ]
    assert drawn[0] == drawn[2]
    assert drawn[0] != drawn[1]
