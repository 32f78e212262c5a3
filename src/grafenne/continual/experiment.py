"""Runs of the continual experiment: strategies on a stream, as rows of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from grafenne.continual.evaluation import fit_first, run_stream
from grafenne.continual.registry import STRATEGIES, make_strategy
from grafenne.continual.results import StreamResults
from grafenne.continual.strategies import Strategy
from grafenne.continual.streams import make_task

SUMMARIES = {
    "average": "average",
    "forgetting": "forgetting",
    "update_forgetting": "update forgetting",
    "backward": "backward transfer",
    "forward": "forward transfer",
    "average_affected": "affected",
    "average_unaffected": "unaffected",
    "average_new": "new",
}
"""Metrics of a whole stream, and what :meth:`StreamResults.summary` calls them."""


def continual_runs(
    dataset: str,
    strategies: Sequence[str],
    seed: int,
    *,
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    strategy_settings: Mapping[str, Any] | None = None,
    update: Mapping[str, Any] | None = None,
    new_labels: float | None = None,
    options: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
) -> Iterator[list[dict[str, Any]]]:
    """Lets strategies follow a stream, one after the other, all from the same first model.

    Args:
        dataset: A stream, see :func:`~grafenne.continual.make_task`.
        strategies: Names of strategies; ``retrain`` is the oracle.
        seed: Seed of the stream, the split, fitting and the updates.
        steps: Only so many changes.
        settings: Settings of the classifier.
        strategy_settings: Settings of the strategies; each gets those that it has.
        update: Arguments of ``update``, such as ``states``.
        new_labels: Share of the new nodes whose label becomes known.
        options: Options of the dataset.
        root: The folder with the data.

    Yields:
        For each strategy rows with ``dataset, strategy, step, seed, metric, value, seconds``: an
        accuracy for each step and group of test nodes, and the metrics of the whole stream with
        step ``None``, whose seconds are those of all updates together.
    """
    from grafenne import GrafenneClassifier

    task = make_task(dataset, seed, root=root, steps=steps, new_labels=new_labels, options=options)
    classifier = GrafenneClassifier(**(settings or {}))
    fitted = fit_first(classifier, task.stream.first, task.split_rule, seed)

    def follow(strategy: Strategy) -> StreamResults:
        return run_stream(
            classifier,
            task.stream,
            [strategy],
            split_rule=task.split_rule,
            seed=seed,
            options=update,
            fitted=fitted,
        )

    # What the forward transfer is measured against; it costs no training.
    frozen = follow(make_strategy("frozen"))
    for strategy in strategies:
        results = frozen
        if strategy != "frozen":
            given = strategy_settings or {}
            known = [part.name for part in fields(STRATEGIES[strategy]) if part.init]
            own = follow(
                make_strategy(strategy, **{name: given[name] for name in known if name in given})
            )
            results = StreamResults([*own.steps, *frozen.steps], seed)
        yield continual_rows(results, dataset, [strategy])


def continual_rows(
    results: StreamResults, dataset: str, strategies: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Results of a stream as rows of a file.

    Args:
        results: What :func:`~grafenne.continual.run_stream` gave.
        dataset: Name for the rows.
        strategies: Only these.
    """
    names = results.strategies if strategies is None else list(strategies)
    rows = [row for row in results.rows(dataset=dataset) if row["strategy"] in names]
    for told in results.summary().to_dict("records"):
        if told["strategy"] not in names:
            continue
        updates = results.of(told["strategy"])[1:]
        seconds = round(sum(step.seconds for step in updates), 4)
        for metric, name in SUMMARIES.items():
            value = told.get(name)
            if value is not None and value == value:
                rows.append(
                    {
                        "dataset": dataset,
                        "strategy": told["strategy"],
                        "step": None,
                        "seed": results.seed,
                        "metric": metric,
                        "value": value,
                        "seconds": seconds,
                    }
                )
    return rows


def run_cells(
    *,
    keys: Sequence[Mapping[str, Any]],
    seed: int,
    config: Mapping[str, Any],
    tell: Callable[[Mapping[str, Any]], None],
    root: Path | None = None,
) -> None:
    """The runs of a stream for ``grafenne experiment continual``: one for each strategy.

    Args:
        keys: ``dataset``, the same in all, and ``strategy``.
        seed: The seed.
        config: ``classifier``, its settings, and further arguments of :func:`continual_runs`.
        tell: Called after each strategy with its ``place`` in ``keys``, the average, and in
            ``rows`` all else.
        root: The folder with the data.
    """
    more, begin = dict(config), time.perf_counter()
    runs = continual_runs(
        keys[0]["dataset"],
        [cell["strategy"] for cell in keys],
        seed,
        settings=more.pop("classifier", None),
        root=root,
        **more,
    )
    for place, rows in enumerate(runs):
        average = next(place for place, row in enumerate(rows) if row["metric"] == "average")
        spent = round(time.perf_counter() - begin, 2)
        tell({"place": place, **rows.pop(average), "run_seconds": spent, "rows": rows})
        begin = time.perf_counter()
