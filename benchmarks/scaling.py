"""Time and memory against the number of values, and the exponents of their growth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

from benchmarks.memory import measure_peak
from benchmarks.problem import Case
from benchmarks.results import Row

SIZES = ("1e5", "3e5", "1e6", "3e6", "1e7", "3e7", "1e8")
MOST_EXPONENT = 1.1


def sizes_up_to(largest: float) -> list[str]:
    """The sizes to measure."""
    return [size for size in SIZES if float(size) <= largest]


def measure_scaling(
    name: str, sizes: Sequence[str], *, width: int = 32, heads: int = 1, repeats: int = 5
) -> list[Row]:
    """A training step of ours on synthetic graphs; each size in a process of its own.

    All of a graph grows in step with its values: nodes, edges and features.

    Args:
        name: Name of the benchmark, for the rows.
        sizes: Numbers of values, as text.
        width: Width of the hidden states.
        heads: Attention heads.
        repeats: Timed steps at each size.

    Returns:
        A row per size, and last the fit over all of them.
    """
    rows = []
    for size in sizes:
        case = Case(f"synthetic-{size}", width, heads)
        peak = measure_peak(case, "ours", "step", timed=repeats)
        row = Row(name, "ours", "step", case.dataset, width, heads, repeats=repeats)
        row.median_seconds = statistics.median(peak.seconds)
        row.low_seconds, row.high_seconds = min(peak.seconds), max(peak.seconds)
        row.peak_mb, row.process_mb, row.values = peak.growth_mb, peak.process_mb, peak.values
        row.memory_method = peak.method
        row.note = (
            f"{row.median_seconds / peak.values * 1e9:.0f} ns and "
            f"{peak.growth_mb / peak.values * 1e6:.0f} bytes per value"
        )
        rows.append(row)
    if len(rows) > 1:
        rows.append(fit_row(name, rows))
    return rows


def fit_row(name: str, rows: Sequence[Row]) -> Row:
    """Exponents of time and memory in the number of values."""
    values = [row.values or 0 for row in rows]
    seconds = exponent(values, [row.median_seconds or 0.0 for row in rows])
    memory = exponent(values, [row.peak_mb or 0.0 for row in rows])
    fit = Row(name, "ours", "step", "fit", rows[0].width, rows[0].heads)
    fit.more = {"time_exponent": seconds, "memory_exponent": memory}
    fit.note = f"time ~ values^{seconds:.2f}, memory ~ values^{memory:.2f}"
    fit.hold(f"time exponent at most {MOST_EXPONENT}", seconds <= MOST_EXPONENT)
    fit.hold(f"memory exponent at most {MOST_EXPONENT}", memory <= MOST_EXPONENT)
    return fit


def exponent(values: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of a straight line through the logarithms; not a number without two points."""
    if len(values) < 2 or min(*values, *costs) <= 0:
        return math.nan
    slope, _ = np.polyfit(np.log(values), np.log(costs), 1)
    return float(slope)
