from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.lower_limit import LowerLimit
from benchmarks.pictures import draw_pictures
from benchmarks.problem import Case, load_problem
from benchmarks.profile_step import limit_table, profile_step
from benchmarks.results import Row, append_rows, read_rows
from benchmarks.suite import BENCHMARKS, TARGETS


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in (*BENCHMARKS, "pyg-sage-sparse", "physics-0.99"):
        assert name in out


def test_unknown_names_end_with_code_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "rows.jsonl")]
    assert main(["stepp", *out]) == 2
    assert main(["step", "--dataset", "nowhere", *out]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not (tmp_path / "rows.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("physics-vs-scatter", {"scatter"}),
        ("epoch-vs-sage", {"pyg-sage", "pyg-sage-csr"}),
        ("step-vs-limit", {"limit"}),
    ],
)
def test_a_benchmark_holds_its_variants_against_the_target(
    name: str, held: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    options = ["--dataset", "tiny", "--width", "8", "--repeats", "1", "--no-memory"]
    assert main([name, *options, "--out", str(path)]) == 0
    rows = read_rows(path)
    assert {row["name"] for row in rows} == {name}
    assert {row["variant"] for row in rows if row["met"] is not None} == held
    assert "ours" in capsys.readouterr().out
    assert name in TARGETS


def test_wide_runs_four_heads(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    options = ["--dataset", "tiny-valued", "--width", "8", "--repeats", "1", "--no-memory"]
    assert main(["wide", *options, "--out", str(path)]) == 0
    [row] = read_rows(path)
    assert (row["heads"], row["work"], row["variant"]) == (4, "epoch", "ours")


def test_pictures_show_the_newest_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    bars = [
        Row("step", variant, "step", "tiny", 8, 1, None, 0.2, 0.1, 0.3, ratio, ratio, ratio)
        for variant, ratio in (("ours", 1.0), ("scatter", 5.0))
    ]
    curve = [
        Row(
            "scaling",
            "ours",
            "step",
            f"synthetic-{values}",
            8,
            1,
            median_seconds=values * 1e-6,
            peak_mb=values * 1e-4,
            values=values,
        )
        for values in (10**5, 10**6)
    ]
    assert draw_pictures(path) == []
    append_rows(bars + curve, path, (0.0, 0.0, 0.0))
    written = draw_pictures(path)
    assert [one.name for one in written] == ["bench-step.png", "bench-scaling.png"]
    for one in written:
        assert 1000 < one.stat().st_size < 100_000


def test_profile_names_the_operators_and_the_products() -> None:
    problem, case = load_problem("tiny"), Case("tiny", 8)
    assert "aten::" in profile_step(problem, case, count=1)
    limit = LowerLimit(problem, case)
    assert limit_table(limit, repeats=1).row_count == len(limit.operations) + 1
