"""Kill -9 at random moments and in the middle of writing; then everything is whole and goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grafenne.data.workplace import ENDING
from torture.faults_process import Process, Work, finish
from torture.faults_state import check, contents, difference, leftovers, without_times
from torture.faults_world import make_world
from torture.kills_cases import Case, check_whole, growing_rows, make_cases
from torture.settings import Settings

KILLS = {
    "train": 20,
    "train in batches": 14,
    "update": 16,
    "experiment": 14,
    "stream": 12,
    "tune": 6,
    "convert": 8,
    "predict": 8,
    "save": 16,
}
"""How many of each kind, in the long form."""
BARE = 0.08
"""Share of the processes that are started from nothing."""
MOST_IN_A_ROW = 4


def run(settings: Settings) -> dict[str, Any]:
    """Kills commands of every kind and lets them go on."""
    world = make_world(settings.folder)
    finish(Work(("--version",), settings.folder, settings.folder / "version.out"))  # imports
    generator = np.random.default_rng(settings.seed)
    figures = {}
    for name, case in make_cases(world).items():
        killer = Killer(case, settings.folder / name.replace(" ", "-"), generator)
        figures[name] = killer.run(settings.times(KILLS[name])).told()
        settings.say(f"{name}: {figures[name]}")
    total = {
        key: sum(one[key] for one in figures.values())
        for key in ("kills", "in_a_write", "aimed", "bare", "finished_after")
    }
    return {**total, "kinds": figures}


@dataclass
class Counts:
    """What was done to one kind of command.

    Attributes:
        kills: Processes that SIGKILL ended.
        aimed: Those of them that were waited for until they wrote.
        in_a_write: Those of them that left something half-written beside the real files.
        bare: Those of them that were started from nothing.
        finished_after: Runs that went on to the end, with the right result and nothing left over.
        escaped: Processes that had ended before they were hit.
        seconds: Length of an uninterrupted run.
    """

    kills: int = 0
    aimed: int = 0
    in_a_write: int = 0
    bare: int = 0
    finished_after: int = 0
    escaped: int = 0
    seconds: float = field(default=0.0)

    def told(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "seconds": round(self.seconds, 2)}


class Killer:
    """Kills one kind of command again and again.

    Args:
        case: The kind.
        folder: Where to work.
        generator: Decides when.
        bare: Share of the processes that are started from nothing.
    """

    def __init__(
        self, case: Case, folder: Path, generator: np.random.Generator, bare: float = BARE
    ) -> None:
        self.case, self.folder, self.generator, self.bare = case, folder, generator, bare
        self.counts = Counts()
        self._number, self._imports, self._writes = 0, 0.0, 1
        folder.mkdir()

    def run(self, kills: int) -> Counts:
        """Kills so many processes; after each few of them the work is finished and compared."""
        before, wanted, told = self._reference()
        states = [before, wanted]
        while self.counts.kills < kills:
            folder = self._fresh()
            in_a_row = int(self.generator.integers(1, MOST_IN_A_ROW + 1))
            for number in range(in_a_row):
                begin = growing_rows(self.case, folder)
                was_killed = self._kill(folder, number)
                check_whole(self.case, folder, begin, states)
                if not was_killed:  # there is nothing more to kill
                    break
            begin = growing_rows(self.case, folder)
            output = self._finish(folder)
            check_whole(self.case, folder, begin, states)
            found = contents(folder)
            check(
                found == wanted,
                f"{self.case.name}: after kills another result, {difference(found, wanted)}",
            )
            check(
                _same_words(output, told),
                f"{self.case.name}: after kills other words, {difference(output, told)}",
            )
            check(not leftovers(folder), f"{self.case.name} leaves {leftovers(folder)}")
            self.counts.finished_after += 1
        return self.counts

    def _fresh(self) -> Path:
        self._number += 1
        folder = self.folder / str(self._number)
        self.case.prepare(folder)
        return folder

    def _work(self, folder: Path) -> Work:
        case = self.case
        log = folder.with_suffix(".out")
        return Work(case.words, folder, log, case.function, case.checkpoint_every)

    def _reference(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """The folder before, the folder after, and what an uninterrupted run told.

        It is run twice, the first time from nothing if such processes are asked for.
        """
        folder = self._fresh()
        before = contents(folder)
        started = time.monotonic()
        work = self._work(folder)
        code = finish(work, bare=self.bare > 0)
        check(code == 0, f"{self.case.name} failed: {work.complaints[-500:]}")
        told = _told(work)
        self._imports = time.monotonic() - started
        again = self._fresh()
        process = Process(self._work(again))
        self._writes = max(1, _watch(process, again))
        self.counts.seconds = time.monotonic() - process.started
        check(process.wait() == 0, f"{self.case.name} failed: {process.work.complaints[-500:]}")
        repeated = _told(process.work)
        self._imports = max(0.0, self._imports - self.counts.seconds)
        check(
            (told, contents(folder)) == (repeated, contents(again)),
            f"{self.case.name}: two uninterrupted runs differ, "
            f"{difference({**told, **contents(folder)}, {**repeated, **contents(again)})}",
        )
        check(not leftovers(folder), f"{self.case.name} leaves {leftovers(folder)} by itself")
        return before, contents(folder), told

    def _finish(self, folder: Path) -> dict[str, Any]:
        work = self._work(folder)
        code = finish(work)
        check(code == 0, f"{self.case.name} ended with {code}: {work.complaints[-500:]}")
        return _told(work)

    def _kill(self, folder: Path, killed: int) -> bool:
        """Starts the command and ends it, at a random moment or when it writes.

        Args:
            folder: Where it works.
            killed: How often it was killed there before; less is left to do each time.

        Returns:
            Whether it was still running.
        """
        left = 0.6**killed
        bare = bool(self.generator.random() < self.bare)
        aimed = bool(self.generator.random() < 0.5)
        length = self.counts.seconds * 1.05 + (self._imports if bare else 0.0)
        at = float(self.generator.random()) * length * left
        write = 1 + int(self.generator.integers(max(1, int(self._writes * left))))
        process = Process(self._work(folder), bare)
        if aimed:
            _watch(process, folder, write)
            time.sleep(float(self.generator.random()) * 0.004)
        else:
            time.sleep(at)
        if not process.kill():
            self.counts.escaped += 1
            return False
        self.counts.kills += 1
        self.counts.aimed += aimed
        self.counts.bare += bare
        self.counts.in_a_write += bool(_half_written(folder))
        return True


def _told(work: Work) -> dict[str, Any]:
    told: dict[str, Any] = without_times(json.loads(work.output or "{}"))
    return told


def _same_words(told: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a command told the same, or as much of it as one that found the work done can."""
    if not told.get("repeated"):
        return told == wanted
    return all(value == wanted[name] for name, value in told.items() if name != "repeated")


def _watch(process: Process, folder: Path, most: int | None = None) -> int:
    """Counts how often the process begins to write, until it ends or has begun so often."""
    before: Any = _lengths(folder)
    count = 0
    while process.alive() and (most is None or count < most):
        now = _half_written(folder) or _lengths(folder)
        count += bool(now and now != before)
        before = now
        time.sleep(0.0003)
    return count


def _half_written(folder: Path) -> list[str]:
    """What is being prepared; locks alone are not."""
    return [
        os.path.join(above, name)
        for above, folders, files in os.walk(folder)
        if above.endswith(ENDING)
        for name in (*folders, *files)
        if not name.endswith(".lock")
    ]


def _lengths(folder: Path) -> list[int]:
    """The lengths of files of lines."""
    found = []
    for above, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".jsonl"):
                with suppress(OSError):
                    found.append(os.stat(os.path.join(above, name)).st_size)
    return found
