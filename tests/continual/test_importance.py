from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from grafenne import to_allotropic
from grafenne.continual.fixed_states import FixedStates
from grafenne.continual.importance import exact_losses, fixed_losses, mean_squared_gradients
from tests.continual.cases import fitted, small_graph

NODES = np.array([2, 3, 7, 8])


def parts(**settings: Any) -> tuple[Any, ...]:
    graph, model = small_graph(), fitted(**settings)
    network = model.network_.double()
    return network, to_allotropic(graph), model.task_, model.task_.targets(graph)


def one_pass_each(network: Any, graph: Any, task: Any, targets: Any) -> dict[str, torch.Tensor]:
    """The definition: a forward and a backward pass for each node."""
    total = {name: torch.zeros_like(tensor) for name, tensor in network.named_parameters()}
    for node in NODES:
        network.eval().zero_grad()
        task.loss(network(graph)[node : node + 1], targets[node : node + 1]).backward()
        for name, tensor in network.named_parameters():
            if tensor.grad is not None:
                total[name] += tensor.grad**2 / len(NODES)
    network.zero_grad()
    return total


@pytest.mark.parametrize("mode", ["value", "paper"])
def test_equals_a_pass_for_each_node(mode: str) -> None:
    network, graph, task, targets = parts(mode=mode)
    losses = exact_losses(network, graph, task, targets, NODES, graph.num_features)
    importance = mean_squared_gradients(losses, dict(network.named_parameters()))
    expected = one_pass_each(network, graph, task, targets)
    assert importance.keys() == expected.keys()
    for name, tensor in importance.items():
        torch.testing.assert_close(tensor, expected[name])
        # The softmax cancels the receiver's term, so its weights cannot matter.
        if "attention.receiver" in name:
            assert not tensor.any()
    assert all(importance[name].any() for name in ("head.weight", "encoder.features.weight"))


def test_equals_the_fisher_of_logistic_regression() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    y = torch.tensor([0, 1, 1, 0, 2, 2])
    model = nn.Linear(3, 3).double()
    losses = functional.cross_entropy(model(x), y, reduction="none")
    importance = mean_squared_gradients(losses, dict(model.named_parameters()))
    # The gradient of the loss of a node is (p - y) xᵀ for the weights, and p - y for the bias.
    error = torch.softmax(model(x), dim=1).detach() - functional.one_hot(y).double()
    torch.testing.assert_close(importance["weight"], (error**2).T @ (x**2) / 6)
    torch.testing.assert_close(importance["bias"], (error**2).mean(dim=0))


def test_gradients_that_cancel_still_count() -> None:
    weight = torch.tensor([2.0], requires_grad=True)
    importance = mean_squared_gradients([3 * weight.sum(), -3 * weight.sum()], {"weight": weight})
    assert importance["weight"].tolist() == [9.0]


def test_no_nodes_make_nothing_important() -> None:
    assert mean_squared_gradients([], {"weight": torch.ones(2)})["weight"].tolist() == [0, 0]


@pytest.mark.parametrize("layers", [1, 2])
def test_fixed_states(layers: int) -> None:
    """With one layer there is nothing to hold; with two only the way through phase 3 is cut."""
    network, graph, task, targets = parts(num_layers=layers)
    named = dict(network.named_parameters())
    first_label = graph.num_features
    exact = mean_squared_gradients(
        exact_losses(network, graph, task, targets, NODES, first_label), named
    )
    states = FixedStates(network, graph, first_label)
    fixed = mean_squared_gradients(fixed_losses(states, task, targets, NODES), named)
    for name in named:
        if layers == 1 or name.startswith("head"):
            torch.testing.assert_close(fixed[name], exact[name])
        elif "node_to_feature" in name:
            assert not fixed[name].any()
    if layers == 2:
        last = next(name for name in named if name.startswith("encoder.layers.1.node_to_node"))
        torch.testing.assert_close(fixed[last], exact[last])
