"""A full disk and folders that cannot be written to: one clear sentence, and the old data whole."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torture.faults_process import Work, finish
from torture.faults_state import check, contents, difference, leftovers, part
from torture.faults_world import World, make_world
from torture.kills_cases import Case, make_cases
from torture.settings import Settings

SIZES = (0, 100, 1000, 4000, 10_000)
"""Bytes after which a file can grow no more."""
PAGES = (1, 2, 4, 10)
"""Pages that are free on small disks."""
PAGE = 4096
SENTENCE = re.compile(r"(?m)^Error: Cannot write [^\n]+\.$")


def make_writers(world: World) -> dict[str, Case]:
    """The commands that write, by name."""
    model, graph = str(world.model), str(world.before)
    cases = make_cases(world)
    # One training has checkpoints to write and one only its model.
    cases["train in batches"] = replace(cases["train in batches"], checkpoint_every=60.0)
    more = (
        Case(
            "embed",
            ("embed", model, graph, "--out", "e.csv", "--threads", "1"),
            copies={"e.csv": world.change},
        ),
        Case(
            "report",
            ("report", str(world.results), "--out", "r.html"),
            copies={"r.html": world.change},
        ),
        Case(
            "convert to tables",
            ("convert", str(world.after), "--out", "g", "--format", "csv"),
            copies={"g": world.before},
        ),
    )
    return {**cases, **{case.name: case for case in more}}


def try_limit(case: Case, folder: Path, size: int) -> bool:
    """Runs a command whose files cannot grow beyond a size; whether that kept it from its end."""
    case.prepare(folder)
    return is_refused(case, folder, Path(f"{folder}.out"), size)


def is_refused(case: Case, folder: Path, log: Path, size: int | None = None) -> bool:
    """Runs a command that may find no room; whether it did, in the way that is promised.

    Args:
        case: The command.
        folder: Its folder, prepared.
        log: Where to write what it tells.
        size: Most bytes that a file may have.
    """
    before = contents(folder)
    work = Work(case.words, folder, log, case.function, case.checkpoint_every, size)
    code = finish(work)
    told = work.complaints
    # What it tells goes into a file, too, and is cut as any other.
    check(code in (0, 2), f"{case.name} with {size} bytes ended with {code}: {told[-800:]}")
    check("Traceback" not in told, f"{case.name} with {size} bytes: {told[-800:]}")
    check(not leftovers(folder), f"{case.name} with {size} bytes leaves {leftovers(folder)}")
    if code == 0:
        return False
    check(
        bool(SENTENCE.search(told)) or (size is not None and len(told) >= size),
        f"{case.name} with {size} bytes told: {told[-800:]}",
    )
    after = contents(folder)
    for name in case.copies or {}:
        kept, wanted = part(after, name), part(before, name)
        check(
            kept == wanted or (name == "m" and is_model(folder / name)),
            f"{case.name} with {size} bytes: the old data changed, {difference(kept, wanted)}",
        )
    return True


def is_model(folder: Path) -> bool:
    """Whether a folder holds a whole model; a command may have replaced it before it failed."""
    from grafenne.estimators.persistence import load_estimator

    return hasattr(load_estimator(folder), "network_")


def refused_by_a_closed_folder(case: Case, folder: Path) -> None:
    """Runs a command in a folder that cannot be written to, whoever asks."""
    case.prepare(folder)
    before = contents(folder)
    with read_only(folder) as closed:
        work = Work(case.words, closed, Path(f"{folder}.out"), case.function)
        code = finish(work)
        told = work.complaints
        check(code == 2, f"{case.name} in a closed folder ended with {code}: {told[-800:]}")
        check(
            SENTENCE.search(told) is not None and "Traceback" not in told,
            f"{case.name} in a closed folder told: {told[-800:]}",
        )
    check(contents(folder) == before, f"{case.name} changed a closed folder")
    check(not leftovers(folder), f"{case.name} leaves {leftovers(folder)}")


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """A folder as nobody can write to it: by its mode, for the superuser by a mount."""
    if os.geteuid() != 0:
        mode = folder.stat().st_mode
        folder.chmod(0o555)
        try:
            yield folder
        finally:
            folder.chmod(mode)
        return
    place = Path(f"{folder}.closed")
    place.mkdir()
    _mount("--bind", str(folder), str(place))
    try:
        _mount("-o", "remount,bind,ro", str(place))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def small_disk(folder: Path, pages: int) -> Iterator[Path]:
    """A disk of a few kilobytes."""
    folder.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    """Whether small disks can be made here."""
    try:
        with small_disk(folder, 1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def run(settings: Settings) -> dict[str, Any]:
    """Runs every command that writes with too little room, and without the right to write."""
    world = make_world(settings.folder)
    figures = {"commands": 0, "limits": 0, "stopped_by_limits": 0, "small_disks": 0,
               "stopped_by_small_disks": 0, "closed_folders": 0}  # fmt: skip
    mounts = can_mount(settings.folder / "probe")
    for number, (name, case) in enumerate(make_writers(world).items()):
        home = settings.folder / f"disk-{number}"
        home.mkdir()
        figures["commands"] += 1
        for size in SIZES[: settings.times(len(SIZES))]:
            figures["limits"] += 1
            figures["stopped_by_limits"] += try_limit(case, home / str(size), size)
        for free in PAGES[: settings.times(len(PAGES))] if mounts else ():
            figures["small_disks"] += 1
            figures["stopped_by_small_disks"] += _on_small_disk(case, home / f"disk-{free}", free)
        if mounts or os.geteuid() != 0:
            figures["closed_folders"] += 1
            refused_by_a_closed_folder(case, home / "closed")
        settings.say(f"{name}: {figures}")
    return figures


def _on_small_disk(case: Case, folder: Path, free: int) -> bool:
    files = [
        path for source in (case.copies or {}).values() for path in (source, *source.rglob("*"))
    ]
    used = sum(-(-path.stat().st_size // PAGE) for path in files if path.is_file())
    with small_disk(folder, used + free):
        case.prepare(folder / "inner")
        return is_refused(case, folder / "inner", Path(f"{folder}.out"))
