"""The plain gather path does what the sparse kernels do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grafenne.allotrope import to_allotropic
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.ops import (
    SparsePattern,
    attention_product,
    column_attention_product,
    gather_columns,
    gather_rows,
    kernels,
    sparse_product,
)
from tests.ops.patterns import PATTERNS
from tests.reference import draw, randomised
from tests.small_graphs import DEGENERATE, random_graph


def both(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], Tensor], inputs: list[Tensor]
) -> list[list[Tensor]]:
    """Values and gradients by the sparse kernels, and by the gather path."""
    found = []
    for gather in (False, True):
        monkeypatch.setattr(kernels, "force_gather", gather)
        output = run()
        direction = draw(*output.shape, seed=5).detach().to(output.dtype)
        gradients = torch.autograd.grad((output * direction).sum(), inputs, allow_unused=True)
        found.append([output, *(torch.zeros(()) if g is None else g for g in gradients)])
    return found


@pytest.mark.parametrize("width", [3, 128])  # wide states have a kernel of their own
@pytest.mark.parametrize("name", PATTERNS)
def test_operators(monkeypatch: pytest.MonkeyPatch, name: str, width: int) -> None:
    pattern = PATTERNS[name]
    entries, values = draw(pattern.num_entries), draw(pattern.num_entries, seed=1).detach()
    dense = draw(pattern.num_columns, width, seed=2)
    slope = draw(pattern.num_columns, width, seed=3)
    columns, rows = draw(pattern.num_columns, seed=4), draw(pattern.num_rows, seed=5)
    runs: list[tuple[Callable[[], Tensor], list[Tensor]]] = [
        (lambda: sparse_product(pattern, entries, dense), [entries, dense]),
        (lambda: sparse_product(pattern, None, dense), [dense]),
        (lambda: gather_columns(pattern, columns), [columns]),
        (lambda: gather_rows(pattern, rows), [rows]),
        (lambda: column_attention_product(pattern, columns, dense), [columns, dense]),
        (
            lambda: attention_product(pattern, entries, dense, values=values, value_dense=slope),
            [entries, dense, slope],
        ),
    ]
    for run, inputs in runs:
        fast, plain = both(monkeypatch, run, inputs)
        torch.testing.assert_close(fast, plain)


@pytest.mark.parametrize("width", [33, 64, 100])
def test_long_rows_over_a_tall_matrix(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Such products are made in blocks of columns, the last of them narrower."""
    generator = torch.Generator().manual_seed(0)
    rows, columns, each = 20, 17_000, 150
    indices = torch.randint(columns, (rows, each), generator=generator).sort(dim=1).values
    pattern = SparsePattern(torch.arange(rows + 1) * each, indices.flatten(), columns)
    entries, dense = draw(rows * each), draw(columns, width, seed=1)
    fast, plain = both(
        monkeypatch, lambda: sparse_product(pattern, entries, dense), [entries, dense]
    )
    torch.testing.assert_close(fast, plain)


@pytest.mark.parametrize("name", PATTERNS)
def test_raw_kernels(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pattern = PATTERNS[name]
    values = draw(pattern.num_entries).detach()
    left, right = draw(pattern.num_rows, 3).detach(), draw(pattern.num_columns, 3).detach()
    found = []
    for gather in (False, True):
        monkeypatch.setattr(kernels, "force_gather", gather)
        found.append(
            [
                kernels.row_sum(pattern, values),
                kernels.row_max(pattern, values),
                kernels.sampled_product(pattern, left, right),
            ]
        )
    torch.testing.assert_close(found[0], found[1])


def test_row_max_and_row_sum_by_hand() -> None:
    pattern = SparsePattern(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 1, 1]), 2)
    values = torch.tensor([-3.0, -1.0, 5.0])
    assert kernels.row_max(pattern, values).tolist() == [-1.0, float("-inf"), 5.0]
    assert kernels.row_sum(pattern, values).tolist() == [-4.0, 0.0, 5.0]


def test_more_entries_than_one_step_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gather path works in steps of about a million entries."""
    rows, per_row = 1100, 1000
    indptr = torch.arange(rows + 1) * per_row
    pattern = SparsePattern(indptr, torch.arange(per_row).repeat(rows), per_row)
    weights = (torch.arange(pattern.num_entries) % 7).double()
    dense, left = draw(per_row, 2).detach(), draw(rows, 2, seed=1).detach()
    found = []
    for gather in (False, True):
        monkeypatch.setattr(kernels, "force_gather", gather)
        product = kernels.product(pattern, weights, dense)
        found.append([product, kernels.sampled_product(pattern, left, dense)])
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[1][0], weights.view(rows, per_row) @ dense)


@pytest.mark.parametrize("mode", ["paper", "value"])
@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_whole_model(monkeypatch: pytest.MonkeyPatch, mode: str, backbone: str) -> None:
    graphs = [random_graph(1, feature_edges=True), random_graph(2, values="binary")]
    for graph in [*graphs, *DEGENERATE.values()]:
        allotropic = to_allotropic(graph)
        model = randomised(
            Grafenne(
                LearnedFeatures(graph.features, 6),
                width=6,
                mode=mode,
                backbone=backbone,
                heads=2,
                feature_edges=True,
            )
        ).eval()
        weights = list(model.parameters())
        fast, plain = both(
            monkeypatch, lambda model=model, graph=allotropic: model(graph).nodes, weights
        )
        torch.testing.assert_close(fast, plain, rtol=1e-9, atol=1e-9)
