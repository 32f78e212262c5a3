from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from grafenne.ops import SparsePattern


@pytest.fixture
def pattern() -> SparsePattern:
    """Entries at (0, 1), (0, 3), (2, 0), (2, 1), (2, 2); row 1 and column 4 are empty."""
    return SparsePattern(torch.tensor([0, 2, 2, 5]), torch.tensor([1, 3, 0, 1, 2]), 5)


def test_counts_rows_and_shape(pattern: SparsePattern) -> None:
    assert pattern.shape == (3, 5)
    assert pattern.num_entries == 5
    assert pattern.counts.tolist() == [2, 0, 3]
    assert pattern.rows.tolist() == [0, 0, 2, 2, 2]
    assert repr(pattern) == "SparsePattern(3 x 5, 5 entries)"


def test_indices_are_narrow(pattern: SparsePattern) -> None:
    assert pattern.indices.dtype == pattern.indptr.dtype == torch.int32
    assert pattern.rows.dtype == pattern.permutation.dtype == torch.int32


def test_the_transpose_lists_the_entries_by_column(pattern: SparsePattern) -> None:
    flipped = pattern.transpose
    assert flipped.shape == (5, 3)
    assert flipped.indptr.tolist() == [0, 1, 3, 4, 5, 5]
    assert flipped.indices.tolist() == [2, 0, 2, 2, 0]
    assert pattern.permutation.tolist() == [2, 0, 3, 4, 1]


def test_the_transpose_of_the_transpose_is_the_pattern(pattern: SparsePattern) -> None:
    assert pattern.transpose.transpose is pattern
    there = torch.arange(5.0)[pattern.permutation.long()]
    assert there[pattern.transpose.permutation.long()].tolist() == [0, 1, 2, 3, 4]


def test_from_scipy_keeps_stored_zeros() -> None:
    matrix = sparse.csr_array((np.array([0.0, 2.0]), ([0, 1], [1, 0])), shape=(2, 2))
    pattern = SparsePattern.from_scipy(matrix)
    assert pattern.rows.tolist() == [0, 1]
    assert pattern.indices.tolist() == [1, 0]


def test_weights_that_depend_on_the_pattern_alone_are_made_once(pattern: SparsePattern) -> None:
    mean = pattern.mean_weights(torch.float64)
    assert mean.tolist() == [1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]
    assert mean.dtype == torch.float64
    assert pattern.mean_weights(torch.float64) is mean
    assert pattern.mean_weights(torch.float32) is not mean
    assert pattern.ones(torch.float32) is pattern.ones(torch.float32)
    assert pattern.ones(torch.float64).tolist() == [1.0] * 5


def test_remember_builds_once(pattern: SparsePattern) -> None:
    calls: list[int] = []

    def build() -> torch.Tensor:
        calls.append(1)
        return torch.zeros(1)

    assert pattern.remember("key", build) is pattern.remember("key", build)
    assert len(calls) == 1


def test_the_same_device_is_no_copy(pattern: SparsePattern) -> None:
    assert pattern.to("cpu") is pattern
    other = pattern.to("meta")
    assert other.device.type == "meta"
    assert other.shape == pattern.shape


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_without_entries(rows: int, columns: int) -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    pattern = SparsePattern(torch.zeros(rows + 1, dtype=torch.int64), nothing, columns)
    assert pattern.shape == (rows, columns)
    assert pattern.transpose.shape == (columns, rows)
    assert len(pattern.rows) == len(pattern.permutation) == 0
    assert pattern.counts.tolist() == [0] * rows
