"""The paper's equations, written down slowly: a loop over receivers and a loop over their edges.

Nothing is simplified: every edge builds its concatenated vector, every softmax is a sum of
exponentials. The weights are those of the fast modules, so values and gradients can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, relu

from grafenne.ops import Adjacency, SparsePattern

Edge = tuple[int, int, float]  # receiver, sender, value or weight


def edges_of(
    pattern: SparsePattern, values: Tensor | None = None, keep: Tensor | None = None
) -> list[Edge]:
    """The entries of a pattern one by one; those that are not kept are simply not there."""
    numbers = [1.0] * pattern.num_entries if values is None else values.tolist()
    listed = list(zip(pattern.rows.tolist(), pattern.indices.tolist(), numbers, strict=True))
    return listed if keep is None else [e for e, k in zip(listed, keep, strict=True) if k]


def adjacency_edges(adjacency: Adjacency) -> list[Edge]:
    """The edges of an adjacency one by one."""
    return edges_of(adjacency.pattern, adjacency.weights)


def softmax(scores: list[Tensor]) -> list[Tensor]:
    """exp(score) over the sum of all exp(score)."""
    raised = [score.exp() for score in scores]
    total = sum(raised)
    return [each / total for each in raised]


def shares(aggregation: str, scores: list[Tensor]) -> list[Any]:
    """The weight of each message."""
    if aggregation == "attention":
        return softmax(scores)
    return [1 / len(scores) if aggregation == "mean" else 1.0 for _ in scores]


def rows(results: list[Tensor], width: int, like: Tensor) -> Tensor:
    return torch.stack(results) if results else like.new_zeros(0, width)


# ---- phases 1 and 3 --------------------------------------------------------------------------


def printed_message(attention: Any, receiver: Tensor | None, sender: Tensor, e: float) -> Tensor:
    """LeakyReLU(W1 h_v ‖ W2 h_u ‖ w3 e_uv); W1 h_v is zero for a receiver without a state."""
    own = sender.new_zeros(attention.width) if receiver is None else attention.receiver(receiver)
    return leaky_relu(torch.cat((own, attention.sender(sender), attention.value * e)), 0.2)


def printed_phase(
    phase: Any, edges: list[Edge], senders: Tensor, receivers: Tensor | None, count: int
) -> Tensor:
    """Section "Specifics" as printed; weights 1 to 6 in phase 1, 7 to 12 in phase 3."""
    attention, combine = phase.attention, phase.combine
    width, part = attention.width, attention.width // attention.heads
    results = []
    for v in range(count):
        receiver = None if receivers is None else receivers[v]
        mine = [(u, e) for receiver_of_edge, u, e in edges if receiver_of_edge == v]
        messages = [printed_message(attention, receiver, senders[u], e) for u, e in mine]
        gathered = []
        for head in range(attention.heads):
            # A head owns the same columns of W1, W2, w3 and W6, and their places in w4.
            columns = torch.arange(head * part, (head + 1) * part)
            places = torch.cat((columns, width + columns, 2 * width + columns))
            scores = [attention.score[places] @ message[places] for message in messages]
            total = senders.new_zeros(part)
            for alpha, (u, _) in zip(shares(attention.aggregation, scores), mine, strict=True):
                total = total + alpha * (attention.message.weight[columns] @ senders[u])
            gathered.append(total)
        own = senders.new_zeros(width) if receiver is None else combine.own.weight @ receiver
        hidden = relu(combine.hidden.weight @ torch.cat((own, *gathered)) + combine.hidden.bias)
        results.append(combine.output.weight @ hidden + combine.output.bias)
    return rows(results, width, senders)


def value_phase(
    phase: Any, edges: list[Edge], senders: Tensor, receivers: Tensor | None, count: int
) -> Tensor:
    """The value-aware mode: messages W h_u + (e - 1) S h_u, scores from h_u and e."""
    attention, combine = phase.attention, phase.combine
    width, part = attention.width, attention.width // attention.heads
    results = []
    for v in range(count):
        mine = [(u, e) for receiver_of_edge, u, e in edges if receiver_of_edge == v]
        gathered = []
        for head in range(attention.heads):
            columns = slice(head * part, (head + 1) * part)
            scores = [senders.new_zeros(())] * len(mine)
            if attention.aggregation == "attention":
                rises, falls = attention.value_score[head]
                scores = [
                    attention.score.weight[head] @ senders[u] + (rises * e if e > 0 else falls * -e)
                    for u, e in mine
                ]
            total = senders.new_zeros(part)
            for alpha, (u, e) in zip(shares(attention.aggregation, scores), mine, strict=True):
                message = attention.message.weight[columns] @ senders[u]
                slope = attention.slope.weight[columns] @ senders[u]
                total = total + alpha * (message + (e - 1) * slope)
            gathered.append(total)
        result = torch.cat(gathered)
        if attention.aggregation == "attention":
            size = math.log(1 + len(mine))
            result = result * (1 + size * attention.count_scale) + size * attention.count_shift
        result = result + combine.bias
        if receivers is not None:
            result = result + combine.own.weight @ receivers[v]
        results.append(result)
    return rows(results, width, senders)


def feature_neighbours(phase: Any, edges: list[Edge], features: Tensor) -> Tensor:
    """W_f times the mean of the neighbouring features' states, weighted by |weight|."""
    results = []
    for u in range(len(features)):
        mine = [(other, weight) for receiver, other, weight in edges if receiver == u]
        total = sum((features[other] * weight for other, weight in mine), 0 * features[u])
        norm = sum(abs(weight) for _, weight in mine) or 1.0
        results.append(phase.neighbour.weight @ (total / norm))
    return rows(results, features.shape[1], features)


# ---- phase 2 ---------------------------------------------------------------------------------


def sage(layer: Any, edges: list[Edge], nodes: Tensor) -> Tensor:
    results = []
    for v in range(len(nodes)):
        mine = [(u, weight) for receiver, u, weight in edges if receiver == v]
        total = sum((nodes[u] * weight for u, weight in mine), 0 * nodes[v])
        mean = total / (sum(abs(weight) for _, weight in mine) or 1.0)
        own = layer.own.weight @ nodes[v] + layer.own.bias
        results.append(own + layer.neighbour.weight @ mean)
    return rows(results, layer.own.out_features, nodes)


def gcn(layer: Any, edges: list[Edge], nodes: Tensor) -> Tensor:
    looped = edges + [(v, v, 1.0) for v in range(len(nodes))]
    degree = [sum(w for receiver, _, w in looped if receiver == v) for v in range(len(nodes))]
    results = []
    for v in range(len(nodes)):
        total = 0 * nodes[v]
        for receiver, u, weight in looped:
            if receiver == v and degree[u] > 0 and degree[v] > 0:
                total = total + nodes[u] * weight / (degree[u] * degree[v]) ** 0.5
        results.append(layer.linear.weight @ total + layer.linear.bias)
    return rows(results, layer.linear.out_features, nodes)


def gin(layer: Any, edges: list[Edge], nodes: Tensor) -> Tensor:
    results = []
    for v in range(len(nodes)):
        total = (1 + layer.epsilon) * nodes[v]
        for receiver, u, weight in edges:
            if receiver == v:
                total = total + weight * nodes[u]
        hidden = relu(layer.hidden.weight @ total + layer.hidden.bias)
        results.append(layer.output.weight @ hidden + layer.output.bias)
    return rows(results, layer.output.out_features, nodes)


def graph(layer: Any, edges: list[Edge], nodes: Tensor) -> Tensor:
    results = []
    for v in range(len(nodes)):
        total = layer.own.weight @ nodes[v] + layer.own.bias
        for receiver, u, weight in edges:
            if receiver == v:
                total = total + weight * (layer.neighbour.weight @ nodes[u])
        results.append(total)
    return rows(results, layer.own.out_features, nodes)


def gat(layer: Any, edges: list[Edge], nodes: Tensor) -> Tensor:
    results = []
    for v in range(len(nodes)):
        mine = sorted({u for receiver, u, weight in edges if receiver == v and weight} | {v})
        gathered = []
        for head in range(layer.heads):
            weight = layer.linear.weight[head * layer.part : (head + 1) * layer.part]
            scores = [
                leaky_relu(
                    layer.receiver[head] @ (weight @ nodes[v])
                    + layer.sender[head] @ (weight @ nodes[u]),
                    0.2,
                )
                for u in mine
            ]
            messages = [weight @ nodes[u] for u in mine]
            pairs = zip(softmax(scores), messages, strict=True)
            gathered.append(sum(alpha * message for alpha, message in pairs))
        results.append(torch.cat(gathered) + layer.bias)
    return rows(results, layer.heads * layer.part, nodes)


PHASES = {"paper": printed_phase, "value": value_phase}
BACKBONES = {"sage": sage, "gcn": gcn, "gin": gin, "graph": graph, "gat": gat}


# ---- comparison ------------------------------------------------------------------------------


def randomised(module: Any, seed: int = 0, scale: float = 0.7) -> Any:
    """The module in double, with every weight drawn anew (scores start at zero otherwise)."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return module


def draw(*shape: int, seed: int = 0) -> Tensor:
    """A random input in double that wants a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.double).requires_grad_()


def assert_same(
    fast: Callable[[], Tensor], slow: Callable[[], Tensor], inputs: Iterable[Tensor]
) -> None:
    """Both give the same values, and the same gradient for each input along a random direction."""
    inputs = list(inputs)
    outputs = [fast(), slow()]
    torch.testing.assert_close(outputs[0], outputs[1], rtol=1e-9, atol=1e-10)
    direction = draw(*outputs[0].shape, seed=99).detach()
    gradients = [
        torch.autograd.grad((output * direction).sum(), inputs, allow_unused=True)
        if output.requires_grad
        else [None] * len(inputs)
        for output in outputs
    ]
    for place, (mine, other) in enumerate(zip(*gradients, strict=True)):
        zero = torch.zeros_like(inputs[place])
        torch.testing.assert_close(
            zero if mine is None else mine, zero if other is None else other, rtol=1e-8, atol=1e-9
        )
