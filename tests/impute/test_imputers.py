"""The imputations: right by hand, by loops and by PyG; observed cells are never touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data
from torch_geometric.transforms import FeaturePropagation as PygPropagation

from grafenne import FeatureGraph, drop_features
from grafenne.errors import DataError, ParameterError, UnknownNameError
from grafenne.impute import IMPUTERS, gathering, make_imputer
from grafenne.impute import base as blocks
from tests.impute.graphs import chain, neighbourhood_mean, partly_observed, pcfi, tables
from tests.small_graphs import DEGENERATE, permuted, random_graph

FILLING = ("neighbourhood-mean", "feature-propagation", "pcfi")
filling = pytest.mark.parametrize("name", FILLING)


def filled(graph: FeatureGraph, name: str, **settings: Any) -> np.ndarray:
    return tables(make_imputer(name, **settings).transform(graph))[0]


@pytest.fixture(params=[8_000_000, 24], ids=["one block", "small blocks"])
def block_cells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Once with all columns in one block, once with two columns (or rows) at a time."""
    import grafenne.impute.pcfi as pcfi_module

    monkeypatch.setattr(gathering, "DENSE", 0.0)
    monkeypatch.setattr(blocks, "BLOCK_CELLS", request.param)
    monkeypatch.setattr(pcfi_module, "BLOCK_CELLS", request.param)
    return int(request.param)


# ---- the maths -------------------------------------------------------------------------------


def test_neighbourhood_mean_by_hand() -> None:
    result = filled(chain(), "neighbourhood-mean")
    # f: b lies between 4 and 1, d beside 1. g: c lies between the observed 0 and 6, a beside 0.
    assert result.tolist() == [[4.0, 0.0], [2.5, 0.0], [1.0, 3.0], [1.0, 6.0]]


@pytest.mark.parametrize("seed", range(4))
def test_neighbourhood_mean_is_the_loop(seed: int, block_cells: int) -> None:
    graph = partly_observed(seed)
    np.testing.assert_allclose(
        filled(graph, "neighbourhood-mean"), neighbourhood_mean(graph), atol=1e-6
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("products", [10_000_000, 5])
def test_neighbourhood_mean_by_rows_is_the_loop(
    seed: int, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "DENSE", 2.0)
    monkeypatch.setattr(gathering, "PRODUCTS", products)
    graph = partly_observed(seed)
    np.testing.assert_allclose(
        filled(graph, "neighbourhood-mean"), neighbourhood_mean(graph), atol=1e-6
    )


def test_values_that_cancel_are_a_mean_of_zero() -> None:
    graph = FeatureGraph.from_arrays(
        4, 2, ([0, 2, 3, 3], [0, 0, 0, 1], [2.0, -2.0, 3.0, 1.0]), ([0, 1, 1], [1, 2, 3])
    )
    # The first feature of the node in the middle: (2 - 2 + 3) / 3.
    for dense in (0.0, 2.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gathering, "DENSE", dense)
            assert filled(graph, "neighbourhood-mean")[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("iterations", [1, 40])
def test_feature_propagation_is_that_of_pyg(seed: int, iterations: int, block_cells: int) -> None:
    graph = partly_observed(seed)
    values, observed, neighbours = tables(graph)
    pairs = [(u, v) for v, those in enumerate(neighbours) for u in those]
    data = Data(x=torch.tensor(values).float(), edge_index=torch.tensor(pairs).t().reshape(2, -1))
    expected = PygPropagation(torch.tensor(~observed), iterations)(data).x.numpy()
    result = filled(graph, "feature-propagation", iterations=iterations, keep=None)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_feature_propagation_by_hand() -> None:
    result = filled(chain(), "feature-propagation", iterations=1, keep=None)
    root = 2**-0.5  # the edge between an end of the chain and its neighbour
    assert result[1] == pytest.approx([4 * root + 0.5, 0.0])
    assert result[2] == pytest.approx([1.0, 6 * root])
    assert result[3] == pytest.approx([root, 6.0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("alpha", "beta"), [(0.9, 1.0), (0.5, 0.3), (0.7, 0.0)])
def test_pcfi_is_the_loop(seed: int, alpha: float, beta: float, block_cells: int) -> None:
    graph = partly_observed(seed)
    settings = {"alpha": alpha, "beta": beta, "iterations": 30}
    # A feature that nobody has varies nowhere, so the loop leaves it at zero too.
    expected = pcfi(graph, alpha, beta, 30)
    np.testing.assert_allclose(filled(graph, "pcfi", keep=None, **settings), expected, atol=1e-5)


def test_pcfi_fills_a_part_with_the_only_value_it_knows() -> None:
    graph = FeatureGraph.from_arrays(4, 1, ([0], [0], [3.0]), ([0, 1], [1, 2]))
    result = filled(graph, "pcfi", iterations=100)
    np.testing.assert_allclose(
        result[:, 0], [3, 3, 3, 0], atol=1e-5
    )  # the last node is out of reach


def test_weights_of_edges_count_for_propagation_and_not_for_the_mean() -> None:
    weighted = FeatureGraph.from_arrays(
        3, 1, ([0, 2], [0, 0], [1.0, 5.0]), ([0, 1], [1, 2], [3.0, 1.0])
    )
    assert filled(weighted, "neighbourhood-mean")[1, 0] == 3.0
    # degrees 3, 4, 1: 3 / sqrt(3 * 4) of the first value and 1 / sqrt(4) of the other
    expected = 3 / 12**0.5 * 1.0 + 0.5 * 5.0
    result = filled(weighted, "feature-propagation", iterations=1)
    assert result[1, 0] == pytest.approx(expected)


# ---- truncation ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["feature-propagation", "pcfi", "neighbourhood-mean"])
@pytest.mark.parametrize("keep", [0, 1, 2, 5])
def test_the_largest_filled_cells_are_kept(name: str, keep: int, block_cells: int) -> None:
    graph = partly_observed(1)
    values, observed, _ = tables(graph)
    exact = np.where(observed, 0.0, filled(graph, name, keep=None))
    imputer = make_imputer(name, keep=keep)
    kept = np.where(observed, 0.0, tables(imputer.transform(graph))[0])
    for row, chosen in zip(exact, kept, strict=True):
        largest = np.sort(np.abs(row))[::-1][:keep]
        np.testing.assert_allclose(np.sort(np.abs(chosen))[::-1][:keep], largest, atol=1e-6)
        np.testing.assert_allclose(chosen[chosen != 0], row[chosen != 0], atol=1e-6)
    dropped = ((exact - kept) ** 2).sum() / (exact**2).sum()
    assert imputer.dropped_share_ == pytest.approx(dropped, abs=1e-5)
    assert np.array_equal(np.where(observed, tables(imputer.transform(graph))[0], 0), values)


@filling
def test_enough_cells_are_all_cells(name: str) -> None:
    graph = partly_observed(2)
    assert np.array_equal(filled(graph, name, keep=7), filled(graph, name, keep=None))
    imputer = make_imputer(name, keep=7)
    imputer.transform(graph)
    assert imputer.dropped_share_ == pytest.approx(0, abs=1e-6)


# ---- what must hold of all -------------------------------------------------------------------


@filling
@pytest.mark.parametrize("observed_zeros", [True, False])
def test_observed_cells_keep_their_values(name: str, observed_zeros: bool) -> None:
    graph = partly_observed(3)
    result = make_imputer(name, observed_zeros=observed_zeros).transform(graph)
    values, observed, _ = tables(graph)
    new, stored, _ = tables(result)
    assert np.array_equal(new[observed], values[observed])
    assert stored[observed & (values == 0)].all() == observed_zeros
    assert stored[observed & (values != 0)].all()
    assert (result.nodes, result.features) == (graph.nodes, graph.features)
    assert result.edges is graph.edges


@filling
def test_a_complete_graph_stays_as_it_is(name: str) -> None:
    graph = drop_features(random_graph(0), 0.0, seed=0, observed_zeros=True)
    result = make_imputer(name, observed_zeros=True).transform(graph)
    assert result == graph


@filling
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_graphs(name: str, case: str) -> None:
    graph = DEGENERATE[case]
    result = make_imputer(name).transform(graph)
    assert np.isfinite(result.values.data).all()
    assert result.num_nodes == graph.num_nodes


@filling
@pytest.mark.parametrize("directed", [True, False])
def test_order_does_not_matter(name: str, directed: bool) -> None:
    graph = random_graph(4, nodes=9, directed=directed)
    moved, _ = permuted(graph)
    one = make_imputer(name, keep=None).transform(graph)
    other = make_imputer(name, keep=None).transform(moved)
    for node in graph.nodes:
        assert one.features_of(node) == pytest.approx(other.features_of(node), abs=1e-5)


@filling
def test_only_the_given_edges_are_used(name: str) -> None:
    graph = chain()
    lonely = graph.replace(edges=graph.edges.take(np.zeros(3, dtype=bool)))
    # Without edges PCFI still lets the features of a node speak for each other.
    imputer = make_imputer(name, **({"beta": 0.0} if name == "pcfi" else {}))
    assert imputer.transform(lonely) == lonely  # nothing is filled
    assert imputer.transform(lonely, graph) == imputer.transform(graph).replace(edges=lonely.edges)
    with pytest.raises(DataError, match="nodes"):
        imputer.transform(graph, random_graph(0))


def test_the_special_label_is_absence_or_the_mask() -> None:
    graph = chain()
    assert make_imputer("special").transform(graph) is graph
    masked = make_imputer("special", observed_mask=True).transform(graph)
    assert masked.features_of("b") == {"g": 0.0, "observed g": 1.0}
    assert masked.features_of("d") == {"g": 6.0, "observed g": 1.0}
    with pytest.raises(DataError, match="'observed f'"):
        make_imputer("special", observed_mask=True).transform(masked)


def test_registry_settings_and_conventions() -> None:
    names = {"special", "neighbourhood-mean", "feature-propagation", "pcfi", "places"}
    assert set(IMPUTERS) == names
    imputer = make_imputer("pcfi", alpha=0.8, keep=3)
    assert clone(imputer).get_params() == imputer.get_params()
    assert imputer.get_params()["alpha"] == 0.8
    with pytest.raises(UnknownNameError, match="Did you mean 'feature-propagation'"):
        make_imputer("feature-propagtion")
    with pytest.raises(ParameterError, match=r"'iteratons'.*Did you mean 'iterations'"):
        make_imputer("pcfi", iteratons=3)
    with pytest.raises(DataError, match="FeatureGraph"):
        imputer.transform("cora")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "settings", "word"),
    [
        ("pcfi", {"alpha": 1.0}, "alpha"),
        ("pcfi", {"beta": -1}, "beta"),
        ("pcfi", {"iterations": 0}, "iterations"),
        ("feature-propagation", {"iterations": 1.5}, "iterations"),
        ("feature-propagation", {"keep": -1}, "keep"),
        ("neighbourhood-mean", {"keep": "all"}, "keep"),
    ],
)
def test_wrong_settings_are_named(name: str, settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        make_imputer(name, **settings).transform(chain())
