"""Which cells and seeds ``--only`` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grafenne.errors import ParameterError, UnknownNameError, which_is_meant
from grafenne.experiments.cells import Cell, value_text
from grafenne.experiments.registry import Experiment


@dataclass(frozen=True)
class Filter:
    """One ``--only``: for each key the values that fit; all keys must fit.

    Attributes:
        values: Values by key, without ``seed``.
        seeds: The seeds asked for, or ``None`` for the usual ones.
    """

    values: dict[str, tuple[Any, ...]]
    seeds: tuple[int, ...] | None = None

    def fits(self, cell: Cell) -> bool:
        """Whether a cell has the values asked for."""
        keys = cell.keys
        return all(keys.get(name) in wanted for name, wanted in self.values.items())


def select(
    experiment: Experiment, only: Iterable[str], *, seeds: int, leaked: bool = False
) -> list[tuple[Cell, list[int]]]:
    """The cells that are asked for, each with its seeds.

    Args:
        experiment: The experiment.
        only: Texts such as ``dataset=cora,method=sage|grafenne,p=0.99``; a cell that fits any of
            them is taken, and all cells without any.
        seeds: How many seeds, counted from 0, where ``only`` names none.
        leaked: Whether to take the cells that leak, and those alone.
    """
    cells = [cell for cell in experiment.cells if bool(cell.extra.get("leaked")) == leaked]
    if not cells:
        raise ParameterError(f"The experiment {experiment.name!r} has no cells that leak.")
    filters = [parse(experiment, cells, text) for text in only]
    chosen = []
    for cell in cells:
        fitting = [one for one in filters if one.fits(cell)]
        if filters and not fitting:
            continue
        wanted: set[int] = set()
        for one in fitting or [Filter({})]:
            wanted |= set(range(seeds) if one.seeds is None else one.seeds)
        chosen.append((cell, sorted(wanted)))
    if not chosen:
        raise ParameterError(
            f"No cell of {experiment.name!r} fits --only {' --only '.join(only)}; "
            "--dry-run lists them all."
        )
    return chosen


def parse(experiment: Experiment, cells: Sequence[Cell], text: str) -> Filter:
    """A filter from its text; unknown keys and values are told with a suggestion."""
    known: dict[str, list[Any]] = {}
    for cell in cells:
        for name, value in cell.keys.items():
            values = known.setdefault(name, [])
            if value not in values:
                values.append(value)
    wanted: dict[str, tuple[Any, ...]] = {}
    seeds = None
    for part in text.split(","):
        name, equals, given = (piece.strip() for piece in part.partition("="))
        if not equals or not given:
            raise ParameterError(f"Write --only as KEY=VALUE,KEY=VALUE, got {text!r}.")
        if name not in (*known, "seed"):
            hint = which_is_meant(name, (*known, "seed"))
            raise ParameterError(f"Unknown key {name!r} in --only.{hint}")
        if name in wanted or (name == "seed" and seeds is not None):
            raise ParameterError(f"--only names {name!r} twice; join its values with |.")
        words = [word.strip() for word in given.split("|")]
        if name == "seed":
            seeds = tuple(_seed(word) for word in words)
        else:
            wanted[name] = tuple(_value(name, word, known[name], experiment) for word in words)
    return Filter(wanted, seeds)


def _seed(word: str) -> int:
    if not word.isdecimal():
        raise ParameterError(f"A seed is a whole number from 0, got {word!r}.")
    return int(word)


def _value(name: str, word: str, known: Sequence[Any], experiment: Experiment) -> Any:
    for value in known:
        if isinstance(value, float):
            try:
                if abs(float(word) - value) < 1e-12:
                    return value
            except ValueError:
                continue
        elif value_text(value) == word:
            return value
    told = [value_text(value) for value in known]
    hint = which_is_meant(word, told)
    raise UnknownNameError(f"{experiment.name} has no {name} {word!r}.{hint}")
