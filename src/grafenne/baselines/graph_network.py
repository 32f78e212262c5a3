"""Plain GNNs on the original graph, with a sparse first layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import unknown_name
from grafenne.nn.encoder import NodeEncoder, kept_values
from grafenne.nn.layer import make_norm
from grafenne.nn.model import Encoded
from grafenne.nn.node_to_node import (
    GatConvolution,
    GcnConvolution,
    GinConvolution,
    SageConvolution,
)
from grafenne.ops import Adjacency, Dropout, sparse_product

KINDS = ("sage", "gat", "gin", "gcn", "mlp")


class Perceptron(nn.Module):
    """A linear layer that looks at no neighbour."""

    def __init__(self, in_width: int, width: int, heads: int = 1) -> None:
        super().__init__()
        self.linear: nn.Module = nn.Linear(in_width, width)

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, width]``."""
        result: Tensor = self.linear(nodes)
        return result


class Columns(nn.Module):
    """Some columns of the input, with a bias: stands where a linear layer was already applied.

    Args:
        in_width: Width of the input.
        start: First column.
        width: Number of columns.
        bias: Whether to add a trained vector.
    """

    def __init__(self, in_width: int, start: int, width: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features, self.start = in_width, width, start
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        """``[rows, in_width] -> [rows, width]``."""
        chosen = input[:, self.start : self.start + self.out_features]
        return chosen if self.bias is None else chosen + self.bias


def make_convolution(kind: str, in_width: int, width: int, heads: int) -> nn.Module:
    """A layer of a plain GNN."""
    kinds = {
        "sage": SageConvolution,
        "gat": GatConvolution,
        "gin": GinConvolution,
        "gcn": GcnConvolution,
        "mlp": Perceptron,
    }
    if kind not in kinds:
        raise unknown_name("kind of graph network", kind, KINDS)
    return kinds[kind](in_width, width, heads)


def make_first_convolution(kind: str, width: int, heads: int) -> tuple[nn.Module, int]:
    """A layer whose matrix was already multiplied, and how many columns it then needs.

    Summing over neighbours is linear, so the matrix may come first, where the input is sparse:
    ``A (X W)`` for ``(A X) W``. What is left of the layer is the sum, the bias and, for GAT, the
    attention; for GIN the second half of its perceptron. SAGE has two matrices, whose products
    lie side by side.
    """
    in_width = 2 * width if kind == "sage" else width
    layer: nn.Module = make_convolution(kind, in_width, width, heads)
    if isinstance(layer, SageConvolution):
        layer.own = Columns(in_width, 0, width)  # type: ignore[assignment]
        layer.neighbour = Columns(in_width, width, width, bias=False)  # type: ignore[assignment]
    elif isinstance(layer, GinConvolution):
        layer.hidden = Columns(width, 0, width)  # type: ignore[assignment]
    elif isinstance(layer, GatConvolution):
        layer.linear = Columns(width, 0, width, bias=False)  # type: ignore[assignment]
    elif isinstance(layer, GcnConvolution | Perceptron):
        layer.linear = Columns(width, 0, width)
    return layer, in_width


class OwnAndMean(nn.Module):
    """A node's own state beside the mean of its neighbours': SAGE before its matrix."""

    def forward(self, adjacency: Adjacency, nodes: Tensor) -> Tensor:
        """``[num_nodes, in_width] -> [num_nodes, 2 * in_width]``."""
        pattern = adjacency.pattern
        mean = sparse_product(pattern, adjacency.mean_weights(nodes.dtype), nodes)
        return torch.cat((nodes[: pattern.num_rows], mean), dim=1)


def make_last_convolution(kind: str, width: int, heads: int) -> tuple[nn.Module, int]:
    """A layer whose matrix is still to come, the head of the task, and the width it gives.

    A plain GNN's last layer gives the classes at once; a further matrix before the head would
    make another network of it (on Cora a GCN lost 0.9 points by it). GAT's attention needs its
    matrix, so there the head comes on top.
    """
    if kind == "sage":
        return OwnAndMean(), 2 * width
    layer: nn.Module = make_convolution(kind, width, width, heads)
    if isinstance(layer, GcnConvolution | Perceptron):
        layer.linear = nn.Identity()
    elif isinstance(layer, GinConvolution):
        layer.output = nn.Identity()  # type: ignore[assignment]
    return layer, width


def count_bare_layers(kind: str, num_layers: int) -> int:
    """How many layers have no weights of their own."""
    return 1 if num_layers > 1 and kind in ("sage", "gcn", "mlp") else 0


class SparseInput(nn.Module):
    r"""The product of a graph's values with a matrix, :math:`X W` (and :math:`+ \bar M V`).

    Args:
        num_features: Rows of the matrix.
        width: Columns of the matrix.
        observed_mask: Whether which cells are observed is an input too: the mask M of stored
            triples, zeros included, divided by their number.
    """

    def __init__(self, num_features: int, width: int, observed_mask: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_features, width))
        self.mask_weight = nn.Parameter(torch.empty(num_features, width)) if observed_mask else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        nn.init.xavier_uniform_(self.weight)
        if self.mask_weight is not None:
            nn.init.xavier_uniform_(self.mask_weight)

    def forward(self, graph: AllotropicGraph, keep: Tensor | None) -> Tensor:
        """``[num_nodes, width]``."""
        values = kept_values(graph.edge_values(self.weight.dtype), keep)
        result = sparse_product(graph.incidence, values, self.weight)
        if self.mask_weight is not None:
            share = kept_values(graph.incidence.mean_weights(self.weight.dtype), keep)
            result = result + sparse_product(graph.incidence, share, self.mask_weight)
        return result


class GraphNetwork(NodeEncoder):
    r"""GraphSAGE, GAT, GIN, GCN or a perceptron on the original graph.

    .. math:: H^1 = \sigma(\mathrm{conv}(A, X W)), \qquad H^{l+1} = \mathrm{conv}(A, H^l)

    where the matrix of the last layer is the head's; with the layers of Hamilton et al. (2017),
    Veličković et al. (2018), Xu et al. (2019) and Kipf & Welling (2017), an activation between
    them (ELU for GAT, ReLU otherwise) and none after the last.

    Args:
        num_features: Number of input features.
        kind: ``sage``, ``gat``, ``gin``, ``gcn`` or ``mlp``.
        first: Kind of the first layer, if it is another.
        width: Width of the hidden states.
        num_layers: Number of layers.
        heads: Number of attention heads, for ``gat``.
        normalisation: ``none``, ``layer`` or ``batch``, before each activation.
        skip: Whether the embedding joins the states of all layers.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of the input values dropped in training.
        observed_mask: Whether which cells are observed is an input too.
    """

    def __init__(
        self,
        num_features: int,
        *,
        kind: str = "sage",
        first: str | None = None,
        width: int = 64,
        num_layers: int = 2,
        heads: int = 1,
        normalisation: str = "none",
        skip: bool = False,
        dropout: float = 0.5,
        feature_dropout: float = 0.5,
        observed_mask: bool = False,
    ) -> None:
        layer, in_width = make_first_convolution(first or kind, width, heads)
        layers, last_width = [layer], width
        for _ in range(num_layers - 2):
            layers.append(make_convolution(kind, width, width, heads))
        if num_layers > 1:
            layer, last_width = make_last_convolution(kind, width, heads)
            layers.append(layer)
        joined = width * (num_layers - 1) + last_width if skip else last_width
        super().__init__(width, joined, feature_dropout)
        self.input = SparseInput(num_features, in_width, observed_mask)
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(make_norm(normalisation, width) for _ in range(num_layers - 1))
        self.skip, self.elu = skip, kind == "gat"
        self.dropout = Dropout(dropout)

    def encode(self, graph: AllotropicGraph, keep: Tensor | None) -> Encoded:
        """The layers one after another."""
        state = self.input(graph, keep)
        states: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            if number:
                state = self.norms[number - 1](state)
                state = functional.elu(state) if self.elu else functional.relu(state)
                states[-1] = state
                state = self.dropout(state)
            state = layer(graph.adjacency, state)
            states.append(state)
        nodes = torch.cat(states, dim=1) if self.skip else state
        return Encoded(nodes, [self.input.weight])
