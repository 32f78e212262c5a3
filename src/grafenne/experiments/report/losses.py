"""Where we lose: to the best honest baseline in the same run, and to the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grafenne.experiments.report.cells import Cells, Comparison, compare
from grafenne.experiments.report.runs import Results
from grafenne.experiments.report.tables import Block, Entry, Table


@dataclass(frozen=True)
class Loss:
    """One cell of ours that is below something.

    Attributes:
        table: The table.
        entry: Our entry.
        against: What it is below: the title of a row, or the paper.
        figure: The figure of that.
        remark: What softens or sharpens it.
        other: The entry it is below, if it is one.
    """

    table: Table
    entry: Entry
    against: str
    figure: float
    remark: str = ""
    other: Entry | None = None

    @property
    def comparison(self) -> Comparison | None:
        """With the entry it is below, seed by seed."""
        if self.other is None or self.other.cell is None or self.entry.cell is None:
            return None
        return compare(self.entry.cell, self.other.cell)

    @property
    def mean(self) -> float:
        """Our figure."""
        return (self.entry.cell.mean if self.entry.cell else None) or 0.0

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.mean - self.figure

    @property
    def beyond_std(self) -> bool:
        """Whether it is more than one standard deviation of our runs."""
        std = self.entry.cell.std if self.entry.cell else None
        return -self.difference > (std or 0.0)


@dataclass
class Losses:
    """Everything that was lost, and how much there was to win.

    A problem is a dataset, a missing rate and a protocol, with or without labels as features;
    several tables may show rows for the same problem.

    Attributes:
        problems: Problems on which no row of ours is the best; the highest of ours is told.
        rows: Rows of ours below the best baseline of their table, where they are not the former.
        paper: Rows below the paper's figure by more than a standard deviation of ours.
        compared: Problems with a row of ours and a baseline.
        significant: Of those won, how many by a significant difference.
        grafenne: Problems with a baseline and the row ``grafenne``, without anything before it.
        grafenne_won: Of those, how many on which that row is not below any baseline.
        with_paper: Rows of ours that the paper has a figure for.
    """

    problems: list[Loss] = field(default_factory=list)
    rows: list[Loss] = field(default_factory=list)
    paper: list[Loss] = field(default_factory=list)
    compared: int = 0
    significant: int = 0
    grafenne: int = 0
    grafenne_won: int = 0
    with_paper: int = 0

    @property
    def won(self) -> int:
        """Problems on which a row of ours is not below any baseline."""
        return self.compared - len(self.problems)

    @property
    def reached(self) -> int:
        """Rows of ours that reach the paper's figure within one standard deviation."""
        return self.with_paper - len(self.paper)


Problems = dict[tuple[Any, ...], list[tuple[Table, Entry]]]


def find_losses(tables: Sequence[Table]) -> Losses:
    """Goes through all tables.

    Args:
        tables: The tables.
    """
    losses = Losses()
    problems: Problems = {}
    told: set[tuple[Any, ...]] = set()
    for table in tables:
        protocol = table.paper.metric if table.paper else table.name
        for block in table.blocks:
            for column in block.columns:
                for group in ("plain", "labels"):
                    place = (protocol, column.dataset, column.p, column.variant, group)
                    for entry in block.column_entries(column, group):
                        # A translated row and the like is a problem of its own.
                        key = (*place, entry.row.variant)
                        problems.setdefault(key, []).append((table, entry))
            _against_paper(table, block, protocol, losses, told)
    for found in problems.values():
        _against_baselines(found, losses)
    for lost in (losses.problems, losses.rows, losses.paper):
        lost.sort(key=lambda loss: loss.difference)
    return losses


def _against_baselines(found: list[tuple[Table, Entry]], losses: Losses) -> None:
    ours = [(table, entry) for table, entry in found if entry.row.ours]
    rivals = [(table, entry) for table, entry in found if not entry.row.ours]
    if not ours or not rivals:
        return
    losses.compared += 1
    (table, highest), (_, rival) = max(ours, key=_mean), max(rivals, key=_mean)
    alone = [pair for pair in ours if pair[1].row.method in ("grafenne", "grafenne+labels")]
    losses.grafenne += bool(alone)
    losses.grafenne_won += bool(alone) and max(map(_mean, alone)) >= _mean((table, rival))
    lost = Loss(table, highest, rival.row.title, _mean((table, rival)), other=rival)
    if lost.difference < 0:
        losses.problems.append(lost)
    elif lost.comparison is not None and lost.comparison.significant:
        losses.significant += 1
    told = {highest.row} if lost.difference < 0 else set()
    for one, entry in ours:
        local = entry.against
        if local is None or entry.row in told:
            continue
        loss = Loss(one, entry, local.row.title, _mean((one, local)), other=local)
        if loss.difference < 0:
            losses.rows.append(loss)
            told.add(entry.row)


def _mean(pair: tuple[Table, Entry]) -> float:
    cell = pair[1].cell
    return (cell.mean if cell is not None else None) or 0.0


def _against_paper(
    table: Table, block: Block, protocol: str, losses: Losses, told: set[tuple[Any, ...]]
) -> None:
    for entry in block.entries.values():
        figure = entry.paper.value if entry.paper else None
        measured = entry.cell is not None and bool(entry.cell.runs)
        if figure is None or not measured or not entry.row.ours or entry.row.leaked:
            continue
        # The paper prints the same figure in several tables.
        place = (protocol, entry.column.dataset, entry.column.p, entry.row, figure)
        if place in told:
            continue
        told.add(place)
        losses.with_paper += 1
        inflated = table.paper is not None and entry.row.method in table.paper.leaked
        remark = "the paper's figure saw test edges" if inflated else ""
        loss = Loss(table, entry, "the paper", figure, remark)
        if loss.difference < 0 and loss.beyond_std:
            losses.paper.append(loss)


def summarise(results: Results, cells: Cells, losses: Losses) -> dict[str, Any]:
    """The counts that the command prints.

    Args:
        results: What was read.
        cells: Its cells.
        losses: What was lost.
    """
    return {
        "files": list(results.files),
        "runs": len(results.runs),
        "failed_runs": len(results.failed),
        "continual_rows": len(results.special("continual")),
        "inductive_rows": len(results.special("inductive")),
        "cells": len(cells),
        "problems_compared": losses.compared,
        "problems_ours_best": losses.won,
        "problems_ours_significantly_better": losses.significant,
        "problems_with_grafenne_alone": losses.grafenne,
        "problems_grafenne_alone_best": losses.grafenne_won,
        "paper_figures_compared": losses.with_paper,
        "paper_figures_reached": losses.reached,
        "remarks": list(results.remarks),
    }
