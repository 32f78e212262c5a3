"""Phase 2: nodes to nodes, by the message passing of any static GNN (paper, appendix A)."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.errors import ParameterError, unknown_name
from grafenne.nn.attention import LEAK
from grafenne.ops import (
    Adjacency,
    attention_product,
    first_rows,
    gather_columns,
    gather_rows,
    sparse_product,
)


class SageConvolution(nn.Module):
    r"""GraphSAGE (Hamilton et al., 2017): :math:`W (h_v \,\|\, \mathrm{mean}_{u \in N_v} h_u)`.

    The paper prints the mean over the feature neighbourhood; it means the graph's.
    """

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.own = nn.Linear(in_width, width)
        self.neighbour = nn.Linear(in_width, width, bias=False)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.own.reset_parameters()
        self.neighbour.reset_parameters()

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        pattern, mean = adjacency.pattern, adjacency.mean_weights(nodes.dtype)
        # The product is linear: it may run on whichever side of the matrix is narrower.
        if self.neighbour.out_features < self.neighbour.in_features:
            gathered = sparse_product(pattern, mean, self.neighbour(nodes))
        else:
            gathered = self.neighbour(sparse_product(pattern, mean, nodes))
        result: Tensor = self.own(first_rows(nodes, pattern.num_rows)) + gathered
        return result


class GcnConvolution(nn.Module):
    r"""GCN (Kipf & Welling, 2017): :math:`W \sum_u \tilde A_{vu} h_u / \sqrt{d_u d_v}`.

    :math:`\tilde A = A + I`, and :math:`d` are its row sums: an edge of the graph from a node to
    itself counts besides the one that is added.
    """

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.linear = nn.Linear(in_width, width)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.linear.reset_parameters()

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        pattern = adjacency.pattern
        degrees = adjacency.degrees(nodes.dtype) + 1
        # Negative weights may leave nothing to divide by; such a node then stays silent.
        scale = torch.where(degrees > 0, degrees.clamp(min=1e-12).rsqrt(), 0).unsqueeze(1)
        scaled = nodes * scale
        total = sparse_product(pattern, adjacency.edge_weights(nodes.dtype), scaled)
        total = (total + first_rows(scaled, pattern.num_rows)) * scale[: pattern.num_rows]
        result: Tensor = self.linear(total)
        return result


class GinConvolution(nn.Module):
    r"""GIN (Xu et al., 2019): :math:`\mathrm{MLP}((1 + \epsilon) h_v + \sum_{u \in N_v} h_u)`."""

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.hidden = nn.Linear(in_width, width)
        self.output = nn.Linear(width, width)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        nn.init.zeros_(self.epsilon)
        self.hidden.reset_parameters()
        self.output.reset_parameters()

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        total = sparse_product(adjacency.pattern, adjacency.edge_weights(nodes.dtype), nodes)
        total = total + (1 + self.epsilon) * first_rows(nodes, adjacency.pattern.num_rows)
        result: Tensor = self.output(functional.relu(self.hidden(total)))
        return result


class GraphConvolution(nn.Module):
    r"""The k-GNN of Morris et al. (2019), k = 1: :math:`W_1 h_v + W_2 \sum_u w_{uv} h_u`."""

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.own = nn.Linear(in_width, width)
        self.neighbour = nn.Linear(in_width, width, bias=False)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.own.reset_parameters()
        self.neighbour.reset_parameters()

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        gathered = sparse_product(adjacency.pattern, adjacency.edge_weights(nodes.dtype), nodes)
        result: Tensor = self.own(first_rows(nodes, adjacency.pattern.num_rows)) + self.neighbour(
            gathered
        )
        return result


class GatConvolution(nn.Module):
    r"""GAT (Veličković et al., 2018), over the neighbours and the node itself.

    .. math:: \alpha_{vu} = \mathrm{softmax}_u\,\mathrm{LeakyReLU}(a^T W h_v + b^T W h_u),
        \qquad h_v' = \sum_{u \in N_v \cup v} \alpha_{vu} W h_u

    The paper prints the activation inside the dot product, which removes the receiver from the
    softmax; this is the GAT it cites and compares with.
    """

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ParameterError(f"The width {width} must be a multiple of the {heads} heads.")
        self.heads, self.part = heads, width // heads
        self.linear = nn.Linear(in_width, width, bias=False)
        self.sender = nn.Parameter(torch.empty(heads, self.part))
        self.receiver = nn.Parameter(torch.empty(heads, self.part))
        self.bias = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.xavier_uniform_(self.sender)
        nn.init.xavier_uniform_(self.receiver)
        nn.init.zeros_(self.bias)

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``; only zero weights play a part."""
        looped, real = adjacency.with_self_loops()
        keep = None if real is None else real.to(nodes.dtype)
        states = self.linear(nodes).view(-1, self.heads, self.part)  # [nodes, heads, part]
        outputs = []
        for head in range(self.heads):
            state = states[:, head].contiguous()
            scores = gather_columns(looped, state @ self.sender[head])
            received = first_rows(state, looped.num_rows) @ self.receiver[head]
            scores = functional.leaky_relu(scores + gather_rows(looped, received), LEAK)
            outputs.append(attention_product(looped, scores, state, keep=keep))
        return torch.cat(outputs, dim=1) + self.bias


class PygConvolution(nn.Module):
    """Any PyG ``MessagePassing`` layer: a class (built with the two widths) or an instance.

    Attributes:
        local: Whether a node's result depends on the edges into it alone. It does not where the
            senders' degrees count (``GCNConv``) or a layer takes several steps (``TAGConv``);
            parts of a graph then give other results than the whole of it.
    """

    def __init__(self, layer: Any, in_width: int, width: int) -> None:
        super().__init__()
        name = layer.__name__ if isinstance(layer, type) else type(layer).__name__
        need = f"Phase 2 needs a layer from width {in_width} to {width}, but {name}"
        try:
            self.layer = layer(in_width, width) if isinstance(layer, type) else layer
            arguments = inspect.signature(self.layer.forward).parameters
            shape = tuple(_probe(self.layer, in_width).shape)
            self.local = _is_local(self.layer, in_width)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise ParameterError(f"{need} does not work: {reason}.") from error
        if shape != (1, width):
            raise ParameterError(f"{need} gives {shape[-1]} columns.")
        self.takes_weights = "edge_weight" in arguments

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.layer.reset_parameters()

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        edges, weights = adjacency.edge_index()
        more = {}
        if weights is not None and self.takes_weights:
            more["edge_weight"] = weights.to(nodes.dtype)
        result: Tensor = self.layer(nodes, edges, **more)
        return first_rows(result, adjacency.pattern.num_rows)


def _probe(layer: nn.Module, in_width: int) -> Tensor:
    """What the layer makes of a single node with an edge to itself."""
    return _try(layer, torch.zeros(1, in_width), [(0, 0)])


def _is_local(layer: nn.Module, in_width: int) -> bool:
    """Whether the first node of a chain gets the same from the edge into it as from all edges."""
    nodes = torch.arange(1.0, 4 * in_width + 1).view(4, in_width).sin()
    chain = [(1, 0), (0, 1), (2, 1), (1, 2), (3, 2), (2, 3)]
    part = _try(layer, nodes, chain[:1])[0]
    return torch.allclose(part, _try(layer, nodes, chain)[0], rtol=1e-4, atol=1e-6)


def _try(layer: nn.Module, nodes: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """What the layer makes of a small graph; in evaluation, to leave its statistics alone."""
    first = next(layer.parameters(), torch.empty(0))
    training = layer.training
    layer.eval()
    with torch.no_grad():
        result: Tensor = layer(nodes.to(first), torch.tensor(edges, device=first.device).t())
    layer.train(training)
    return result


BACKBONES: dict[str, type[nn.Module]] = {
    "sage": SageConvolution,
    "gat": GatConvolution,
    "gin": GinConvolution,
    "gcn": GcnConvolution,
    "graph": GraphConvolution,
}


class NodeToNode(nn.Module):
    """Each node gathers the states of its neighbours, in the way of a given GNN.

    Args:
        in_width: Width of the nodes' states after phase 1.
        width: Width of the result.
        backbone: ``sage``, ``gat``, ``gin``, ``gcn``, ``graph``, or a PyG ``MessagePassing``
            class or instance.
        heads: Number of attention heads, for ``gat``.
    """

    def __init__(
        self, in_width: int, width: int, *, backbone: Any = "sage", heads: int = 1
    ) -> None:
        super().__init__()
        if not isinstance(backbone, str):
            self.convolution: nn.Module = PygConvolution(backbone, in_width, width)
        elif backbone in BACKBONES:
            self.convolution = BACKBONES[backbone](in_width, width, heads)
        else:
            raise unknown_name("backbone", backbone, BACKBONES)

    @property
    def local(self) -> bool:
        """Whether a node's result depends on the edges into it alone; all named GNNs are so."""
        return bool(getattr(self.convolution, "local", True))

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.convolution.reset_parameters()  # type: ignore[operator]

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """One pass of phase 2.

        Args:
            adjacency: Edges from ``senders`` to ``receivers``.
            nodes: States after phase 1, ``[senders, in_width]``.

        Returns:
            ``[receivers, width]``.
        """
        result: Tensor = self.convolution(adjacency, nodes)
        return result
