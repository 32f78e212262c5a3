"""Several processes write one place: one of them wins whole, the others are told."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from torture.faults_process import Process, Work
from torture.faults_state import check, contents, leftovers
from torture.faults_world import RUNS, World, make_world
from torture.kills_cases import HOME, Case, make_cases
from torture.settings import Settings

TOLD = "is at work there"


def together(works: Sequence[Work], apart: float = 0.0) -> list[int]:
    """Starts all at nearly the same time and returns their exit codes."""
    running = []
    for work in works:
        running.append(Process(work))
        time.sleep(apart)
    return [process.wait() for process in running]


def race(case: Case, folder: Path, apart: float) -> str:
    """Two processes with the same command; what became of the later one.

    Returns:
        ``told`` if one of them was told that the other is at work, ``after`` if they came one
        after the other.
    """
    case.prepare(folder)
    works = [
        Work(case.words, folder, Path(f"{folder}-{number}.out"), case.function, 60.0)
        for number in range(2)
    ]
    codes = together(works, apart)
    check(0 in codes, f"{case.name}: neither of two writers won, {works[0].complaints}")
    check(set(codes) <= {0, 2}, f"{case.name}: two writers ended with {codes}")
    for code, work in zip(codes, works, strict=True):
        told = work.complaints
        check(code == 0 or TOLD in told, f"{case.name}: the other one was told {told!r}")
    check(not leftovers(folder), f"{case.name}: two writers leave {leftovers(folder)}")
    return "told" if 2 in codes else "after"


def race_of_commands(case: Case, folder: Path, times: int, seed: int) -> dict[str, int]:
    """Races of two equal commands, which must end in the same files as one command alone."""
    folder.mkdir()
    case.prepare(folder / "alone")
    alone = Work(case.words, folder / "alone", folder / "alone.out", case.function, 60.0)
    check(together([alone]) == [0], f"{case.name} failed: {alone.complaints}")
    generator = np.random.default_rng(seed)
    counts = {"races": 0, "told": 0, "after": 0}
    for number in range(times):
        apart = float(generator.random()) * 0.3
        counts[race(case, folder / str(number), apart)] += 1
        counts["races"] += 1
        check(
            contents(folder / str(number)) == contents(folder / "alone"),
            f"{case.name}: two writers made something else than one",
        )
    return counts


def race_of_saves(world: World, folder: Path, times: int) -> dict[str, int]:
    """Two processes save different models under one name while a third one loads it."""
    from grafenne.continual.lineage import model_digest
    from grafenne.estimators.persistence import load_estimator

    folder.mkdir()
    model, other, out, name = (str(world.model), str(world.other), folder / "m", "save_stubbornly")
    load_estimator(model).save(out)
    works = [
        Work((model, "m", str(times)), folder, folder.parent / "one.out", f"{HOME}:{name}"),
        Work((other, "m", str(times)), folder, folder.parent / "two.out", f"{HOME}:{name}"),
        Work(("m", str(times)), folder, folder.parent / "loads.out", f"{HOME}:load_repeatedly"),
    ]
    codes = together(works)
    check(codes == [0, 0, 0], f"saves ended with {codes}: {[one.complaints for one in works]}")
    one, two, loads = (json.loads(work.output) for work in works)
    for told in (*one["told"], *two["told"]):
        check(TOLD in told, f"a saving process was told {told!r}")
    known = {model_digest(load_estimator(path)) for path in (model, other)}
    check(loads.keys() <= known, "a model was loaded that nobody saved")
    check(model_digest(load_estimator(out)) in known, "what was saved last is not whole")
    check(not leftovers(folder), f"saves leave {leftovers(folder)}")
    return {
        "saved": one["saved"] + two["saved"],
        "told": len(one["told"]) + len(two["told"]),
        "loaded": sum(loads.values()),
    }


def race_of_files(folder: Path, times: int) -> dict[str, int]:
    """Four processes write one file, each its own letter, while it is read."""
    folder.mkdir()
    running = [
        Process(
            Work((letter, "f.txt", str(times)), folder, folder.parent / f"{letter}.out",
                 f"{HOME}:write_repeatedly")
        )
        for letter in "abcd"
    ]  # fmt: skip
    read = 0
    while any(process.alive() for process in running):
        if (folder / "f.txt").exists():
            text = (folder / "f.txt").read_text()
            check(len(text) >= 1000 and len(set(text)) == 1, "a file was read half-written")
            read += 1
        time.sleep(0.002)
    codes = [process.wait() for process in running]
    check(codes == [0] * 4, f"writers of one file ended with {codes}")
    check(not leftovers(folder), f"writers of a file leave {leftovers(folder)}")
    return {"written": 4 * times, "read": read}


def race_of_experiments(case: Case, folder: Path) -> dict[str, int]:
    """Two experiments append to one file of results: no line is torn or lost."""
    case.prepare(folder)
    works = [
        Work(case.words, folder, Path(f"{folder}-{number}.out"), case.function)
        for number in range(2)
    ]
    codes = together(works)
    check(codes == [0, 0], f"experiments ended with {codes}: {works[0].complaints}")
    (name,) = case.growing
    rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    values: dict[str, set[float]] = {}
    for row in rows:
        values.setdefault(row["identity"], set()).add(row["value"])
    check(all(len(found) == 1 for found in values.values()), f"two values of a run: {values}")
    check(len(values) == RUNS, f"{len(values)} runs instead of {RUNS}")
    return {"lines": len(rows), "runs": len(values)}


def run(settings: Settings) -> dict[str, Any]:
    """Lets processes race for models, logs, graphs, results and single files."""
    world = make_world(settings.folder)
    cases = make_cases(world)
    figures: dict[str, Any] = {}
    long = {"train": "80", "stream": "30"}  # so that the second one comes while the first one works
    for name in ("train", "update", "stream", "convert"):
        words = list(cases[name].words)
        if name in long:
            words[words.index("--epochs") + 1] = long[name]
        case = replace(cases[name], words=tuple(words))
        folder = settings.folder / f"race-{name}"
        figures[name] = race_of_commands(case, folder, settings.times(6), settings.seed)
        settings.say(f"{name}: {figures[name]}")
    figures["save"] = race_of_saves(world, settings.folder / "race-save", settings.times(200))
    figures["file"] = race_of_files(settings.folder / "race-file", settings.times(100))
    figures["experiment"] = race_of_experiments(
        cases["experiment"], settings.folder / "race-results"
    )
    return figures
