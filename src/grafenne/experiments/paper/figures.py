"""Reads the files in this folder."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

HERE = "grafenne.experiments.paper"
SCALES = {"percent": 100.0, "fraction": 1.0}


@dataclass(frozen=True)
class PaperCell:
    """One cell of a table.

    Attributes:
        dataset: Our name of the dataset.
        row: The method as the paper calls it.
        method: Our corresponding method.
        variant: What else tells our corresponding row apart, such as ``translated``.
        p: Missing rate.
        mean: The mean as printed; empty for a cell without a number.
        std: The standard deviation as printed.
        mark: What a cell without a number shows: ``-`` was not run, ``*`` ended in an error.
        scale: What to divide the printed numbers by to get fractions.
    """

    dataset: str
    row: str
    method: str
    variant: str
    p: float
    mean: str
    std: str
    mark: str
    scale: float

    @property
    def value(self) -> float | None:
        """The mean as a fraction."""
        return float(self.mean) / self.scale if self.mean else None

    @property
    def spread(self) -> float | None:
        """The standard deviation as a fraction."""
        return float(self.std) / self.scale if self.std else None

    @property
    def printed(self) -> str:
        """What the paper prints."""
        return f"{self.mean} ± {self.std}" if self.mean else self.mark


@dataclass(frozen=True)
class PaperTable:
    """One table of results.

    Attributes:
        name: Our name for it.
        label: Its label in the source of the paper; empty if it has none.
        title: A short title.
        caption: Its caption.
        experiments: Experiments that hold our runs for it, the first one first.
        metric: ``accuracy`` or ``auc``.
        unit: ``percent`` or ``fraction``, as printed.
        cells: All cells, row by row.
        leaked: Our names of rows whose printed figures saw test edges.
    """

    name: str
    label: str
    title: str
    caption: str
    experiments: tuple[str, ...]
    metric: str
    unit: str
    cells: tuple[PaperCell, ...] = field(repr=False)
    leaked: tuple[str, ...] = ()

    @property
    def datasets(self) -> list[str]:
        """Datasets, in the table's order."""
        return list(dict.fromkeys(cell.dataset for cell in self.cells))

    def find(self, dataset: str, method: str, p: float, variant: str = "") -> PaperCell | None:
        """The cell for one of our rows, if the table has it."""
        wanted = (dataset, method, p, variant)
        for cell in self.cells:
            if (cell.dataset, cell.method, cell.p, cell.variant) == wanted:
                return cell
        return None


@dataclass(frozen=True)
class PublishedFigure:
    """A figure from elsewhere.

    Attributes:
        experiment: The experiment with the same protocol.
        dataset: Our name of the dataset.
        row: The method as its authors call it.
        method: Our corresponding method; empty if there is none.
        variant: Variant of the experiment.
        p: Missing rate.
        value: The mean as a fraction.
        source: Where it is published.
    """

    experiment: str
    dataset: str
    row: str
    method: str
    variant: str
    p: float
    value: float
    source: str


@cache
def paper_tables() -> tuple[PaperTable, ...]:
    """All tables of results, in the paper's order."""
    tables = []
    rows = _rows("cells.csv")
    for about in _json("tables.json"):
        cells = tuple(
            PaperCell(
                dataset=row["dataset"],
                row=row["row"],
                method=row["method"],
                variant=row["variant"],
                p=float(row["p"]),
                mean=row["mean"],
                std=row["std"],
                mark=row["mark"],
                scale=SCALES[about["unit"]],
            )
            for row in rows
            if row["table"] == about["name"]
        )
        lists = {name: tuple(about.get(name, ())) for name in ("experiments", "leaked")}
        tables.append(PaperTable(**{**about, **lists}, cells=cells))
    return tuple(tables)


@cache
def published_figures() -> tuple[PublishedFigure, ...]:
    """Figures that others publish."""
    return tuple(
        PublishedFigure(
            experiment=row["experiment"],
            dataset=row["dataset"],
            row=row["row"],
            method=row["method"],
            variant=row["variant"],
            p=float(row["p"]),
            value=float(row["mean"]) / 100,
            source=row["source"],
        )
        for row in _rows("published.csv")
    )


def dataset_statistics() -> dict[str, dict[str, int]]:
    """Counts of nodes, edges, features and classes by dataset, as the paper prints them."""
    return {
        row.pop("dataset"): {name: int(count) for name, count in row.items()}
        for row in _rows("statistics.csv")
    }


def continual_settings() -> dict[str, Any]:
    """What the text states about the continual figure."""
    settings: dict[str, Any] = _json("continual.json")
    return settings


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_text(name).splitlines()))


def _json(name: str) -> Any:
    return json.loads(_text(name))


def _text(name: str) -> str:
    return files(HERE).joinpath(name).read_text(encoding="utf-8")
