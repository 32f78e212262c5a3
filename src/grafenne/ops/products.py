"""Differentiable sparse products over a fixed pattern."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grafenne.ops import kernels
from grafenne.ops.pattern import SparsePattern


def sparse_product(pattern: SparsePattern, weights: Tensor | None, dense: Tensor) -> Tensor:
    """Sums ``weights[entry] * dense[column]`` over the entries of each row.

    Args:
        pattern: Places of the entries, ``[rows, columns]``.
        weights: One weight per entry, ``[num_entries]``; ``None`` stands for ones.
        dense: ``[columns, width]``.

    Returns:
        ``[rows, width]``, differentiable in ``weights`` and ``dense``.
    """
    if weights is None:
        weights = pattern.ones(dense.dtype)
    result: Tensor = _SparseProduct.apply(weights, dense, pattern)  # type: ignore[no-untyped-call]
    return result


def gather_columns(pattern: SparsePattern, per_column: Tensor) -> Tensor:
    """The number of each entry's column, ``[columns] -> [num_entries]``."""
    result: Tensor = _GatherColumns.apply(per_column, pattern)  # type: ignore[no-untyped-call]
    return result


def gather_rows(pattern: SparsePattern, per_row: Tensor) -> Tensor:
    """The number of each entry's row, ``[rows] -> [num_entries]``."""
    result: Tensor = _GatherRows.apply(per_row, pattern)  # type: ignore[no-untyped-call]
    return result


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(weights: Tensor, dense: Tensor, pattern: SparsePattern) -> Tensor:
        return kernels.product(pattern, weights, dense)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        weights, dense, ctx.pattern = inputs
        ctx.save_for_backward(weights, dense if ctx.needs_input_grad[0] else None)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        pattern, gradient = ctx.pattern, grads[0].contiguous()
        weights, dense = ctx.saved_tensors
        for_weights = for_dense = None
        if ctx.needs_input_grad[0]:
            for_weights = kernels.sampled_product(pattern, gradient, dense)
        if ctx.needs_input_grad[1]:
            flipped = transposed_weights(pattern, weights)
            for_dense = kernels.product(pattern.transpose, flipped, gradient)
        return for_weights, for_dense, None


class _GatherColumns(torch.autograd.Function):
    @staticmethod
    def forward(per_column: Tensor, pattern: SparsePattern) -> Tensor:
        return per_column.index_select(0, pattern.indices)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.pattern = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        # A sum over each column is a row sum of the transpose: no slow scatter.
        flipped = transposed_weights(ctx.pattern, grads[0].contiguous())
        return kernels.row_sum(ctx.pattern.transpose, flipped), None


class _GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(per_row: Tensor, pattern: SparsePattern) -> Tensor:
        return per_row.index_select(0, pattern.rows)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.pattern = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return kernels.row_sum(ctx.pattern, grads[0].contiguous()), None


def transposed_weights(pattern: SparsePattern, weights: Tensor) -> Tensor:
    """The weights in the order of the transpose; constant weights are permuted only once."""
    if weights is pattern.ones(weights.dtype):
        return pattern.transpose.ones(weights.dtype)
    mean = ("mean", weights.dtype)
    if mean in pattern._memory and weights is pattern._memory[mean]:
        return pattern.transpose.remember(
            ("mean of transpose", weights.dtype),
            lambda: weights.index_select(0, pattern.permutation),
        )
    return weights.index_select(0, pattern.permutation)
