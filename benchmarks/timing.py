"""Times variants in turn, so that what slows the machine down slows all of them down."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.variants import Variant

LEAST_SECONDS = 0.3
MOST_RUNS = 50

LEAST_RUNS = 8
"""Training goes on for many steps; the first one pays for memory that the others take again."""

MOST_SECONDS = 60.0
"""A measurement of slow work may have fewer runs."""


@dataclass(frozen=True)
class Times:
    """Seconds of one variant, and its ratios to ours from runs side by side.

    Attributes:
        seconds: Of each measurement, per unit of work.
        ratios: Each measurement over the one of ours just before it.
    """

    seconds: list[float]
    ratios: list[float]

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)

    @property
    def ratio(self) -> float:
        """Median ratio to ours."""
        return statistics.median(self.ratios)


def time_interleaved(
    variants: Mapping[str, Variant],
    work: str,
    repeats: int,
    *,
    reference: str = "ours",
    least_seconds: float = LEAST_SECONDS,
    least_runs: int = LEAST_RUNS,
) -> dict[str, Times]:
    """Measures ours, another, ours, the next, and so on, ``repeats`` times.

    Args:
        variants: What to measure; the reference is among them.
        work: ``step``, ``evaluate`` or ``epoch``.
        repeats: Number of measurements of each variant; ours is measured beside each of them.
        reference: The name that ratios refer to.
        least_seconds: Quick work is repeated until a measurement lasts about this long.
        least_runs: Slower work is repeated so often, if that takes less than a minute.
    """
    counts = {
        name: _warm_up(variant, work, least_seconds, least_runs)
        for name, variant in variants.items()
    }

    gc.collect()
    gc.freeze()  # what is there by now need not be searched again before each measurement

    def measure(name: str) -> float:
        gc.collect()
        return variants[name].run(work, counts[name]) / counts[name]

    seconds: dict[str, list[float]] = {name: [] for name in variants}
    ratios: dict[str, list[float]] = {name: [] for name in variants}
    others = [name for name in variants if name != reference]
    for _ in range(repeats):
        for name in others or [reference]:
            ours = measure(reference)
            seconds[reference].append(ours)
            if name != reference:
                seconds[name].append(measure(name))
                ratios[name].append(seconds[name][-1] / ours)
    gc.unfreeze()
    ratios[reference] = [1.0]
    return {name: Times(seconds[name], ratios[name]) for name in variants}


def _warm_up(variant: Variant, work: str, least_seconds: float, least_runs: int) -> int:
    """Builds what is built once, and tells how often to repeat the work in a measurement."""
    seconds = variant.run(work, 1)
    if seconds < MOST_SECONDS:
        seconds = variant.run(work, 1)
    enough = min(MOST_RUNS, round(least_seconds / max(seconds, 1e-9)))
    affordable = int(MOST_SECONDS / max(seconds, 1e-9))
    return max(1, enough, min(least_runs, affordable))
