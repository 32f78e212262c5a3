"""Edges with optional weights, and the normalisations of them that GNNs use, each computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from scipy import sparse
from torch import Tensor

from grafenne.ops.arrays import moved, shared_tensor
from grafenne.ops.pattern import SparsePattern

Built = TypeVar("Built")


class Adjacency:
    """Edges along which messages run; row = receiver, column = sender.

    The first ``num_rows`` senders are the receivers themselves. In a whole graph the two are the
    same; in a sampled block the senders include further nodes behind them.

    Args:
        pattern: Places of the edges, ``[receivers, senders]``.
        weights: One weight per edge, or ``None``.
        degrees: Weighted number of incoming edges of each *sender* in the whole graph; needed
            only where the pattern is a part of a graph.
    """

    def __init__(
        self, pattern: SparsePattern, weights: Tensor | None = None, degrees: Tensor | None = None
    ) -> None:
        self.pattern = pattern
        self.weights = weights
        self._degrees = degrees
        self._memory: dict[object, object] = {}

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array, weighted: bool) -> Adjacency:
        """From a SciPy matrix with sorted rows; without ``weighted`` its numbers are ignored."""
        weights = shared_tensor(matrix.data) if weighted else None
        return cls(SparsePattern.from_scipy(matrix), weights)

    def __len__(self) -> int:
        return self.pattern.num_entries

    def __repr__(self) -> str:
        kind = "unweighted" if self.weights is None else "weighted"
        return f"Adjacency({self.pattern.num_rows} receivers, {len(self)} {kind} edges)"

    def edge_weights(self, dtype: torch.dtype) -> Tensor | None:
        """The weights in the model's number type."""
        weights = self.weights
        return None if weights is None else self._once(dtype, lambda: weights.to(dtype))

    def mean_weights(self, dtype: torch.dtype) -> Tensor:
        """Weights that make a product the (weighted) mean over a receiver's edges."""
        own = self.weights
        if own is None:
            return self.pattern.mean_weights(dtype)

        def build() -> Tensor:
            # In their own type, 64 bits as a rule: shares are of a size that 32 bits can hold,
            # the weights may not be.
            weights, rows = own, self.pattern.rows.long()
            total = weights.new_zeros(self.pattern.num_rows).index_add_(0, rows, weights.abs())
            return (weights / total.clamp(min=torch.finfo(total.dtype).tiny)[rows]).to(dtype)

        return self._once(("mean", dtype), build)

    def degrees(self, dtype: torch.dtype) -> Tensor:
        """Weighted number of incoming edges of each sender, ``[senders]``."""
        if self._degrees is not None:
            return self._degrees.to(dtype)

        def build() -> Tensor:
            weights, rows = self._weights(dtype), self.pattern.rows.long()
            return weights.new_zeros(self.pattern.num_columns).index_add_(0, rows, weights)

        return self._once(("degrees", dtype), build)

    def with_self_loops(self) -> tuple[SparsePattern, Tensor | None]:
        """The pattern with an edge from each receiver to itself, and which edges count.

        An edge of weight zero does not count; the second result is ``None`` if there is none.
        """

        def build() -> tuple[SparsePattern, Tensor | None]:
            pattern = self.pattern
            loops = torch.arange(pattern.num_rows, device=pattern.device)
            rows = torch.cat((pattern.rows.long(), loops))
            columns = torch.cat((pattern.indices.long(), loops))
            key = torch.unique(rows * pattern.num_columns + columns)  # sorted, no double loops
            counts = torch.bincount(key // pattern.num_columns, minlength=pattern.num_rows)
            indptr = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
            looped = SparsePattern(indptr, key % pattern.num_columns, pattern.num_columns)
            if self.weights is None or bool((self.weights != 0).all()):
                return looped, None
            keep = torch.zeros(len(key), dtype=torch.bool, device=pattern.device)
            real = torch.cat((self.weights != 0, torch.ones_like(loops, dtype=torch.bool)))
            keep[torch.searchsorted(key, (rows * pattern.num_columns + columns)[real])] = True
            return looped, keep

        return self._once("self loops", build)

    def edge_index(self) -> tuple[Tensor, Tensor | None]:
        """PyG's ``[2, num_edges]`` of senders and receivers, and weights; none of them zero."""

        def build() -> tuple[Tensor, Tensor | None]:
            pairs = torch.stack((self.pattern.indices.long(), self.pattern.rows.long()))
            if self.weights is None:
                return pairs, None
            real = self.weights != 0
            return pairs[:, real], self.weights[real]

        return self._once("edge_index", build)

    def to(self, device: torch.device | str) -> Adjacency:
        """The same edges on another device."""
        if torch.device(device) == self.pattern.device:
            return self
        weights = None if self.weights is None else moved(self.weights, device)
        degrees = None if self._degrees is None else moved(self._degrees, device)
        return Adjacency(self.pattern.to(device), weights, degrees)

    def _weights(self, dtype: torch.dtype) -> Tensor:
        weights = self.edge_weights(dtype)
        return self.pattern.ones(dtype) if weights is None else weights

    def _once(self, key: object, build: Callable[[], Built]) -> Built:
        if key not in self._memory:
            self._memory[key] = build()
        return self._memory[key]  # type: ignore[return-value]
