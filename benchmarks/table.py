"""Rows as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.results import Row

COLUMNS = (
    *("dataset", "width", "work", "variant", "median", "spread", "÷ ours", "peak MB"),
    *("÷ ours", "target", "met"),
)


def print_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """Prints the rows of one benchmark."""
    if not rows:
        return
    console = console or make_console()
    table = Table(title=rows[0].name, title_justify="left")
    for column in COLUMNS:
        right = column in ("width", "median", "spread", "÷ ours", "peak MB")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)


def make_console() -> Console:
    """A console that is wide enough for a table, also when the output is a file."""
    console = Console()
    return console if console.is_terminal else Console(width=150)


def seconds_text(seconds: float) -> str:
    """A duration in a unit that suits it."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _cells(row: Row) -> list[str]:
    settings = "" if row.width is None else str(row.width)
    if row.heads is not None and row.heads > 1:
        settings += f" x{row.heads}"
    dataset = row.dataset
    if row.feature_dropout is not None:
        dataset += f" (feature dropout {row.feature_dropout:g})"
    median, spread = "-", row.note
    if row.median_seconds is not None:
        median = seconds_text(row.median_seconds)
    if row.low_seconds is not None and row.high_seconds is not None:
        spread = f"{seconds_text(row.low_seconds)} to {seconds_text(row.high_seconds)}"
        spread += f"; {row.note}" if row.note else ""
    met = "" if row.met is None else ("yes" if row.met else "no")
    return [
        dataset,
        settings,
        row.work,
        row.variant,
        median,
        spread,
        _ratio(row.ratio_to_ours),
        "" if row.peak_mb is None else f"{row.peak_mb:,.0f}",
        _ratio(row.memory_ratio),
        row.target,
        met,
    ]


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"
