"""Plain two-layer PyG networks on the same graph: what a user would write first.

Dense features are what PyG's own loaders give. There is no dropout on the input, which would be
costly on a dense array; leaving it out is to PyG's advantage. Features are divided by their sum
per node, the usual preparation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv, MessagePassing, SAGEConv

from benchmarks.problem import Problem

DROPOUT = 0.5


class SparseSageConv(MessagePassing):  # type: ignore[misc]
    """``SAGEConv`` for features in a sparse matrix, the same function of the same weights.

    PyG's layer averages its inputs before the matrix; with sparse inputs the matrix comes first,
    so that what is gathered is narrow.
    """

    def __init__(self, in_width: int, width: int) -> None:
        super().__init__(aggr="mean")
        self.lin_l = nn.Linear(in_width, width)
        self.lin_r = nn.Linear(in_width, width, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """``[nodes, in_width]`` in compressed rows to ``[nodes, width]``."""
        both = torch.sparse.mm(x, torch.cat((self.lin_l.weight, self.lin_r.weight)).t())
        sent, own = both.chunk(2, dim=1)
        result: Tensor = self.propagate(edges, x=sent) + self.lin_l.bias + own
        return result


class PygNetwork(nn.Module):
    """Two convolutions with ReLU and dropout between them."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores, ``[nodes, classes]``."""
        hidden = functional.relu(self.first(x, edges))
        hidden = functional.dropout(hidden, DROPOUT, self.training)
        result: Tensor = self.second(hidden, edges)
        return result


class PygObjective:
    """A PyG network for the training loop, on the whole graph.

    Args:
        network: The network.
        x: Features, dense or in compressed rows.
        edges: ``[2, edges]``, or the adjacency in compressed rows of receivers.
        problem: Targets, split, loss and metric.
    """

    def __init__(self, network: PygNetwork, x: Tensor, edges: Tensor, problem: Problem) -> None:
        self.network, self.x, self.edges = network, x, edges
        self.task, self.targets = problem.task, problem.targets
        self.train = torch.tensor(problem.split.train)
        self.validation = torch.tensor(problem.split.validation)

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """One loss over the whole graph."""
        yield self._loss

    def _loss(self) -> Tensor:
        outputs = self.network(self.x, self.edges)[self.train]
        return self.task.loss(outputs, self.targets[self.train])

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes."""
        self.network.eval()
        with torch.no_grad():
            outputs = self.network(self.x, self.edges)[self.validation]
            targets = self.targets[self.validation]
            return float(self.task.loss(outputs, targets)), self.task.quick_metric(outputs, targets)


def pyg_objective(kind: str, problem: Problem, width: int) -> PygObjective:
    """The objective of ``sage``, ``sage-csr``, ``sage-sparse`` or ``gcn``."""
    inputs, classes = problem.graph.num_features, problem.task.output_width
    edges, _ = problem.graph.adjacency.edge_index()
    if kind == "sage-sparse":
        network = PygNetwork(SparseSageConv(inputs, width), SAGEConv(width, classes))
        return PygObjective(network, sparse_features(problem), edges, problem)
    layer: Any = GCNConv if kind == "gcn" else SAGEConv
    # The normalised adjacency is the same in every step; PyG can keep it.
    options = {"cached": True} if kind == "gcn" else {}
    network = PygNetwork(layer(inputs, width, **options), layer(width, classes, **options))
    if kind == "sage-csr":
        edges = adjacency_rows(problem)
    return PygObjective(network, dense_features(problem), edges, problem)


def pyg_megabytes(kind: str, problem: Problem, width: int) -> float:
    """About what the first layer needs: dense features and the messages gathered from them."""
    if kind == "sage-sparse":
        return 0.0
    cells = problem.graph.num_nodes * problem.graph.num_features
    gathered = {"gcn": width, "sage": problem.graph.num_features, "sage-csr": 0}[kind]
    mean = cells if kind == "sage-csr" else 0  # the aggregated features, as large as the features
    return (cells + mean + len(problem.graph.adjacency) * gathered) * 4 / 1e6


def dense_features(problem: Problem) -> Tensor:
    """The values with zeros for absent ones, ``[nodes, features]``, rows of sum 1."""
    return torch.from_numpy(_row_normalised(problem).toarray())


def sparse_features(problem: Problem) -> Tensor:
    """The same in compressed rows."""
    matrix = _row_normalised(problem)
    return _compressed(
        torch.from_numpy(matrix.indptr),
        torch.from_numpy(matrix.indices),
        torch.from_numpy(matrix.data),
        matrix.shape,
    )


def adjacency_rows(problem: Problem) -> Tensor:
    """The edges as a matrix of receivers and senders, for PyG's sparse aggregation."""
    pattern = problem.graph.adjacency.pattern
    return _compressed(
        pattern.indptr.long(), pattern.indices.long(), pattern.ones(torch.float32), pattern.shape
    )


def _row_normalised(problem: Problem) -> Any:
    matrix = problem.raw.values.to_scipy().astype(np.float32)
    total = abs(matrix).sum(axis=1)
    counts = np.diff(matrix.indptr)
    matrix.data = matrix.data / np.repeat(np.where(total > 0, total, 1), counts).astype(np.float32)
    return matrix


def _compressed(indptr: Tensor, indices: Tensor, values: Tensor, shape: Any) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(beta state|invariant checks).*")
        return torch.sparse_csr_tensor(
            indptr, indices, values, tuple(shape), check_invariants=False
        )
