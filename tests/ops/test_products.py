from __future__ import annotations

import pytest
import torch

from grafenne.ops import SparsePattern, gather_columns, gather_rows, sparse_product
from tests.ops.patterns import PATTERNS, random_pattern
from tests.reference import assert_same, draw, edges_of


def loops(pattern: SparsePattern, weights: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    rows = [0 * dense.sum(0) for _ in range(pattern.num_rows)]
    for entry, (row, column, _) in enumerate(edges_of(pattern)):
        rows[row] = rows[row] + weights[entry] * dense[column]
    return torch.stack(rows) if rows else dense.new_zeros(0, dense.shape[1])


def test_by_hand() -> None:
    # [[2, 0], [0, 0], [3, 4]] @ [[1, 10], [5, 50]]
    pattern = SparsePattern(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 0, 1]), 2)
    weights = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    dense = torch.tensor([[1.0, 10.0], [5.0, 50.0]], requires_grad=True)
    result = sparse_product(pattern, weights, dense)
    assert result.tolist() == [[2, 20], [0, 0], [23, 230]]
    result[2, 0].backward()
    assert weights.grad.tolist() == [0, 1, 5]
    assert dense.grad.tolist() == [[3, 0], [4, 0]]


@pytest.mark.parametrize("name", PATTERNS)
def test_equals_the_loops(name: str) -> None:
    pattern = PATTERNS[name]
    weights, dense = draw(pattern.num_entries), draw(pattern.num_columns, 3, seed=1)
    assert_same(
        lambda: sparse_product(pattern, weights, dense),
        lambda: loops(pattern, weights, dense),
        [weights, dense],
    )


@pytest.mark.parametrize("name", PATTERNS)
def test_gradcheck(name: str) -> None:
    pattern = PATTERNS[name]
    weights, dense = draw(pattern.num_entries), draw(pattern.num_columns, 2, seed=1)
    assert torch.autograd.gradcheck(lambda w, d: sparse_product(pattern, w, d), (weights, dense))
    assert torch.autograd.gradcheck(lambda d: sparse_product(pattern, None, d), (dense,))
    fixed = weights.detach()
    assert torch.autograd.gradcheck(lambda d: sparse_product(pattern, fixed, d), (dense,))
    still = dense.detach()
    assert torch.autograd.gradcheck(lambda w: sparse_product(pattern, w, still), (weights,))


@pytest.mark.parametrize("name", PATTERNS)
def test_gradcheck_of_gathers(name: str) -> None:
    pattern = PATTERNS[name]
    columns, rows = draw(pattern.num_columns), draw(pattern.num_rows)
    assert torch.autograd.gradcheck(lambda x: gather_columns(pattern, x), (columns,))
    assert torch.autograd.gradcheck(lambda x: gather_rows(pattern, x), (rows,))


def test_gathers_by_hand() -> None:
    pattern = SparsePattern(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 0, 1]), 2)
    columns = torch.tensor([5.0, 7.0], requires_grad=True)
    rows = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    gathered = gather_columns(pattern, columns)
    assert gathered.tolist() == [5, 5, 7]
    (gathered * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert columns.grad.tolist() == [11, 100]
    gathered = gather_rows(pattern, rows)
    assert gathered.tolist() == [1, 3, 3]
    (gathered * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert rows.grad.tolist() == [1, 0, 110]


def test_weights_known_to_the_pattern_have_the_same_gradient_as_any_others() -> None:
    """Ones and means take a short way through the backward pass."""
    pattern = random_pattern(5)
    dense = draw(pattern.num_columns, 3)
    for known in (pattern.ones(torch.double), pattern.mean_weights(torch.double)):
        copy = known.clone()
        for _ in range(2):  # the second time from memory
            assert_same(
                lambda known=known: sparse_product(pattern, known, dense),
                lambda copy=copy: sparse_product(pattern, copy, dense),
                [dense],
            )
    back = pattern.transpose
    turned = draw(back.num_columns, 3)
    weights = back.mean_weights(torch.double)
    assert_same(
        lambda: sparse_product(back, weights, turned),
        lambda: sparse_product(back, weights.clone(), turned),
        [turned],
    )


def test_no_gradient_is_made_for_constants() -> None:
    pattern = random_pattern(6)
    weights = torch.ones(pattern.num_entries)
    dense = torch.ones(pattern.num_columns, 2, requires_grad=True)
    sparse_product(pattern, weights, dense).sum().backward()
    assert weights.grad is None
    assert dense.grad is not None
