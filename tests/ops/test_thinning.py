from __future__ import annotations

import pytest
import torch

from grafenne.ops import SparsePattern, sparse_product, thinned
from tests.ops.patterns import PATTERNS


def test_entries_that_stay_keep_their_row_and_column() -> None:
    # Entries at (0, 1), (0, 3), (2, 0), (2, 1), (2, 2); the second and the fourth go.
    pattern = SparsePattern(torch.tensor([0, 2, 2, 5]), torch.tensor([1, 3, 0, 1, 2]), 5)
    small, places = thinned(pattern, torch.tensor([True, False, True, False, True]))
    assert small.shape == (3, 5)
    assert places.tolist() == [0, 2, 4]
    assert small.indptr.tolist() == [0, 1, 1, 3]
    assert small.indices.tolist() == [1, 0, 2]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_thinned_transpose_is_the_one_that_sorting_gives(name: str, share: float) -> None:
    pattern = PATTERNS[name]
    kept = torch.rand(pattern.num_entries, generator=torch.Generator().manual_seed(0)) < share
    small, _ = thinned(pattern, kept)
    sorted_anew = SparsePattern(small.indptr, small.indices, small.num_columns)
    assert torch.equal(small.transpose.indptr, sorted_anew.transpose.indptr)
    assert torch.equal(small.transpose.indices, sorted_anew.transpose.indices)
    assert torch.equal(small.permutation, sorted_anew.permutation)
    back, _ = thinned(small.transpose, torch.ones(small.num_entries, dtype=torch.bool))
    assert torch.equal(back.transpose.indices, small.indices)


def test_a_product_over_it_equals_one_with_zero_weights() -> None:
    pattern = PATTERNS["random"]
    keep = (torch.arange(pattern.num_entries) % 2).double() * 1.5
    small, places = thinned(pattern, keep != 0)
    results, gradients = [], []
    for one, weights in ((pattern, keep), (small, keep[places])):
        dense = torch.arange(pattern.num_columns * 3.0, dtype=torch.double).view(-1, 3)
        dense.requires_grad_()
        out = sparse_product(one, weights, dense)
        (out * out).sum().backward()
        results.append(out.detach())
        gradients.append(dense.grad)
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(gradients[0], gradients[1])
