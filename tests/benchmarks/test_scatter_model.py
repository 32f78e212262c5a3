"""Ours and PyG's gather-and-scatter are the same function of the same weights."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor

from benchmarks.scatter_model import ScatterGrafenne
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.errors import ParameterError
from grafenne.nn import LearnedFeatures
from grafenne.nn.model import Grafenne
from tests.small_graphs import DEGENERATE, VALUE_KINDS, random_graph


def build(graph: AllotropicGraph, **settings: object) -> Grafenne:
    """Weights in double precision, none of them zero: scores start at zero otherwise."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        features = LearnedFeatures(graph.features, 8)
        model = Grafenne(features, width=8, **settings).double()  # type: ignore[arg-type]
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return model.eval()


def outcome(
    model: torch.nn.Module, graph: AllotropicGraph, keep: Tensor | None
) -> tuple[Tensor, list[Tensor], dict[str, Tensor]]:
    """Node embeddings, feature states, and gradients of a loss that all of them take part in."""
    encoded = model(graph, keep)
    weights = torch.linspace(-1, 1, encoded.nodes.numel(), dtype=torch.float64)
    loss = (encoded.nodes.flatten() * weights).sum()
    loss = loss + sum((state.square().sum() for state in encoded.feature_states), torch.tensor(0.0))
    loss.backward()
    gradients = {
        name.removeprefix("model."): parameter.grad
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return encoded.nodes, encoded.feature_states, gradients


def assert_same(model: Grafenne, graph: AllotropicGraph, keep: Tensor | None = None) -> None:
    ours = outcome(model, graph, keep)
    theirs = outcome(ScatterGrafenne(deepcopy(model)), graph, keep)
    torch.testing.assert_close(theirs[0], ours[0])
    torch.testing.assert_close(theirs[1], ours[1])
    for name, gradient in theirs[2].items():
        torch.testing.assert_close(gradient, ours[2][name], msg=lambda text, n=name: f"{n}: {text}")
    # Where a message takes no part, one side may have no gradient and the other a zero.
    for name in ours[2].keys() - theirs[2].keys():
        assert not ours[2][name].any(), name


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("values", VALUE_KINDS)
def test_equal_in_values_and_gradients(values: str, heads: int) -> None:
    graph = to_allotropic(random_graph(1, nodes=12, features=7, values=values))
    assert_same(build(graph, heads=heads), graph)


@pytest.mark.parametrize("values", ["binary", "continuous"])
def test_equal_with_hidden_triples(values: str) -> None:
    graph = to_allotropic(random_graph(2, nodes=12, features=7, values=values))
    keep = torch.full((graph.incidence.num_entries,), 2.5, dtype=torch.float64)  # as dropout does
    keep[::3] = 0
    keep[1::5] = 1  # as shown labels have it
    keep[graph.incidence.rows == 4] = 0  # a node that shows nothing at all
    assert_same(build(graph), graph, keep)


@pytest.mark.parametrize("layers", [1, 3])
def test_equal_for_weighted_directed_edges(layers: int) -> None:
    graph = to_allotropic(random_graph(3, nodes=9, directed=True, weighted=True), direction="in")
    assert_same(build(graph, num_layers=layers, skip=False), graph)


@pytest.mark.parametrize("name", ["no edges", "featureless node", "unused feature", "one node"])
def test_equal_for_degenerate_graphs(name: str) -> None:
    graph = to_allotropic(DEGENERATE[name])
    assert_same(build(graph), graph)


def test_refuses_settings_it_does_not_have() -> None:
    graph = to_allotropic(random_graph())
    with pytest.raises(ParameterError, match="sage"):
        ScatterGrafenne(build(graph, backbone="gcn"))
    with pytest.raises(ParameterError, match="value"):
        ScatterGrafenne(build(graph, mode="paper"))
