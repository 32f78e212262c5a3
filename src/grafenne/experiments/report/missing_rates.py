"""Accuracy against the missing rate."""

from __future__ import annotations

import statistics

from grafenne.experiments.report.charts import Series, line_chart
from grafenne.experiments.report.markup import Raw
from grafenne.experiments.report.methods import RowKey
from grafenne.experiments.report.tables import Block, Column, Table

BASELINES = 4
"""Most lines of baselines in a chart: those furthest above the others on average."""

GRAFENNE = RowKey("grafenne")


def missing_rate_chart(table: Table, block: Block) -> Raw:
    """A chart for one dataset; empty with fewer than two missing rates.

    Shown are GRAFENNE, the best other row of ours without and with labels as features, the best
    baselines on average, and the paper's GRAFENNE.

    Args:
        table: The table.
        block: The dataset's block.
    """
    columns = [column for column in block.columns if not column.variant]
    rates = sorted({column.p for column in columns})
    if len(rates) < 2 or len({column.dataset for column in columns}) > 1:
        return Raw("")
    series = []
    plain = [row for row in block.group("plain") if _means(block, row)]
    baselines = [row for row in plain if not row.ours]
    ours = [row for row in plain if row.ours and row != GRAFENNE]
    labelled = [row for row in block.group("labels") if row.ours]
    chosen = [
        *[row for row in plain if row == GRAFENNE],
        *_highest(block, ours, 1),
        *_highest(block, labelled, 1),
    ]
    for number, row in enumerate(chosen):
        colour = (0, 6, 3)[number]
        series.append(_series(table, block, columns, rates, row, colour, strong=number == 0))
    for number, row in enumerate(_highest(block, baselines, BASELINES)):
        colour = (1, 2, 4, 5)[number]
        series.append(_series(table, block, columns, rates, row, colour))
    if not series:
        return Raw("")
    printed = [
        (float(rates.index(column.p)), _scale(table) * entry.paper.value, None)
        for column in columns
        if (entry := block.entries.get((GRAFENNE, column))) is not None
        and entry.paper is not None
        and entry.paper.value is not None
    ]
    if printed:
        series.append(Series("GRAFENNE in the paper", printed, 7, dashed=True))
    ticks = [(float(number), f"{rate:g}") for number, rate in enumerate(rates)]
    title = f"{table.title}: {block.title}" if block.title else table.title
    up = "accuracy, %" if table.percent else "area under the curve"
    return line_chart(title, series, ticks, across="missing rate p", up=up)


def _scale(table: Table) -> float:
    return 100.0 if table.percent else 1.0


def _means(block: Block, row: RowKey) -> dict[Column, float]:
    return {
        column: cell.mean
        for column in block.columns
        if (cell := block.entries[row, column].cell) is not None and cell.mean is not None
    }


def _highest(block: Block, rows: list[RowKey], most: int) -> list[RowKey]:
    """The rows that are furthest above the others on average.

    Not every row has every column, so each column is compared with its own average: a row that
    is only there where most features are missing must not look worse for that.
    """
    means = {row: _means(block, row) for row in rows}
    usual = {
        column: statistics.fmean(found[column] for found in means.values() if column in found)
        for column in {column for found in means.values() for column in found}
    }

    def lead(row: RowKey) -> float:
        return statistics.fmean(mean - usual[column] for column, mean in means[row].items())

    return sorted((row for row in rows if means[row]), key=lead, reverse=True)[:most]


def _series(
    table: Table,
    block: Block,
    columns: list[Column],
    rates: list[float],
    row: RowKey,
    colour: int,
    strong: bool = False,
) -> Series:
    scale = _scale(table)
    points = [
        (
            float(rates.index(column.p)),
            scale * cell.mean,
            None if cell.std is None else scale * cell.std,
        )
        for column in columns
        if (cell := block.entries[row, column].cell) is not None and cell.mean is not None
    ]
    return Series(row.title, points, colour, strong=strong)
