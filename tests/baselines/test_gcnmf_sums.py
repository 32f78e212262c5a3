from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from grafenne import FeatureGraph, drop_features, to_allotropic
from grafenne.baselines import gcnmf
from grafenne.ops import SparsePattern, sparse_product
from tests import reference
from tests.baselines import loops
from tests.small_graphs import random_graph


@pytest.fixture
def pattern() -> SparsePattern:
    generator = np.random.default_rng(3)
    cells = generator.random((37, 23)) < 0.5
    cells[4] = False
    return SparsePattern.from_scipy(sparse.csr_array(cells.astype(np.float32)))


def test_unpacked_rows_are_the_pattern(
    pattern: SparsePattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcnmf, "BLOCK_CELLS", 23 * 5)
    blocks = [block for _, block in gcnmf.unpacked_rows(pattern, torch.float32)]
    assert [len(block) for block in blocks] == [5] * 7 + [2]
    whole = torch.zeros(37, 23)
    whole[pattern.rows.long(), pattern.indices.long()] = 1
    assert torch.equal(torch.cat(blocks), whole)


def test_block_products_agree_with_sparse_ones(
    pattern: SparsePattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcnmf, "BLOCK_CELLS", 23 * 5)
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(23, 4, dtype=torch.float64, generator=generator)
    weights = torch.randn(37, 4, dtype=torch.float64, generator=generator)
    results = []
    for many in (0, 10_000):  # always unpacked, never unpacked
        monkeypatch.setattr(gcnmf, "MANY_ENTRIES", many)
        given = rows.clone().requires_grad_()
        product = gcnmf.sum_of_rows(pattern, given)
        (product * weights).sum().backward()
        assert given.grad is not None
        results.append((product.detach(), given.grad))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(results[0][0], sparse_product(pattern, None, rows))


def test_a_product_is_made_again_only_for_other_rows(
    pattern: SparsePattern, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcnmf, "MANY_ENTRIES", 0)
    passes = 0
    unpack = gcnmf.unpacked_rows

    def counted(*given: Any) -> Iterator[tuple[slice, torch.Tensor]]:
        nonlocal passes
        passes += 1
        return unpack(*given)

    monkeypatch.setattr(gcnmf, "unpacked_rows", counted)
    products = gcnmf.LastProducts()
    rows = torch.randn(23, 4, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        first = gcnmf.sum_of_rows(pattern, rows, products)
    learning = rows.clone().requires_grad_()
    again = gcnmf.sum_of_rows(pattern, learning, products)
    assert passes == 1
    assert torch.equal(again, first)
    again.sum().backward()
    assert learning.grad is not None
    counts = torch.bincount(pattern.indices.long(), minlength=23).float()
    torch.testing.assert_close(learning.grad, counts.unsqueeze(1).expand(23, 4))

    passes = 0
    with torch.no_grad():
        again.zero_()  # what a caller does to a result is no business of the next one's
        learning[7, 2] += 1
        changed = gcnmf.sum_of_rows(pattern, learning, products)
    assert passes == 1
    torch.testing.assert_close(changed, sparse_product(pattern, None, learning.detach()))
    assert torch.equal(gcnmf.sum_of_rows(pattern, rows[:, :3], products), first[:, :3])


def test_a_loop_of_the_graph_and_the_added_one_carry_the_same_draw() -> None:
    """Variances of 1 become those of the sums, worked out with the whole normalised matrix."""
    ends = (np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2]))
    graph = FeatureGraph.from_arrays(3, 0, None, (*ends, np.array([2.0, 1.0, 0.5, 1.0])))
    matrix = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 1.0]]) + np.eye(3)
    scale = matrix.sum(axis=1) ** -0.5
    matrix = scale[:, None] * matrix * scale
    start = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    pattern, weights = gcnmf.normalised_neighbours(to_allotropic(graph), torch.float64)
    mean = sparse_product(pattern, weights, start)
    variance = sparse_product(pattern, weights.square(), start)
    np.testing.assert_allclose(mean.numpy(), matrix @ start.numpy())
    np.testing.assert_allclose(variance.numpy(), matrix**2 @ start.numpy())


def test_known_zeros_are_left_out_of_products_and_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sparse_graph = drop_features(random_graph(5, nodes=12, features=8), 0.7, seed=1)
    half_known = drop_features(sparse_graph, 0.5, seed=2, observed_zeros=True)
    graph = to_allotropic(half_known)
    cells, places = gcnmf.valued_cells(graph)
    assert places is not None
    assert 0 < cells.num_entries < len(graph.values) / 2
    encoder = reference.randomised(gcnmf.Gcnmf(8, width=4, components=3), scale=0.5)
    layer = encoder.layers[0]
    torch.testing.assert_close(layer(graph, None), loops.mixture_input(layer, graph))

    keep = (torch.arange(len(graph.values)) % 3 > 0).double() * 1.5
    few = layer(graph, keep)
    monkeypatch.setattr(gcnmf, "valued_cells", lambda graph: (graph.incidence, None))
    reference.assert_same(lambda: few, lambda: layer(graph, keep), encoder.parameters())
