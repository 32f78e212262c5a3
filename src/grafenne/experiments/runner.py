"""Runs the cells of an experiment: what is there already is not repeated."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grafenne.experiments.cells import PLAIN_KEYS, Cell, Run, digest, value_text
from grafenne.experiments.chosen import PACKAGED, ChosenSettings
from grafenne.experiments.cost import CostModel, duration_text
from grafenne.experiments.pool import Task, run_tasks
from grafenne.experiments.progress import RunProgress
from grafenne.experiments.registry import Experiment
from grafenne.experiments.store import ResultFile
from grafenne.version import __version__

SEARCH_FILE = "search.jsonl"
USUAL_SEEDS = 5


@dataclass(frozen=True)
class Options:
    """How runs are made.

    Attributes:
        results: Folder of the files of results.
        settings: File of the settings that searches chose.
        jobs: How many runs at a time.
        threads: Threads of each.
        epochs: Most epochs, to try things out.
        root: Where the files of datasets are.
        quiet: Whether nothing is told on standard error.
    """

    results: Path = Path("results")
    settings: Path = PACKAGED
    jobs: int = 1
    threads: int = 1
    epochs: int | None = None
    root: Path | None = None
    quiet: bool = False


@dataclass
class Plan:
    """What there is to do.

    Attributes:
        experiment: The experiment.
        runs: All runs that are asked for.
        found: Lines of results of the runs that are there already, by identity.
        borrowed: Lines of other experiments that computed the same thing, by identity.
        costs: Expected seconds of the runs that are left, by identity.
    """

    experiment: Experiment
    runs: list[Run]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    borrowed: dict[str, dict[str, Any]] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)

    @property
    def left(self) -> list[Run]:
        """The runs that are neither there nor to be had from another experiment."""
        there = (*self.found, *self.borrowed)
        return [run for run in self.runs if run.identity not in there]

    def cost_text(self, jobs: int) -> str:
        """``180 runs, 20 of them there already; about 2.5 h by 2 at a time``."""
        there = len(self.runs) - len(self.left)
        text = f"{len(self.runs)} runs, {there} of them there already"
        if not self.left:
            return text
        seconds = sum(self.costs.values()) / max(jobs, 1)
        return f"{text}; the others take about {duration_text(seconds)}, {jobs} at a time"


def make_plan(
    experiment: Experiment, selected: Iterable[tuple[Cell, Sequence[int]]], options: Options
) -> Plan:
    """Which runs are asked for, and which of them are there."""
    chosen = ChosenSettings(options.settings)
    runs = []
    for cell, seeds in selected:
        settings = chosen.of(cell)
        config = experiment.configuration(cell, settings, options.epochs)
        word = "default" if settings is None else "searched"
        runs += [Run(cell, seed, config, word) for seed in seeds]
    plan = Plan(experiment, runs)
    wanted = {run.identity for run in runs}
    every: list[dict[str, Any]] = []
    for path in sorted(options.results.glob("*.jsonl")):
        rows = ResultFile(path).read()
        every += rows
        for row in rows:
            identity = row.get("identity")
            if identity in wanted and "error" not in row and "value" in row:
                own = row["experiment"] == experiment.name
                (plan.found if own else plan.borrowed)[identity] = row
    model = CostModel(every)
    plan.costs = {run.identity: model.seconds(run.cell, run.config) for run in plan.left}
    return plan


def run_plan(plan: Plan, options: Options) -> list[str]:
    """Runs what is left, keeps every result at once, and returns the errors.

    Afterwards ``plan.found`` has the lines of all runs that went well.
    """
    file = ResultFile(options.results / f"{plan.experiment.name}.jsonl")
    file.check_place()
    for run in plan.runs:
        row = plan.borrowed.get(run.identity)
        if row is not None and run.identity not in plan.found:
            own = {**row, **_head(run, options), "same_as": row["experiment"]}
            file.append(own)
            plan.found[run.identity] = own
    tasks = [
        _task(plan.experiment, runs, options.root)
        for runs in _in_one_process(plan.left, plan.experiment.together)
    ]
    errors = []
    progress = RunProgress(plan.costs, options.jobs, quiet=options.quiet)

    def keep(run: Run, told: dict[str, Any]) -> None:
        for more in told.pop("rows", ()):  # before the line with which the run counts as done
            file.append({"experiment": plan.experiment.name, **more})
        row = {**_head(run, options), **told, "config": run.config}
        row |= {"threads": options.threads, "version": __version__}
        file.append(row)
        if "error" in row:
            errors.append(f"{run.describe()}: {row['error']}")
            text = f"{run.describe()} failed: {row['error']}"
        else:
            plan.found[run.identity] = row
            text = f"{run.describe()}: {outcome_text(row)}"
        progress.finish(run.identity, text)

    try:
        for event in run_tasks(tasks, jobs=options.jobs, threads=options.threads):
            runs, told = event.task.name, plain(event.data)
            if event.kind == "told":
                keep(runs[told.pop("place")], told)
            elif event.kind == "failed" or (event.kind == "done" and not event.task.tells):
                for run in runs:
                    if run.identity not in plan.found:
                        keep(run, dict(told))
    finally:
        progress.close()
    return errors


def _in_one_process(runs: Iterable[Run], together: str) -> list[list[Run]]:
    """The runs in the order in which they come, those that differ in one key alone as one."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        shared = {name: value for name, value in run.cell.keys.items() if name != together}
        name = digest([shared, run.seed, run.config]) if together else run.identity
        groups.setdefault(name, []).append(run)
    return list(groups.values())


def _task(experiment: Experiment, runs: list[Run], root: Path | None) -> Task:
    keys = [{"experiment": experiment.name, **run.cell.keys} for run in runs]
    arguments = {
        "keys": keys if experiment.together else keys[0],
        "seed": runs[0].seed,
        "config": runs[0].config,
        "root": root,
    }
    return Task(runs, experiment.run, arguments, tells=bool(experiment.together))


def _head(run: Run, options: Options) -> dict[str, Any]:
    return {**run.row(), "command": command_of(run, options)}


def outcome_text(row: Mapping[str, Any]) -> str:
    """``accuracy 0.8774 in 12.1 s``."""
    seconds = "" if row.get("seconds") is None else f" in {row['seconds']:.1f} s"
    value = row["value"]
    told = f"{value:.4f}" if isinstance(value, float) else str(value)
    return f"{row.get('metric', 'value')} {told}{seconds}"


def command_of(run: Run, options: Options) -> str:
    """The command that runs a cell again, with as many threads, into a folder of its own."""
    cell = run.cell
    keys = {name: cell.keys[name] for name in PLAIN_KEYS}
    keys |= {name: value for name, value in cell.extra.items() if name != "leaked"}
    only = ",".join(f"{name}={value_text(value)}" for name, value in keys.items())
    words = ["grafenne", "experiment", cell.experiment, "--only", only]
    if cell.extra.get("leaked"):
        words.append("--leaked")
    if run.seed >= USUAL_SEEDS:
        words += ["--seeds", str(run.seed + 1)]
    if options.epochs is not None:
        words += ["--epochs", str(options.epochs)]
    if options.settings != PACKAGED:
        words += ["--settings", str(options.settings)]
    words += ["--threads", str(options.threads), "--results", "again"]
    return shlex.join(words)


def plain(data: Any) -> Any:
    """Data that JSON can hold: NumPy's numbers as Python's, those that are not finite as null."""
    if isinstance(data, Mapping):
        return {str(name): plain(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if hasattr(data, "tolist"):
        return plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
