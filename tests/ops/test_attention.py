from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from grafenne.ops import SparsePattern, attention_product, column_attention_product, gather_columns
from tests.ops.patterns import PATTERNS, random_pattern
from tests.reference import assert_same, draw, edges_of, softmax


def loops(
    pattern: SparsePattern,
    scores: Tensor,
    dense: Tensor,
    values: Tensor | None = None,
    value_dense: Tensor | None = None,
    keep: Tensor | None = None,
) -> Tensor:
    rows = []
    for row in range(pattern.num_rows):
        mine = [
            (entry, column)
            for entry, (of, column, _) in enumerate(edges_of(pattern))
            if of == row and (keep is None or keep[entry])
        ]
        total = 0 * dense.sum(0)
        weights = softmax([scores[entry] for entry, _ in mine])
        for weight, (entry, column) in zip(weights, mine, strict=True):
            message = dense[column]
            if values is not None and value_dense is not None:
                message = message + values[entry] * value_dense[column]
            total = total + weight * message
        rows.append(total)
    return torch.stack(rows) if rows else dense.new_zeros(0, dense.shape[1])


def some_kept(pattern: SparsePattern) -> Tensor:
    keep = (torch.arange(pattern.num_entries) % 3 != 1).double()
    keep[: pattern.counts[0] if pattern.num_rows else 0] = 0  # the first row loses everything
    return keep


def test_by_hand() -> None:
    # Row 0 sees both columns with scores 0 and log 3: weights 1/4 and 3/4. Row 1 sees none.
    pattern = SparsePattern(torch.tensor([0, 2, 2]), torch.tensor([0, 1]), 2)
    dense = torch.tensor([[4.0, 0.0], [8.0, 4.0]])
    scores = torch.tensor([0.0, math.log(3.0)])
    expected = torch.tensor([[7.0, 3.0], [0.0, 0.0]])
    torch.testing.assert_close(attention_product(pattern, scores, dense), expected)
    torch.testing.assert_close(column_attention_product(pattern, scores, dense), expected)
    # With values 2 and -4 and a slope of one: 1/4 (4 + 2) + 3/4 (8 - 4).
    more = attention_product(
        pattern, scores, dense, values=torch.tensor([2.0, -4.0]), value_dense=torch.ones(2, 2)
    )
    torch.testing.assert_close(more, torch.tensor([[4.5, 0.5], [0.0, 0.0]]))


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_loops(name: str, masked: bool) -> None:
    pattern = PATTERNS[name]
    scores, values = draw(pattern.num_entries), draw(pattern.num_entries, seed=1).detach()
    dense, slope = draw(pattern.num_columns, 3, seed=2), draw(pattern.num_columns, 3, seed=3)
    keep = some_kept(pattern) if masked else None
    assert_same(
        lambda: attention_product(pattern, scores, dense, keep=keep),
        lambda: loops(pattern, scores, dense, keep=keep),
        [scores, dense],
    )
    assert_same(
        lambda: attention_product(
            pattern, scores, dense, values=values, value_dense=slope, keep=keep
        ),
        lambda: loops(pattern, scores, dense, values, slope, keep),
        [scores, dense, slope],
    )


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("masked", [False, True])
def test_gradcheck(name: str, masked: bool) -> None:
    pattern = PATTERNS[name]
    scores, values = draw(pattern.num_entries), draw(pattern.num_entries, seed=1).detach()
    dense, slope = draw(pattern.num_columns, 2, seed=2), draw(pattern.num_columns, 2, seed=3)
    columns = draw(pattern.num_columns, seed=4)
    keep = some_kept(pattern) if masked else None

    def with_values(score: Tensor, state: Tensor, rise: Tensor) -> Tensor:
        return attention_product(pattern, score, state, values=values, value_dense=rise, keep=keep)

    assert torch.autograd.gradcheck(with_values, (scores, dense, slope))
    assert torch.autograd.gradcheck(
        lambda s, d: attention_product(pattern, s, d, keep=keep), (scores, dense)
    )
    assert torch.autograd.gradcheck(
        lambda s, d: column_attention_product(pattern, s, d, keep=keep), (columns, dense)
    )


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("spread", [1.0, 200.0])
def test_scores_per_column_are_the_same_attention(name: str, masked: bool, spread: float) -> None:
    """On either side of the spread where the exact path takes over."""
    pattern = PATTERNS[name]
    dense = draw(pattern.num_columns, 3, seed=2)
    steps = torch.linspace(-0.5, 0.5, pattern.num_columns).double()
    scores = (steps * spread).requires_grad_()
    keep = some_kept(pattern) if masked else None
    assert_same(
        lambda: column_attention_product(pattern, scores, dense, keep=keep),
        lambda: attention_product(pattern, gather_columns(pattern, scores), dense, keep=keep),
        [scores, dense],
    )


@pytest.mark.parametrize("spread", [55.0, 65.0, 150.0])
def test_a_row_of_low_scores_does_not_see_the_high_ones_elsewhere(spread: float) -> None:
    """exp(-150) is no float32, yet the second row is a plain mean of equal scores."""
    pattern = SparsePattern(torch.tensor([0, 1, 3]), torch.tensor([0, 1, 2]), 3)
    scores = torch.tensor([0.0, -spread, -spread], requires_grad=True)
    dense = torch.tensor([[1.0], [2.0], [6.0]], requires_grad=True)
    result = column_attention_product(pattern, scores, dense)
    torch.testing.assert_close(result, torch.tensor([[1.0], [4.0]]))
    result[1].backward()
    torch.testing.assert_close(scores.grad, torch.tensor([0.0, -1.0, 1.0]))
    torch.testing.assert_close(dense.grad, torch.tensor([[0.0], [0.5], [0.5]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_huge_scores_give_finite_results(dtype: torch.dtype, masked: bool) -> None:
    pattern = random_pattern(7, rows=6, columns=6)
    keep = some_kept(pattern).to(dtype) if masked else None
    dense = draw(6, 2).detach().to(dtype).requires_grad_()
    for high in (1e4, -1e4):
        scores = torch.full((6,), high, dtype=dtype)
        scores[::2] = -high
        scores.requires_grad_()
        entries = gather_columns(pattern, scores)
        for result in (
            attention_product(pattern, entries, dense, keep=keep),
            column_attention_product(pattern, scores, dense, keep=keep),
        ):
            gradients = torch.autograd.grad(result.sum(), [scores, dense], retain_graph=True)
            assert all(found.isfinite().all() for found in (result, *gradients))
            seen = pattern.counts > 0 if keep is None else None
            if seen is not None:  # somebody always holds the whole weight
                assert (result.abs().sum(1) > 0).equal(seen)


def test_an_edge_left_out_does_not_silence_the_others() -> None:
    """The score that is left out is larger by more than exp() can tell apart."""
    pattern = SparsePattern(torch.tensor([0, 3]), torch.tensor([0, 1, 2]), 3)
    scores = torch.tensor([1e4, -1e4, -1e4])
    dense = torch.tensor([[100.0], [2.0], [4.0]])
    keep = torch.tensor([0.0, 1.0, 1.0])
    assert attention_product(pattern, scores, dense, keep=keep).tolist() == [[3.0]]
    assert column_attention_product(pattern, scores, dense, keep=keep).tolist() == [[3.0]]


def test_adding_a_number_to_a_rows_scores_changes_nothing() -> None:
    pattern = random_pattern(8)
    scores, dense = draw(pattern.num_entries), draw(pattern.num_columns, 3)
    shift = torch.arange(pattern.num_rows).double()[pattern.rows.long()] * 7
    torch.testing.assert_close(
        attention_product(pattern, scores, dense),
        attention_product(pattern, scores + shift, dense),
    )
