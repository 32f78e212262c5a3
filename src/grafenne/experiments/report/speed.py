"""The section on time and memory, from the rows that the benchmarks append."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.report.charts import Series, line_chart, power_ticks
from grafenne.experiments.report.markup import DASH, Raw, plain_table, safe, seconds_text

Rows = Sequence[Mapping[str, Any]]
IDENTITY = ("name", "dataset", "width", "heads", "feature_dropout", "work", "variant")


def newest(rows: Rows) -> list[Mapping[str, Any]]:
    """The newest row of each measurement, in the order they were first made."""
    found: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in rows:
        found[tuple(row.get(name) for name in IDENTITY)] = row
    return list(found.values())


def speed_html(rows: Rows) -> str:
    """A table per benchmark, and the curve of the scaling benchmark.

    Args:
        rows: Rows of ``bench.jsonl``.
    """
    found = newest(rows)
    parts = [
        '<p class="soft">Ratios above 1: ours is faster, or takes less memory. Peak memory is the '
        "growth above the loaded graph.</p>"
    ]
    for name in dict.fromkeys(str(row.get("name", "")) for row in found):
        here = [row for row in found if str(row.get("name", "")) == name]
        parts.append(f"<h3>{safe(name)}</h3>\n{_table(name, here)}")
        if name == "scaling":
            parts.append(_curves(here))
    machines = {_machine(row) for row in found if row.get("machine")}
    parts += [f'<p class="soft">Machine: {safe(machine)}</p>' for machine in sorted(machines)]
    return "\n".join(parts)


def _table(name: str, rows: Rows) -> Raw:
    headings = (
        *("dataset", "width", "work", "variant", "median", "÷ ours", "peak MB", "÷ ours"),
        *("target", "met", "note"),
    )
    return plain_table(headings, [_line(row) for row in rows], (1, 4, 5, 6, 7), label=name)


def _line(row: Mapping[str, Any]) -> list[object]:
    width = "" if row.get("width") is None else str(row["width"])
    if (row.get("heads") or 1) > 1:
        width += f" × {row['heads']}"
    dataset = str(row.get("dataset", ""))
    if row.get("feature_dropout") is not None:
        dataset += f" (feature dropout {row['feature_dropout']:g})"
    verdicts = {True: Raw("<span class=good>yes</span>"), False: Raw("<span class=bad>no</span>")}
    return [
        dataset,
        width,
        str(row.get("work", "")),
        str(row.get("variant", "")),
        seconds_text(row.get("median_seconds")) or DASH,
        _ratio(row.get("ratio_to_ours")),
        DASH if row.get("peak_mb") is None else f"{row['peak_mb']:,.0f}",
        _ratio(row.get("memory_ratio")),
        str(row.get("target", "")),
        DASH if row.get("met") is None else verdicts[bool(row["met"])],
        str(row.get("note", "")),
    ]


def _ratio(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def _curves(rows: Rows) -> str:
    curve = sorted(
        (row for row in rows if row.get("values") and row.get("dataset") != "fit"),
        key=lambda row: float(row["values"]),
    )
    charts = []
    for key, title in (("median_seconds", "seconds per training step"), ("peak_mb", "peak MB")):
        points = [
            (math.log10(row["values"]), math.log10(row[key]), None)
            for row in curve
            if (row.get(key) or 0) > 0
        ]
        if len(points) < 2:
            continue
        last_place, last_height, _ = points[-1]
        linear = [(place, last_height + place - last_place, None) for place, _, _ in points]
        heights = [height for _, height, _ in (*points, *linear)]
        charts.append(
            line_chart(
                f"Scaling: {title}",
                [
                    Series("ours", points, 0, strong=True, logarithms=True),
                    Series("in proportion", linear, 7, dashed=True, logarithms=True),
                ],
                power_ticks(points[0][0], last_place),
                across="feature values in the graph",
                up=title,
                heights=power_ticks(min(heights), max(heights)),
            )
        )
    return f"<div class=figures>{''.join(charts)}</div>"


def _machine(row: Mapping[str, Any]) -> str:
    machine = row["machine"]
    if not isinstance(machine, Mapping):
        return str(machine)
    return ", ".join(
        f"{name} {value}" for name, value in machine.items() if isinstance(value, str | int | float)
    )
