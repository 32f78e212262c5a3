"""Patterns that the tests of the operators run over."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from grafenne.ops import SparsePattern


def random_pattern(seed: int = 0, rows: int = 5, columns: int = 4) -> SparsePattern:
    """Half of the cells; the second row and the last column are empty."""
    there = np.random.default_rng(seed).random((rows, columns)) < 0.5
    there[1, :] = there[:, -1] = False
    return SparsePattern.from_scipy(sparse.csr_array(there))


def empty_pattern(rows: int, columns: int) -> SparsePattern:
    return SparsePattern.from_scipy(sparse.csr_array((rows, columns)))


PATTERNS = {
    "random": random_pattern(1),
    "wide": random_pattern(2, rows=2, columns=7),
    "tall": random_pattern(3, rows=7, columns=2),
    "one cell": SparsePattern(torch.tensor([0, 1]), torch.tensor([0]), 1),
    "no entries": empty_pattern(3, 2),
    "no rows": empty_pattern(0, 2),
    "no columns": empty_pattern(3, 0),
    "empty": empty_pattern(0, 0),
}
