"""Chooses settings by validation data of a seed that is not reported.

Every method gets the same number of trials, drawn from spaces of the same size
(:mod:`~grafenne.experiments.space`), the first of them being its defaults. The lowest validation
loss wins, as it does among the epochs of a run; among equals the better validation metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafenne.experiments.cells import Cell, digest
from grafenne.experiments.configuration import LARGE, configure
from grafenne.experiments.space import space_of

SEARCH_SEED = 100
"""Seed of the data that settings are chosen on; results are reported for seeds from 0 on."""

TRIALS, FEW_TRIALS = 10, 5
"""Trials for each method; the smaller number is for large data and for links."""


@dataclass(frozen=True)
class Trial:
    """One setting to try.

    Attributes:
        cell: The cell.
        number: Its place in the search, from 0.
        settings: What was drawn.
        config: Everything that decides the outcome.
    """

    cell: Cell
    number: int
    settings: Mapping[str, Any]
    config: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """The same for trials that compute the same thing."""
        return digest({"search": group_of(self.cell), "seed": SEARCH_SEED, "config": self.config})


def group_of(cell: Cell) -> tuple[str, str, float, str]:
    """What cells share whose settings are chosen together."""
    return (cell.search or "", cell.dataset, cell.p, cell.method)


def searched_cells(cells: Iterable[Cell]) -> list[Cell]:
    """One cell for each search that the cells need."""
    first: dict[Any, Cell] = {}
    for cell in cells:
        if cell.search is not None:
            first.setdefault(group_of(cell), cell)
    return list(first.values())


def trials_of(cell: Cell, count: int | None = None, epochs: int | None = None) -> list[Trial]:
    """The trials of a cell.

    Args:
        cell: The cell.
        count: How many; by default as many as for any method on this data and task.
        epochs: Most epochs of a trial, to try things out.
    """
    from grafenne.estimators.tune import draw_settings

    if count is None:
        count = FEW_TRIALS if cell.dataset in LARGE or cell.search == "links" else TRIALS
    space = space_of(cell)
    defaults = configure(cell, searching=True, epochs=epochs)
    own = {**defaults["settings"], "observed_zeros": defaults["data"]["observed_zeros"]}
    trials = []
    for number, drawn in enumerate(draw_settings(own, space, count, SEARCH_SEED)):
        config = (
            defaults
            if number == 0
            else configure(cell, chosen=drawn, searching=True, epochs=epochs)
        )
        trials.append(Trial(cell, number, drawn, config))
    return trials


def try_settings(
    *,
    keys: Mapping[str, Any],
    trials: Sequence[tuple[str, Mapping[str, Any]]],
    root: Path | None,
    tell: Callable[[dict[str, Any]], None],
) -> None:
    """Trains the trials of a cell one after another; data that they share is made once.

    Args:
        keys: Dataset and missing rate of the cell.
        trials: Identity and configuration of each.
        root: Where the files of the dataset are.
        tell: Called after each trial with its identity and its outcome.
    """
    from grafenne.estimators.tune import try_estimator
    from grafenne.experiments.fit import fill, make_estimator
    from grafenne.experiments.problem import make_problem

    made: dict[str, Any] = {}
    for identity, config in trials:
        shared = digest({"data": config["data"], "imputer": config.get("imputer")})
        if shared not in made:
            made.clear()  # the last one is no longer needed, and may be large
            problem = make_problem(keys["dataset"], keys["p"], SEARCH_SEED, config["data"], root)
            made[shared], _ = fill(problem, config)
        problem = made[shared]
        estimator = make_estimator(config, SEARCH_SEED)
        tell({"identity": identity, **try_estimator(estimator, problem.graph, problem.split)})


def best_trial(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The finished trial with the lowest validation loss; ``None`` if all of them failed."""
    good = [row for row in rows if row["loss"] is not None and math.isfinite(row["loss"])]
    return min(good, key=lambda row: (row["loss"], -row["metric"], row["trial"]), default=None)
