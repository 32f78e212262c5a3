"""Every broken input is answered by one sentence of our own, and nothing is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grafenne import FeatureGraph, GraphDelta, GraphStream, datasets
from grafenne.errors import DataError
from grafenne.estimators.persistence import load_estimator
from torture.bad_input import MODULES, all_cases
from torture.bad_input_cases import Case, Command, ToldError, check_complaint, judge
from torture.bad_input_checks import check_result
from torture.bad_input_world import World

CHANGES = ("events", "delta")


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAFENNE_DATA", raising=False)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition("_")[2])
def test_broken_inputs_get_one_sentence(
    module: ModuleType, sound_world: World, tmp_path: Path
) -> None:
    problems = {
        case.name: problem
        for number, case in enumerate(module.cases())
        if (problem := judge(case, sound_world, tmp_path / str(number))) is not None
    }
    assert problems == {}


def test_the_corpus_is_large_and_names_each_case_once() -> None:
    names = [case.name for case in all_cases()]
    assert len(names) >= 1000
    assert len(set(names)) == len(names)


def test_what_the_corpus_damages_is_sound(sound_world: World) -> None:
    """Or else it would be refused for another reason than its damage."""
    graphs = ("tables", "parquet", "mapped", "directed", "numbers", "changed")
    found: list[Any] = [FeatureGraph.read(getattr(sound_world, name)) for name in graphs]
    models = ("model", "regression", "links", "updated")
    found += [load_estimator(getattr(sound_world, name)) for name in models]
    known = ("cora", "physics", "actor", "debian", "dblp")
    found += [datasets.load(name, root=sound_world.root) for name in known]
    found += [found[0].apply(GraphDelta.read(getattr(sound_world, name))) for name in CHANGES]
    found.append(GraphStream.read(sound_world.stream))
    assert [check_result(thing) for thing in found] == [None] * len(found)


@pytest.mark.parametrize(
    "words",
    [
        "train {here}/nowhere --out {here}/model",
        "describe " + "x" * 300,
    ],
    ids=lambda words: words.split()[0],
)
def test_real_processes_end_with_code_2(words: str, sound_world: World, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grafenne", *Command(words).arguments(sound_world, tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    with pytest.raises(ToldError):
        check_complaint(done.returncode, done.stdout, done.stderr)
    assert list(tmp_path.iterdir()) == []


def _raise(error: Exception) -> None:
    raise error


def _write(folder: Path) -> None:
    (folder / "half").write_text("")
    raise DataError("A sentence.")


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (Case("sound", lambda world, here: _raise(DataError("A sentence."))), None),
        (Case("foreign", lambda world, here: _raise(ValueError("x"))), "ValueError escaped"),
        (Case("lines", lambda world, here: _raise(DataError("a\nb."))), "not one sentence"),
        (Case("accepted", lambda world, here: 3), "accepted"),
        (Case("left-behind", lambda world, here: _write(here)), "wrote or changed"),
        (Case("hang", lambda world, here: [None for _ in iter(int, 1)]), "no answer within"),
    ],
    ids=lambda value: value.name if isinstance(value, Case) else "",
)
def test_the_judge_sees_what_is_wrong(
    case: Case, problem: str | None, sound_world: World, tmp_path: Path
) -> None:
    found = judge(case, sound_world, tmp_path / "case", limit=1.0)
    assert found is None if problem is None else problem in str(found)
