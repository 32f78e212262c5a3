"""The lower limit: the matrix work of a training step and nothing else.

Line by line, for N nodes, F features, width d, h heads, V values (entries of the incidence) and M
messages (entries of the adjacency):

=========  ==============================================================  ====================
phase      forward                                                         if all values are 1
=========  ==============================================================  ====================
1          messages, slopes and scores  [F, d] x [d, 2d + h]               [F, d] x [d, d + h]
1          2h sparse products  [N, F](V) x [F, d / h]                      1 of [F, d + h]
1          the node's own state  [N, d] x [d, d], not in the first layer   the same
2          sparse product  [N, N](M) x [N, d]                              the same
2          own and neighbours' states  2 of [N, d] x [d, d]                the same
3          messages, slopes and scores  [N, d] x [d, 2d + h]               [N, d] x [d, d + h]
3          2h sparse products  [F, N](V) x [N, d / h]                      1 of [N, d + h]
3          the feature's own state  [F, d] x [d, d]                        the same
head       [N, (layers + 1) d] x [., classes]                              the same
=========  ==============================================================  ====================

Phase 3 is left out in the last layer. Backward, each dense product becomes two (towards its input
and towards its weights), each sparse product one with the transpose, and each of the 2h weighted
sparse products also a sampled product, towards the attention. No activation, normalisation,
softmax, dropout, loss or optimiser. Outputs of dense products are written to memory that is
already there; the sparse kernels are those of :mod:`grafenne.ops`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.problem import Case, Problem
from grafenne.ops import RandomBits, SparsePattern, kernels


@dataclass(frozen=True)
class Operation:
    """One product.

    Attributes:
        label: Which part of the step it belongs to.
        kind: ``dense``, ``sparse`` or ``sampled``.
        shape: Its sizes, to be read.
        backward: Whether it belongs to the backward pass.
        run: Does it.
    """

    label: str
    kind: str
    shape: str
    backward: bool
    run: Callable[[], object]


class LowerLimit:
    """The products of a step, as a variant that can be timed.

    Args:
        problem: Gives the shapes and patterns.
        case: Gives width and heads.
        num_layers: Number of layers.
        hidden_share: Share of the values that take no part in a training step, for the limit of
            a step that gets the values that stay for free; 0 for products over all values.
    """

    def __init__(
        self, problem: Problem, case: Case, num_layers: int = 2, hidden_share: float = 0.0
    ) -> None:
        graph = problem.graph
        valued = not graph.is_binary
        classes = problem.task.output_width
        whole = _Operations(graph.incidence, graph.adjacency.pattern, case, valued)
        self._forward = [op for op in whole.build(num_layers, classes) if not op.backward]
        if hidden_share:
            left = thinned(graph.incidence, hidden_share)
            whole = _Operations(left, graph.adjacency.pattern, case, valued)
        self.operations = whole.build(num_layers, classes)

    def run(self, work: str, count: int) -> float:
        """Seconds for ``count`` steps, evaluation passes or epochs."""
        todo = {
            "step": self.operations,
            "evaluate": self._forward,
            "epoch": self.operations + self._forward,
        }[work]
        started = time.perf_counter()
        for _ in range(count):
            for operation in todo:
                operation.run()
        return time.perf_counter() - started


def thinned(pattern: SparsePattern, share: float, seed: int = 0) -> SparsePattern:
    """The pattern without a random share of its entries."""
    keep = RandomBits(seed).keep(pattern.num_entries, share)
    counts = torch.bincount(pattern.rows[keep].long(), minlength=pattern.num_rows)
    indptr = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
    return SparsePattern(indptr, pattern.indices[keep], pattern.num_columns)


class _Operations:
    """Collects the products; operands of equal shape share their memory."""

    def __init__(
        self, incidence: SparsePattern, adjacency: SparsePattern, case: Case, valued: bool
    ) -> None:
        self.incidence, self.adjacency, self.valued = incidence, adjacency, valued
        self.width, self.heads = case.width, case.heads
        self.tensors: dict[tuple[str, tuple[int, ...]], Tensor] = {}
        self.found: list[Operation] = []

    def build(self, num_layers: int, classes: int) -> list[Operation]:
        """The products of a network of so many layers."""
        (nodes, features), width = self.incidence.shape, self.width
        self.found = []
        for number in range(num_layers):
            name = f"layer {number + 1}, phase"
            self.attention(f"{name} 1", self.incidence, features)
            if number > 0:
                self.dense(f"{name} 1, own", nodes, width, width)
            self.sparse(f"{name} 2", self.adjacency, width)
            self.dense(f"{name} 2, own", nodes, width, width)
            self.dense(f"{name} 2, neighbours", nodes, width, width)
            if number < num_layers - 1:
                self.attention(f"{name} 3", self.incidence.transpose, nodes)
                self.dense(f"{name} 3, own", features, width, width)
        self.dense("head", nodes, (num_layers + 1) * width, classes)
        return self.found

    def attention(self, label: str, pattern: SparsePattern, senders: int) -> None:
        """Messages of the senders, and their weighted sums."""
        per_sender = 2 if self.valued else 1
        self.dense(f"{label}, messages", senders, self.width, per_sender * self.width + self.heads)
        if not self.valued:
            self.sparse(label, pattern, self.width + self.heads)
            return
        for _ in range(2 * self.heads):
            self.sparse(label, pattern, self.width // self.heads)
            self.sampled(label, pattern, self.width // self.heads)

    def dense(self, label: str, rows: int, inner: int, columns: int) -> None:
        """A linear layer ``[rows, inner] -> [rows, columns]``."""
        states, weight = self.tensor("in", rows, inner), self.tensor("weight", columns, inner)
        result, back = self.tensor("out", rows, columns), self.tensor("back", rows, inner)
        towards_weight = self.tensor("towards weight", columns, inner)
        shape = f"[{rows}, {inner}] x [{inner}, {columns}]"
        for name, backward, run in (
            ("", False, lambda: torch.mm(states, weight.t(), out=result)),
            (", to input", True, lambda: torch.mm(result, weight, out=back)),
            (", to weights", True, lambda: torch.mm(result.t(), states, out=towards_weight)),
        ):
            self.found.append(Operation(label + name, "dense", shape, backward, run))

    def sparse(self, label: str, pattern: SparsePattern, width: int) -> None:
        """A sparse product and its transpose."""
        for name, backward, one in (
            ("", False, pattern),
            (", transpose", True, pattern.transpose),
        ):
            weights = self.tensor("entries", one.num_entries)
            right = self.tensor("in", one.num_columns, width)
            shape = f"{list(one.shape)}({one.num_entries}) x [{one.num_columns}, {width}]"
            run = _product(one, weights, right)
            self.found.append(Operation(label + name, "sparse", shape, backward, run))

    def sampled(self, label: str, pattern: SparsePattern, width: int) -> None:
        """The product of a row and a column for each entry."""
        left = self.tensor("out", pattern.num_rows, width)
        right = self.tensor("in", pattern.num_columns, width)
        shape = f"{pattern.num_entries} of {width}"
        self.found.append(
            Operation(
                f"{label}, sampled",
                "sampled",
                shape,
                True,
                lambda: kernels.sampled_product(pattern, left, right),
            )
        )

    def tensor(self, role: str, *shape: int) -> Tensor:
        """Numbers of that shape, the same tensor whenever it is asked for again."""
        key = (role, shape)
        if key not in self.tensors:
            generator = torch.Generator().manual_seed(len(self.tensors))
            self.tensors[key] = torch.randn(shape, generator=generator)
        return self.tensors[key]


def _product(pattern: SparsePattern, weights: Tensor, right: Tensor) -> Callable[[], Tensor]:
    return lambda: kernels.product(pattern, weights, right)
