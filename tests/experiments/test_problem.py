from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph
from grafenne.errors import GrafenneError
from grafenne.experiments.configuration import configure, told_zeros
from grafenne.experiments.fit import run_cell
from grafenne.experiments.problem import Problem, largest_component, make_problem
from grafenne.experiments.registry import get_experiment
from grafenne.impute import make_imputer
from grafenne.tasks.links import EdgeSplit
from tests.experiments.tiny import DATA, register_tiny


def test_a_seed_gives_all_methods_the_same_split_and_missing_cells() -> None:
    register_tiny()
    configs = [configure(cell) for cell in get_experiment("tiny").cells if cell.p == 0.5]
    assert len({config["estimator"] for config in configs}) == 2
    problems = [make_problem("synthetic", 0.5, 3, config["data"]) for config in configs]
    assert len({problem.split for problem in problems}) == 1
    seen = [dict(zip(_cells(one.graph), one.graph.values.data, strict=True)) for one in problems]
    values = [{cell: value for cell, value in one.items() if value != 0} for one in seen]
    assert values[0] == values[1] == values[2]
    assert [len(one) for one in seen] != [len(one) for one in values]  # some see observed zeros


def test_another_seed_gives_another_split_and_other_missing_cells() -> None:
    one, other = (make_problem("synthetic", 0.5, seed, DATA) for seed in (0, 1))
    assert one.split != other.split
    assert _cells(one.graph) != _cells(other.graph)


def test_shifted_values_stay_where_they_are() -> None:
    plain = make_problem("synthetic", 0.5, 0, DATA)
    moved = make_problem("synthetic", 0.5, 0, {**DATA, "shift": 10.0})
    assert _cells(plain.graph) == _cells(moved.graph)
    assert np.array_equal(moved.graph.values.data, plain.graph.values.data + 10)


def test_few_labels() -> None:
    data = {
        "options": {"num_nodes": 2000, "num_features": 20, "num_classes": 3},
        "split": "few-labels",
        "pattern": "structural",
        "largest_component": True,
    }
    problem = make_problem("synthetic", 0.99, 0, data)
    split, counts = problem.split, problem.graph.values.counts
    assert not isinstance(split, EdgeSplit)
    assert problem.graph.labels is not None
    assert np.bincount(problem.graph.labels.values[split.train]).tolist() == [20, 20, 20]
    assert len(split.validation) == 1500
    assert len(split.test) == problem.graph.num_nodes - 1560
    assert 0 < (counts > 0).sum() < 60  # a node has all of its features or none


def test_the_largest_component() -> None:
    edges = pd.DataFrame({"source": list("abcxy"), "target": list("bcdyz")})
    values = pd.DataFrame({"node": list("abcdxyzo"), "feature": "f", "value": 1.0})
    part = largest_component(FeatureGraph.from_frames(values, edges))
    assert sorted(part.nodes) == ["a", "b", "c", "d"]
    assert part.num_edges == 3


def test_only_the_leaking_way_fills_in_along_tested_edges() -> None:
    values = pd.DataFrame({"node": ["a", "c"], "feature": ["f", "g"], "value": [1.0, 1.0]})
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    graph = FeatureGraph.from_frames(values, edges, nodes=list("abc"))
    a, b, c = (int(graph.nodes.positions([name])[0]) for name in "abc")
    kept = graph.replace(
        edges=graph.edges.take(np.array([{s, t} == {a, b} for s, t in _pairs(graph)]))
    )
    none = np.empty((0, 2), dtype=np.int64)
    tested = np.array([[b, c]])
    split = EdgeSplit(kept, np.array([[a, b]]), none, tested, none, none)
    imputer = make_imputer("neighbourhood-mean")
    honest, leaked = (Problem(graph, split).filled(imputer, leaked=leak) for leak in (False, True))
    assert isinstance(honest.split, EdgeSplit)
    assert isinstance(leaked.split, EdgeSplit)
    assert honest.split.graph.features_of("b") == {"f": 1.0}
    assert set(leaked.split.graph.features_of("b")) == {"f", "g"}  # g came along b - c
    for one in (honest, leaked):  # the network itself sees the training edges alone
        assert one.split.graph.num_edges == 1  # type: ignore[union-attr]


def test_the_leak_changes_the_figure() -> None:
    register_tiny()
    honest, leaked = (
        cell for cell in get_experiment("tiny-links").cells if cell.method == "fp+sage"
    )
    rows = [
        run_cell(keys=cell.keys, seed=0, config=configure(cell, epochs=5))
        for cell in (honest, leaked)
    ]
    assert rows[0]["metric"] == "auc"
    assert rows[0]["value"] != rows[1]["value"]


def test_with_nothing_missing_gcnmf_is_a_gcn() -> None:
    cells = [
        next(
            cell
            for cell in get_experiment("node-classification").cells
            if (cell.dataset, cell.method, cell.p) == ("cora", method, 0.0)
        )
        for method in ("gcn", "gcnmf")
    ]
    assert configure(cells[0]) == configure(cells[1])


def test_places_are_added_to_what_the_plain_method_sees() -> None:
    few = get_experiment("few-labels").cells
    for method in ("gcn", "grafenne"):
        plain, behind = (
            next(configure(cell) for cell in few if cell.method == name)
            for name in (method, f"places+{method}")
        )
        assert behind["data"] == plain["data"]
        assert behind["imputer"]["name"] == "places"


def test_mistakes_are_named() -> None:
    with pytest.raises(GrafenneError, match="Did you mean 'pattern'"):
        make_problem("synthetic", 0.5, 0, {"patern": "uniform"})
    with pytest.raises(GrafenneError, match="Did you mean 'equal-classes'"):
        make_problem("synthetic", 0.5, 0, {"split": "equal-class"})


def _cells(graph: FeatureGraph) -> list[tuple[int, int]]:
    return list(zip(graph.values.rows.tolist(), graph.values.indices.tolist(), strict=True))


def _pairs(graph: FeatureGraph) -> list[tuple[int, int]]:
    return list(zip(graph.edges.sources.tolist(), graph.edges.targets.tolist(), strict=True))


def test_known_zeros_are_told_where_few_cells_are_left() -> None:
    zeros = {
        (cell.method, cell.p): configure(cell)["data"]["observed_zeros"]
        for cell in get_experiment("node-classification").cells
        if cell.dataset == "cora"
    }
    assert zeros["grafenne", 0.99]
    assert not zeros["grafenne", 0.5]
    assert zeros["fp+sage", 0.5]
    assert not zeros["sage", 0.99]
    few = [cell for cell in get_experiment("few-labels").cells if cell.method == "grafenne"]
    assert not any(configure(cell)["data"]["observed_zeros"] for cell in few)


def test_grafenne_behind_an_imputation_is_told_known_zeros_as_it_is_alone() -> None:
    cells = {
        (cell.method, cell.p): cell
        for cell in get_experiment("node-classification").cells
        if cell.dataset == "cora"
    }
    told = {key: told_zeros(configure(cell)) for key, cell in cells.items()}
    assert told["nm+grafenne", 0.99]
    assert not told["nm+grafenne", 0.5]
    assert not told["nm+sage", 0.99]
    without = configure(cells["nm+grafenne", 0.99], chosen={"observed_zeros": False})
    assert not told_zeros(without)
    assert without["data"]["observed_zeros"]  # the imputation itself tells them from missing cells
    few = [cell for cell in get_experiment("few-labels").cells if cell.method == "fp+grafenne"]
    assert not any(told_zeros(configure(cell)) for cell in few)
    links = {
        cell.method: told_zeros(configure(cell))
        for cell in get_experiment("link-prediction").cells
        if cell.dataset == "cora" and cell.p == 0.99
    }
    assert links["grafenne"]
    assert not links["nm+grafenne"]


def test_thousandths_that_fp_fills_in_are_scaled_for_grafenne_and_its_vectors_do_not_fade() -> None:
    cells = {(cell.method, cell.p): cell for cell in get_experiment("physics").cells}
    settings = {key: configure(cell)["settings"] for key, cell in cells.items()}
    thin = settings["fp+grafenne", 0.9999]
    assert (thin["scaling"], thin["feature_decay"]) == ("standard", 0.0)
    usual = settings["fp+grafenne", 0.99]
    assert (usual["scaling"], usual.get("feature_decay")) == ("none", None)
    assert settings["nm+grafenne", 0.9999]["scaling"] == "none"
    chosen = configure(cells["fp+grafenne", 0.9999], chosen={"scaling": "robust"})
    assert chosen["settings"]["scaling"] == "robust"


def test_pagnn_is_told_that_a_large_graph_is_complete_instead_of_all_its_zeros() -> None:
    told = {
        (cell.dataset, cell.p): configure(cell)
        for name in ("node-classification", "physics")
        for cell in get_experiment(name).cells
        if cell.method == "pagnn"
    }
    assert told["physics", 0.0]["settings"]["complete"]
    assert not told["physics", 0.0]["data"]["observed_zeros"]
    for problem in (("cora", 0.0), ("physics", 0.99)):
        assert "complete" not in told[problem]["settings"]
        assert told[problem]["data"]["observed_zeros"]
