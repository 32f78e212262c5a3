from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.compare import compare
from benchmarks.import_time import measure_imports
from benchmarks.memory import measure_peak
from benchmarks.problem import DATASETS, Case, load_problem
from benchmarks.results import Row, append_rows, read_rows
from benchmarks.scaling import exponent, fit_row, sizes_up_to
from benchmarks.timing import time_interleaved
from benchmarks.training_runs import compare_trainings
from benchmarks.variants import VARIANTS, WORKS
from grafenne.errors import ParameterError, UnknownNameError


class Scripted:
    """Takes the given times, one after the other, and writes down that it ran."""

    def __init__(self, name: str, seconds: list[float], log: list[str]) -> None:
        self.name, self.seconds, self.log = name, iter(seconds), log

    def run(self, work: str, count: int) -> float:
        self.log.append(self.name)
        return next(self.seconds) * count


def test_variants_take_turns_and_ratios_are_of_neighbours() -> None:
    log: list[str] = []
    # The first two runs of each are the warm-up.
    ours = Scripted("ours", [9, 9, 1, 2, 4, 8], log)
    slow = Scripted("slow", [9, 9, 3, 12], log)
    other = Scripted("other", [9, 9, 1, 16], log)
    times = time_interleaved({"ours": ours, "slow": slow, "other": other}, "step", 2)
    assert log[6:] == ["ours", "slow", "ours", "other"] * 2
    assert times["slow"].ratios == [3, 3]
    assert times["slow"].median == 7.5
    assert times["other"].ratios == [0.5, 2]
    assert times["other"].ratio == 1.25
    assert times["ours"].seconds == [1, 2, 4, 8]
    assert times["ours"].ratio == 1


def test_quick_work_is_repeated_within_a_measurement() -> None:
    counts = []

    class Quick:
        def run(self, work: str, count: int) -> float:
            counts.append(count)
            return 0.01 * count

    times = time_interleaved({"ours": Quick()}, "step", 3)
    assert counts == [1, 1, 30, 30, 30]
    assert times["ours"].median == pytest.approx(0.01)


@pytest.mark.parametrize(("seconds", "runs"), [(0.5, 8), (20.0, 3), (100.0, 1)])
def test_slow_work_is_repeated_as_long_as_a_minute_allows(seconds: float, runs: int) -> None:
    counts = []

    class Slow:
        def run(self, work: str, count: int) -> float:
            counts.append(count)
            return seconds * count

    time_interleaved({"ours": Slow()}, "step", 1)
    assert counts[-1] == runs


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("dataset", ["tiny", "tiny-valued"])
def test_every_variant_gives_a_sane_row(dataset: str, work: str) -> None:
    rows = compare(
        "try", Case(dataset, 8), work, list(VARIANTS), repeats=1, memory=False, least_seconds=0.01
    )
    assert [row.variant for row in rows] == list(VARIANTS)
    for row in rows:
        assert row.median_seconds is not None
        assert row.low_seconds is not None
        assert row.high_seconds is not None
        assert 0 < row.low_seconds <= row.median_seconds <= row.high_seconds < 60
        assert row.ratio_to_ours is not None
        assert row.ratio_to_ours > 0
        assert row.values == load_problem(dataset).graph.incidence.num_entries
        assert row.note == ""
    assert rows[0].ratio_to_ours == 1


def test_peak_memory_sees_the_messages_of_scatter() -> None:
    case = Case("synthetic-1e5", 64, feature_dropout=0.0)
    ours, scatter = (
        measure_peak(case, "ours", "step", timed=1),
        measure_peak(case, "scatter", "step"),
    )
    messages = ours.values * 64 * 4 / 1e6  # one array of them
    assert scatter.growth_mb > 4 * messages
    assert 0 < ours.growth_mb < scatter.growth_mb
    assert ours.process_mb > ours.growth_mb
    assert ours.values == load_problem(case.dataset).graph.incidence.num_entries
    assert len(ours.seconds) == 1


def test_trainings_reach_the_loss_or_say_so() -> None:
    case = Case("tiny", 8)
    rows = compare_trainings("train", case, ["pyg-gcn", "limit"], repeats=2, loss=1e9, epochs=3)
    assert [row.variant for row in rows] == ["ours", "pyg-gcn"]
    for row in rows:
        assert row.more == {"validation_loss": 1e9, "epochs": [1, 1]}
        assert row.median_seconds is not None
    never = compare_trainings("train", case, [], repeats=1, loss=0.0, epochs=2)
    assert never[0].median_seconds is None
    assert "not reached" in never[0].note


def test_exponents() -> None:
    assert exponent([1, 10, 100], [3, 30, 300]) == pytest.approx(1)
    assert exponent([1, 10, 100], [2, 200, 20000]) == pytest.approx(2)
    rows = [Row("s", "ours", "step", values=v, median_seconds=v**1.5, peak_mb=v) for v in (10, 99)]
    fit = fit_row("s", rows)
    assert fit.more["time_exponent"] == pytest.approx(1.5)
    assert fit.met is False
    assert sizes_up_to(1e6) == ["1e5", "3e5", "1e6"]


def test_imports_are_timed_beside_an_empty_python() -> None:
    rows = {row.variant: row for row in measure_imports("import-time", repeats=1)}
    assert rows["python alone"].target == ""
    assert rows["import grafenne"].met is not None
    assert all(row.median_seconds for row in rows.values())


def test_rows_are_appended_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "results" / "bench.jsonl"
    row = Row("step", "ours", "step", "cora", 64, 1, median_seconds=0.5)
    row.hold("at most 1 s", True)
    row.hold("at most 1 MB", False)
    append_rows([row], path, (0.5, 0.4, 0.3))
    append_rows([row], path, (0.5, 0.4, 0.3))
    first, second = read_rows(path)
    assert json.loads(path.read_text().splitlines()[0]) == first
    assert (first["median_seconds"], first["target"]) == (0.5, "at most 1 s; at most 1 MB")
    assert first["met"] is False
    assert second["machine"]["load_average_at_start"] == [0.5, 0.4, 0.3]
    assert {"cpu", "cores", "threads", "torch"} <= first["machine"].keys()


def test_unknown_data_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="physics"):
        load_problem("physic")
    with pytest.raises(ParameterError, match="number of values"):
        load_problem("synthetic-many")
    assert not load_problem("tiny-valued").graph.is_binary
    assert "tiny" in DATASETS
