"""The raw kernels behind the products, with a plain path where torch has no sparse ones.

Some builds of torch (Apple, ARM, those without MKL) lack the compressed-row kernels. They are
probed once per device and type; where one is missing, gather-and-add does the same work with
more memory traffic.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import torch
from torch import Tensor

from grafenne.ops.pattern import SparsePattern

# Entries per step of the gather path: bounds its working memory to chunk x width numbers.
_CHUNK = 1 << 20

# From this width on torch's own kernel is faster than MKL's: 23 against 43 ms, and 82 against 145
# for the transpose, at width 256 on Physics; at width 64 there is no difference.
_WIDE = 128

# A product of long rows jumps about in a tall matrix. When that does not fit into the caches near a
# core, blocks of columns that do are faster though they are copied: 55 against 115 ms at width 256,
# 12 against 20 at width 64, for the transposed product of Physics (135 entries in a row). Rows of a
# few dozen entries gain nothing.
_BLOCK = 32
_LONG_ROW = 64
_TALL_BYTES = 4 << 20

force_gather = False
"""Set to run the plain path everywhere; the tests compare the two."""


def product(pattern: SparsePattern, weights: Tensor, dense: Tensor) -> Tensor:
    """Sparse times dense: ``[rows, columns](weights) @ [columns, width]``."""
    if not force_gather and _has_sparse_kernels(dense.device, dense.dtype):
        return _csr_product(pattern, weights, dense)
    out = dense.new_zeros(pattern.num_rows, dense.shape[1])
    for start in range(0, pattern.num_entries, _CHUNK):
        part = slice(start, start + _CHUNK)
        messages = dense[pattern.indices[part].long()] * weights[part, None]
        out.index_add_(0, pattern.rows[part].long(), messages)
    return out


def _csr_product(pattern: SparsePattern, weights: Tensor, dense: Tensor) -> Tensor:
    csr, width = _as_csr(pattern, weights), dense.shape[1]
    if dense.device.type != "cpu" or pattern.num_entries == 0:
        return csr @ dense
    tall = dense.numel() * dense.element_size() > _TALL_BYTES
    if tall and width > _BLOCK and pattern.num_entries >= _LONG_ROW * pattern.num_rows:
        out = dense.new_empty(pattern.num_rows, width)
        for start in range(0, width, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[:, part] = _times(csr, dense[:, part].contiguous())
        return out
    if width >= _WIDE and _has_reduction(dense.dtype):
        summed: Tensor = torch.sparse.mm(csr, dense.contiguous(), "sum")
        return summed
    return _times(csr, dense)


def _times(csr: Tensor, dense: Tensor) -> Tensor:
    """``csr @ dense`` without the pass over the result that fills it with zeros."""
    out = dense.new_empty(csr.shape[0], dense.shape[1])
    return torch.addmm(out, csr, dense, beta=0, out=out)


def sampled_product(pattern: SparsePattern, left: Tensor, right: Tensor) -> Tensor:
    """``left[row] · right[column]`` for each entry of the pattern, ``[num_entries]``."""
    if not force_gather and _has_sparse_kernels(left.device, left.dtype):
        csr = _as_csr(pattern, pattern.ones(left.dtype))
        sampled: Tensor = torch.sparse.sampled_addmm(csr, left, right.t(), beta=0.0).values()
        return sampled
    out = left.new_empty(pattern.num_entries)
    for start in range(0, pattern.num_entries, _CHUNK):
        part = slice(start, start + _CHUNK)
        rows, columns = pattern.rows[part].long(), pattern.indices[part].long()
        out[part] = (left[rows] * right[columns]).sum(dim=1)
    return out


def row_sum(pattern: SparsePattern, values: Tensor) -> Tensor:
    """Sum of the values in each row, ``[num_rows]``."""
    return product(pattern, values, values.new_ones(pattern.num_columns, 1)).squeeze(1)


def row_max(pattern: SparsePattern, values: Tensor) -> Tensor:
    """Largest value in each row, ``[num_rows]``; minus infinity for an empty row."""
    if not force_gather and values.device.type in ("cpu", "cuda"):
        offsets = pattern.remember("offsets", pattern.indptr.long)
        largest: Tensor = torch.segment_reduce(
            values, "max", offsets=offsets, initial=float("-inf"), unsafe=True
        )
        return largest
    out = values.new_full((pattern.num_rows,), float("-inf"))
    return out.scatter_reduce_(0, pattern.rows.long(), values, "amax")


def _as_csr(pattern: SparsePattern, weights: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        pattern.indptr, pattern.indices, weights, pattern.shape, check_invariants=False
    )


@lru_cache
def _has_reduction(dtype: torch.dtype) -> bool:
    """Whether torch can sum along compressed rows by a kernel of its own."""
    try:
        pattern = SparsePattern(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), 2)
        torch.sparse.mm(_as_csr(pattern, pattern.ones(dtype)), torch.eye(2, dtype=dtype), "sum")
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True


@lru_cache
def _has_sparse_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    with warnings.catch_warnings():
        # Torch announces once per process that its compressed-row tensors are in beta.
        warnings.filterwarnings("ignore", message=".*(beta state|invariant checks).*")
        try:
            pattern = SparsePattern(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), 2).to(device)
            dense = torch.eye(2, dtype=dtype, device=device)
            csr = _as_csr(pattern, pattern.ones(dtype))
            torch.sparse.sampled_addmm(csr, csr @ dense, dense, beta=0.0)
        except (RuntimeError, NotImplementedError):
            return False
    return True
