"""Where the entries of a sparse matrix are; built once per graph and shared by all products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from grafenne.ops.arrays import shared_tensor


class SparsePattern:
    """The places of the entries of a ``[num_rows, num_columns]`` matrix in compressed rows.

    The transpose and the permutation between the two orders are computed once and kept: without
    them every backward pass would sort the entries again.

    Args:
        indptr: Where each row begins, ``[num_rows + 1]``.
        indices: Column of each entry, ``[num_entries]``, rising within a row.
        num_columns: Number of columns.
    """

    def __init__(self, indptr: Tensor, indices: Tensor, num_columns: int) -> None:
        # 32-bit indices halve the memory traffic of every product.
        wide = max(len(indices), num_columns, len(indptr)) >= 2**31
        dtype = torch.int64 if wide else torch.int32
        self.indptr = indptr.to(dtype)
        self.indices = indices.to(dtype)
        self.num_columns = num_columns
        self._memory: dict[object, Tensor] = {}

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array) -> SparsePattern:
        """The places of the stored entries (zeros too) of a SciPy matrix with sorted rows."""
        indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
        return cls(shared_tensor(indptr), shared_tensor(indices), matrix.shape[1])

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def num_entries(self) -> int:
        """Number of stored places."""
        return len(self.indices)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, self.num_columns

    @property
    def device(self) -> torch.device:
        """Where the index tensors are."""
        return self.indices.device

    def __repr__(self) -> str:
        return f"SparsePattern({self.num_rows} x {self.num_columns}, {self.num_entries} entries)"

    @cached_property
    def counts(self) -> Tensor:
        """Entries per row."""
        return self.indptr.diff()

    @cached_property
    def rows(self) -> Tensor:
        """Row of each entry."""
        rows = torch.arange(self.num_rows, dtype=self.indices.dtype, device=self.device)
        return rows.repeat_interleave(self.counts, output_size=self.num_entries)

    @cached_property
    def transpose(self) -> SparsePattern:
        """The same entries by column; :attr:`permutation` reorders values to match."""
        order = np.arange(self.num_entries, dtype=np.int64)
        matrix = sparse.csr_array(
            (order, self.indices.cpu().numpy(), self.indptr.cpu().numpy()), shape=self.shape
        ).tocsc()
        flipped = SparsePattern(
            torch.from_numpy(matrix.indptr).to(self.device),
            torch.from_numpy(matrix.indices).to(self.device),
            self.num_rows,
        )
        self._permutation = torch.from_numpy(matrix.data).to(self.device, self.indices.dtype)
        flipped.__dict__["transpose"] = self
        return flipped

    def set_transpose(self, indptr: Tensor, indices: Tensor, permutation: Tensor) -> None:
        """Takes over a transpose that was computed before, and stored, say.

        Args:
            indptr: Where each column begins.
            indices: Row of each entry, column by column.
            permutation: Place of each of these entries in this pattern.
        """
        flipped = SparsePattern(indptr, indices, self.num_rows)
        self._permutation = permutation.to(self.indices.dtype)
        flipped.__dict__["transpose"] = self
        self.__dict__["transpose"] = flipped

    @cached_property
    def permutation(self) -> Tensor:
        """``values[permutation]`` are the values in the order of the transpose."""
        other = self.transpose
        if not hasattr(self, "_permutation"):
            self._permutation = _inverse(other._permutation)
        return self._permutation

    def remember(self, key: object, build: Callable[[], Tensor]) -> Tensor:
        """A tensor derived from the pattern alone, computed once."""
        if key not in self._memory:
            self._memory[key] = build()
        return self._memory[key]

    def ones(self, dtype: torch.dtype) -> Tensor:
        """A weight of one for each entry."""
        return self.remember(
            ("ones", dtype), lambda: torch.ones(self.num_entries, dtype=dtype, device=self.device)
        )

    def mean_weights(self, dtype: torch.dtype) -> Tensor:
        """Weights that turn a product into the mean over each row's entries."""
        return self.remember(
            ("mean", dtype),
            lambda: self.counts.to(dtype).clamp(min=1).reciprocal()[self.rows.long()],
        )

    def to(self, device: torch.device | str) -> SparsePattern:
        """The pattern on another device."""
        if torch.device(device) == self.device:
            return self
        return SparsePattern(self.indptr.to(device), self.indices.to(device), self.num_columns)


def _inverse(permutation: Tensor) -> Tensor:
    inverse = torch.empty_like(permutation)
    inverse[permutation.long()] = torch.arange(
        len(permutation), dtype=inverse.dtype, device=inverse.device
    )
    return inverse
