"""A full disk, closed folders: one sentence, exit code 2, the old data whole, nothing left over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grafenne.cli.main import main
from grafenne.experiments.store import ResultFile
from torture import faults_world
from torture.faults_disk import make_writers, try_limit
from torture.faults_process import Work, finish
from torture.faults_state import contents
from torture.faults_world import RUNS, World, make_world

COMMANDS = (
    "train", "train in batches", "update", "experiment", "stream", "tune", "convert",
    "convert to tables", "predict", "embed", "report", "save",
)  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_told_and_the_old_data_stays(
    world: World, tmp_path: Path, name: str
) -> None:
    assert try_limit(make_writers(world)[name], tmp_path / "here", 1000)


def test_every_command_that_writes_is_tried(world: World) -> None:
    assert set(COMMANDS) == set(make_writers(world))


def test_an_experiment_on_a_full_disk_leaves_whole_lines_and_goes_on(
    world: World, tmp_path: Path
) -> None:
    case = make_writers(world)["experiment"]
    assert try_limit(case, tmp_path / "here", 2500)
    path = tmp_path / "here" / case.growing[0]
    kept = ResultFile(path).read()
    assert 0 < len(kept) < RUNS
    assert path.read_bytes().endswith(b"}\n")
    assert finish(Work(case.words, tmp_path / "here", tmp_path / "again.out", case.function)) == 0
    rows = ResultFile(path).read()
    assert rows[: len(kept)] == kept
    assert len({row["identity"] for row in rows}) == len(rows) == RUNS


@pytest.mark.parametrize("name", COMMANDS[:-1])
def test_a_place_below_a_file_is_refused(
    world: World,
    tmp_path: Path,
    name: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No permissions are needed for this one, which bind nobody who may do everything."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    words = list(make_writers(world)[name].words)
    option = next(one for one in ("--results", "--log", "--out") if one in words)
    words[words.index(option) + 1] = f"file/{words[words.index(option) + 1]}"
    if name == "update":
        words[1] = str(world.model)
    before = contents(tmp_path)
    assert (faults_world.main if name == "experiment" else main)(words) == 2
    told = capfd.readouterr().err
    assert "Cannot write" in told
    assert told.count("\n") == 1
    assert contents(tmp_path) == before


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_results_that_find_no_room_are_told(tmp_path: Path, unbuffered: str) -> None:
    limit = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (10, 10)); "
    start = "from grafenne.cli.main import main; raise SystemExit(main(['datasets']))"
    with open(tmp_path / "out.txt", "w") as out:
        ran = subprocess.run(
            [sys.executable, "-c", limit + start],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert ran.returncode == 2
    assert ran.stderr == "Error: Cannot write to standard output: File too large.\n"


def test_a_reader_that_has_gone_ends_the_command_in_silence() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "grafenne", "datasets"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (130, "")
