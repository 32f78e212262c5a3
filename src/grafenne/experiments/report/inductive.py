"""The inductive section: unseen features used, ignored, and after one update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.report.charts import Series, line_chart
from grafenne.experiments.report.markup import DASH, Raw, figure_text, plain_table, safe
from grafenne.experiments.report.stream_rows import (
    Shown,
    Spread,
    accuracy_group,
    commands_html,
    spread,
    spread_html,
    usable,
)

Rows = Sequence[Mapping[str, Any]]
VARIANTS = ("ignored", "used", "updated", "whole")
MEANINGS = (
    "“Ignored”: features that training did not have are left out at prediction; “used”: they are "
    "there; “updated”: after one update with the new data; “whole”: trained on everything."
)


def inductive_html(rows: Rows) -> str:
    """A table and a chart per dataset and metric.

    Args:
        rows: Rows of ``inductive.jsonl``.
    """
    found = usable(rows)
    parts = [f'<p class="soft">{MEANINGS}</p>']
    for dataset in dict.fromkeys(str(row["dataset"]) for row in found):
        here = [row for row in found if row["dataset"] == dataset]
        parts.append(f"<h3>{safe(dataset)}</h3>")
        charts = []
        for metric in dict.fromkeys(str(row["metric"]) for row in here):
            of_metric = [row for row in here if row["metric"] == metric]
            parts.append(_table(dataset, metric, of_metric))
            charts.append(_chart(dataset, metric, of_metric))
        parts.append(commands_html(here))
        parts.append(f"<div class=figures>{''.join(charts)}</div>")
    return "\n".join(parts)


def _variants(rows: Rows) -> list[str]:
    named = list(dict.fromkeys(str(row.get("variant") or "used") for row in rows))
    return [*(name for name in VARIANTS if name in named), *(n for n in named if n not in VARIANTS)]


def _cell(rows: Rows, method: str, variant: str) -> Spread | None:
    return spread(
        float(row["value"])
        for row in rows
        if row["method"] == method and str(row.get("variant") or "used") == variant
    )


def title(metric: str) -> str:
    """What a metric is called in a table."""
    group = accuracy_group(metric)
    if group is None:
        return metric.replace("_", " ")
    return "accuracy" if group == "all" else f"accuracy on {group} nodes"


def summary(rows: Rows, show: Shown) -> tuple[list[str], list[list[str]]]:
    """Headings and a line per kind of feature vectors; the last but one is what is gained.

    Args:
        rows: Rows of one dataset and metric.
        show: How a mean and its deviation are written.
    """
    variants, told = _variants(rows), []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        line = [method, *(show(_cell(rows, method, variant)) for variant in variants)]
        used, ignored = (_cell(rows, method, name) for name in ("used", "ignored"))
        gain = None if used is None or ignored is None else used.mean - ignored.mean
        line.append(DASH if gain is None else figure_text(gain, True, signed=True))
        line.append(str(len({row.get("seed") for row in rows if row["method"] == method})))
        told.append(line)
    return ["vectors", *variants, "used − ignored", "seeds"], told


def _table(dataset: str, metric: str, rows: Rows) -> Raw:
    (_, *headings), lines = summary(rows, spread_html)
    for line in lines:
        if line[-2] != DASH:
            better = line[-2].startswith("+") and line[-2] != figure_text(0.0, True, signed=True)
            kind = "good" if better else "bad"
            line[-2] = Raw(f"<span class={kind}>{line[-2]}</span>")
    label = f"Unseen features on {dataset}: {metric}"
    return plain_table([title(metric), *headings], lines, range(1, len(headings) + 1), label=label)


def _chart(dataset: str, metric: str, rows: Rows) -> Raw:
    variants = _variants(rows)
    series = []
    for number, method in enumerate(dict.fromkeys(str(row["method"]) for row in rows)):
        points = []
        for place, variant in enumerate(variants):
            found = _cell(rows, method, variant)
            if found is not None:
                std = None if found.std is None else 100 * found.std
                points.append((float(place), 100 * found.mean, std))
        series.append(Series(method, points, number))
    ticks = [(float(place), name) for place, name in enumerate(variants)]
    return line_chart(
        f"{dataset}: {title(metric)}", series, ticks, across="unseen features", up="%"
    )
