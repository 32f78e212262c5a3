"""One layer: the three phases in turn, each followed by a normalisation and ReLU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grafenne.allotrope import to_allotropic
from grafenne.errors import UnknownNameError
from grafenne.nn import GrafenneLayer
from grafenne.nn.block import whole_graph_blocks
from grafenne.nn.layer import make_norm
from grafenne.ops import RandomBits, set_random_bits
from tests.reference import (
    BACKBONES,
    PHASES,
    adjacency_edges,
    assert_same,
    draw,
    edges_of,
    feature_neighbours,
    randomised,
)
from tests.small_graphs import random_graph

WIDTH = 8


def layer_norm(norm: Any, states: Tensor) -> Tensor:
    rows = []
    for row in states:
        spread = ((row - row.mean()) ** 2).mean()
        rows.append((row - row.mean()) / (spread + norm.eps) ** 0.5 * norm.weight + norm.bias)
    return torch.stack(rows)


@pytest.mark.parametrize("mode", ["paper", "value"])
@pytest.mark.parametrize("backbone", ["sage", "gat", "gin"])
def test_equals_the_loops_of_all_three_phases(mode: str, backbone: str) -> None:
    graph = to_allotropic(random_graph(3, nodes=5, features=4, weighted=True, feature_edges=True))
    block = whole_graph_blocks(graph, 1, torch.double, last_phase3=True)[0]
    layer = randomised(
        GrafenneLayer(WIDTH, mode=mode, backbone=backbone, heads=2, feature_edges=True)
    )
    nodes, features = draw(5, WIDTH, seed=1), draw(4, WIDTH, seed=2)
    keep = (torch.arange(len(graph.values)) % 4 > 0).double()
    hidden = block.keep_of(keep)
    links = adjacency_edges(graph.feature_adjacency)

    def fast() -> Tensor:
        return torch.cat(layer(block, nodes, features, *hidden))

    def slow() -> Tensor:
        phase = PHASES[mode]
        edges = edges_of(graph.incidence, graph.values, keep)
        back = [(u, v, e) for v, u, e in edges]
        gathered = phase(layer.feature_to_node, edges, features, nodes, 5)
        gathered = layer_norm(layer.gathered_norm, gathered).relu()
        neighbours = adjacency_edges(graph.adjacency)
        passed = BACKBONES[backbone](layer.node_to_node.convolution, neighbours, gathered)
        passed = layer_norm(layer.node_norm, passed).relu()
        updated = phase(layer.node_to_feature, back, passed, features, 4)
        updated = updated + feature_neighbours(layer.node_to_feature, links, features)
        return torch.cat((gathered, passed, layer_norm(layer.feature_norm, updated).relu()))

    for states in layer(block, nodes, features, *hidden):  # all are alive, or nothing is shown
        assert (states.std(dim=0) > 1e-3).sum() >= 2
    assert_same(fast, slow, [nodes, features, *layer.parameters()])


def test_the_first_layer_starts_from_nothing_and_the_last_leaves_features_alone() -> None:
    graph = to_allotropic(random_graph(4))
    first_block, last_block = whole_graph_blocks(graph, 2, torch.double)
    features = draw(graph.num_features, WIDTH)
    first = randomised(GrafenneLayer(WIDTH, first=True))
    out = first(first_block, None, features)
    assert first.feature_to_node.combine.own is None
    assert out.features.shape == (graph.num_features, WIDTH)
    last = randomised(GrafenneLayer(WIDTH, last=True))
    end = last(last_block, out.nodes, out.features)
    assert end.features is None
    assert end.nodes.shape == (graph.num_nodes, WIDTH)
    assert last.node_to_feature is None


def test_zero_states_are_the_same_as_none() -> None:
    """The paper starts every node at the zero vector."""
    graph = to_allotropic(random_graph(5))
    block = whole_graph_blocks(graph, 1, torch.double, last_phase3=True)[0]
    features, zeros = draw(graph.num_features, WIDTH), torch.zeros(graph.num_nodes, WIDTH).double()
    for mode in ("paper", "value"):
        layer = randomised(GrafenneLayer(WIDTH, mode=mode))
        for mine, other in zip(
            layer(block, None, features), layer(block, zeros, features), strict=True
        ):
            torch.testing.assert_close(mine, other)


def test_dropout_stands_before_phase_two_and_only_in_training() -> None:
    graph = to_allotropic(random_graph(6))
    block = whole_graph_blocks(graph, 1, torch.double)[0]
    layer = randomised(GrafenneLayer(WIDTH, last=True, first=True, dropout=0.5))
    set_random_bits(layer, RandomBits(0))
    features = draw(graph.num_features, WIDTH)
    trained = [layer(block, None, features) for _ in range(2)]
    assert torch.equal(trained[0].gathered, trained[1].gathered)
    assert not torch.equal(trained[0].nodes, trained[1].nodes)
    layer.eval()
    judged = [layer(block, None, features) for _ in range(2)]
    assert torch.equal(judged[0].nodes, judged[1].nodes)


def test_normalisations() -> None:
    assert isinstance(make_norm("layer", 3), nn.LayerNorm)
    assert isinstance(make_norm("batch", 3), nn.BatchNorm1d)
    assert isinstance(make_norm("none", 3), nn.Identity)
    with pytest.raises(UnknownNameError, match=r"normalisation 'bacth'.+mean 'batch'"):
        make_norm("bacth", 3)


def test_batch_norm_in_training_and_in_evaluation() -> None:
    norm = make_norm("batch", 2)
    states = torch.tensor([[0.0, 10.0], [2.0, 30.0]])
    torch.testing.assert_close(norm(states), torch.tensor([[-1.0, -1.0], [1.0, 1.0]]))
    # Running statistics move a tenth of the way; the variance is the unbiased one.
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.1, 2.0]))
    torch.testing.assert_close(norm.running_var, torch.tensor([1.1, 20.9]))
    norm.eval()
    alone, among = norm(states[:1]), norm(states)[:1]
    assert torch.equal(alone, among)
    torch.testing.assert_close(
        alone, torch.tensor([[-0.1, 8.0]]) / torch.tensor([1.1, 20.9]) ** 0.5
    )


def test_batch_norm_takes_a_batch_of_one_and_of_none_in_training() -> None:
    norm = make_norm("batch", 2)
    one = torch.tensor([[3.0, 4.0]])
    torch.testing.assert_close(norm(one), one, rtol=1e-4, atol=1e-4)
    assert norm(one[:0]).shape == (0, 2)
    assert torch.equal(norm.running_mean, torch.zeros(2))


def test_reset_parameters_reaches_every_part() -> None:
    torch.manual_seed(0)
    layer = GrafenneLayer(WIDTH, normalisation="batch")
    randomised(layer)
    before = {name: weight.clone() for name, weight in layer.named_parameters()}
    layer.reset_parameters()
    same = {name for name, weight in layer.named_parameters() if torch.equal(weight, before[name])}
    assert not same
    assert torch.equal(layer.node_norm.weight, torch.ones(WIDTH).double())
