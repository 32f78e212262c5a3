"""Commands that are killed -9: what they leave is whole, and the next run ends as it would have."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grafenne import GrafenneClassifier
from grafenne.cli.main import main
from grafenne.data.atomic import atomic_folder, atomic_write, remove_leftovers, reserved
from grafenne.errors import DataError
from grafenne.training import checkpoint
from torture.faults_state import leftovers
from torture.faults_world import World, make_world
from torture.kills import Killer
from torture.kills_cases import make_cases


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize(("kind", "kills"), [("train", 1), ("update", 2), ("experiment", 1),
                                            ("save", 2)])  # fmt: skip
def test_kills_lose_nothing(world: World, tmp_path: Path, kind: str, kills: int) -> None:
    case = make_cases(world)[kind]
    counts = Killer(case, tmp_path / "killed", np.random.default_rng(5), bare=0.0).run(kills)
    assert counts.kills >= kills
    assert counts.finished_after >= 1


def die_in(block: Callable[[], None]) -> None:
    """Runs a block in a process that is killed in it."""
    child = os.fork()
    if child == 0:
        block()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def write_and_die(folder: Path) -> None:
    with atomic_folder(folder, replaceable=bool) as beside:
        (beside / "a.txt").write_text("half of i")
        os.kill(os.getpid(), signal.SIGKILL)


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with atomic_folder(folder) as beside:
        (beside / "a.txt").write_text("old")
    die_in(lambda: write_and_die(folder))
    assert leftovers(tmp_path)
    assert (folder / "a.txt").read_text() == "old"
    with atomic_folder(folder, replaceable=bool) as beside:
        assert list(beside.iterdir()) == []
        (beside / "b.txt").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "b.txt"]


def test_a_run_that_has_nothing_to_write_removes_it_too(tmp_path: Path) -> None:
    die_in(lambda: write_and_die(tmp_path / "folder"))
    assert leftovers(tmp_path)
    with reserved(tmp_path / "folder"):
        pass
    assert list(tmp_path.iterdir()) == []
    die_in(lambda: write_and_die(tmp_path / "folder"))
    remove_leftovers(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_what_a_living_writer_prepares_is_not_removed(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "folder") as beside:
        (beside / "a.txt").write_text("half of i")
        remove_leftovers(tmp_path / "folder")
        with pytest.raises(DataError, match=rf"process {os.getpid()} on .+ is at work there"):
            write_and_die(tmp_path / "folder")
        assert (beside / "a.txt").read_text() == "half of i"
    assert (tmp_path / "folder" / "a.txt").exists()


def test_a_folder_that_was_moved_away_comes_back(tmp_path: Path) -> None:
    """Systems that cannot swap two folders in one step move the old one away first."""
    moved = tmp_path / ".folder.writing" / "folder.old"
    moved.mkdir(parents=True)
    (moved / "a.txt").write_text("old")
    (tmp_path / ".folder.writing" / "folder.lock").touch()
    remove_leftovers(tmp_path / "folder")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "a.txt"]


def test_a_file_is_written_through_a_link_and_over_no_device(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomic_write(tmp_path / "link.txt") as beside:
        beside.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with atomic_write(tmp_path / "pipe") as beside:
        assert beside == tmp_path / "pipe"
    assert (tmp_path / "pipe").is_fifo()


def test_a_writer_that_fails_leaves_no_folders_it_made(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), atomic_write(tmp_path / "deep" / "down" / "note.txt"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_checkpoint_stays_until_the_model_is_saved(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = ["train", str(world.before), "--out", str(tmp_path / "m"), "--epochs", "6", "--quiet"]
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)

    def fail(self: GrafenneClassifier, folder: Path) -> None:
        raise DataError("Cannot write: no space.")

    with monkeypatch.context() as patched:
        patched.setattr(GrafenneClassifier, "save", fail)
        assert main(command) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m.checkpoint"]
    capfd.readouterr()
    assert main(command) == 0
    assert "Going on from the checkpoint" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
