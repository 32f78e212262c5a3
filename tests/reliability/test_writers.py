"""Two processes that write one place: one wins whole, the other is told."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from grafenne.cli.main import main
from grafenne.data.atomic import atomic_folder, atomic_write, read_whole, reserved
from grafenne.errors import DataError
from torture.faults_state import contents
from torture.faults_world import World, make_world
from torture.faults_writers import (
    race_of_commands,
    race_of_experiments,
    race_of_files,
    race_of_saves,
)
from torture.kills_cases import make_cases


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("kind", ["train", "update"])
def test_two_equal_commands_end_as_one(world: World, tmp_path: Path, kind: str) -> None:
    counts = race_of_commands(make_cases(world)[kind], tmp_path / "race", 1, seed=0)
    assert counts["races"] == 1


def test_saves_of_two_processes_do_not_mix(world: World, tmp_path: Path) -> None:
    counts = race_of_saves(world, tmp_path / "race", 12)
    assert counts["saved"] + counts["told"] == 24
    assert counts["saved"] > 0


def test_files_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    assert race_of_files(tmp_path / "race", 8)["written"] == 32


def test_two_experiments_share_a_file_of_results(world: World, tmp_path: Path) -> None:
    case = make_cases(world)["experiment"]
    fast = replace(case, words=tuple("1" if word == "3" else word for word in case.words))
    race_of_experiments(fast, tmp_path / "race")


@pytest.mark.parametrize("name", ["train", "update", "stream", "convert"])
def test_a_second_command_is_told_before_it_works(
    world: World,
    tmp_path: Path,
    name: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = make_cases(world)[name]
    case.prepare(tmp_path / "here")
    before = contents(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    written = {"train": "m.checkpoint", "update": "m", "stream": "log.jsonl", "convert": "g"}[name]
    answers = []
    with reserved(tmp_path / "here" / written):  # by this thread, so that another one may not
        other = threading.Thread(target=lambda: answers.append(main(list(case.words))))
        other.start()
        other.join()
    assert answers == [2]
    told = capfd.readouterr().err
    assert "is at work there." in told
    assert told.count("\n") == 1
    assert contents(tmp_path / "here") == before


def test_whoever_holds_a_place_can_write_it_again_and_again(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file.txt"
    with reserved(folder, file, None):
        for text in ("one", "two"):
            with atomic_folder(folder, replaceable=bool) as beside:
                (beside / "a.txt").write_text(text)
            with atomic_write(file) as other:
                other.write_text(text)
    assert contents(tmp_path).keys() == {"folder/a.txt", "file.txt"}
    assert file.read_text() == (folder / "a.txt").read_text() == "two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder"]


def test_a_place_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), reserved(tmp_path / "a"):
        raise RuntimeError
    with reserved(tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_put_into_the_folder_meanwhile_is_not_lost(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def write() -> None:
        with atomic_folder(folder, replaceable=lambda name: name == "a.txt") as beside:
            (beside / "a.txt").write_text("new")
            (folder / "thesis.txt").write_text("mine")

    with pytest.raises(DataError, match=r"holds 'thesis\.txt', which would be lost"):
        write()
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_folder_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "folder"

    def write(text: str) -> None:
        with atomic_folder(folder, replaceable=bool) as beside:
            (beside / "a.txt").write_text(text)
            (beside / "b.txt").write_text(text)

    write("old")
    readings: list[str] = []

    def read() -> tuple[str, str]:
        first = (folder / "a.txt").read_text()
        if not readings:
            write("new")
        readings.append(first)
        return first, (folder / "b.txt").read_text()

    assert read_whole(folder, read) == ("new", "new")
    assert readings == ["old", "new"]
