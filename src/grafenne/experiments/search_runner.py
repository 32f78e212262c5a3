"""Runs the searches that an experiment's cells need, and keeps what they choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.chosen import ChosenSettings
from grafenne.experiments.cost import CostModel, duration_text
from grafenne.experiments.pool import Task, run_tasks
from grafenne.experiments.progress import RunProgress
from grafenne.experiments.runner import SEARCH_FILE, Options, plain
from grafenne.experiments.search import (
    Trial,
    best_trial,
    deciding,
    expected_trials,
    group_of,
    searched_cells,
    selection_of,
    trials_of,
    worth_trying,
)
from grafenne.experiments.store import ResultFile
from grafenne.version import __version__


@dataclass
class SearchPlan:
    """Which trials there are to run.

    Attributes:
        trials: The trials of each search.
        found: Lines of the trials that are there already, by identity.
        costs: Expected seconds of the others, by identity.
    """

    trials: list[list[Trial]]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)

    @property
    def left(self) -> list[Trial]:
        """The trials to run next: finalists are not known before their rivals are there."""
        every = (trial for group in self.trials for trial in worth_trying(group, self.found))
        return [trial for trial in every if trial.identity not in self.found]

    def cost_text(self, jobs: int) -> str:
        """How many trials there are and how long they will take."""
        expected = [trial for group in self.trials for trial in expected_trials(group, self.found)]
        there = sum(trial.identity in self.found for trial in expected)
        text = f"{len(self.trials)} searches, {len(expected)} trials, {there} of them there already"
        if not self.left:
            return text
        seconds = sum(self.costs.values()) / max(jobs, 1)
        return f"{text}; the others take about {duration_text(seconds)}, {jobs} at a time"


def make_search_plan(
    cells: Iterable[Cell], options: Options, trials: int | None = None
) -> SearchPlan:
    """The searches that the cells need.

    Args:
        cells: Cells; those that share their settings are searched for once.
        options: How runs are made.
        trials: Trials for each search; the number that belongs to its dataset by default.
    """
    groups = [trials_of(cell, trials, options.epochs) for cell in searched_cells(cells)]
    wanted = {trial.identity for group in groups for trial in group}
    rows = ResultFile(options.results / SEARCH_FILE).read()
    plan = SearchPlan(groups, {row["identity"]: row for row in rows if row["identity"] in wanted})
    model = CostModel(rows)
    plan.costs = {
        trial.identity: model.seconds(trial.cell, trial.config)
        for group in groups
        for trial in expected_trials(group, plan.found)
        if trial.identity not in plan.found
    }
    return plan


def run_search(plan: SearchPlan, options: Options) -> list[str]:
    """Runs the trials that are left, writes what is chosen, and returns the errors."""
    file = ResultFile(options.results / SEARCH_FILE)
    file.check_place()
    chosen = ChosenSettings(options.settings)
    progress = RunProgress(plan.costs, options.jobs, quiet=options.quiet)
    by_identity = {trial.identity: trial for group in plan.trials for trial in group}
    unfinished = {group_of(trial.cell) for trial in plan.left}
    tasks = []
    for number, group in enumerate(plan.trials):
        if group_of(group[0].cell) not in unfinished:
            _choose(group, plan.found, chosen)
            continue
        found = {key: plan.found[key] for trial in group if (key := trial.identity) in plan.found}
        arguments = {"trials": group, "found": found, "root": options.root}
        function = "grafenne.experiments.search:try_settings"
        tasks.append(Task(number, function, arguments, tells=True))
    errors = []
    try:
        for event in run_tasks(tasks, jobs=options.jobs, threads=options.threads):
            group = plan.trials[event.task.name]
            if event.kind == "told":
                trial = by_identity[event.data["identity"]]
                row = {**_head(trial), **plain(event.data), "version": __version__}
                file.append(row)
                plan.found[trial.identity] = row
                progress.finish(trial.identity, _text(trial, row))
            elif event.kind == "failed":
                errors.append(f"{group[0].cell.describe()}: {event.data['error']}")
                for trial in worth_trying(group, plan.found):
                    if trial.identity not in plan.found:
                        progress.finish(trial.identity, f"{_name(trial)} failed")
            elif event.kind == "done":
                _choose(group, plan.found, chosen)
    finally:
        progress.close()
    return errors


def _choose(
    group: list[Trial], found: Mapping[str, Mapping[str, Any]], chosen: ChosenSettings
) -> None:
    """Keeps the settings of the best trial, if that is news."""
    finals = deciding(group, found)
    best = best_trial((found[trial.identity] for trial in finals), selection_of(group))
    if best is None:
        return
    # A line from before the space had other names may hold the same trial under those.
    settings = next(trial.settings for trial in group if trial.number == best["trial"])
    entry = {
        "settings": dict(settings),
        "trial": best["trial"],
        "trials": len({trial.number for trial in group}),
        "loss": best["loss"],
        "metric": best["metric"],
        "seeds": sorted({trial.seed for trial in finals}),
    }
    if chosen.entry(group[0].cell) != entry:
        chosen.put(group[0].cell, entry)


def _head(trial: Trial) -> dict[str, Any]:
    cell = trial.cell
    return {
        "search": cell.search,
        "dataset": cell.dataset,
        "method": cell.method,
        "p": cell.p,
        "trial": trial.number,
        "seed": trial.seed,
        **({"apart": True} if trial.apart else {}),
        "settings": dict(trial.settings),
        "epochs_allowed": trial.config["settings"]["epochs"],
        "patience": trial.config["settings"]["patience"],
    }


def _name(trial: Trial) -> str:
    apart = ", judged apart" if trial.apart else ""
    what = f"{trial.cell.search}: {trial.cell.describe()}"
    return f"{what}, trial {trial.number} on seed {trial.seed}{apart}"


def _text(trial: Trial, row: Mapping[str, Any]) -> str:
    if row["loss"] is None:
        return f"{_name(trial)}: training failed"
    return (
        f"{_name(trial)}: loss {row['loss']:.4f}, metric {row['metric']:.4f} "
        f"in {row['seconds']:.1f} s"
    )
