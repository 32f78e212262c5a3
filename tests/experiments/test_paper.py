from __future__ import annotations

import pytest

from grafenne.baselines import METHODS
from grafenne.experiments.paper import (
    continual_settings,
    dataset_statistics,
    paper_tables,
    published_figures,
)

TABLES = {table.name: table for table in paper_tables()}


@pytest.mark.parametrize(
    ("name", "datasets", "rows", "rates"),
    [
        ("node-classification", 3, 8, 3),
        ("backbones", 3, 4, 3),
        ("link-prediction", 3, 6, 3),
        ("physics", 1, 8, 6),
        ("message-passing", 3, 2, 1),
        ("link-prediction-backbones", 3, 6, 3),
        ("translation", 1, 2, 3),
        ("fate", 4, 2, 3),
    ],
)
def test_a_table_has_all_its_cells(name: str, datasets: int, rows: int, rates: int) -> None:
    cells = TABLES[name].cells
    assert len(cells) == datasets * rows * rates
    places = {(cell.dataset, cell.row, cell.p) for cell in cells}
    assert len(places) == len(cells)
    assert len({cell.dataset for cell in cells}) == datasets
    assert len({cell.row for cell in cells}) == rows
    assert len({cell.p for cell in cells}) == rates


def test_there_are_no_other_tables() -> None:
    assert len(TABLES) == 8
    assert sum(len(table.cells) for table in paper_tables()) == 300


@pytest.mark.parametrize(
    ("table", "dataset", "method", "p", "printed"),
    [
        ("node-classification", "cora", "grafenne", 0.0, "87.6 ± 0.73"),
        ("node-classification", "cora", "gcnmf", 0.99, "33.02 ± 0.0"),
        ("node-classification", "citeseer", "fp+sage", 0.99, "65.25 ± 1.08"),
        ("node-classification", "actor", "pagnn", 0.99, "25.39 ± 0.0"),
        ("node-classification", "actor", "nm+grafenne", 0.0, "-"),
        ("backbones", "cora", "grafenne-gin", 0.99, "82.36 ± 1.17"),
        ("backbones", "actor", "gat", 0.99, "24.69 ± 1.55"),
        ("link-prediction", "cora", "sage", 0.99, "0.7523 ± 0.05"),
        ("link-prediction", "actor", "fp+grafenne", 0.5, "0.7801 ± 0.0026"),
        ("physics", "physics", "gcnmf", 0.99, "50.4856 ± 0.0"),
        ("physics", "physics", "gcnmf", 0.99999, "*"),
        ("physics", "physics", "nm+grafenne", 0.999, "94.61 ± 0.0"),
        ("physics", "physics", "fp+grafenne", 0.99999, "93.17 ± 0.16"),
        ("message-passing", "citeseer", "traditional", 0.0, "66.72 ± 1.40"),
        ("link-prediction-backbones", "actor", "sage", 0.0, ".6569 ± 0.0"),
        ("link-prediction-backbones", "actor", "gin", 0.5, "0.7995 ± 0.0"),
        ("fate", "citeseer", "grafenne", 0.99, "64.29 ± 1.02"),
        ("fate", "physics", "fate", 0.99, "53.55 ± 0.15"),
    ],
)
def test_cells_are_as_printed(
    table: str, dataset: str, method: str, p: float, printed: str
) -> None:
    cell = TABLES[table].find(dataset, method, p)
    assert cell is not None
    assert cell.printed == printed


def test_the_translated_row_is_told_apart() -> None:
    table = TABLES["translation"]
    plain, moved = (table.find("cora", "grafenne", 0.5, variant) for variant in ("", "translated"))
    assert plain is not None
    assert moved is not None
    assert (plain.printed, moved.printed) == ("84.35 ± 0.27", "84.03 ± 0.31")


def test_values_are_fractions_and_methods_are_ours() -> None:
    for table in paper_tables():
        for cell in table.cells:
            assert cell.method in METHODS
            assert cell.value is None or 0.2 < cell.value < 1
            assert (cell.value is None) == (cell.mark in ("-", "*"))
    cell = TABLES["node-classification"].find("cora", "sage", 0.0)
    assert cell is not None
    assert cell.value == pytest.approx(0.838)
    assert cell.spread == pytest.approx(0.0048)


def test_an_imputation_has_no_figure_where_nothing_is_missing() -> None:
    for table in paper_tables():
        for cell in table.cells:
            if "+" in cell.method:
                assert (cell.mark == "-") == (cell.p == 0)


def test_published_figures_name_methods_that_exist() -> None:
    found = {(figure.dataset, figure.row): figure for figure in published_figures()}
    assert found["cora", "FSD-CAP"].value == pytest.approx(0.8149)
    assert found["citeseer", "FP"].value == pytest.approx(0.6531)
    for figure in published_figures():
        assert not figure.method or figure.method in METHODS
        assert figure.source


def test_statistics_and_streams() -> None:
    assert dataset_statistics()["physics"] == {
        "nodes": 34493,
        "edges": 495924,
        "features": 8415,
        "classes": 5,
    }
    stated = continual_settings()
    assert stated["penalty"] == 100_000
    assert stated["settings"]["cora"]["T"] == 9
    assert stated["settings"]["physics"]["p_f_add"] == 0.0001
    assert stated["settings"]["dblp"]["U"] == 300
