"""``grafenne tune``: a small search for better settings, on validation data only."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from grafenne.cli import train_options as given
from grafenne.cli.inputs import drop_missing, load_graph
from grafenne.cli.models import TASKS, check_writable, choose_task, make_estimator
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    MissingOption,
    MissingSeedOption,
    QuietOption,
    ReleaseOption,
    RootOption,
    SplitOption,
    ThreadsOption,
    ZerosOption,
    choose,
    use_threads,
)
from grafenne.cli.output import STOPPED, answer, say, table_text, to_json
from grafenne.cli.train import make_split
from grafenne.errors import DataError


def tune(
    data: DataArgument = DEFAULT_DATA,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="How many settings to try.")] = 16,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON file for the best settings."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON-lines file with a line per finished trial; the same command goes on from "
            "it, also with more trials.",
        ),
    ] = None,
    seed: given.SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    task: given.TaskOption = None,
    backbone: given.BackboneOption = None,
    labels_as_features: given.LabelsOption = False,
    set_: given.SetOption = None,
    epochs: given.EpochsOption = None,
    patience: given.PatienceOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    missing: MissingOption = 0.0,
    observed_zeros: ZerosOption = False,
    missing_seed: MissingSeedOption = None,
    split: SplitOption = None,
    data_root: RootOption = None,
) -> None:
    """Search for better settings by validation loss; the test nodes are never looked at.

    The first trial is the defaults; the others draw the learning rate, weight decay, dropout,
    feature dropout, width and feature embedding at random.
    """
    if task is not None:
        choose("task", task, TASKS)
    for path in (out, log):
        if path is not None:
            if path.is_dir():
                raise DataError(f"Cannot write {path}: it is a folder.")
            check_writable(path)
    use_threads(threads)
    graph = load_graph(data, root=data_root, release=release, options=option)
    task = choose_task(task, graph)
    settings: dict[str, Any] = {
        "backbone": backbone,
        "epochs": epochs,
        "patience": patience,
        "labels_as_features": labels_as_features or None,
        "random_state": seed,
        "device": device,
    }
    estimator = make_estimator(task, settings, set_ or ())
    graph = drop_missing(
        graph,
        missing,
        observed_zeros=observed_zeros,
        seed=seed if missing_seed is None else missing_seed,
    )
    parts = make_split(task, graph, split, seed)

    from grafenne.estimators.tune import tune as search

    try:
        found = search(
            estimator, graph, parts, trials=trials, seed=seed, verbose=not quiet, log=log
        )
    except KeyboardInterrupt:
        kept = log is not None and log.exists()
        say(
            f"Stopped; the finished trials are in {log}. Give the same command again to go on."
            if kept
            else "Stopped; nothing was kept (--log keeps the finished trials)."
        )
        raise typer.Exit(STOPPED) from None
    rows = [
        {str(name): _plain(value) for name, value in row.items()}
        for row in found.table.to_dict("records")
    ]
    told = {name for name, value in settings.items() if value is not None}
    told |= {pair.partition("=")[0].strip().replace("-", "_") for pair in set_ or ()}
    fixed = {name: value for name, value in estimator.get_params().items() if name in told}
    best = {**fixed, **found.best_settings}
    result = {
        "dataset": data,
        "task": task,
        "seed": seed,
        "best_loss": found.best_score,
        "best_metric": min((row for row in rows if row["loss"] is not None), key=_loss)["metric"],
        "settings": best,
        "trials": rows,
    }
    if out is not None:
        from grafenne.data.atomic import atomic_write

        with atomic_write(out) as beside:
            beside.write_text(to_json(result) + "\n", encoding="utf-8")
    human = table_text(list(rows[0]), [list(row.values()) for row in sorted(rows, key=_loss)])
    human += "\n\nbest: " + ", ".join(f"{name}={value}" for name, value in best.items())
    answer(human + ("" if out is None else f"\nin {out}"), result, as_json)


def _loss(row: dict[str, Any]) -> float:
    return math.inf if row["loss"] is None else float(row["loss"])


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value
