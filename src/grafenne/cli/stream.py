"""``grafenne stream``: strategies side by side on a graph that changes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli import train_options as given
from grafenne.cli.inputs import TABLE_OPTIONS
from grafenne.cli.models import check_writable, make_estimator, read_settings
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    RootOption,
    ThreadsOption,
    complete_dataset,
    parse_pairs,
    use_threads,
)
from grafenne.cli.output import STOPPED, answer, say, table_text
from grafenne.cli.strategies import StrengthOption, make_strategies
from grafenne.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from grafenne.continual.results import StreamResults
    from grafenne.continual.streams import ContinualTask

DEFAULT_STRATEGIES = ("ewc", "finetune", "frozen", "retrain")
COLUMNS = ("strategy", "average", "affected", "unaffected", "new", "forgetting",
           "backward transfer", "forward transfer", "gap to oracle", "seconds",
           "time of oracle's", "memory of oracle's")  # fmt: skip


def stream(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="debian-mini, debian, dblp, synthetic, the paper's churn on cora, citeseer or "
            "physics, or a folder: a graph in 000/, then changes (001.jsonl, 002/, …).",
            autocompletion=complete_dataset,
        ),
    ] = DEFAULT_DATA,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="ewc, finetune, replay, contgnn, ewc-replay, online-ewc, warm-start, retrain "
            "(the oracle) or frozen; may be repeated. By default ewc, finetune, frozen, retrain.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N changes.")
    ] = None,
    new_labels: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the new nodes whose label becomes known, a fifth of it for validation; "
            "by default 60 % train, 20 % validate and 20 % test.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write each result as a line of JSON; the same command goes on from there.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the accuracies into this PNG after every step."),
    ] = None,
    seed: given.SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    update_epochs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Most passes over the nodes of an update."),
    ] = None,
    strength: StrengthOption = None,
    strategy_set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Any other setting of the strategies that have it, such as memory=200; may be "
            "repeated.",
        ),
    ] = None,
    features: given.FeaturesOption = None,
    labels_as_features: given.LabelsOption = False,
    width: given.WidthOption = None,
    epochs: given.EpochsOption = None,
    set_: given.SetOption = None,
    settings: given.SettingsOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
) -> None:
    """Let several strategies follow a stream and compare them step by step.

    Every strategy begins with the same model of the first snapshot. Test nodes never train, and
    no learner ever sees their labels.
    """
    plans = make_strategies(strategy or DEFAULT_STRATEGIES, update_epochs, strength, strategy_set)
    _check_files(log, plot)
    use_threads(threads)
    chosen = {
        "features": features,
        "labels_as_features": labels_as_features or None,
        "width": width,
        "epochs": epochs,
        "device": device,
    }
    spoken = {name: value for name, value in chosen.items() if value is not None}
    estimator = make_estimator("classification", {**read_settings(settings), **spoken}, set_ or ())
    task = _make_task(data, seed, data_root, steps, new_labels, option)
    if not quiet:
        say(f"{task.name}: {task.stream!r}")
        say(f"Labels: {task.labels}")

    from grafenne.cli.stream_progress import show_progress
    from grafenne.continual import run_stream

    names = [plan.name for plan in plans]
    try:
        with show_progress(names, task.stream.num_steps, plot, task.name, quiet) as progress:
            results = run_stream(
                estimator,
                task.stream,
                plans,
                split_rule=task.split_rule,
                seed=seed,
                progress=progress,
                log=log,
            )
    except KeyboardInterrupt:
        kept = log is not None and log.exists()
        say(
            f"Stopped; the results so far are in {log}. Give the same command again to go on."
            if kept
            else "Stopped; nothing was kept (--log keeps the results)."
        )
        raise typer.Exit(STOPPED) from None
    _answer(results, task, plot, as_json)


def _check_files(log: Path | None, plot: Path | None) -> None:
    for path in (log, plot):
        if path is not None:
            if path.is_dir():
                raise DataError(f"Cannot write {path}: it is a folder.")
            check_writable(path)
    if plot is not None:
        from grafenne.cli.stream_plot import check_plot

        check_plot(plot)


def _make_task(
    data: str,
    seed: int,
    root: Path | None,
    steps: int | None,
    new_labels: float | None,
    pairs: list[str] | None,
) -> ContinualTask:
    from grafenne.continual.streams import CHURNED, make_task
    from grafenne.datasets import dataset_info, dataset_names

    options: dict[str, Any] = {}
    known = data in dataset_names()
    if not known and not Path(data).is_dir():
        names = {*CHURNED, *(name for name in dataset_names() if dataset_info(name).streaming)}
        hint = did_you_mean(data, names) or f" The streams are {', '.join(sorted(names))}."
        raise DataError(f"There is neither a stream nor a folder called {data!r}.{hint}")
    if pairs:
        streamer = dataset_info(data).streamer if known else None
        parameters = {} if streamer is None else inspect.signature(streamer).parameters
        defaults = {name: about.default for name, about in parameters.items() if name != "root"}
        offered = defaults if known else TABLE_OPTIONS
        options = parse_pairs(pairs, offered, f"the stream {data!r}")
    return make_task(data, seed, root=root, steps=steps, new_labels=new_labels, options=options)


def _answer(results: StreamResults, task: ContinualTask, plot: Path | None, as_json: bool) -> None:
    summary = results.summary()
    columns = [name for name in COLUMNS if name in summary]
    shown = summary[columns].round(4)
    rows = shown.astype(object).where(shown.notna(), None)
    human = table_text([_heading(name) for name in columns], rows.to_numpy().tolist())
    told = {
        "dataset": task.name,
        "seed": results.seed,
        "labels": task.labels,
        "steps": results.rows(),
        "summary": summary.to_dict("records"),
        "plot": None if plot is None else str(plot),
    }
    answer(human, told, as_json)


def _heading(name: str) -> str:
    return {
        "average": "all",
        "backward transfer": "backward",
        "forward transfer": "forward",
        "gap to oracle": "gap",
        "time of oracle's": "of oracle's",
        "memory of oracle's": "memory",
    }.get(name, name)
