"""Samples without bounds give the result of a full pass, values and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.sampling import Sampler
from tests.sampling.cases import CASES, SEEDS, encode, make_model, random_graph


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("continuous", [False, True], ids=["binary", "continuous"])
def test_without_bounds_equals_a_full_pass(options: dict[str, Any], continuous: bool) -> None:
    graph = random_graph(continuous=continuous)
    model = make_model(graph, **options)
    reach = options.get("reach", 0)
    sample = Sampler(graph, model.num_layers, reach=reach, dtype=torch.float64).sample(SEEDS)
    assert len(sample.blocks) == model.num_blocks
    assert reach or len(sample.node_positions[0]) < graph.num_nodes
    torch.testing.assert_close(
        encode(model, graph, sample), model(graph).nodes[SEEDS], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("backbone", ["sage", "gcn", "graph"])
@pytest.mark.parametrize("directed", [False, True])
def test_weights_direction_and_feature_edges_are_exact(backbone: str, directed: bool) -> None:
    graph = random_graph(weighted=True, directed=directed, linked=True)
    model = make_model(graph, backbone=backbone, num_layers=3, feature_edges=True)
    sampler = Sampler(graph, 3, dtype=torch.float64)
    sample = sampler.sample(torch.from_numpy(SEEDS))
    result = encode(model, graph, sample)
    torch.testing.assert_close(result, model(graph).nodes[SEEDS], rtol=1e-12, atol=1e-12)
    without = Sampler(graph, 3, dtype=torch.float64, feature_edges=False).sample(SEEDS)
    assert not torch.allclose(encode(model, graph, without), result)


def test_single_precision_is_close() -> None:
    graph = random_graph()
    model = make_model(graph, torch.float32)
    sample = Sampler(graph, 2).sample(SEEDS)
    torch.testing.assert_close(encode(model, graph, sample), model(graph).nodes[SEEDS])


@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_gradients_equal_those_of_a_full_pass(backbone: str) -> None:
    graph = random_graph()
    model = make_model(graph, backbone=backbone)
    model(graph).nodes[SEEDS].square().sum().backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad()
    sample = Sampler(graph, 2, dtype=torch.float64).sample(SEEDS)
    encode(model, graph, sample).square().sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-10, atol=1e-10)


def test_masks_over_all_triples_reach_the_blocks() -> None:
    graph = random_graph()
    model = make_model(graph)
    keep = (torch.arange(graph.incidence.num_entries) % 3 > 0).double()
    sample = Sampler(graph, 2, dtype=torch.float64).sample(SEEDS)
    masked = encode(model, graph, sample, keep=keep)
    torch.testing.assert_close(masked, model(graph, keep).nodes[SEEDS], rtol=1e-12, atol=1e-12)
    assert not torch.allclose(masked, model(graph).nodes[SEEDS])


@pytest.mark.parametrize(
    "graph",
    [
        FeatureGraph.from_arrays(1, 0),
        FeatureGraph.from_arrays(3, 2, edges=([0, 1], [1, 2])),
        FeatureGraph.from_arrays(3, 2, ([0, 2], [1, 1], [1.0, 1.0])),
        FeatureGraph.from_arrays(3, 4, ([0], [2], [0.0]), ([0, 1, 2], [0, 1, 1])),
    ],
    ids=["one node", "no values", "no edges", "loops and a zero"],
)
@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_degenerate_graphs(graph: FeatureGraph, backbone: str) -> None:
    allotropic = to_allotropic(graph)
    model = make_model(allotropic, backbone=backbone)
    sampler = Sampler(allotropic, 2, dtype=torch.float64)
    for node in range(graph.num_nodes):
        torch.testing.assert_close(
            encode(model, allotropic, sampler.sample([node])),
            model(allotropic).nodes[node : node + 1],
        )


def test_fixed_feature_states_need_only_the_neighbourhood() -> None:
    graph = random_graph()
    model = make_model(graph, num_layers=3)
    full = model(graph)
    sample = Sampler(graph, 3, dtype=torch.float64).sample(SEEDS, fixed_features=True)

    hops = set(SEEDS.tolist())
    adjacency = graph.adjacency.pattern
    for _ in range(3):
        hops |= {
            int(sender)
            for node in list(hops)
            for sender in adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]
        }
    assert set(sample.node_positions[0].tolist()) == hops
    assert all(block.back_incidence is None for block in sample.blocks)

    states = [
        state[places]
        for state, places in zip(
            full.feature_states, sample.feature_positions_per_layer, strict=True
        )
    ]
    nodes = model.encode_fixed(sample.blocks, states)
    torch.testing.assert_close(nodes, full.nodes[SEEDS], rtol=1e-12, atol=1e-12)
