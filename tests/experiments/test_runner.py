from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from grafenne.cli.main import main
from grafenne.datasets import synthetic
from grafenne.experiments.statistics import count_dataset
from grafenne.experiments.store import ResultFile
from tests.cli.conftest import Run, run
from tests.experiments.tiny import register_tiny

__all__ = ["run"]

QUICK = ("--epochs", 2, "--threads", 1)


@pytest.fixture(autouse=True)
def _tiny() -> None:
    register_tiny()


def test_runs_become_lines_and_are_not_repeated(run: Run, tmp_path: Path) -> None:
    arguments = ("experiment", "tiny", *QUICK, "--seeds", 2, "--results", tmp_path, "--jobs", 2)
    ran = run(*arguments, "--json", "--only", "p=0.5")
    assert ran.code == 0
    assert "[6/6]" in ran.err
    file = ResultFile(tmp_path / "tiny.jsonl")
    rows = file.read()
    assert sorted((row["method"], row["seed"]) for row in rows) == [
        (method, seed) for method in ("fp+sage", "grafenne", "sage") for seed in (0, 1)
    ]
    for row in rows:
        assert (row["experiment"], row["dataset"], row["p"]) == ("tiny", "synthetic", 0.5)
        assert row["metric"] == "accuracy"
        assert row["value"] == row["metrics"]["accuracy"]
        assert 0 <= row["validation"] <= 1
        assert row["epochs"] == row["config"]["settings"]["epochs"] == 2
        assert row["seconds"] > 0
        assert row["peak_mb"] > 10
        assert row["parameters"] > 0
        assert row["settings"] == "default"
    for cell in ran.json["cells"]:
        values = [row["value"] for row in rows if row["method"] == cell["method"]]
        assert cell["mean"] == pytest.approx(sum(values) / 2)
        assert cell["std"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)

    again = run(*arguments, "--only", "p=0.5")
    assert again.code == 0
    assert "6 runs, 6 of them there already" in again.err
    assert file.read() == rows
    assert "grafenne" in again.out
    assert "±" in again.out
    assert "--search chooses better ones" in again.out

    # Another experiment with the same cells takes them over instead of computing them again.
    other = run("experiment", "tiny-too", *QUICK, "--seeds", 2, "--results", tmp_path,
                "--only", "p=0.5", "--json")  # fmt: skip
    copied = ResultFile(tmp_path / "tiny-too.jsonl").read()
    assert {row["same_as"] for row in copied} == {"tiny"}
    assert {row["experiment"] for row in copied} == {"tiny-too"}
    assert [cell["mean"] for cell in other.json["cells"]] == [
        cell["mean"] for cell in ran.json["cells"]
    ]


def test_a_torn_line_is_run_again_with_the_same_value(run: Run, tmp_path: Path) -> None:
    arguments = ("experiment", "tiny", *QUICK, "--seeds", 1, "--results", tmp_path)
    only = ("--only", "method=sage,p=0.5|0.99")
    assert run(*arguments, *only).code == 0
    file = ResultFile(tmp_path / "tiny.jsonl")
    first, second = file.read()
    file.path.write_bytes(file.path.read_bytes()[:-40])
    ran = run(*arguments, *only)
    assert "2 runs, 1 of them there already" in ran.err
    rows = file.read()
    assert rows[0] == first
    assert (rows[1]["identity"], rows[1]["value"]) == (second["identity"], second["value"])
    assert len(file.path.read_text().splitlines()) == 2


def test_the_command_of_a_line_runs_the_same_cell_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    only = ("--only", "method=grafenne,p=0.99,seed=6")
    assert run("experiment", "tiny", *QUICK, *only).code == 0
    (row,) = ResultFile(tmp_path / "results" / "tiny.jsonl").read()
    program, *words = shlex.split(row["command"])
    assert program == "grafenne"
    assert run(*words, "--quiet").code == 0
    rows = ResultFile(tmp_path / "again" / "tiny.jsonl").read()
    assert [one["seed"] for one in rows] == list(range(7))
    assert {one["method"] for one in rows} == {"grafenne"}
    for name in ("value", "validation", "metrics", "config", "identity"):
        assert rows[6][name] == row[name]


def test_leaking_cells_are_run_on_demand_and_say_so(run: Run, tmp_path: Path) -> None:
    arguments = ("experiment", "tiny-links", *QUICK, "--seeds", 1, "--results", tmp_path, "--quiet")
    assert run(*arguments).code == 0
    assert run(*arguments, "--leaked").code == 0
    rows = ResultFile(tmp_path / "tiny-links.jsonl").read()
    told = [(row["method"], row.get("leaked", False)) for row in rows]
    assert told == [("sage", False), ("fp+sage", False), ("fp+sage", True)]
    assert "--leaked" in rows[2]["command"]
    assert "--leaked" not in rows[1]["command"]


def test_runs_that_share_a_process_are_kept_one_by_one(run: Run, tmp_path: Path) -> None:
    results = tmp_path / "results"
    arguments = ("experiment", "shared", "--results", results, "--data-root", tmp_path)
    assert run(*arguments).code == 2
    file = ResultFile(results / "shared.jsonl")

    def processes() -> dict[int, set[float]]:
        """Process of every good run of each seed; the seed comes with the line that follows."""
        found: dict[int, set[float]] = {}
        for line, following in pairwise(file.read()):
            if "step" in line and "error" not in following:
                found.setdefault(following["seed"], set()).add(line["value"])
        return found

    whole = [row for row in file.read() if "identity" in row]
    assert [(row["strategy"], row["seed"], "error" in row) for row in whole] == [
        ("good", 0, False), ("bad", 0, True), ("good", 1, False), ("bad", 1, True),
    ]  # fmt: skip
    (tmp_path / "good").touch()
    assert "4 runs, 2 of them there already" in run(*arguments).err
    file.path.unlink()
    ran = run(*arguments)
    assert ran.code == 0
    assert "--search" not in ran.out  # nothing is searched for in this experiment
    assert [len(found) for found in processes().values()] == [1, 1]


def test_a_failed_run_is_told_and_tried_again(run: Run, tmp_path: Path) -> None:
    results = tmp_path / "results"
    arguments = ("experiment", "broken", "--results", results, "--data-root", tmp_path)
    ran = run(*arguments)
    assert ran.code == 2
    assert "failed: synthetic, bad, p=0, seed 1: ValueError: this one is bad" in ran.err
    assert "tries them again" in ran.err
    rows = ResultFile(results / "broken.jsonl").read()
    errors = [row for row in rows if "error" in row]
    assert [(row["method"], row["seed"]) for row in errors] == [("bad", 0), ("bad", 1)]
    (tmp_path / "good").touch()
    assert run(*arguments).code == 0
    more = ResultFile(results / "broken.jsonl").read()[len(rows) :]
    assert [(row["method"], row["value"]) for row in more] == [("bad", 0.25), ("bad", 0.75)]


def test_a_killed_worker_leaves_a_whole_file(run: Run, tmp_path: Path) -> None:
    ran = run("experiment", "killed", "--results", tmp_path, "--jobs", 2, "--json")
    assert ran.code == 2
    assert "SIGKILL" in ran.err
    assert len(ran.json["failed"]) == 2
    rows = ResultFile(tmp_path / "killed.jsonl").read()
    assert sorted((row["method"], "error" in row) for row in rows) == [
        ("bad", True),
        ("bad", True),
        ("good", False),
        ("good", False),
    ]


def test_a_killed_command_leaves_a_whole_file_and_no_worker(tmp_path: Path) -> None:
    who, results = tmp_path / "pid", tmp_path / "results"
    process = _start(("experiment", "slow", "--results", results), {"SLOW": str(who)})
    try:
        worker = int(_wait_for(lambda: who.read_text() if who.exists() else ""))
    finally:
        process.kill()
        process.wait()
    assert _wait_for(lambda: "" if _alive(worker) else "gone")
    rows = ResultFile(results / "slow.jsonl").read()
    assert [(row["method"], row["seed"]) for row in rows] == [("good", 0), ("good", 1)]
    assert main(["experiment", "slow", "--results", str(results), "--quiet"]) == 0
    assert len(ResultFile(results / "slow.jsonl").read()) == 4


def test_a_dry_run_runs_nothing(run: Run, tmp_path: Path) -> None:
    ran = run("experiment", "tiny", "--dry-run", "--results", tmp_path, "--json")
    assert ran.code == 0
    assert len(ran.json["runs"]) == 30
    assert ran.json["seconds"] > 0
    assert "30 runs" in ran.err
    searched = run("experiment", "tiny", "--search", "--dry-run", "--results", tmp_path,
                   "--settings", tmp_path / "none.json", "--json")  # fmt: skip
    assert {one["trials"] for one in searched.json["searches"]} == {11}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("allowed", "jobs", "threads"), [("6", 2, 3), ("1", 2, 1), ("5", 2, 2)])
def test_runs_share_the_threads_that_the_environment_allows(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    allowed: str,
    jobs: int,
    threads: int,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    only = ("--only", "method=sage,p=0.5", "--seeds", 1, "--epochs", 1)
    ran = run("experiment", "tiny", *only, "--jobs", jobs, "--results", tmp_path)
    assert ran.code == 0
    assert ResultFile(tmp_path / "tiny.jsonl").read()[0]["threads"] == threads


def test_the_list_and_wrong_names(run: Run) -> None:
    listed = run("experiment", "list", "--json").json["experiments"]
    assert {"node-classification", "few-labels"} <= {one["name"] for one in listed}
    ran = run("experiment", "node-clasification")
    assert ran.code == 2
    assert "Did you mean 'node-classification'" in ran.err
    ran = run("experiment", "physics", "--only", "method=graphene")
    assert ran.code == 2
    assert "Did you mean 'grafenne'" in ran.err


def test_counts_are_shown_one_beside_the_other(run: Run, tmp_path: Path) -> None:
    ran = run("experiment", "tiny-counts", "--results", tmp_path, "--quiet")
    assert [line.split()[:5] for line in ran.out.splitlines()] == [
        ["dataset", "nodes", "edges", "features", "classes"],
        ["synthetic", "80", str(2 * synthetic(80, 30, 3).num_edges), "30", "3"],
    ]


def test_statistics_count_an_edge_in_both_directions() -> None:
    config = {"data": {"options": {"num_nodes": 50, "num_features": 9, "num_classes": 2}}}
    told = count_dataset(keys={"dataset": "synthetic"}, seed=0, config=config)
    graph = synthetic(num_nodes=50, num_features=9, num_classes=2)
    assert told["metrics"]["edges"] == 2 * graph.num_edges
    names = ("nodes", "features", "classes", "values")
    assert [told["metrics"][name] for name in names] == [50, 9, 2, graph.num_values]


SCRIPT = (
    "import json, sys; from tests.experiments.tiny import register_tiny; register_tiny(); "
    "from grafenne.cli.main import main; sys.exit(main(json.loads(sys.argv[1])))"
)


def _start(arguments: tuple[object, ...], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    words = json.dumps([str(argument) for argument in arguments])
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, words],
        env={**os.environ, **environment, "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait_for(ask: Callable[[], str], seconds: float = 60.0) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := ask():
            return found
        time.sleep(0.05)
    return ""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
