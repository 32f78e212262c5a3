"""GRAFENNE's equations in PyG's gather-and-scatter message passing.

The same parameters and the same results as :class:`grafenne.nn.model.Grafenne`, computed as a
PyG user would write them: matrices are applied to nodes before messages are gathered (as PyG's
own ``GATConv`` does), edges are sorted by receiver, and hidden edges are removed rather than
multiplied by zero. What remains is the way of the library: a vector per edge, gathered, weighted
and scattered. It is compared with ours in speed, and in values and gradients by the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import scatter, softmax

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import ParameterError
from grafenne.nn.attention import ValueAttention
from grafenne.nn.model import Encoded, Grafenne
from grafenne.nn.node_to_node import SageConvolution
from grafenne.ops import Adjacency, SparsePattern


@dataclass(frozen=True)
class FeatureEdges:
    """Edges from senders to receivers in PyG's form.

    Attributes:
        index: ``[2, edges]``, senders above receivers, sorted by receiver.
        values: Value of each edge, ``None`` if all are 1.
        size: Number of senders and of receivers.
        keep: Weight of each edge, ``None`` if all are 1; none is zero.
    """

    index: Tensor
    values: Tensor | None
    size: tuple[int, int]
    keep: Tensor | None = None

    @classmethod
    def of(cls, pattern: SparsePattern, values: Tensor | None) -> FeatureEdges:
        """The entries of a pattern ``[receivers, senders]``."""
        index = torch.stack((pattern.indices.long(), pattern.rows.long()))
        return cls(index, values, (pattern.num_columns, pattern.num_rows))

    def kept(self, keep: Tensor | None) -> FeatureEdges:
        """Only the edges whose weight is not zero."""
        if keep is None:
            return self
        left = keep.nonzero().squeeze(1)
        values = None if self.values is None else self.values[left]
        return FeatureEdges(self.index[:, left], values, self.size, keep[left])


class FeatureMessages(MessagePassing):  # type: ignore[misc]
    """Phases 1 and 3: attention over feature edges, with the weights of ours."""

    def __init__(self) -> None:
        super().__init__(aggr="add", node_dim=0)

    def forward(self, edges: FeatureEdges, senders: Tensor, attention: ValueAttention) -> Tensor:
        """``[senders, width] -> [receivers, width]``."""
        heads, receivers = attention.heads, edges.size[1]
        message = attention.message(senders).view(len(senders), heads, -1)
        slope = None
        if edges.values is not None:
            slope = (attention.slope(senders).view(len(senders), heads, -1), None)
        mean = self.propagate(
            edges.index,
            x=(message, None),
            slope=slope,
            score=(attention.score(senders), None),
            values=edges.values,
            value_score=attention.value_score,
            keep=edges.keep,
            size=edges.size,
        ).flatten(1)
        ones = senders.new_ones(edges.index.shape[1]) if edges.keep is None else edges.keep
        count = scatter(ones, edges.index[1], dim_size=receivers, reduce="sum")
        size = count.log1p().unsqueeze(1)
        result: Tensor = mean * (1 + size * attention.count_scale) + size * attention.count_shift
        return result

    def message(
        self,
        x_j: Tensor,
        slope_j: Tensor | None,
        score_j: Tensor,
        values: Tensor | None,
        value_score: Tensor,
        keep: Tensor | None,
        index: Tensor,
        size_i: int | None,
    ) -> Tensor:
        """One weighted message per edge and head, ``[edges, heads, width / heads]``."""
        if values is not None and slope_j is not None:
            both = torch.stack((values.clamp(min=0), (-values).clamp(min=0)), dim=1)
            score_j = score_j + both @ value_score.t()
            x_j = x_j + (values - 1).view(-1, 1, 1) * slope_j
        if keep is not None:
            score_j = score_j + keep.log().unsqueeze(1)
        weight: Tensor = softmax(score_j, index, num_nodes=size_i)
        return weight.unsqueeze(-1) * x_j


class MeanMessages(MessagePassing):  # type: ignore[misc]
    """Phase 2: the (weighted) mean over the neighbours, as PyG's ``SAGEConv`` takes it."""

    def __init__(self) -> None:
        super().__init__(aggr="add", node_dim=0)

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[nodes, width] -> [nodes, width]``."""
        pattern = adjacency.pattern
        index = pattern.remember(
            "scatter index", lambda: torch.stack((pattern.indices.long(), pattern.rows.long()))
        )
        size = (pattern.num_columns, pattern.num_rows)
        weights = adjacency.mean_weights(nodes.dtype)
        result: Tensor = self.propagate(index, x=(nodes, None), weights=weights, size=size)
        return result

    def message(self, x_j: Tensor, weights: Tensor) -> Tensor:
        """One weighted message per edge."""
        return weights.unsqueeze(1) * x_j


class ScatterGrafenne(nn.Module):
    """A drop-in for :class:`~grafenne.nn.model.Grafenne` that shares its parameters.

    Args:
        model: The network whose weights and settings are used: value mode, attention, SAGE.
    """

    def __init__(self, model: Grafenne) -> None:
        super().__init__()
        layers: Any = model.layers
        for layer in layers:
            attention = layer.feature_to_node.attention
            plain = isinstance(attention, ValueAttention) and attention.aggregation == "attention"
            if not plain or not isinstance(layer.node_to_node.convolution, SageConvolution):
                raise ParameterError("The scatter version has mode 'value' and backbone 'sage'.")
        self.model = model
        self.output_width = model.output_width
        self.feature_messages, self.mean_messages = FeatureMessages(), MeanMessages()

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the parameters."""
        return self.model.dtype

    @property
    def feature_dropout(self) -> Any:
        """As ours."""
        return self.model.feature_dropout

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Encoded:
        """A full pass; arguments as in ours."""
        if keep is None:
            keep = self.feature_dropout.keep(
                graph.incidence.num_entries, self.dtype, graph.incidence.device
            )
        values, permutation = graph.edge_values(self.dtype), graph.incidence.permutation
        back_values = None if values is None else values[permutation]
        forward, back = graph.once(
            ("scatter edges", self.dtype),
            lambda: (
                FeatureEdges.of(graph.incidence, values),
                FeatureEdges.of(graph.incidence.transpose, back_values),
            ),
        )
        forward = forward.kept(keep)
        back = back.kept(None if keep is None else keep[permutation])
        features: Tensor = self.model.features(graph)
        nodes: Tensor | None = None
        parts: list[Tensor] = []
        states = [features]
        layers: Any = self.model.layers
        for number, layer in enumerate(layers):
            gathered, nodes = self._nodes(layer, forward, graph.adjacency, nodes, features)
            if number == 0:
                parts.append(gathered)
            parts.append(nodes)
            if layer.node_to_feature is not None:
                features = self._features(layer, back, nodes, features)
                states.append(features)
        joined = torch.cat(parts, dim=1) if self.model.skip else parts[-1]
        return Encoded(self.model.dropout(joined), states)

    def _nodes(
        self,
        layer: Any,
        edges: FeatureEdges,
        adjacency: Adjacency,
        nodes: Tensor | None,
        features: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Phases 1 and 2."""
        phase = layer.feature_to_node
        gathered = phase.combine(nodes, self.feature_messages(edges, features, phase.attention))
        gathered = functional.relu(layer.gathered_norm(gathered))
        dropped, sage = layer.dropout(gathered), layer.node_to_node.convolution
        passed = sage.own(dropped) + sage.neighbour(self.mean_messages(adjacency, dropped))
        return gathered, functional.relu(layer.node_norm(passed))

    def _features(self, layer: Any, edges: FeatureEdges, nodes: Tensor, features: Tensor) -> Tensor:
        """Phase 3."""
        phase = layer.node_to_feature
        updated = phase.combine(features, self.feature_messages(edges, nodes, phase.attention))
        return functional.relu(layer.feature_norm(updated))
