"""A case of bad input, the small sound world it damages, and the judge of what happens."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafenne.errors import GrafenneError
from torture.bad_input_world import World

LIMIT = 10.0
"""Seconds within which every case must be answered."""

_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Case:
    """One broken input.

    Attributes:
        name: What is broken, as ``where/what``.
        read: Given the world and a folder of its own, gives the broken thing to the library.
        build: Writes the broken thing into the folder first, where it is a file.
        may_pass: Whether the reader may accept it; what it returns is then checked.
    """

    name: str
    read: Callable[[World, Path], Any]
    build: Callable[[World, Path], object] = lambda world, folder: None
    may_pass: bool = False


@dataclass(frozen=True)
class Command:
    """One wrong command line, with ``{tables}``, ``{model}``, ``{here}`` … for the world's paths.

    Attributes:
        words: The words after ``grafenne``, separated by spaces.
        build: Writes files into the folder ``{here}`` first.
    """

    words: str
    build: Callable[[World, Path], object] = lambda world, folder: None

    def arguments(self, world: World, folder: Path) -> list[str]:
        """The words with the paths filled in."""
        places = {**world.places(), "here": str(folder)}
        return [word.format(**places) for word in self.words.split()]

    def as_case(self) -> Case:
        """The case in which this command is run within the process."""

        def read(world: World, folder: Path) -> None:
            run_command(self.arguments(world, folder))

        return Case(f"command/{self.words}", read, self.build)


class ToldError(GrafenneError):
    """A command ended as it should after a mistake, with this sentence."""


def run_command(arguments: list[str]) -> None:
    """Runs a command in this process; raises :class:`ToldError` if it complained properly."""
    from grafenne.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    check_complaint(code, out.getvalue(), err.getvalue())


def check_complaint(code: int, out: str, err: str) -> None:
    """Raises :class:`ToldError` for exit code 2, one sentence and nothing on standard output."""
    if code == 0:
        return
    lines = err.strip().splitlines()
    complaints = [line for line in lines if line.startswith("Error: ")]
    proper = code == 2 and not out and len(complaints) == 1 and lines[-1] == complaints[0]
    if not proper or "Traceback" in err:
        raise AssertionError(f"exit code {code}, stdout {out[:200]!r}, stderr {err[-500:]!r}")
    raise ToldError(complaints[0].removeprefix("Error: "))


def judge(case: Case, world: World, folder: Path, limit: float = LIMIT) -> str | None:
    """What is wrong with the answer to a case, ``None`` if nothing is.

    Args:
        case: The case.
        world: The sound world.
        folder: A folder for this case alone; it is made, and removed afterwards.
        limit: Seconds that the answer may take.
    """
    from torture.bad_input_checks import check_result

    folder.mkdir(parents=True)
    try:
        case.build(world, folder)
        before = fingerprint(folder) | times(world.folder)
        started = time.perf_counter()
        try:
            with inside(folder), time_limit(limit):
                result = case.read(world, folder)
        except GrafenneError as error:
            problem = sentence_problem(str(error))
        except AssertionError as error:
            problem = str(error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problem = f"{type(error).__name__} escaped: {error}"[:500]
        else:
            problem = check_result(result) if case.may_pass else f"it was accepted: {result!r:.200}"
        if problem is None and time.perf_counter() - started > limit:
            problem = f"the answer took {time.perf_counter() - started:.1f} s"
        after = fingerprint(folder) | times(world.folder)
        if problem is None and before != after:
            changed = sorted(path for path, _ in before.items() ^ after.items())
            problem = f"it wrote or changed {changed[0]}"
        return problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sentence_problem(text: str) -> str | None:
    """What is wrong with a message, ``None`` if it is one clear sentence."""
    if not text.strip() or "\n" in text.strip():
        return f"the message is not one sentence: {text!r}"
    if not text.rstrip().endswith((".", "?", "…")) and "See 'grafenne" not in text:
        return f"the message is not a sentence: {text!r}"
    if "Traceback" in text or _ADDRESS.search(text):
        return f"the message shows internals: {text!r}"
    return f"the message has {len(text)} characters" if len(text) > 1500 else None


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file and folder below, with a digest of its content."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file():
            found[str(path)] = "folder" if path.is_dir() else "other"
        else:
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def times(folder: Path) -> dict[str, str]:
    """Every entry below with the time of its last change, which is quicker to find out."""
    return {
        os.path.join(above, name): str(os.lstat(os.path.join(above, name)).st_mtime_ns)
        for above, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Works in a folder, so that whatever is written by default is seen."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises :class:`TimeIsUp` when the block takes longer, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        # Not of the family that readers take for a damaged file.
        raise TimeIsUp(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class TimeIsUp(BaseException):
    """The time is up."""
