"""A measured row, what is known about the machine, and the file that rows are appended to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.system import machine_facts


@dataclass
class Row:
    """One variant of one benchmark.

    Attributes:
        name: The benchmark.
        variant: Which way of doing the work.
        work: ``step``, ``evaluate``, ``epoch``, ``train``, ``start``.
        dataset: What it ran on.
        width: Width of the hidden states.
        heads: Attention heads.
        feature_dropout: Share of values hidden in training; ``None`` for the default.
        median_seconds: Median time of the work; ``None`` if it was not run.
        low_seconds: Shortest time.
        high_seconds: Longest time.
        ratio_to_ours: Median of the ratios of neighbouring runs; above 1, ours is faster.
        ratio_low: Smallest ratio.
        ratio_high: Largest ratio.
        peak_mb: Peak memory above the loaded graph, 10^6 bytes.
        process_mb: Peak memory of the whole process.
        memory_ratio: ``peak_mb`` over that of ours.
        memory_method: How the peak was found.
        repeats: Number of measurements.
        values: Number of feature values in the graph.
        target: The bound this row is held against.
        met: Whether it holds.
        note: What else there is to say.
    """

    name: str
    variant: str
    work: str
    dataset: str = ""
    width: int | None = None
    heads: int | None = None
    feature_dropout: float | None = None
    median_seconds: float | None = None
    low_seconds: float | None = None
    high_seconds: float | None = None
    ratio_to_ours: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    peak_mb: float | None = None
    process_mb: float | None = None
    memory_ratio: float | None = None
    memory_method: str = ""
    repeats: int = 0
    values: int | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    def hold(self, target: str, met: bool) -> None:
        """Adds a bound; with several, all of them must hold."""
        self.target = f"{self.target}; {target}" if self.target else target
        self.met = met if self.met is None else self.met and met


def append_rows(rows: list[Row], path: Path, load: tuple[float, float, float]) -> None:
    """Adds the rows to a file, one JSON object per line.

    Args:
        rows: The rows.
        path: The file; its folder is made when it is not there.
        load: The machine's load average when the benchmark began.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {**machine_facts(), "load_average_at_start": list(load)}
    moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
    lines = [json.dumps({**asdict(row), "machine": facts, "time": moment}) for row in rows]
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, in the order they were measured."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
