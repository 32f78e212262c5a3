"""Chooses settings by validation data of seeds that are not reported.

Every method gets the same number of trials, drawn from spaces of the same size
(:mod:`~grafenne.experiments.space`), the first of them being its defaults. Each is trained as a run
is on the first seed of the search; the best three of them go on to the finals. The lowest mean
validation loss wins, as the lowest loss does among the epochs of a run; among equals the better
validation metric. Where runs keep the epoch of the best metric, the best mean metric wins.

Where a seed has few validation nodes, finals are on five seeds, and judged by nodes that did not
choose the epoch (:mod:`~grafenne.experiments.judging`).

With one seed and shorter training the search chose settings for GRAFENNE on Cora that were worse
than its defaults on other seeds, by 1.7 points at p = 0.5. Of 98 searches with all settings on two
seeds, 94 were won by one of the best three of the first. The validation data of large graphs
and of link prediction is several times as large: there the first seed decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grafenne.experiments.cells import Cell, digest
from grafenne.experiments.configuration import LARGE, configure, told_zeros
from grafenne.experiments.cost import SIZES
from grafenne.experiments.space import space_of

SEARCH_SEEDS = (100, 101, 102, 103, 104)
"""Seeds of the data that settings are chosen on; results are reported for seeds from 0 on."""

FEW_SEEDS = 2
"""How many of them are used where a seed has a thousand validation nodes or more."""

ENOUGH_VALIDATION = 1000
"""From that many validation nodes on."""

VALIDATION_SHARE = 0.2
"""Of the nodes; splits with few labels have 1,500."""

TRIALS, FEW_TRIALS = 8, 4
"""Settings to try for each method; the smaller number is for large data and :data:`FEW_TRIED`."""

FEW_TRIED = ("links", "backbones")
"""Searches of tables that have many cells."""

VARIED = ("leaked", "shift")
"""What of the data cells may vary that are run with the settings of the plain ones."""

BORROWING = ("equal-classes",)
"""Splits that are run with the settings chosen on random ones."""

FINALISTS = 3
"""How many settings, the best on the first seed, are tried on the others."""


@dataclass(frozen=True)
class Trial:
    """One setting to try on one seed.

    Attributes:
        cell: The cell.
        number: The place of the setting in the search, from 0.
        seed: Seed of the data and of the training.
        settings: What was drawn.
        config: Everything that decides the outcome.
        final: Whether it decides among the best of the first seed.
        apart: Whether it is judged by nodes that did not choose the epoch.
    """

    cell: Cell
    number: int
    seed: int
    settings: Mapping[str, Any]
    config: Mapping[str, Any]
    final: bool = False
    apart: bool = False

    @property
    def identity(self) -> str:
        """The same for trials that compute the same thing."""
        told = {"search": group_of(self.cell), "seed": self.seed, "config": self.config}
        return digest({**told, "apart": True} if self.apart else told)


def group_of(cell: Cell) -> tuple[str, str, float, str]:
    """What cells share whose settings are chosen together."""
    return (cell.search or "", cell.dataset, cell.p, cell.method)


def searched_cells(cells: Iterable[Cell]) -> list[Cell]:
    """One cell for each search that the cells need, on its plain data.

    Settings are kept for the honest, unshifted data and for the plain method, whichever cells were
    asked for: a leak must not choose what honest runs are run with.
    """
    first: dict[Any, Cell] = {}
    for cell in cells:
        if cell.search is not None:
            data = {
                name: value
                for name, value in cell.data.items()
                if name not in VARIED and value not in BORROWING
            }
            first.setdefault(group_of(cell), replace(cell, data=data, settings={}))
    return list(first.values())


def number_of_settings(cell: Cell) -> int:
    """How many settings are tried for a cell."""
    return FEW_TRIALS if cell.dataset in LARGE or cell.search in FEW_TRIED else TRIALS


def judged_apart(cell: Cell) -> bool:
    """Whether its data has so few validation nodes that finals take more than their best epoch."""
    nodes, _, _ = SIZES.get(cell.dataset, (math.inf, 0, 0))
    other = cell.data.get("split") in ("few-labels", "edges")
    return VALIDATION_SHARE * nodes < ENOUGH_VALIDATION and not other


def final_seeds(cell: Cell) -> tuple[int, ...]:
    """The seeds that finals are on, beside the outcome on the first; none where that decides."""
    if judged_apart(cell):
        return SEARCH_SEEDS
    return () if cell.dataset in LARGE or cell.search == "links" else SEARCH_SEEDS[1:FEW_SEEDS]


def trials_of(cell: Cell, count: int | None = None, epochs: int | None = None) -> list[Trial]:
    """The trials of a cell: all settings on the first seed, then in the finals, seed by seed.

    Args:
        cell: The cell.
        count: How many settings; by default as many as for any method on this data and task.
        epochs: Most epochs of a trial, to try things out.
    """
    from grafenne.estimators.tune import draw_settings

    if count is None:
        count = number_of_settings(cell)
    space = space_of(cell)
    defaults = configure(cell, epochs=epochs)
    own = {**defaults["settings"], "observed_zeros": told_zeros(defaults)}
    configs = [
        (drawn, configure(cell, chosen=drawn, epochs=epochs) if number else defaults)
        for number, drawn in enumerate(draw_settings(own, space, count, SEARCH_SEEDS[0]))
    ]
    first = [
        Trial(cell, number, SEARCH_SEEDS[0], drawn, config)
        for number, (drawn, config) in enumerate(configs)
    ]
    apart = judged_apart(cell)
    finals = [
        replace(trial, seed=seed, final=True, apart=apart)
        for seed in final_seeds(cell)
        for trial in first
    ]
    return first + finals


def worth_trying(trials: Sequence[Trial], found: Mapping[str, Mapping[str, Any]]) -> list[Trial]:
    """All trials on the first seed; once these are there, the finalists' in the finals too.

    Args:
        trials: The trials of a search, see :func:`trials_of`.
        found: Outcomes by identity.
    """
    first = _on_first_seed(trials)
    if any(trial.identity not in found for trial in first):
        return first
    return _with_finals(trials, finalists(trials, found))


def expected_trials(trials: Sequence[Trial], found: Mapping[str, Mapping[str, Any]]) -> list[Trial]:
    """As :func:`worth_trying`, with any finalists while they are not known yet."""
    first = _on_first_seed(trials)
    if any(trial.identity not in found for trial in first):
        return _with_finals(trials, {trial.number for trial in first[:FINALISTS]})
    return worth_trying(trials, found)


def _on_first_seed(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if not trial.final]


def _with_finals(trials: Sequence[Trial], numbers: set[int]) -> list[Trial]:
    return [trial for trial in trials if not trial.final or trial.number in numbers]


def deciding(trials: Sequence[Trial], found: Mapping[str, Mapping[str, Any]]) -> list[Trial]:
    """The trials of the finalists that the choice is made by.

    Those that are judged apart alone, where there are any: an outcome at a setting's best epoch
    cannot be compared with one that was judged apart.
    """
    numbers = finalists(trials, found)
    last = [trial for trial in trials if trial.number in numbers]
    apart = [trial for trial in last if trial.apart]
    return apart or last


def finalists(trials: Sequence[Trial], found: Mapping[str, Mapping[str, Any]]) -> set[int]:
    """Numbers of the settings that were best on the first seed, failed ones left out."""
    by = selection_of(trials)
    rows = [
        (*_rank(found[trial.identity], by), trial.number)
        for trial in _on_first_seed(trials)
        if _went_well(found[trial.identity])
    ]
    return {number for _, _, number in sorted(rows)[:FINALISTS]}


def selection_of(trials: Sequence[Trial]) -> str:
    """What the trials of a search are compared by: ``loss``, or ``metric``."""
    selection: str = trials[0].config["settings"].get("select", "loss")
    return selection


def _rank(row: Mapping[str, Any], by: str) -> tuple[float, float]:
    """Lower is better, as among the epochs of a run."""
    loss, metric = row["loss"], -row["metric"]
    return (loss, metric) if by == "loss" else (metric, loss)


def _went_well(row: Mapping[str, Any]) -> bool:
    return row["loss"] is not None and math.isfinite(row["loss"])


def try_settings(
    *,
    trials: Sequence[Trial],
    found: Mapping[str, Mapping[str, Any]],
    root: Path | None,
    tell: Callable[[dict[str, Any]], None],
) -> None:
    """Trains what is left of a search, one trial after another; data they share is made once.

    Args:
        trials: The trials of the search.
        found: Outcomes that are there already, by identity.
        root: Where the files of the dataset are.
        tell: Called after each trial with its identity and its outcome.
    """
    from grafenne.estimators.tune import try_estimator
    from grafenne.experiments.fit import fill, make_estimator
    from grafenne.experiments.judging import try_apart
    from grafenne.experiments.problem import make_problem

    made: dict[str, Any] = {}
    found = dict(found)
    cell = trials[0].cell
    while left := [trial for trial in worth_trying(trials, found) if trial.identity not in found]:
        for trial in left:
            config = trial.config
            told = {"seed": trial.seed, "data": config["data"], "imputer": config.get("imputer")}
            shared = digest(told)
            if shared not in made:
                made.clear()  # the last one is no longer needed, and may be large
                problem = make_problem(cell.dataset, cell.p, trial.seed, config["data"], root)
                made[shared], _ = fill(problem, config)
            problem = made[shared]
            estimator = make_estimator(config, trial.seed)
            attempt = try_apart if trial.apart else try_estimator
            outcome = attempt(estimator, problem.graph, problem.split)
            found[trial.identity] = outcome
            tell({"identity": trial.identity, **outcome})


def best_trial(rows: Iterable[Mapping[str, Any]], by: str = "loss") -> dict[str, Any] | None:
    """The setting that is best in the mean over the seeds; ``None`` if all of them failed.

    Args:
        rows: Outcomes: ``trial``, ``settings``, and ``loss`` and ``metric``, which are ``None``
            where training failed; a setting that failed once is out.
        by: ``loss``, or ``metric``.
    """
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["trial"], []).append(row)
    good = [
        {
            "trial": number,
            "settings": group[0]["settings"],
            "loss": sum(row["loss"] for row in group) / len(group),
            "metric": sum(row["metric"] for row in group) / len(group),
        }
        for number, group in groups.items()
        if all(map(_went_well, group))
    ]
    return min(good, key=lambda row: (*_rank(row, by), row["trial"]), default=None)
