"""The baselines' equations, written down slowly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import elu, relu

from grafenne.allotrope import AllotropicGraph
from tests import reference


def dense_values(graph: AllotropicGraph) -> tuple[Tensor, Tensor]:
    """Values (0 where absent) and the mask of observed cells, as tables."""
    values = torch.zeros(graph.num_nodes, graph.num_features, dtype=torch.double)
    observed = torch.zeros_like(values, dtype=torch.bool)
    rows, columns = graph.incidence.rows.long(), graph.incidence.indices.long()
    values[rows, columns] = graph.values.double()
    observed[rows, columns] = True
    return values, observed


def linear(weight: Tensor, bias: Tensor | None = None) -> Any:
    return SimpleNamespace(weight=weight, bias=bias, out_features=len(weight))


def first_layer(kind: str, encoder: Any) -> Any:
    """The first layer with its matrix in place, as the loop versions want it."""
    layer, weight, width = encoder.layers[0], encoder.input.weight.t(), encoder.width
    if kind == "sage":
        own = linear(weight[:width], layer.own.bias)
        return SimpleNamespace(own=own, neighbour=linear(weight[width:]))
    if kind == "gin":
        hidden = linear(weight, layer.hidden.bias)
        return SimpleNamespace(epsilon=layer.epsilon, hidden=hidden, output=layer.output)
    if kind == "gat":
        return SimpleNamespace(
            heads=layer.heads,
            part=layer.part,
            linear=linear(weight),
            receiver=layer.receiver,
            sender=layer.sender,
            bias=layer.bias,
        )
    return SimpleNamespace(linear=linear(weight, layer.linear.bias))


def perceptron(layer: Any, edges: Any, nodes: Tensor) -> Tensor:
    return torch.stack([layer.linear.weight @ node + layer.linear.bias for node in nodes])


def last_layer(kind: str, encoder: Any, head: Any) -> Any:
    """The last layer with the head as its matrix."""
    layer, width = encoder.layers[-1], encoder.width
    if kind == "sage":
        own = linear(head.weight[:, :width], head.bias)
        return SimpleNamespace(own=own, neighbour=linear(head.weight[:, width:]))
    if kind == "gin":
        return SimpleNamespace(epsilon=layer.epsilon, hidden=layer.hidden, output=head)
    return SimpleNamespace(linear=head)


def graph_network(kind: str, encoder: Any, head: Any, graph: AllotropicGraph) -> Tensor:
    """Two layers of a plain GNN, from the table of values to the classes."""
    layer_of = {**reference.BACKBONES, "mlp": perceptron}[kind]
    edges = reference.adjacency_edges(graph.adjacency)
    values, _ = dense_values(graph)
    hidden = layer_of(first_layer(kind, encoder), edges, values)
    activated = elu(hidden) if kind == "gat" else relu(hidden)
    if kind == "gat":
        return perceptron(
            SimpleNamespace(linear=head), edges, layer_of(encoder.layers[1], edges, activated)
        )
    return layer_of(last_layer(kind, encoder, head), edges, activated)


def normalised_adjacency(graph: AllotropicGraph) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 as a table."""
    table = torch.eye(graph.num_nodes, dtype=torch.double)
    for receiver, sender, weight in reference.adjacency_edges(graph.adjacency):
        table[receiver, sender] += weight
    scale = table.sum(dim=1).rsqrt()
    return scale.unsqueeze(1) * table * scale


def mixture_input(layer: Any, graph: AllotropicGraph) -> Tensor:
    """The first layer of GCNMF with every cell's mean and variance written out."""
    values, observed = dense_values(graph)
    share = normalised_adjacency(graph)
    deviation = (0.5 * layer.log_variances).exp()
    prior = layer.mixture.softmax(0)
    likelihood = torch.zeros(graph.num_nodes, layer.components, dtype=torch.double)
    activations = []
    for k in range(layer.components):
        mean = torch.where(observed, values, layer.means[k])
        variance = torch.where(observed, 0.0, deviation[k] ** 2)
        total = share @ mean @ layer.weight + layer.bias
        spread = ((share**2) @ variance @ (layer.weight**2)).sqrt()
        normal = torch.distributions.Normal(torch.zeros(()), torch.ones(()))
        ratio = total / spread.clamp(min=1e-30)
        expected = spread * normal.log_prob(ratio).exp() + total * normal.cdf(ratio)
        activations.append(torch.where(spread > 0, expected, relu(total)))
        for v in range(graph.num_nodes):
            seen = observed[v].numpy()
            density = stats.norm.logpdf(
                values[v].numpy()[seen],
                layer.means[k].detach().numpy()[seen],
                deviation[k].detach().numpy()[seen],
            )
            likelihood[v, k] = prior[k].detach().log() + float(density.sum())
    weights = likelihood.softmax(dim=1)
    return sum(weights[:, k : k + 1] * part for k, part in enumerate(activations))  # type: ignore


def partial_aggregation(values: Any, observed: Any, share: Any, variant: str) -> Any:
    """PaGNN's first aggregation, one cell after the other."""
    result = np.zeros_like(values)
    for v in range(len(values)):
        for f in range(values.shape[1]):
            seen = sum(share[v, u] for u in range(len(values)) if observed[u, f])
            total = sum(share[v, u] * values[u, f] for u in range(len(values)) if observed[u, f])
            result[v, f] = total / seen if seen else 0.0
            if variant == "rescaled":
                result[v, f] *= share[v].sum()
    return result


def fate(encoder: Any, graph: AllotropicGraph, start: Tensor) -> Tensor:
    """The exchanges between nodes and features, one receiver after the other."""
    triples = reference.edges_of(graph.incidence, graph.values)
    edges = reference.adjacency_edges(graph.adjacency)
    features = list(start)
    nodes = [torch.zeros(encoder.width, dtype=torch.double) for _ in range(graph.num_nodes)]

    def mean(parts: list[Tensor]) -> Tensor:
        nothing = torch.zeros(encoder.width, dtype=torch.double)
        return sum(parts, nothing) / max(len(parts), 1)

    for layer in encoder.layers:
        new_nodes = []
        for v, state in enumerate(nodes):
            total = state + mean([features[f] for node, f, _ in triples if node == v])
            if encoder.node_edges:
                total = total + mean([nodes[u] for receiver, u, _ in edges if receiver == v])
            new_nodes.append(layer.weight @ total)
        features = [
            layer.weight @ (state + mean([nodes[v] for v, feature, _ in triples if feature == f]))
            for f, state in enumerate(features)
        ]
        nodes = new_nodes
    results = []
    for v, state in enumerate(nodes):
        total = sum((x * features[f] for node, f, x in triples if node == v), encoder.bias)
        total = total + state if encoder.node_edges else total
        results.append(relu(encoder.hidden.weight @ relu(total) + encoder.hidden.bias))
    return torch.stack(results)
