"""The whole network: what must not change a result, and what must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric import nn as pyg

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.errors import ParameterError
from grafenne.nn import Grafenne, LearnedFeatures, make_features
from grafenne.nn.block import whole_graph_blocks
from grafenne.ops import RandomBits, set_random_bits
from tests.reference import BACKBONES, randomised
from tests.small_graphs import DEGENERATE, permuted, random_graph

WIDTH = 8


def model_for(graph: FeatureGraph, phi: Any = "learned", **options: Any) -> Grafenne:
    """A model in double and in evaluation, with random weights."""
    features = make_features(phi, graph.features, WIDTH)
    return randomised(Grafenne(features, width=WIDTH, **options)).eval()


def run(model: Grafenne, graph: FeatureGraph | AllotropicGraph) -> Tensor:
    return model(graph if isinstance(graph, AllotropicGraph) else to_allotropic(graph)).nodes


OPTIONS: list[dict[str, Any]] = [
    {},
    {"mode": "paper"},
    {"heads": 2, "backbone": "gat", "skip": False},
    {"aggregation": "mean", "normalisation": "batch", "backbone": "gcn"},
    {"aggregation": "sum", "normalisation": "none", "backbone": "gin"},
    {"num_layers": 3, "backbone": "graph", "feature_edges": True},
    {"num_layers": 1},
    {"backbone": pyg.SAGEConv},
    {"reach": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("values", ["binary", "continuous"])
def test_the_order_of_nodes_features_and_edges_means_nothing(
    options: dict[str, Any], values: str
) -> None:
    graph = random_graph(1, nodes=12, features=8, values=values, weighted=True, feature_edges=True)
    model = model_for(graph, **options)
    expected = run(model, graph)
    for seed in range(3):
        moved, order = permuted(graph, seed)
        torch.testing.assert_close(run(model, moved), expected[order.copy()])


@pytest.mark.parametrize("phi", ["learned", "name", "structural"])
def test_order_means_nothing_to_any_embedding(phi: str) -> None:
    graph = random_graph(2, nodes=12, features=8, directed=True)
    model = model_for(graph, phi)
    expected = run(model, graph)
    moved, order = permuted(graph, 5)
    tolerance = 1e-3 if phi == "structural" else 1e-8  # its sketches are in single precision
    torch.testing.assert_close(run(model, moved), expected[order], rtol=0.0, atol=tolerance)


def test_nodes_differ() -> None:
    """Or the tests above would show nothing."""
    graph = random_graph(1, nodes=12, features=8)
    result = run(model_for(graph), graph)
    apart = torch.cdist(result, result) + torch.eye(12).double()
    assert apart.min() > 1e-3


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_two_evaluations_are_equal_to_the_bit(options: dict[str, Any]) -> None:
    graph = random_graph(3, nodes=20, features=10)
    model = model_for(graph, **options).float()
    first = run(model, graph)
    assert torch.equal(first, run(model, graph))
    assert torch.equal(first, run(model, to_allotropic(graph)))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("training", [False, True])
def test_degenerate_graphs_give_finite_results(options: dict[str, Any], training: bool) -> None:
    for graph in DEGENERATE.values():
        model = model_for(graph, **options).train(training)
        result = run(model, graph)
        result.sum().backward()
        assert result.shape == (graph.num_nodes, model.output_width)
        assert result.isfinite().all()
        assert all(w.grad is None or w.grad.isfinite().all() for w in model.parameters())


@pytest.mark.parametrize("phi", ["learned", "name"])
@pytest.mark.parametrize("normalisation", ["layer", "batch", "none"])
def test_a_prediction_does_not_depend_on_who_else_is_there(phi: str, normalisation: str) -> None:
    """Two graphs without a common feature or edge, alone and side by side."""
    binary = random_graph(4, values="binary")
    values = random_graph(5, values="continuous")
    both = FeatureGraph.from_arrays(
        12,
        [*(f"f{i}" for i in range(5)), *(f"g{i}" for i in range(5))],
        (
            np.concatenate((binary.values.rows, values.values.rows + 6)),
            np.concatenate((binary.values.indices, values.values.indices + 5)),
            np.concatenate((binary.values.data, values.values.data)),
        ),
        (
            np.concatenate((binary.edges.sources, values.edges.sources + 6)),
            np.concatenate((binary.edges.targets, values.edges.targets + 6)),
        ),
    )
    model = model_for(both, phi, normalisation=normalisation)
    model.train()
    for _ in range(3):  # moves the running statistics
        run(model, both)
    model.eval()
    together = run(model, both)
    torch.testing.assert_close(run(model, binary), together[:6])
    torch.testing.assert_close(run(model, both.subgraph_at(np.arange(6, 12))), together[6:])
    torch.testing.assert_close(run(model, both.subgraph_at(np.arange(5))), together[:5])


def test_hidden_triples_are_as_good_as_absent() -> None:
    graph = random_graph(6, nodes=10)
    shown = np.arange(graph.num_values) % 3 > 0
    fewer = graph.replace(values=graph.values.take(shown))
    for options in OPTIONS:
        model = model_for(graph, **options)
        masked = model(to_allotropic(graph), torch.from_numpy(shown).double())
        torch.testing.assert_close(masked.nodes, run(model, fewer))


def test_feature_edges_change_results_only_if_wanted() -> None:
    linked = random_graph(7, feature_edges=True)
    plain = random_graph(7)
    using = model_for(linked, feature_edges=True)
    assert not torch.allclose(run(using, linked), run(using, plain))
    ignoring = model_for(linked, feature_edges=False)
    assert torch.equal(run(ignoring, linked), run(ignoring, plain))


def test_a_learned_model_meets_more_features_in_another_order() -> None:
    """New names that nobody has change nothing; the known ones are found by name."""
    graph = random_graph(8, nodes=9)
    moved, order = permuted(graph, 3)
    larger = FeatureGraph.from_arrays(
        list(moved.nodes),
        ["brand new", *moved.features],
        (moved.values.rows, moved.values.indices + 1, moved.values.data),
        (moved.edges.sources, moved.edges.targets),
    )
    model = model_for(graph)
    torch.testing.assert_close(run(model, larger), run(model, graph)[order])


def test_fixed_feature_states_of_the_same_graph_give_the_same_result() -> None:
    graph = to_allotropic(random_graph(9, nodes=10, feature_edges=True))
    for options in OPTIONS:
        model = model_for(random_graph(9, nodes=10), **options)
        full = model(graph)
        assert len(full.feature_states) == model.num_layers
        blocks = whole_graph_blocks(graph, model.num_blocks, torch.double)
        fixed = model.encode_fixed(blocks, model.states_of_blocks(full.feature_states))
        torch.testing.assert_close(fixed, full.nodes)


def test_training_drops_by_the_stream_it_is_given() -> None:
    graph = to_allotropic(random_graph(10, nodes=10))
    model = model_for(random_graph(10, nodes=10), dropout=0.5, feature_dropout=0.5).train()
    results = []
    for seed in (1, 1, 2):
        set_random_bits(model, RandomBits(seed))
        results.append(model(graph).nodes)
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_feature_dropout_hides_whole_triples_in_every_layer() -> None:
    graph = to_allotropic(random_graph(11, nodes=10))
    model = model_for(random_graph(11, nodes=10), dropout=0.0, feature_dropout=0.5).train()
    set_random_bits(model, RandomBits(4))
    trained = model(graph).nodes
    keep = RandomBits(4).keep(graph.incidence.num_entries, 0.5).double() * 2
    assert 0 < keep.sum() < len(keep)
    torch.testing.assert_close(trained, model.eval()(graph, keep).nodes)


@pytest.mark.parametrize("skip", [False, True])
def test_the_embedding_joins_phase_one_and_every_layer(skip: bool) -> None:
    graph = random_graph(12)
    model = model_for(graph, num_layers=3, skip=skip)
    assert model.output_width == (4 * WIDTH if skip else WIDTH)
    assert run(model, graph).shape == (graph.num_nodes, model.output_width)
    parts = model_for(graph, num_layers=3, skip=True)
    torch.testing.assert_close(run(model, graph)[:, -WIDTH:], run(parts, graph)[:, -WIDTH:])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_all_weights_but_the_receivers_are_trained(backbone: str) -> None:
    graph = random_graph(13, nodes=12, features=8)
    for mode in ("value", "paper"):
        model = model_for(graph, mode=mode, backbone=backbone, heads=2)
        run(model, graph).square().sum().backward()
        silent = {name for name, weight in model.named_parameters() if weight.grad is None}
        assert all(name.endswith("attention.receiver.weight") for name in silent)


def test_every_layer_has_its_own_copy_of_a_given_instance() -> None:
    graph = random_graph(14)
    given = pyg.GCNConv(WIDTH, WIDTH)
    model = Grafenne(LearnedFeatures(graph.features, WIDTH), width=WIDTH, backbone=given)
    layers = [layer.node_to_node.convolution.layer for layer in model.layers]
    assert layers[0] is given
    assert layers[1] is not given
    with torch.no_grad():
        given.lin.weight.zero_()
    assert layers[1].lin.weight.abs().sum() > 0


def test_reset_parameters_makes_another_model() -> None:
    graph = random_graph(15)
    model = model_for(graph)
    before = run(model, graph)
    model.reset_parameters()
    assert not torch.allclose(before, run(model, graph))
    assert model.dtype == torch.double


def test_at_least_one_layer() -> None:
    with pytest.raises(ParameterError, match="num_layers must be at least 1, got 0"):
        Grafenne(LearnedFeatures(["a"], WIDTH), width=WIDTH, num_layers=0)
