from __future__ import annotations

import pytest

from grafenne.baselines.methods import METHODS
from grafenne.datasets import dataset_names
from grafenne.errors import ParameterError, UnknownNameError
from grafenne.experiments.cells import Cell
from grafenne.experiments.paper import paper_tables
from grafenne.experiments.registry import Experiment, experiments, get_experiment, register

NAMES = (
    "node-classification",
    "backbones",
    "link-prediction",
    "physics",
    "message-passing",
    "translation",
    "fate",
    "statistics",
    "few-labels",
    "smoothed",
    "few-labels-smoothed",
    "averaged",
    "equal-classes",
)


def test_the_experiments_are_there() -> None:
    assert tuple(experiments())[: len(NAMES)] == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if name != "statistics"])
def test_cells_name_methods_and_datasets_that_exist(name: str) -> None:
    for cell in get_experiment(name).cells:
        assert cell.method in METHODS
        assert cell.dataset in dataset_names()
        assert cell.search is not None


def test_every_figure_of_the_papers_tables_has_a_cell() -> None:
    missing = set()
    for table in paper_tables():
        ours = {
            (cell.dataset, cell.method, cell.p, cell.extra.get("variant", ""))
            for name in table.experiments
            for cell in get_experiment(name).cells
        }
        for cell in table.cells:
            if cell.value is not None and (cell.dataset, cell.method, cell.p, cell.variant) not in (
                ours
            ):
                missing.add((cell.dataset, cell.method, cell.p))
    assert missing == set()


def test_an_imputation_is_not_run_where_nothing_is_missing() -> None:
    for experiment in experiments().values():
        for cell in experiment.cells:
            method = METHODS.get(cell.method)
            assert not (cell.p == 0 and method is not None and method.imputer)


def test_wrong_experiments_are_refused() -> None:
    cell = Cell("other", "cora", "sage")
    with pytest.raises(ParameterError, match="already"):
        register(Experiment(name="fate", title="", paper="", cells=[]))
    with pytest.raises(ParameterError, match="'other'"):
        register(Experiment(name="new", title="", paper="", cells=[cell]))
    with pytest.raises(ParameterError, match="twice"):
        register(Experiment(name="other", title="", paper="", cells=[cell, cell]))
    with pytest.raises(UnknownNameError, match="Did you mean 'physics'"):
        get_experiment("phisics")
