"""Rows of the continual and inductive experiments, averaged over seeds."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grafenne.experiments.report.markup import DASH, Raw, figure_text, folded, safe

Shown = Callable[["Spread | None"], str]
"""How a mean and its deviation are written: :func:`spread_text` or :func:`spread_html`."""

GROUPS = ("all", "affected", "unaffected", "new")
ORACLE = "retrain"
ORDER = (
    *("ewc", "online-ewc", "ewc-replay", "finetune", "replay", "contgnn", "warm-start"),
    *("retrain", "oracle", "frozen"),
)
KNOWN = {
    "dataset": ("cora", "citeseer", "actor", "physics", "debian-mini", "debian"),
    "method": ("company", "learned", "name", "structural"),
}
"""What comes first, in this order."""

SUMMARIES = {
    "average": "average",
    "forgetting": "forgetting",
    "update forgetting": "update forgetting",
    "backward": "backward",
    "backward transfer": "backward",
    "forward": "forward",
    "forward transfer": "forward",
    "gap": "gap",
    "gap to oracle": "gap",
    "seconds ratio": "seconds ratio",
    "time of oracle's": "seconds ratio",
}
"""Metrics of a whole stream, by the names they may have."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds."""

    mean: float
    std: float | None
    n: int


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and standard deviation of a sample; none without values."""
    found = list(values)
    if not found:
        return None
    std = statistics.stdev(found) if len(found) > 1 else None
    return Spread(statistics.fmean(found), std, len(found))


def spread_text(found: Spread | None) -> str:
    """``87.02 ± 0.98``."""
    if found is None:
        return DASH
    shown = figure_text(found.mean, True)
    return shown if found.std is None else f"{shown} ± {100 * found.std:.2f}"


def spread_html(found: Spread | None) -> str:
    """The same, with the deviation in small print."""
    figure, sign, deviation = spread_text(found).partition(" ± ")
    return Raw(f"{figure} <small>± {deviation}</small>") if sign else figure


def accuracy_group(metric: str) -> str | None:
    """Which test nodes an accuracy is about: ``accuracy_new`` and the like."""
    if metric in ("accuracy", "accuracy_all"):
        return "all"
    found = re.fullmatch(r"accuracy(?:_| on )(\w+?)(?: test nodes)?", metric)
    return found.group(1) if found else None


def summary_name(metric: str) -> str | None:
    """The metric of a whole stream that a name stands for."""
    return SUMMARIES.get(metric.replace("_", " "))


def order(names: Iterable[str]) -> list[str]:
    """Known strategies in their order, then the others."""
    unique = list(dict.fromkeys(names))
    return sorted(unique, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def usable(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows with a value, by dataset and method; of repeated ones the last."""
    last: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    names = ("dataset", "strategy", "method", "variant", "step", "seed", "metric")
    for row in rows:
        if row.get("value") is not None and not row.get("error"):
            last[tuple(row.get(name) for name in names)] = row
    return sorted(last.values(), key=lambda row: (_place(row, "dataset"), _place(row, "method")))


def _place(row: Mapping[str, Any], name: str) -> int:
    known = KNOWN[name]
    return known.index(row[name]) if row.get(name) in known else len(known)


def commands(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What runs each line of a table again, by the line's strategy or kind of vectors."""
    found: dict[str, str] = {}
    for row in rows:
        if row.get("command"):
            found[str(row.get("strategy") or row.get("method"))] = str(row["command"])
    return found


def commands_html(rows: Iterable[Mapping[str, Any]]) -> str:
    """The same, to unfold below a table."""
    told = commands(rows)
    lines = "".join(f"<li>{safe(name)}: <code>{safe(told[name])}</code>" for name in order(told))
    return folded("Run a line again", f"<ul>{lines}</ul>") if told else ""
