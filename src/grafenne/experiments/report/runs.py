"""Reads files of results: one JSON object per line, checked line by line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grafenne.errors import DataError, shown
from grafenne.experiments.report.notes import read_notes

SPECIAL = ("continual", "inductive", "statistics", "bench")
"""Kinds of rows that are no cells of a table of methods."""

OTHERS = ("search.jsonl", "torture.jsonl")
"""Lines of a folder that are no results: trials of searches, and runs of the suites of faults."""


@dataclass(frozen=True)
class Run:
    """One finished run of one method.

    Attributes:
        experiment: Name of the experiment.
        dataset: Name of the dataset.
        method: Name of the method.
        p: Missing rate.
        variant: Variant of the experiment; empty if it has none.
        leaked: Whether the features saw test edges.
        seed: Its seed.
        value: Test metric, a fraction.
        seconds: How long it took.
        peak_mb: Most memory it held.
        metric: Name of the metric.
        settings: ``searched`` or ``default``.
        version: Version of the package.
        command: What runs it again.
    """

    experiment: str
    dataset: str
    method: str
    p: float
    variant: str
    leaked: bool
    seed: int
    value: float
    seconds: float | None = None
    peak_mb: float | None = None
    metric: str = ""
    settings: str = ""
    version: str = ""
    command: str = ""

    @property
    def key(self) -> tuple[str, str, str, float, str, bool]:
        """What the cell of this run is found by."""
        return (self.experiment, self.dataset, self.method, self.p, self.variant, self.leaked)


@dataclass
class Results:
    """Everything that the files hold.

    Attributes:
        runs: Finished runs of methods; of repeated ones the last.
        failed: Keys and seeds of runs that ended in an error, with the error.
        rows: Rows of the kinds in :data:`SPECIAL`.
        notes: Free text by experiment.
        files: The files read.
        remarks: What a reader should know about the files.
    """

    runs: list[Run] = field(default_factory=list)
    failed: list[tuple[tuple[Any, ...], str]] = field(default_factory=list)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def special(self, kind: str) -> list[dict[str, Any]]:
        """Rows of one of the kinds in :data:`SPECIAL`."""
        return self.rows.get(kind, [])


def read_results(paths: Iterable[Path]) -> Results:
    """Reads folders of results and single files.

    Args:
        paths: Folders, of which all ``*.jsonl`` but those in :data:`OTHERS` are read,
            and the notes, or files of lines.
    """
    results = Results()
    found: dict[Any, Run] = {}
    repeated = 0
    for path in _files(paths, results):
        results.files.append(path.name)
        for number, row in _rows(path, results.remarks):
            kind = _kind(row, path)
            where = f"{path}, line {number}"
            if kind == "continual" and "strategy" not in row:
                row["strategy"] = row.get("method")
            if kind in SPECIAL:
                if not row.get("error"):
                    _check_special(kind, row, where)
                results.rows.setdefault(kind, []).append(row)
                continue
            run = _run(kind, row, where)
            if isinstance(run, str):
                results.failed.append(((*_identity(kind, row), row.get("seed")), run))
                continue
            # Popping first keeps the order in which the runs were last made.
            place = (*run.key, run.seed)
            repeated += found.pop(place, None) is not None
            found[place] = run
    results.runs = list(found.values())
    # A run that failed and was repeated with success has not failed.
    results.failed = [failure for failure in results.failed if failure[0] not in found]
    if repeated:
        results.remarks.append(f"{repeated} runs are there more than once; the last one counts.")
    return results


def _files(paths: Iterable[Path], results: Results) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.glob("*.jsonl") if file.name not in OTHERS)
            if not inside:
                raise DataError(f"The folder {path} holds no file of results (*.jsonl).")
            files += inside
            results.notes.update(read_notes(path))
        elif path.exists():
            files.append(path)
        else:
            raise DataError(f"There is no file or folder {path}.")
    return list(dict.fromkeys(files))


def _rows(path: Path, remarks: list[str]) -> list[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from None
    lines = text.split("\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):  # without an end of line: the writer was stopped
                remarks.append(f"The last line of {path.name} is torn and left out.")
                break
            raise DataError(
                f"{path}, line {number} is not JSON: {str(error).rstrip('.')}."
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number} is not a JSON object.")
        rows.append((number, row))
    return rows


def _kind(row: Mapping[str, Any], path: Path) -> str:
    if "ratio_to_ours" in row:
        return "bench"
    return str(row.get("experiment") or path.stem)


def _identity(kind: str, row: Mapping[str, Any]) -> tuple[str, str, str, float, str, bool]:
    return (
        kind,
        str(row.get("dataset", "")),
        str(row.get("method", "")),
        _finite(row.get("p")) or 0.0,
        str(row.get("variant") or ""),
        bool(row.get("leaked")),
    )


def _run(kind: str, row: Mapping[str, Any], where: str) -> Run | str:
    """The run, or the error it ended in."""
    _check_texts(row, ("dataset", "method"), where)
    seed = _number(row, "seed", where)
    p = 0.0 if row.get("p") is None else _number(row, "p", where)
    if row.get("error"):
        return str(row["error"])
    if "value" in row and row["value"] is None:  # what was not finite is written as null
        return "the value is not a finite number"
    value = _number(row, "value", where)
    if not 0 <= value <= 1:
        raise DataError(f"{where}: 'value' is a fraction from 0 to 1, found {value:g}.")
    _, dataset, method, _, variant, leaked = _identity(kind, row)
    return Run(
        experiment=kind,
        dataset=dataset,
        method=method,
        p=p,
        variant=variant,
        leaked=leaked,
        seed=int(seed),
        value=value,
        seconds=_optional(row, "seconds", where),
        peak_mb=_optional(row, "peak_mb", where),
        **{name: str(row.get(name) or "") for name in ("metric", "settings", "version", "command")},
    )


TEXTS = {
    "continual": ("dataset", "strategy", "metric"),
    "inductive": ("dataset", "method", "metric"),
    "statistics": ("dataset",),
    "bench": ("name", "variant"),
}
NUMBERS = (
    *("value", "step", "seconds", "median_seconds", "ratio_to_ours", "peak_mb", "memory_ratio"),
    *("values", "width", "heads", "feature_dropout"),
)


def _check_special(kind: str, row: Mapping[str, Any], where: str) -> None:
    _check_texts(row, TEXTS[kind], where)
    for name in NUMBERS:
        _optional(row, name, where)


def _check_texts(row: Mapping[str, Any], names: Iterable[str], where: str) -> None:
    for name in names:
        if not isinstance(row.get(name), str):
            raise DataError(f"{where} has no text {name!r}; found {row.get(name)!r}.")


def _number(row: Mapping[str, Any], name: str, where: str) -> float:
    number = _finite(row.get(name))
    if number is None:
        raise DataError(f"{where}: {name!r} is a number, found {shown(row.get(name))}.")
    return number


def _finite(found: Any) -> float | None:
    """A number as it may stand in JSON, if it is one that a computer can use."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        number = float(found)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _optional(row: Mapping[str, Any], name: str, where: str) -> float | None:
    return None if row.get(name) is None else _number(row, name, where)
