"""Cells, tests of significance, what is best, and where we lose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grafenne.errors import DataError
from grafenne.experiments.report import (
    Results,
    main_table,
    read_results,
    report_html,
    report_markdown,
)
from grafenne.experiments.report.cells import Cell, Cells, compare
from grafenne.experiments.report.losses import Losses, find_losses
from grafenne.experiments.report.methods import RowKey
from grafenne.experiments.report.runs import Run
from grafenne.experiments.report.tables import Entry, make_tables
from grafenne.experiments.runner import SEARCH_FILE
from tests.experiments.made_up_results import method_rows, run_row, write_rows


def read(folder: Path, rows: list[dict[str, Any]], name: str = "node-classification") -> Results:
    return read_results([write_rows(folder / f"{name}.jsonl", rows)])


def entry(results: Results, method: str, table: str = "node-classification", **row: Any) -> Entry:
    found = next(one for one in make_tables(Cells(results)) if one.name == table)
    block = found.blocks[0]
    return block.entries[RowKey(method, **row), block.columns[0]]


def losses(results: Results) -> Losses:
    return find_losses(make_tables(Cells(results)))


def cell(*values: float) -> Cell:
    return Cell(
        tuple(Run("e", "d", "m", 0.0, "", False, seed, value) for seed, value in enumerate(values))
    )


def test_mean_and_deviation_of_a_sample() -> None:
    found = cell(0.80, 0.82, 0.84)
    assert found.mean == pytest.approx(0.82)
    assert found.std == pytest.approx(0.02)
    assert cell(0.5).std is None


def test_the_paired_test_by_hand() -> None:
    # Differences 1, 2, 3 hundredths: t = 2 / (1 / sqrt(3)) = 3.4641 with two degrees of freedom,
    # whose two-sided p-value is 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14).
    found = compare(cell(0.51, 0.62, 0.73), cell(0.50, 0.60, 0.70))
    assert found is not None
    assert found.difference == pytest.approx(0.02)
    assert found.p_value == pytest.approx(1 - (12 / 14) ** 0.5)
    assert not found.significant


def test_only_common_seeds_are_compared() -> None:
    other = Cell(tuple(run for run in cell(0.5, 0.5, 0.5, 0.5).runs if run.seed != 1))
    found = compare(cell(0.6, 0.9, 0.6), other)
    assert found is not None
    assert (found.seeds, found.p_value) == (2, None)
    assert found.difference == pytest.approx(0.1)
    assert compare(cell(0.5), Cell(())) is None


@given(st.lists(st.floats(0, 1), min_size=3, max_size=6))
def test_a_cell_does_not_differ_from_itself(values: list[float]) -> None:
    found = compare(cell(*values), cell(*values))
    assert found is not None
    assert found.p_value == 1


def test_best_is_told_within_a_group(tmp_path: Path) -> None:
    rows = [
        *method_rows("sage", (0.80, 0.81, 0.82)),
        *method_rows("grafenne", (0.84, 0.86, 0.85)),
        *method_rows("sage+labels", (0.90, 0.91, 0.90)),
        *method_rows("grafenne+labels", (0.88, 0.89, 0.88)),
    ]
    results = read(tmp_path, rows)
    assert entry(results, "grafenne").is_best
    assert not entry(results, "sage").is_best
    assert entry(results, "sage+labels").is_best
    labelled = entry(results, "grafenne+labels")
    assert labelled.against is not None
    assert labelled.against.row.method == "sage+labels"
    found = losses(results)
    assert (found.compared, found.won) == (2, 1)
    assert [loss.entry.row.method for loss in found.problems] == ["grafenne+labels"]
    assert found.problems[0].difference == pytest.approx(-0.02)


def test_leaked_rows_are_neither_best_nor_compared(tmp_path: Path) -> None:
    about = {"experiment": "link-prediction", "p": 0.0, "metric": "auc"}
    rows = [
        *method_rows("sage", (0.80, 0.81, 0.82), **about),
        *method_rows("fp+sage", (0.97, 0.98, 0.99), leaked=True, **about),
        *method_rows("grafenne", (0.84, 0.86, 0.85), **about),
    ]
    results = read(tmp_path, rows, "link-prediction")
    assert not entry(results, "fp+sage", "link-prediction", leaked=True).is_best
    ours = entry(results, "grafenne", "link-prediction")
    assert ours.is_best
    assert ours.against is not None
    assert ours.against.row.method == "sage"
    assert losses(results).problems == []


def test_figures_of_the_paper_that_leak_are_not_its_best(tmp_path: Path) -> None:
    rows = method_rows("grafenne", (0.9, 0.9), experiment="link-prediction", p=0.99)
    tables = make_tables(Cells(read(tmp_path, rows)))
    table = next(table for table in tables if table.name == "link-prediction")
    best = {
        (one.row.method, one.column.p)
        for block, one in table.entries()
        if block.title == "cora" and one.paper_is_best
    }
    assert best == {("grafenne", 0.0), ("grafenne", 0.5), ("grafenne", 0.99)}


def test_below_the_paper_by_more_than_a_deviation(tmp_path: Path) -> None:
    # The paper has 87.6 on Cora.
    near = read(tmp_path / "a", method_rows("grafenne", (0.86, 0.87, 0.88)))
    far = read(tmp_path / "b", method_rows("grafenne", (0.84, 0.85, 0.86)))
    assert losses(near).paper == []
    assert [loss.figure for loss in losses(far).paper] == [pytest.approx(0.876)]
    assert (losses(far).with_paper, losses(far).reached) == (1, 0)


def test_a_problem_counts_once_over_all_tables(tmp_path: Path) -> None:
    write_rows(
        tmp_path / "all.jsonl",
        [
            *method_rows("sage", (0.88, 0.89, 0.90)),
            *method_rows("grafenne", (0.85, 0.86, 0.87)),
            *method_rows("traditional", (0.80, 0.81, 0.82), experiment="message-passing"),
            *method_rows("fate", (0.70, 0.71, 0.72), experiment="fate"),
        ],
    )
    found = losses(read_results([tmp_path]))
    assert found.compared == 1
    assert [loss.against for loss in found.problems] == ["GraphSAGE"]


def test_a_table_takes_cells_of_the_same_protocol(tmp_path: Path) -> None:
    results = read(tmp_path, method_rows("grafenne", (0.8, 0.9)))
    found = entry(results, "grafenne", "fate").cell
    assert found is not None
    assert found.mean == pytest.approx(0.85)


def test_translated_rows_are_compared_with_translated_ones(tmp_path: Path) -> None:
    rows = [
        *method_rows("sage", (0.90, 0.91, 0.92), experiment="translation"),
        *method_rows("sage", (0.5, 0.5, 0.5), experiment="translation", variant="translated"),
        *method_rows("grafenne", (0.8, 0.8, 0.9), experiment="translation", variant="translated"),
    ]
    results = read(tmp_path, rows, "translation")
    moved = entry(results, "grafenne", "translation", variant="translated")
    assert moved.is_best
    assert moved.against is not None
    assert moved.against.row.variant == "translated"


def test_the_last_of_repeated_runs_counts(tmp_path: Path) -> None:
    rows = [run_row("sage", 0, 0.5), run_row("sage", 0, 0.7), run_row("sage", 1, 0.7)]
    results = read(tmp_path, rows)
    assert [run.value for run in results.runs] == [0.7, 0.7]
    assert "more than once" in results.remarks[0]


def test_a_failed_run_that_was_repeated_has_not_failed(tmp_path: Path) -> None:
    failed = {**run_row("sage", 0, 0.0), "value": None, "error": "out of memory"}
    assert len(read(tmp_path / "a", [failed]).failed) == 1
    assert read(tmp_path / "b", [failed, run_row("sage", 0, 0.7)]).failed == []


def test_a_run_without_a_finite_value_has_failed(tmp_path: Path) -> None:
    results = read(tmp_path, [{**run_row("sage", 0, 0.0), "value": None}])
    assert results.runs == []
    assert "not a finite number" in results.failed[0][1]


def test_trials_of_the_search_and_runs_of_faults_are_no_results(tmp_path: Path) -> None:
    write_rows(tmp_path / SEARCH_FILE, [{"identity": "1", "settings": {}}])
    write_rows(tmp_path / "torture.jsonl", [{"suite": "kills", "ended_well": True}])
    write_rows(tmp_path / "physics.jsonl", [run_row("sage", 0, 0.5)])
    assert read_results([tmp_path]).files == ["physics.jsonl"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{not json", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ('{"dataset": "cora", "method": "sage", "seed": 0, "value": 88.1}', "0 to 1"),
        ('{"dataset": "cora", "method": "sage", "seed": 0, "value": "x"}', "'value'"),
        ('{"dataset": "cora", "method": "sage", "value": 0.5}', "'seed'"),
        ('{"dataset": "cora", "seed": 0, "value": 0.5}', "'method'"),
        ('{"experiment": "continual", "dataset": "cora", "metric": "accuracy"}', "'strategy'"),
        ('{"name": "step", "variant": "ours", "ratio_to_ours": "much"}', "'ratio_to_ours'"),
        ("[" * 100_000, "not JSON"),
        ('{"value": ' + "1" * 5000 + "}", "not JSON"),
        (
            '{"dataset": "cora", "method": "sage", "seed": 0, "value": 1' + "0" * 400 + "}",
            "'value'",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = write_rows(tmp_path / "node-classification.jsonl", [run_row("sage", 0, 0.5)])
    path.write_text(f"{path.read_text()}{line}\n")
    with pytest.raises(DataError, match="line 2") as error:
        read_results([tmp_path])
    assert path.name in str(error.value)
    assert told in str(error.value)


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "node-classification.jsonl", [run_row("sage", 0, 0.5)])
    path.write_text(f'{path.read_text()}{{"dataset": "co')
    results = read_results([path])
    assert len(results.runs) == 1
    assert results.remarks == ["The last line of node-classification.jsonl is torn and left out."]


def test_one_command_makes_a_cell_again(tmp_path: Path) -> None:
    rows = [run_row("sage", seed, 0.5, command=f"again --seeds {seed + 1}") for seed in (1, 7, 3)]
    found = entry(read(tmp_path, rows), "sage").cell
    assert found is not None
    assert found.command == "again --seeds 8"


def test_markdown_has_the_paper_beside_ours(tmp_path: Path) -> None:
    rows = method_rows("sage", (0.80, 0.82, 0.84, 0.81, 0.83))
    rows += method_rows("a|b", (0.5, 0.5, 0.5))
    text = report_markdown(read(tmp_path, rows))
    assert "| GraphSAGE | 83.80 ± 0.48 | **82.00 ± 1.58** | 83.06 ± 0.62 | – |" in text
    assert "| a\\|b | – | 50.00 ± 0.00 (n = 3) | – | – |" in text


def test_markdown_sums_up_streams_and_unseen_features(tmp_path: Path) -> None:
    def stream(strategy: str, seed: int, value: float, seconds: float) -> dict[str, Any]:
        head = {"experiment": "continual", "dataset": "cora", "strategy": strategy, "seed": seed}
        return {**head, "step": 1, "metric": "accuracy", "value": value, "seconds": seconds}

    def unseen(vectors: str, variant: str, seed: int, value: float) -> dict[str, Any]:
        head = {"experiment": "inductive", "dataset": "cora", "method": vectors, "seed": seed}
        return {**head, "variant": variant, "metric": "accuracy_new", "value": value}

    rows = [
        *(stream("retrain", seed, 0.8 + seed / 50, 10.0) for seed in (0, 1)),
        *(stream("ewc", seed, 0.79 + seed / 50, 1.0) for seed in (0, 1)),
        *(unseen("name", variant, 0, 0.5) for variant in ("used", "ignored")),
        *(unseen("learned", "used", seed, 0.75 - seed / 50) for seed in (0, 1)),
        *(unseen("learned", "ignored", seed, 0.70) for seed in (0, 1)),
    ]
    text = report_markdown(read(tmp_path, rows))
    assert "| ewc | 80.00 ± 1.41 | 1.00 ± 0.00 |" in text
    assert " | 0.1 × | 1.0 s | 2 |\n| retrain | 81.00 ± 1.41 | 0.00 ± 0.00 |" in text
    assert "## Unseen features: accuracy on new nodes" in text
    assert (
        "| learned | 70.00 ± 0.00 | 74.00 ± 1.41 | +4.00 | 2 |\n"
        "| name | 50.00 | 50.00 | +0.00 | 1 |" in text
    )


def test_the_main_table_has_a_line_per_problem(tmp_path: Path) -> None:
    rows = [
        *method_rows("sage", (0.80, 0.81, 0.82)),
        *method_rows("grafenne", (0.84, 0.86, 0.85)),
    ]
    lines = main_table(read(tmp_path, rows)).splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("| cora | 0 | 87.6 ± 0.73 | **85.00 ± 1.00** (n = 3) |")
    assert "81.00 ± 1.00 (n = 3) GraphSAGE | +4.00 (p = 0.02" in lines[2]
    assert main_table(Results()).startswith("No runs yet")


def test_gat_and_gin_count_among_the_best_of_the_main_table(tmp_path: Path) -> None:
    beside = [
        {**row, "experiment": "backbones"}
        for row in (
            *method_rows("gat", (0.82, 0.83, 0.84, 0.82, 0.84)),
            *method_rows("grafenne-gin", (0.86, 0.88, 0.87, 0.86, 0.88)),
        )
    ]
    rows = [
        *method_rows("sage", (0.80, 0.81, 0.82, 0.80, 0.82)),
        *method_rows("grafenne", (0.84, 0.86, 0.85, 0.84, 0.86)),
        *beside,
    ]
    line = main_table(read(tmp_path, rows)).splitlines()[2]
    assert "| 85.00 ± 1.00 | **87.00 ± 1.00** GRAFENNE (GIN) | 83.00 ± 1.00 GAT | +4.00" in line


@pytest.mark.parametrize("experiment", ["few-labels", "few-labels-smoothed"])
def test_few_labels_stand_beside_figures_of_the_same_protocol(
    experiment: str, tmp_path: Path
) -> None:
    shown: dict[str, Any] = {"experiment": experiment, "dataset": "cora", "p": 0.995}
    rows = [run_row("fp+gcn", 0, 0.7, **shown, variant=kind) for kind in ("uniform", "structural")]
    text = report_markdown(read(tmp_path, rows, experiment))
    assert "largest component" in text
    assert ("Training nodes answer by their label" in text) == ("smoothed" in experiment)
    assert "| method | uniform p = 0.995 | structural p = 0.995 | seconds |" in text
    assert "| FSD-CAP (published) | 81.49 |" in text


def test_published_figures_of_equal_classes_stand_beside_rows_of_the_same_kind(
    tmp_path: Path,
) -> None:
    shown: dict[str, Any] = {"experiment": "equal-classes", "dataset": "citeseer"}
    rows = [
        run_row(method, 0, value, **shown, variant=variant)
        for method, value, variant in (
            ("gcn", 0.79, ""),
            ("grafenne", 0.80, ""),
            ("gcn", 0.83, "class shares"),
            ("grafenne", 0.82, "class shares"),
        )
    ]
    results = read(tmp_path, rows, "equal-classes")
    text = report_markdown(results)
    assert "as many training nodes of each class" in text
    assert "| GRAFENNE | **80.00** (n = 1) |" in text
    assert "| GCN (class shares) | **83.00** (n = 1) |" in text
    assert "| FAGCN (published) | 82.37 |" in text
    page = report_html(results)[0]
    plain, told = (page.index(f'<th scope="row">{name}') for name in ("GCN<", "GCN (class"))
    assert "81.4" in page[plain : page.index("</tr>", plain)]
    assert "81.4" not in page[told : page.index("</tr>", told)]


def test_a_cell_run_again_keeps_its_row(tmp_path: Path) -> None:
    rows = [
        run_row(method, 0, 0.7, experiment="few-labels", dataset=dataset, p=0.995, variant=pattern)
        for pattern in ("uniform", "structural")
        for dataset in ("citeseer", "cora")
        for method in ("grafenne", "unheard-of", "fp+gcn", "gcn")
    ]
    again = rows[3:] + rows[:3]
    texts = [
        report_markdown(read(tmp_path / name, found, "few-labels"))
        for name, found in (("once", rows), ("again", again))
    ]
    assert texts[0] == texts[1]
    found = next(
        table
        for table in make_tables(Cells(read(tmp_path, again, "few-labels")))
        if table.name == "few-labels"
    )
    assert [block.title for block in found.blocks] == ["cora", "citeseer"]
    for block in found.blocks:
        methods = [row.method for row in block.rows]
        assert methods == ["gcn", "fp+gcn", "unheard-of", "grafenne"]
