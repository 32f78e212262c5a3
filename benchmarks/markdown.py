"""The latest rows as a table in Markdown, for the README."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.results import Row
from benchmarks.table import seconds_text

HEAD = ("work", "data", "width", "ours", "beside", "time ÷ ours", "memory ÷ ours", "target", "met")
RIGHT = ("width", "ours", "time ÷ ours", "memory ÷ ours")

TITLES = {
    "epoch-vs-sage": "epoch",
    "physics-vs-scatter": "training step",
    "step-vs-limit": "training step",
    "wide": "epoch",
    "scaling": "training step",
    "import-time": "start",
    "large": "1 M nodes",
}
"""The benchmarks that the table shows, in this order, and what they measure."""

BESIDE = {
    "pyg-sage": "PyG GraphSAGE, dense features",
    "pyg-sage-csr": "the same, adjacency in compressed rows",
    "pyg-sage-sparse": "the same by hand with sparse features",
    "scatter": "same equations by gather and scatter",
    "limit": "its matrix products alone",
}


def speed_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The latest measurement of each comparison.

    Args:
        rows: Rows of the file, oldest first.
    """
    latest: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for row in rows:
        if row["name"] in TITLES:
            latest[_key(row)] = {**asdict(Row("", "", "")), **row}
    if not latest:
        return "Nothing has been measured yet: `make bench`."
    lines = [_line(HEAD), _line(["---:" if name in RIGHT else "---" for name in HEAD])]
    order = list(TITLES)
    for row in sorted(latest.values(), key=lambda row: order.index(row["name"])):
        ours = latest.get((*_key(row)[:-1], "ours"), row)
        if row["target"] or row["variant"] in BESIDE:
            lines.append(_line(_cells(row, ours)))
    return "\n".join(lines)


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("name", "work", "dataset", "width", "heads", "feature_dropout", "values", "variant")
    return tuple(row.get(name) for name in names)


def _cells(row: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    dataset = row["dataset"] or f"`{row['variant']}`"
    if dataset == "fit":
        dataset = "synthetic, all sizes"
    if row["feature_dropout"] is not None:
        dataset += ", no feature dropout"
    width = "" if row["width"] is None else str(row["width"])
    if (row["heads"] or 1) > 1:
        width += f" × {row['heads']} heads"
    alone = row["variant"] not in BESIDE
    met = {None: "", True: "yes", False: "no"}[row["met"]]
    return [
        row["work"] if row["name"] == "large" else TITLES[row["name"]],
        dataset,
        width,
        "" if ours["median_seconds"] is None else seconds_text(ours["median_seconds"]),
        row["note"] if alone else BESIDE[row["variant"]],
        _time_ratio(row, alone),
        "" if alone or row["memory_ratio"] is None else f"{row['memory_ratio']:.2g}",
        row["target"],
        met,
    ]


def _time_ratio(row: Mapping[str, Any], alone: bool) -> str:
    if alone:
        return ""
    if row["ratio_to_ours"] is None:  # it was not run, and the note says why
        return str(row["note"])
    return f"{row['ratio_to_ours']:.2g}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
