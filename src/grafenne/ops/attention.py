"""Softmax attention over the entries of a sparse pattern, without a vector per edge.

The paper scores an edge with wᵀ LeakyReLU(W_a h_row ‖ W_b h_column ‖ w_c e). LeakyReLU works
element by element and the dot product follows a concatenation, so a score is a sum of three
scalars, one per row, one per column, one per edge, and the softmax over a row cancels the first.
What is left is a scalar per edge, a softmax over each row, and one sparse product.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grafenne.ops import kernels
from grafenne.ops.pattern import SparsePattern
from grafenne.ops.products import gather_columns, sparse_product

# exp() of a float32 loses all its digits below -87; well before that, take the exact path.
_LARGEST_SPREAD = 60.0


def attention_product(
    pattern: SparsePattern,
    scores: Tensor,
    dense: Tensor,
    *,
    values: Tensor | None = None,
    value_dense: Tensor | None = None,
    keep: Tensor | None = None,
) -> Tensor:
    """Mean of ``dense[column]`` over each row, weighted by the softmax of the scores.

    With ``values`` and ``value_dense`` the message of an entry also depends on its value e: it
    is ``dense[column] + e * value_dense[column]``.

    Args:
        pattern: Places of the entries, ``[rows, columns]``.
        scores: One score per entry, ``[num_entries]``.
        dense: ``[columns, width]``.
        values: Value of each entry, ``[num_entries]``; a constant.
        value_dense: ``[columns, width]``, the slope of the message in the value.
        keep: Weight of each entry beside its exp(score): 0 leaves it out; ``[num_entries]``, a
            constant.

    Returns:
        ``[rows, width]``; zero for a row without entries. Differentiable in ``scores``,
        ``dense`` and ``value_dense``.
    """
    result: Tensor = _AttentionProduct.apply(  # type: ignore[no-untyped-call]
        scores, dense, value_dense, pattern, values, keep
    )
    return result


def column_attention_product(
    pattern: SparsePattern, column_scores: Tensor, dense: Tensor, *, keep: Tensor | None = None
) -> Tensor:
    """:func:`attention_product` for scores that depend on the column alone.

    This is the case when all values are equal. Then exp(score) can be multiplied into the
    columns before a product with constant weights: Σ exp(t_u) x_u / Σ exp(t_u), which needs no
    number per edge in either direction.

    Args:
        pattern: Places of the entries, ``[rows, columns]``.
        column_scores: One score per column, ``[columns]``.
        dense: ``[columns, width]``.
        keep: As in :func:`attention_product`.
    """
    low, high = torch.aminmax(column_scores.detach()) if len(column_scores) else (0.0, 0.0)
    if high - low > _LARGEST_SPREAD:
        scores = gather_columns(pattern, column_scores)
        return attention_product(pattern, scores, dense, keep=keep)
    scale = (column_scores - high).exp().unsqueeze(1)  # [columns, 1]
    # Two products: beside 64 columns a 65th would make the kernel leave its fast path (3.5 times).
    total = sparse_product(pattern, keep, scale)
    sums = sparse_product(pattern, keep, dense * scale)
    total = torch.where(total > 0, total, torch.ones_like(total))
    result: Tensor = _RowQuotient.apply(sums, total)  # type: ignore[no-untyped-call]
    return result


class _RowQuotient(torch.autograd.Function):
    """``sums / total`` with one number per row below; its gradient takes two passes, not five."""

    @staticmethod
    def forward(sums: Tensor, total: Tensor) -> Tensor:
        return sums / total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1], output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None]:
        total, output = ctx.saved_tensors
        for_sums = grads[0] / total
        for_total = None
        if ctx.needs_input_grad[1]:
            for_total = -(for_sums * output).sum(dim=1, keepdim=True)
        return for_sums, for_total


class _AttentionProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        dense: Tensor,
        value_dense: Tensor | None,
        pattern: SparsePattern,
        values: Tensor | None,
        keep: Tensor | None,
    ) -> Tensor:
        attention = _row_softmax(pattern, scores, keep)
        out = kernels.product(pattern, attention, dense)
        if value_dense is not None and values is not None:
            out += kernels.product(pattern, attention * values, value_dense)
        ctx.pattern, ctx.values = pattern, values
        ctx.save_for_backward(attention, dense, value_dense, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        pattern, values, gradient = ctx.pattern, ctx.values, grads[0].contiguous()
        attention, dense, value_dense, out = ctx.saved_tensors
        for_scores = for_dense = for_value_dense = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            flipped = attention.index_select(0, pattern.permutation)
        if ctx.needs_input_grad[1]:
            for_dense = kernels.product(pattern.transpose, flipped, gradient)
        if ctx.needs_input_grad[2] and values is not None:
            flipped_values = values.index_select(0, pattern.permutation)
            for_value_dense = kernels.product(pattern.transpose, flipped * flipped_values, gradient)
        if ctx.needs_input_grad[0]:
            # d score = α (g·m - Σ α g·m), and the sum over a row is just g · out.
            toward = kernels.sampled_product(pattern, gradient, dense)
            if value_dense is not None and values is not None:
                toward += values * kernels.sampled_product(pattern, gradient, value_dense)
            mean = (gradient * out).sum(dim=1)
            for_scores = attention * (toward - mean.index_select(0, pattern.rows))
        return for_scores, for_dense, for_value_dense, None, None, None


def _row_softmax(pattern: SparsePattern, scores: Tensor, keep: Tensor | None) -> Tensor:
    if keep is not None:
        # Left out before the maximum is taken: a large score that is left out must not push the
        # others below the smallest number.
        scores = scores.masked_fill(keep == 0, float("-inf"))
    largest = kernels.row_max(pattern, scores)
    if keep is not None:
        largest = torch.where(largest.isinf(), torch.zeros_like(largest), largest)
    raised = (scores - largest.index_select(0, pattern.rows)).exp_()
    if keep is not None:
        raised *= keep
    total = kernels.row_sum(pattern, raised)
    total = torch.where(total > 0, total, torch.ones_like(total))
    return raised.div_(total.index_select(0, pattern.rows))
