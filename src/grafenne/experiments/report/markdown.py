"""The tables as Markdown, and the short one that the README carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grafenne.experiments.report import continual, inductive
from grafenne.experiments.report.cell_tables import published_of
from grafenne.experiments.report.cells import WANTED_SEEDS, Cells
from grafenne.experiments.report.datasets import COUNTS, counts, remarks
from grafenne.experiments.report.losses import find_losses
from grafenne.experiments.report.markup import DASH, figure_text, p_value_text
from grafenne.experiments.report.methods import RowKey
from grafenne.experiments.report.runs import Results
from grafenne.experiments.report.stream_rows import Shown, commands, spread_text, usable
from grafenne.experiments.report.tables import Block, Column, Entry, Table, make_tables

MAIN = ("node-classification", "physics")
"""Tables that the README's table is made of."""


def report_markdown(results: Results) -> str:
    """All tables, the paper's figure and ours in one cell, and where we lose.

    Args:
        results: What was read.
    """
    tables = make_tables(Cells(results))
    parts = ["# GRAFENNE: the paper's tables and ours", ""]
    for table in tables:
        if table.measured:
            parts += [f"## {_text(table.title)}", ""]
            if table.paper is None and table.caption:
                parts += [table.caption, ""]
            for block in table.blocks:
                if block.title and len(table.blocks) > 1:
                    parts += [f"### {_text(block.title)}", ""]
                parts += [*_block(table, block), ""]
            parts += _again(table)
    parts += _statistics(results.special("statistics"))
    streams = usable(results.special("continual"))
    if streams:
        parts += ["## Continual learning", "", *_by_dataset(streams, continual.summary)]
    unseen = usable(results.special("inductive"))
    for metric in dict.fromkeys(str(row["metric"]) for row in unseen):
        here = [row for row in unseen if row["metric"] == metric]
        parts += [f"## Unseen features: {_text(inductive.title(metric))}", ""]
        parts += _by_dataset(here, inductive.summary)
    losses = find_losses(tables)
    parts += ["## Where we lose", ""]
    lines = [
        [
            _text(loss.table.title),
            _text(loss.entry.column.dataset),
            f"{loss.entry.column.p:g}",
            _text(loss.entry.row.title),
            figure_text(loss.mean, loss.table.percent),
            _text(loss.against),
            figure_text(loss.figure, loss.table.percent),
            figure_text(loss.difference, loss.table.percent, signed=True),
        ]
        for loss in (*losses.problems, *losses.paper)
    ]
    headings = ["table", "dataset", "p", "our row", "ours", "below", "its", "difference"]
    parts += _table(headings, lines) if lines else ["Nowhere, as far as there are runs."]
    for name, text in results.notes.items():
        parts += ["", f"### {_text(name)}" if name else "", "", text]
    return "\n".join(parts).rstrip() + "\n"


def _by_dataset(
    rows: Iterable[Mapping[str, Any]],
    summary: Callable[[Sequence[Mapping[str, Any]], Shown], tuple[list[str], list[list[str]]]],
) -> list[str]:
    parts: list[str] = []
    found = list(rows)
    for dataset in dict.fromkeys(str(row["dataset"]) for row in found):
        here = [row for row in found if row["dataset"] == dataset]
        headings, lines = summary(here, spread_text)
        told = [[_text(line[0]), *line[1:]] for line in lines]
        parts += [f"### {_text(dataset)}", "", *_table(headings, told), ""]
    again = next(reversed(commands(found).values()), "")
    return parts + _one_again(again, "line")


def _again(table: Table) -> list[str]:
    """How a cell is run again, by the example of the last one that was."""
    cells = [entry.cell for block in table.blocks for entry in block.entries.values()]
    made = [cell.command for cell in cells if cell is not None and cell.command]
    return _one_again(made[-1] if made else "", "cell")


def _one_again(command: str, what: str) -> list[str]:
    told = f"A {what} is run again by its own names, the last {what} for instance by"
    return [f"{told} `{command}`.", ""] if command else []


def _statistics(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    headings = ["dataset", *(f"{n}, {whose}" for n in COUNTS for whose in ("paper", "ours"))]
    lines = [[_text(line[0]), *line[1:]] for line in counts(rows)]
    told = [f"- {_text(name)}: {_text(text)}" for name, text in remarks(rows).items()]
    about = "An undirected edge counts in both directions; `grafenne experiment statistics` counts."
    return ["## Datasets", "", *_table(headings, lines), "", about, "", *told, ""]


def main_table(results: Results) -> str:
    """The README's table: a line per problem.

    Args:
        results: What was read.
    """
    tables = {table.name: table for table in make_tables(Cells(_joined(results)))}
    lines = []
    for name in MAIN:
        for block in tables[name].blocks:
            lines += [_problem(block, column) for column in block.columns]
    lines = [line for line in lines if any(cell != DASH for cell in line[3:])]
    if not lines:
        return "No runs yet: `grafenne experiment node-classification` makes them.\n"
    headings = [
        *("dataset", "missing", "GRAFENNE in the paper", "GRAFENNE", "best GRAFENNE"),
        *("best baseline", "difference", "GRAFENNE + labels"),
    ]
    return "\n".join(_table(headings, lines)) + "\n"


def _joined(results: Results) -> Results:
    """Results in which GAT and GIN stand beside the other methods: the problems are the same."""
    runs = [
        replace(run, experiment=MAIN[0]) if run.experiment == "backbones" else run
        for run in results.runs
    ]
    return replace(results, runs=runs)


def _problem(block: Block, column: Column) -> list[str]:
    grafenne = block.entries.get((RowKey("grafenne"), column))
    entries = block.column_entries(column, "plain")
    ours = _highest([entry for entry in entries if entry.row.ours])
    baseline = _highest([entry for entry in entries if not entry.row.ours])
    labelled = _highest(
        [entry for entry in block.column_entries(column, "labels") if entry.row.ours]
    )
    difference = DASH
    if ours is not None and ours.comparison is not None:
        difference = figure_text(ours.comparison.difference, True, signed=True)
        if ours.comparison.p_value is not None:
            difference += f" ({p_value_text(ours.comparison.p_value)})"
    return [
        _text(column.dataset),
        f"{column.p:g}",
        DASH if grafenne is None else _printed(grafenne),
        _figure(grafenne),
        _named(ours),
        _named(baseline),
        difference,
        _figure(labelled),
    ]


def _highest(entries: list[Entry]) -> Entry | None:
    return max(entries, key=lambda entry: (entry.cell and entry.cell.mean) or 0.0, default=None)


def _figure(entry: Entry | None, percent: bool = True) -> str:
    cell = entry.cell if entry is not None else None
    if entry is None or cell is None:
        return DASH
    if cell.mean is None:
        return "failed"
    shown = figure_text(cell.mean, percent)
    if cell.std is not None:
        shown += f" ± {figure_text(cell.std, percent)}"
    shown = f"**{shown}**" if entry.is_best else shown
    return shown if cell.n == WANTED_SEEDS else f"{shown} (n = {cell.n})"


def _printed(entry: Entry) -> str:
    printed = entry.paper.printed if entry.paper is not None else "-"
    return {"-": DASH, "*": "failed"}.get(printed, printed)


def _named(entry: Entry | None) -> str:
    return DASH if entry is None else f"{_figure(entry)} {_text(entry.row.title)}"


def _block(table: Table, block: Block) -> list[str]:
    headings = ["method"]
    for column in block.columns:
        label = _text(column.label)
        headings += [f"{label}, paper", label] if table.paper is not None else [label]
    headings.append("seconds")
    lines = []
    for row in block.rows:
        title = row.title + (" (leaked)" if row.leaked else "")
        line = [_text(title)]
        seconds = []
        for column in block.columns:
            entry = block.entries[row, column]
            if table.paper is not None:
                line.append(_printed(entry))
            shown = _figure(entry, table.percent)
            if entry.cell is not None and entry.cell.seconds is not None:
                seconds.append(entry.cell.seconds)
            line.append(shown)
        line.append(f"{sum(seconds) / len(seconds):.1f}" if seconds else DASH)
        lines.append(line)
    for (_, name), figures in published_of(table, block).items():
        theirs = [figure_text(figures.get(column), table.percent) for column in block.columns]
        if table.paper is not None:  # beside the paper's figures, not among ours
            theirs = [cell for figure in theirs for cell in (figure, DASH)]
        lines.append([f"{_text(name)} (published)", *theirs, DASH])
    return _table(headings, lines)


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]


def _text(text: str) -> str:
    """A text that cannot end a cell or become markup."""
    return re.sub(r"([\\|<>&`*_\[\]])", r"\\\1", " ".join(text.split()))
