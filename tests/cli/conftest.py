"""A small world on disk for the command line: tables, newer tables, and a trained model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph
from grafenne.cli.main import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("GRAFENNE_DATA", raising=False)

    def run_command(*arguments: object) -> Ran:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_command


def shop(items: range, seed: int, extra: tuple[str, ...] = ()) -> FeatureGraph:
    """Items of two kinds, told apart by their features; some have features of ``extra`` too."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in items:
        names = ("pages", "language=en") if number % 2 else ("watts", "colour=white")
        rows += [(f"i{number}", name, 1.0) for name in (*names, "weight")]
        rows += [(f"i{number}", name, 1.0) for name in extra if generator.random() < 0.5]
    pairs = {
        (f"i{number}", f"i{number + 2}") for number in items if number + 2 in items
    }  # neighbours are of the same kind
    return FeatureGraph.from_frames(
        pd.DataFrame(rows, columns=["node", "feature", "value"]),
        pd.DataFrame(sorted(pairs), columns=["source", "target"]),
        {f"i{number}": "book" if number % 2 else "lamp" for number in items},
    )


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "tables"
    shop(range(60), 0).write(folder, format="csv")
    return folder


@pytest.fixture(scope="session")
def newer_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """New items with features that the older tables do not have, and no labels."""
    folder = tmp_path_factory.mktemp("data") / "newer"
    shop(range(50, 90), 1, extra=("isbn", "bulbs")).with_labels(None).write(folder, format="csv")
    return folder


@pytest.fixture(scope="session")
def model(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    code = main(
        ["train", str(tables), "--out", str(folder), "--epochs", "30", "--width", "16", "--quiet"]
    )
    assert code == 0
    return folder


@pytest.fixture(scope="session")
def link_model(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "links"
    code = main(
        ["train", str(tables), "--task", "links", "--out", str(folder), "--epochs", "5", "--quiet"]
    )
    assert code == 0
    return folder
