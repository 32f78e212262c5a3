"""Cells of a table, runs of a cell, and how both are told apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLAIN_KEYS = ("dataset", "method", "p")
"""What every cell has; a cell may have more keys, such as ``variant`` or ``leaked``."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table: a method on a dataset at a missing rate.

    Attributes:
        experiment: Name of the experiment.
        dataset: Name of the dataset.
        method: Name of the method.
        p: Share of the features that are missing.
        extra: Further keys by which cells of the experiment differ; an empty text is the plain
            case.
        search: Under which name settings are searched for and kept; cells of several experiments
            that ask the same of a method share it. ``None`` if there is nothing to choose.
        data: How the data of a seed is made, where it differs from the experiment's way; see
            :func:`~grafenne.experiments.problem.make_problem`.
        settings: Settings that are the same whatever a search chose, and that it is not asked
            about.
    """

    experiment: str
    dataset: str
    method: str
    p: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    search: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> dict[str, Any]:
        """What ``--only`` can ask for: dataset, method, p and the further keys."""
        return {"dataset": self.dataset, "method": self.method, "p": self.p, **self.extra}

    def describe(self) -> str:
        """``cora, grafenne, p=0.99``."""
        told = [f"{name}={value_text(one)}" for name, one in self.extra.items() if one != ""]
        return ", ".join((self.dataset, self.method, f"p={value_text(self.p)}", *told))

    def __hash__(self) -> int:
        return hash((self.experiment, canonical(self.keys)))


@dataclass(frozen=True)
class Run:
    """A cell with a seed and the settings it is run with.

    Attributes:
        cell: The cell.
        seed: Seed of the split, of the missing cells and of training.
        config: Everything that decides the result, as plain data.
        settings: ``searched``, or ``default`` where nothing was chosen.
    """

    cell: Cell
    seed: int
    config: Mapping[str, Any]
    settings: str = "default"

    @property
    def identity(self) -> str:
        """The same for runs that compute the same thing, in whatever experiment."""
        keys = {name: value for name, value in self.cell.keys.items() if value != ""}
        return digest({"keys": keys, "seed": self.seed, "config": self.config})

    def describe(self) -> str:
        """``cora, grafenne, p=0.99, seed 3``."""
        return f"{self.cell.describe()}, seed {self.seed}"

    def row(self) -> dict[str, Any]:
        """What a line of results says about the run before anything is known of its outcome."""
        return {
            "experiment": self.cell.experiment,
            **self.cell.keys,
            "seed": self.seed,
            "settings": self.settings,
            "identity": self.identity,
        }


def canonical(data: Any) -> str:
    """JSON that is the same for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)


def digest(data: Any) -> str:
    """A short fingerprint of plain data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:16]


def value_text(value: Any) -> str:
    """A key's value as it is written after ``--only``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value) or "none"
