"""What is killed: each command that writes, and what must hold whenever it has died."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.faults_process import MAIN
from torture.faults_state import check, contents, difference, part
from torture.faults_world import EXPERIMENT, World

HOME = "torture.faults_world"


@dataclass(frozen=True)
class Case:
    """A kind of run.

    Attributes:
        name: What it is called in the figures.
        words: The command.
        function: ``module:function`` that does it.
        copies: Entries of the world that are copied into the folder first, by their name there.
        replaced: Entries that are as before or as after the command, and nothing else.
        growing: Files of lines that only ever become more.
        checkpoints: Folders of checkpoints, which may hold any state of the run.
        checkpoint_every: Seconds between two checkpoints.
    """

    name: str
    words: tuple[str, ...]
    function: str = MAIN
    copies: Mapping[str, Path] | None = None
    replaced: tuple[str, ...] = ()
    growing: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    checkpoint_every: float = 0.0

    def prepare(self, folder: Path) -> None:
        """A folder as it is before the command."""
        folder.mkdir()
        for name, source in (self.copies or {}).items():
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)


def make_cases(world: World) -> dict[str, Case]:
    """All kinds, by name."""
    graph, change = str(world.before), str(world.change)
    small = ("--width", "8", "--threads", "1", "--quiet", "--json")
    cases = (
        Case(
            "train",
            ("train", graph, "--out", "m", "--epochs", "14", *small),
            replaced=("m",),
            checkpoints=("m.checkpoint",),
        ),
        Case(
            "train in batches",
            ("train", graph, "--out", "m", "--epochs", "4", "--batch-size", "16", *small),
            copies={"m": world.other},
            replaced=("m",),
            checkpoints=("m.checkpoint",),
        ),
        Case(
            "update",
            ("update", "m", change, "--before", graph, "--out", "m", "--write-graph", "now",
             "--epochs", "3", "--threads", "1", "--quiet", "--json"),
            copies={"m": world.model},
            replaced=("m", "now"),
        ),
        Case(
            "experiment",
            ("experiment", EXPERIMENT, "--results", "r", "--epochs", "3", "--threads", "1",
             "--settings", "none.json", "--quiet", "--json"),
            function=f"{HOME}:main",
            growing=(f"r/{EXPERIMENT}.jsonl",),
        ),
        Case(
            "stream",
            ("stream", "synthetic", "--option", "num_nodes=100", "--option", "num_features=30",
             "--option", "steps=3", "--strategy", "ewc", "--strategy", "finetune", "--log",
             "log.jsonl", "--epochs", "4", "--update-epochs", "2", *small),
            growing=("log.jsonl",),
        ),
        Case(
            "tune",
            ("tune", graph, "--trials", "4", "--epochs", "2", "--log", "log.jsonl", "--out",
             "best.json", "--threads", "1", "--quiet", "--json"),
            replaced=("best.json",),
            growing=("log.jsonl",),
        ),
        Case(
            "convert",
            ("convert", str(world.after), "--out", "g", "--json"),
            copies={"g": world.before},
            replaced=("g",),
        ),
        Case(
            "predict",
            ("predict", str(world.model), str(world.after), "--out", "p.parquet", "--all-classes",
             "--threads", "1", "--json"),
            copies={"p.parquet": world.change},  # some older file
            replaced=("p.parquet",),
        ),
        Case(
            "save",
            (str(world.model), str(world.other), "m", "15"),
            function=f"{HOME}:save_repeatedly",
            copies={"m": world.other},
            replaced=("m",),
        ),
    )  # fmt: skip
    return {case.name: case for case in cases}


def check_whole(
    case: Case, folder: Path, begin: Mapping[str, Any], states: Sequence[Mapping[str, Any]]
) -> None:
    """Raises unless everything in the folder of a killed command is whole.

    Args:
        case: The kind of command.
        folder: Its folder.
        begin: The growing files as they were before it was started.
        states: The folder before the first command, and after uninterrupted ones.
    """
    found = contents(folder)
    for name in case.replaced:
        allowed = [part(state, name) for state in states]
        check(
            part(found, name) in allowed,
            f"{case.name}: {name} is neither the old nor the new one; beside the new one "
            f"{difference(part(found, name), allowed[-1])}",
        )
    for name in case.checkpoints:
        if (folder / name / "checkpoint.json").exists():
            check_checkpoint(folder / name)
    for name in case.growing:
        rows = _whole_rows(found.get(name, []), case)
        check(
            rows[: len(begin.get(name, []))] == begin.get(name, []),
            f"{case.name}: lines of {name} were lost",
        )


def _whole_rows(rows: list[Any], case: Case) -> list[Any]:
    """The lines of a file, of which the last one may be torn."""
    for place, row in enumerate(rows):
        torn = "torn" in row
        check(not torn or place == len(rows) - 1, f"{case.name}: line {place} is torn")
    return [row for row in rows if "torn" not in row]


def check_checkpoint(folder: Path) -> None:
    """Raises unless a checkpoint can be read, whatever run it is of."""
    import json

    from safetensors.torch import load_file

    about = json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))
    tensors = load_file(folder / "checkpoint.safetensors")
    check({"identity", "history", "bits"} <= about.keys(), f"{folder} lacks a part")
    check(any(name.startswith("best.") for name in tensors), f"{folder} lacks the best weights")


def growing_rows(case: Case, folder: Path) -> dict[str, list[Any]]:
    """The whole lines of the growing files."""
    found = contents(folder)
    return {name: _whole_rows(found.get(name, []), case) for name in case.growing}
