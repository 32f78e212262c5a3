"""The table of datasets: the paper's counts beside those of the files read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.paper import dataset_statistics
from grafenne.experiments.report.markup import DASH, Raw, plain_table, safe

COUNTS = ("nodes", "edges", "features", "classes")
OTHER_NAMES = {"labels": "classes", "num_classes": "classes", "labels_count": "classes"}


def read_statistics(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Counts by dataset, from rows with ``metrics`` or with one metric each.

    Args:
        rows: Rows of ``statistics.jsonl``.
    """
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        counts = found.setdefault(str(row["dataset"]), {})
        given = dict(row.get("metrics") or {})
        if row.get("metric") and row.get("value") is not None:
            given.setdefault(str(row["metric"]), row["value"])
        for name, value in given.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                counts[OTHER_NAMES.get(str(name), str(name))] = value
    return found


def counts(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A line per dataset: its name, then each count, the paper's and ours."""
    ours, paper = read_statistics(rows), dataset_statistics()
    told = []
    for dataset in dict.fromkeys([*paper, *ours]):
        line = [dataset]
        for name in COUNTS:
            line.append(_count(paper.get(dataset, {}).get(name)))
            line.append(_count(ours.get(dataset, {}).get(name)))
        told.append(line)
    return told


def remarks(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is to be said of a dataset's counts, by its name."""
    return {str(row["dataset"]): str(row["notes"]) for row in rows if row.get("notes")}


def statistics_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Paper and ours, count by count."""
    headings: list[object] = ["dataset"]
    for name in COUNTS:
        headings += [Raw(f"{name}<br><small>paper</small>"), Raw(f"{name}<br><small>ours</small>")]
    table = plain_table(headings, counts(rows), range(1, len(headings)), label="Dataset statistics")
    lines = "".join(f"<li>{safe(name)}: {safe(text)}" for name, text in remarks(rows).items())
    return (
        f'{table}\n<p class="soft">An undirected edge counts in both directions. Counted by '
        f"<code>grafenne experiment statistics</code>.</p>\n<ul class=soft>{lines}</ul>"
    )


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"
