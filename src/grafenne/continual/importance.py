"""How important each parameter is for nodes that a change left alone (paper, appendix).

Importance is the mean over nodes of the *per-node* squared gradient of the loss. It is not the
square of the mean gradient, in which the nodes' gradients cancel: at the end of training that
would be close to zero for every parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.fixed_states import FixedStates

if TYPE_CHECKING:
    from grafenne.allotrope import AllotropicGraph
    from grafenne.training.node_objective import NodeNetwork, NodeTask

Importance = dict[str, Tensor]
"""One number, at least 0, for each number in the parameter of that name."""


def mean_squared_gradients(
    losses: Iterable[Tensor], parameters: Mapping[str, Tensor]
) -> Importance:
    r"""The mean of the squared gradients, :math:`\frac1n \sum_v (\partial L(v)/\partial\Theta)^2`.

    One backward pass for each loss. Losses may share one forward pass, which is then done only
    once. (Batched gradients would do the same work in one sparse product with more columns; on
    Cora and one core they took 0.85 s for 25 nodes, and this loop 0.42 s.)

    Args:
        losses: One scalar per node.
        parameters: What to differentiate by; one without influence on a loss (the paper's W1
            and W7, which the softmax cancels) has importance zero.
    """
    total = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
    tensors = list(parameters.values())
    count = 0
    for loss in losses:
        gradients = torch.autograd.grad(loss, tensors, retain_graph=True, allow_unused=True)
        for summed, gradient in zip(total.values(), gradients, strict=True):
            if gradient is not None:
                summed.addcmul_(gradient, gradient)
        count += 1
    return {name: summed / max(count, 1) for name, summed in total.items()}


def exact_losses(
    network: NodeNetwork,
    graph: AllotropicGraph,
    task: NodeTask,
    targets: Tensor,
    nodes: NDArray[np.int64],
    first_label: int,
) -> Iterator[Tensor]:
    """The loss of each node, from one full pass in evaluation mode.

    Args:
        network: The network.
        graph: The graph, with label triples where labels are features.
        task: Gives the loss.
        targets: Target of each node of the graph.
        nodes: Positions of the nodes; the labels that they show are hidden from all of them.
        first_label: Position of the first feature that is a label.
    """
    network.eval()
    keep = _without_labels(graph, nodes, first_label, network.encoder.dtype)
    asked = torch.tensor(nodes)
    outputs = network(graph, keep)[asked]
    return _each(task.loss, outputs, targets[asked])


def fixed_losses(
    fixed: FixedStates, task: NodeTask, targets: Tensor, nodes: NDArray[np.int64]
) -> Iterator[Tensor]:
    """The loss of each node with the features' states held: an approximation.

    A node then costs a pass over its own neighbourhood, forward and backward, instead of a pass
    over the graph. Parameters get no credit for how they make the features' later states.
    """
    fixed.network.eval()
    for node in nodes:
        asked = np.array([node], dtype=np.int64)
        yield task.loss(fixed.outputs(fixed.sample(asked)), targets[torch.tensor(asked)])


def _each(
    loss: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor
) -> Iterator[Tensor]:
    for row in range(len(targets)):
        yield loss(outputs[row : row + 1], targets[row : row + 1])


def _without_labels(
    graph: AllotropicGraph, nodes: NDArray[np.int64], first_label: int, dtype: torch.dtype
) -> Tensor | None:
    """A mask over the triples that hides the labels of these nodes; ``None`` if they show none."""
    if first_label >= graph.num_features:
        return None
    asking = torch.zeros(graph.num_nodes, dtype=torch.bool, device=graph.incidence.device)
    asking[torch.tensor(nodes)] = True
    incidence = graph.incidence
    hidden = (incidence.indices >= first_label) & asking[incidence.rows.long()]
    return (~hidden).to(dtype)
