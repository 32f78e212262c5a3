"""The continual section: accuracy per step, and a summary per strategy."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.paper import continual_settings
from grafenne.experiments.report.charts import COLOURS, Series, line_chart
from grafenne.experiments.report.markup import (
    DASH,
    Raw,
    folded,
    plain_table,
    safe,
    seconds_text,
)
from grafenne.experiments.report.stream_rows import (
    GROUPS,
    ORACLE,
    Shown,
    Spread,
    accuracy_group,
    commands_html,
    order,
    spread,
    spread_html,
    summary_name,
    usable,
)

Rows = Sequence[Mapping[str, Any]]
COLUMNS = ("average", "gap", "forgetting", "update forgetting", "backward", "forward")


def continual_html(rows: Rows) -> str:
    """Charts and a table per dataset.

    Args:
        rows: Rows of ``continual.jsonl``.
    """
    found = usable(rows)
    parts = [
        '<p class="soft">Accuracy on test nodes after each update, mean over seeds. “Affected” are '
        "nodes whose features or edges the step changed, “new” those it added. The oracle is "
        f"<code>{ORACLE}</code>, trained from scratch at every step.</p>",
        folded("What the paper states", _paper_settings()),
    ]
    for dataset in dict.fromkeys(str(row["dataset"]) for row in found):
        here = [row for row in found if row["dataset"] == dataset]
        charts = "".join(_chart(dataset, group, here) for group in GROUPS)
        parts.append(
            f"<h3>{safe(dataset)}</h3>\n{_table(dataset, here)}\n{commands_html(here)}\n"
            f"<div class=figures>{charts}</div>"
        )
    return "\n".join(parts)


def _paper_settings() -> str:
    stated = continual_settings()
    rows = [
        (dataset, ", ".join(f"{name} = {value}" for name, value in settings.items()))
        for dataset, settings in stated["settings"].items()
    ]
    table = plain_table(("dataset", "settings"), rows, label="Settings of the paper's streams")
    return f"<p>{safe(stated['stated'])} λ = {stated['penalty']}.</p>\n{table}"


def _chart(dataset: str, group: str, rows: Rows) -> Raw:
    steps = [
        row
        for row in rows
        if row.get("step") is not None and accuracy_group(str(row["metric"])) == group
    ]
    strategies = order(str(row["strategy"]) for row in rows)
    series = []
    for strategy in order(str(row["strategy"]) for row in steps):
        mine = [row for row in steps if row["strategy"] == strategy]
        points = []
        for step in sorted({float(row["step"]) for row in mine}):
            here = spread(float(row["value"]) for row in mine if row["step"] == step)
            if here is not None:
                points.append((step, 100 * here.mean, here.std and 100 * here.std))
        # The number over all groups keeps a strategy's colour the same in every chart.
        colour = strategies.index(strategy) % COLOURS
        reference = strategy in (ORACLE, "oracle", "frozen")
        series.append(Series(strategy, points, colour, dashed=reference, strong=strategy == "ewc"))
    places = sorted({place for line in series for place, _, _ in line.points})
    thin = max(1, -(-len(places) // 10))
    ticks = [(place, f"{place:g}" if n % thin == 0 else "") for n, place in enumerate(places)]
    title = f"{dataset}: {group} test nodes"
    return line_chart(title, series, ticks, across="step", up="accuracy, %")


def _table(dataset: str, rows: Rows) -> Raw:
    headings, lines = summary(rows, spread_html)
    label = f"Continual learning on {dataset}"
    return plain_table(headings, lines, range(1, len(headings)), label=label)


def summary(rows: Rows, show: Shown) -> tuple[list[str], list[list[str]]]:
    """Headings and a line per strategy.

    Args:
        rows: Rows of one dataset.
        show: How a mean and its deviation are written.
    """
    told = []
    strategies = order(str(row["strategy"]) for row in rows)
    for strategy in strategies:
        line = [strategy]
        for name in COLUMNS:
            line.append(show(_measure(rows, strategy, name)))
        line.append(_ratio_text(_measure(rows, strategy, "seconds ratio")))
        line.append(_ratio_text(_memory_ratio(rows, strategy)))
        line.append(seconds_text(_seconds(rows, strategy)) or DASH)
        line.append(str(len({row.get("seed") for row in rows if row["strategy"] == strategy})))
        told.append(line)
    headings = [
        *("strategy", "average", "gap to oracle", "forgetting", "update forgetting"),
        *("backward", "forward", "time of the oracle's", "memory of the oracle's"),
        *("seconds per update", "seeds"),
    ]
    kept = [
        place
        for place in range(len(headings))
        if place in (0, 1, 2, 3, 7) or any(line[place] != DASH for line in told)
    ]
    return [headings[place] for place in kept], [[line[place] for place in kept] for line in told]


def _measure(rows: Rows, strategy: str, name: str) -> Spread | None:
    """The metric as it was written, else what follows from the steps."""
    written = [
        float(row["value"])
        for row in rows
        if row["strategy"] == strategy and summary_name(str(row["metric"])) == name
    ]
    if written:
        return spread(written)
    mine, oracle = _by_seed(rows, strategy), _by_seed(rows, ORACLE)
    if name == "average":
        return spread(accuracy for accuracy, _ in mine.values())
    common = mine.keys() & oracle.keys()
    if name == "gap":
        return spread(oracle[seed][0] - mine[seed][0] for seed in common)
    if name == "seconds ratio":
        return spread(mine[seed][1] / oracle[seed][1] for seed in common if oracle[seed][1] > 0)
    return None


def _by_seed(rows: Rows, strategy: str) -> dict[Any, tuple[float, float]]:
    """Mean accuracy on all test nodes and summed seconds of the updates, by seed."""
    values: dict[Any, list[float]] = {}
    seconds: dict[Any, float] = {}
    for row in _updates(rows, strategy):
        values.setdefault(row.get("seed"), []).append(float(row["value"]))
        seconds[row.get("seed")] = seconds.get(row.get("seed"), 0.0) + (row.get("seconds") or 0.0)
    return {seed: (statistics.fmean(found), seconds[seed]) for seed, found in values.items()}


def _updates(rows: Rows, strategy: str) -> Rows:
    return [
        row
        for row in rows
        if row["strategy"] == strategy
        and row.get("step")  # step 0 is the first training, not an update
        and accuracy_group(str(row["metric"])) == "all"
    ]


def _memory_ratio(rows: Rows, strategy: str) -> Spread | None:
    """The largest update's memory beside the oracle's, by seed."""

    def largest(name: str) -> dict[Any, float]:
        peaks: dict[Any, float] = {}
        for row in _updates(rows, name):
            if row.get("peak_memory"):
                peaks[row.get("seed")] = max(
                    peaks.get(row.get("seed"), 0.0), float(row["peak_memory"])
                )
        return peaks

    mine, oracle = largest(strategy), largest(ORACLE)
    return spread(mine[seed] / oracle[seed] for seed in mine.keys() & oracle.keys())


def _seconds(rows: Rows, strategy: str) -> float | None:
    times = [row["seconds"] for row in _updates(rows, strategy) if row.get("seconds") is not None]
    return statistics.fmean(times) if times else None


def _ratio_text(found: Spread | None) -> str:
    return DASH if found is None else f"{found.mean:.3g} ×"
