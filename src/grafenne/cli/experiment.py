"""``grafenne experiment``: runs the paper's tables, cell by cell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli.options import JsonOption, QuietOption, RootOption
from grafenne.cli.output import STOPPED, USAGE, answer, say, table_text

if TYPE_CHECKING:
    from grafenne.experiments.cells import Cell
    from grafenne.experiments.registry import Experiment
    from grafenne.experiments.runner import Options, Plan


def complete_experiment(incomplete: str) -> list[str]:
    """Names of experiments for the shell's completion."""
    from grafenne.experiments.registry import experiments

    return [name for name in ("list", *experiments()) if name.startswith(incomplete)]


def usual_threads(jobs: int) -> int:
    """Threads of each run unless they are given: the processors, shared out.

    OMP_NUM_THREADS counts instead where it is set. Two commands side by side want one thread each:
    with two each, on two processors, GRAFENNE's epochs take three times as long.
    """
    told = os.environ.get("OMP_NUM_THREADS", "")
    processors = int(told) if told.isdecimal() else os.cpu_count() or 1
    return max(1, processors // jobs)


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The experiment, or 'list' to see which there are.",
            autocompletion=complete_experiment,
        ),
    ] = "list",
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,…",
            help="Only the cells with these values of dataset, method, p, seed (and variant); "
            "several values of a key are joined by |, and several --only are alternatives.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many seeds, from 0 on; 5 unless said here."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many runs at a time, each in a process.")
    ] = 1,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Threads of each run; by default the processors, or OMP_NUM_THREADS, / --jobs.",
        ),
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Choose settings on validation data, with as many trials for every method, "
            "instead of running the cells.",
        ),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="With --search: trials for each method."),
    ] = None,
    leaked: Annotated[
        bool,
        typer.Option(
            "--leaked",
            help="The paper's way of link prediction: fill features in along all edges, those "
            "that are tested too. The figures are too good, and labelled so.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="List the runs and the time they will take; run nothing."),
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Most epochs of a run, to try things out."),
    ] = None,
    results: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where results are kept, as NAME.jsonl.")
    ] = Path("results"),
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Chosen settings; by default those that come with the package."
        ),
    ] = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a table of the paper; what is there already is not repeated.

    Every run is one line in RESULTS/NAME.jsonl, written as soon as it is finished. A command that
    was stopped, or failed in part, goes on when it is given again.
    """
    from grafenne.experiments.chosen import PACKAGED
    from grafenne.experiments.registry import get_experiment
    from grafenne.experiments.runner import Options
    from grafenne.experiments.selection import select

    if name == "list":
        _list(as_json)
        return
    chosen = get_experiment(name)
    count = chosen.seeds if seeds is None else seeds
    selected = select(chosen, only or (), seeds=count, leaked=leaked)
    options = Options(
        results=results,
        settings=PACKAGED if settings is None else settings,
        jobs=jobs,
        threads=threads or usual_threads(jobs),
        epochs=epochs,
        root=data_root,
        quiet=quiet,
    )
    try:
        if search:
            _search(chosen, [cell for cell, _ in selected], options, trials, dry_run, as_json)
        else:
            _run(chosen, selected, options, dry_run, as_json)
    except KeyboardInterrupt:
        say(f"Stopped; what is finished is in {results}. Give the same command again to go on.")
        raise typer.Exit(STOPPED) from None


def _list(as_json: bool) -> None:
    from grafenne.experiments.registry import experiments

    rows = [
        {
            "name": one.name,
            "title": one.title,
            "paper": one.paper,
            "datasets": one.datasets,
            "methods": one.methods,
            "p": one.rates,
            "metric": one.metric,
            "cells": len(one.cells),
        }
        for one in experiments().values()
    ]
    human = table_text(
        ("name", "cells", "what it is", "in the paper"),
        [(row["name"], row["cells"], row["title"], row["paper"]) for row in rows],
    )
    answer(human, {"experiments": rows}, as_json)


def _run(
    chosen: Experiment, selected: list[Any], options: Options, dry_run: bool, as_json: bool
) -> None:
    from grafenne.experiments.runner import make_plan, run_plan
    from grafenne.experiments.summary import cell_summaries, table_rows

    plan = make_plan(chosen, selected, options)
    if not options.quiet or dry_run:
        say(f"{chosen.title}: {plan.cost_text(options.jobs)}.")
    if dry_run:
        _tell_runs(plan, as_json)
        return
    errors = run_plan(plan, options)
    for error in errors:
        say(f"failed: {error}")
    if errors:
        say(f"{len(errors)} runs failed; the same command tries them again.")
    summaries = cell_summaries(plan)
    human = table_text(*table_rows(chosen, summaries))
    if any(one["settings"] == "default" for one in summaries):
        human += "\n* with default settings; --search chooses better ones."
    path = options.results / f"{chosen.name}.jsonl"
    data = {
        "experiment": chosen.name,
        "metric": chosen.metric,
        "results": str(path),
        "cells": summaries,
        "failed": errors,
    }
    answer(human, data, as_json)
    if errors:
        raise typer.Exit(USAGE)


def _tell_runs(plan: Plan, as_json: bool) -> None:
    left = {run.identity for run in plan.left}
    rows = [
        {
            **run.cell.keys,
            "seed": run.seed,
            "settings": run.settings,
            "there": run.identity not in left,
            "seconds": round(plan.costs.get(run.identity, 0.0), 1),
        }
        for run in plan.runs
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    human = table_text(columns, [[row.get(name, "") for name in columns] for row in rows])
    seconds = round(sum(plan.costs.values()), 1)
    answer(human, {"experiment": plan.experiment.name, "runs": rows, "seconds": seconds}, as_json)


def _search(
    chosen: Experiment,
    cells: list[Cell],
    options: Options,
    trials: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    from grafenne.experiments.cells import value_text
    from grafenne.experiments.chosen import ChosenSettings
    from grafenne.experiments.search import expected_trials, searched_cells
    from grafenne.experiments.search_runner import make_search_plan, run_search

    plan = make_search_plan(cells, options, trials)
    if not options.quiet or dry_run:
        say(f"{chosen.title}: {plan.cost_text(options.jobs)}.")
    errors = [] if dry_run else run_search(plan, options)
    for error in errors:
        say(f"failed: {error}")
    kept = ChosenSettings(options.settings)
    rows = []
    for cell, group in zip(searched_cells(cells), plan.trials, strict=True):
        entry = kept.entry(cell) or {}
        expected = expected_trials(group, plan.found)
        rows.append(
            {
                "search": cell.search,
                "dataset": cell.dataset,
                "method": cell.method,
                "p": cell.p,
                "trials": len(expected),
                "finished": sum(trial.identity in plan.found for trial in expected),
                "loss": entry.get("loss"),
                "metric": entry.get("metric"),
                "settings": entry.get("settings"),
            }
        )
    columns = ("search", "dataset", "method", "p", "trials", "finished", "loss", "metric")
    told = [
        [value_text(row[name]) if name == "p" else row[name] for name in columns]
        + [_settings_text(row["settings"])]
        for row in rows
    ]
    human = table_text((*columns, "chosen"), told)
    data = {
        "experiment": chosen.name,
        "settings": str(options.settings),
        "searches": rows,
        "seconds": round(sum(plan.costs.values()), 1) if dry_run else None,
        "failed": errors,
    }
    answer(human, data, as_json)
    if errors:
        raise typer.Exit(USAGE)


def _settings_text(chosen: Any) -> str:
    if not chosen:
        return "-"
    return " ".join(f"{name}={value}" for name, value in chosen.items())
