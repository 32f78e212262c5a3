"""The mean and the standard deviation of each cell, as data and as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from grafenne.experiments.cells import Cell, value_text
from grafenne.experiments.registry import Experiment
from grafenne.experiments.runner import Plan

SUMMARY = ("metric", "mean", "std", "seconds", "peak_mb", "settings")


def cell_summaries(plan: Plan) -> list[dict[str, Any]]:
    """For each cell the mean and the sample standard deviation over its seeds."""
    rows: dict[Cell, list[Mapping[str, Any]]] = {}
    for run in plan.runs:
        rows.setdefault(run.cell, [])
        if run.identity in plan.found:
            rows[run.cell].append(plan.found[run.identity])
    return [_summary(cell, found) for cell, found in rows.items()]


def _summary(cell: Cell, rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    values = [row["value"] for row in rows]
    seconds = [row["seconds"] for row in rows if row.get("seconds") is not None]
    memory = [row["peak_mb"] for row in rows if row.get("peak_mb") is not None]
    return {
        **cell.keys,
        "metric": rows[0].get("metric") if rows else None,
        "seeds": [row["seed"] for row in rows],
        "mean": statistics.fmean(values) if values else None,
        "std": statistics.stdev(values) if len(values) > 1 else None,
        "metrics": _means([row.get("metrics") or {} for row in rows]),
        "seconds": statistics.fmean(seconds) if seconds else None,
        "peak_mb": max(memory) if memory else None,
        "settings": _settings(cell, rows),
        "command": rows[0].get("command") if rows else None,
    }


def _settings(cell: Cell, rows: list[Mapping[str, Any]]) -> str | None:
    """``searched``, ``default``, or ``fixed`` where there is nothing to search for."""
    if not rows:
        return None
    return "fixed" if cell.search is None else rows[0].get("settings")


def table_rows(
    experiment: Experiment, summaries: Iterable[Mapping[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    """Headings and lines: a line for each dataset, method and variant, a column for each p.

    Where the experiment counts things, a line for each dataset and a column for each count.
    """
    given = list(summaries)
    if experiment.unit == "count":
        counts = list(dict.fromkeys(name for one in given for name in one["metrics"]))
        return ["dataset", *counts], [
            [one["dataset"], *(f"{one['metrics'].get(name, 0):,.0f}" for name in counts)]
            for one in given
        ]
    rates = sorted({summary["p"] for summary in given})
    fixed = ("dataset", "method", "p")
    extra = list(dict.fromkeys(name for one in given for name in _extra(one, fixed)))
    lines: dict[tuple[Any, ...], dict[float, Mapping[str, Any]]] = {}
    for summary in given:
        key = (summary["dataset"], summary["method"], *(summary.get(name) for name in extra))
        lines.setdefault(key, {})[summary["p"]] = summary
    headings = ["dataset", "method", *extra, *(f"p={value_text(rate)}" for rate in rates)]
    told = []
    for key, found in lines.items():
        names = ["" if part in (None, "") else value_text(part) for part in key]
        told.append([*names, *(_cell_text(found.get(rate), experiment.unit) for rate in rates)])
    return [*headings, "s/run"], [
        [*line, _seconds(found)] for line, found in zip(told, lines.values(), strict=True)
    ]


def _means(found: list[Mapping[str, Any]]) -> dict[str, float]:
    names = dict.fromkeys(name for metrics in found for name in metrics)
    numbers = {name: [one[name] for one in found if _is_number(one.get(name))] for name in names}
    return {name: statistics.fmean(given) for name, given in numbers.items() if given}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _extra(summary: Mapping[str, Any], fixed: tuple[str, ...]) -> list[str]:
    known = (*SUMMARY, "seeds", "metrics", "command")
    return [name for name in summary if name not in (*fixed, *known)]


def _cell_text(summary: Mapping[str, Any] | None, unit: str) -> str:
    if summary is None or summary["mean"] is None:
        return "-"
    scale, digits = (100, 2) if unit == "percent" else (1, 4)
    text = f"{summary['mean'] * scale:.{digits}f}"
    if summary["std"] is not None:
        text += f" ± {summary['std'] * scale:.{digits}f}"
    return f"{text} *" if summary["settings"] == "default" else text


def _seconds(found: Mapping[float, Mapping[str, Any]]) -> str:
    times = [one["seconds"] for one in found.values() if one["seconds"] is not None]
    return f"{statistics.fmean(times):.1f}" if times else "-"
