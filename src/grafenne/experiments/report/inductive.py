"""The inductive section: unseen features used, ignored, and after one update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.report.charts import Series, line_chart
from grafenne.experiments.report.markup import DASH, Raw, figure_text, plain_table, safe
from grafenne.experiments.report.stream_rows import Spread, accuracy_group, spread, usable

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


def _title(metric: str) -> str:
    group = accuracy_group(metric)
    if group is None:
        return metric.replace("_", " ")
    return "accuracy" if group == "all" else f"accuracy on {group} nodes"


def _table(dataset: str, metric: str, rows: Rows) -> Raw:
    variants = _variants(rows)
    told = []
    for method in dict.fromkeys(str(row["method"]) for row in rows):
        line: list[object] = [method]
        for variant in variants:
            found = _cell(rows, method, variant)
            shown = DASH if found is None else figure_text(found.mean, True)
            if found is not None and found.std is not None:
                shown = Raw(f"{shown} <small>± {100 * found.std:.2f}</small>")
            line.append(shown)
        used, ignored = (_cell(rows, method, name) for name in ("used", "ignored"))
        gain = None if used is None or ignored is None else used.mean - ignored.mean
        kind = "good" if (gain or 0) > 0 else "bad"
        shown = DASH if gain is None else figure_text(gain, True, signed=True)
        line.append(Raw(f"<span class={kind}>{shown}</span>") if gain is not None else shown)
        line.append(len({row.get("seed") for row in rows if row["method"] == method}))
        told.append(line)
    headings = [_title(metric), *variants, "used − ignored", "seeds"]
    label = f"Unseen features on {dataset}: {metric}"
    return plain_table(headings, told, range(1, len(headings)), label=label)


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
    title = f"{dataset}: {_title(metric)}"
    return line_chart(title, series, ticks, across="unseen features", up="%")
