"""Runs over seeds become cells, and two cells are compared seed by seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from grafenne.experiments.registry import experiments as registered
from grafenne.experiments.report.runs import Results, Run

WANTED_SEEDS = 5
"""A cell of another number of seeds says how many it has."""

FEWEST_SEEDS = 3
"""With fewer common seeds there is no test."""


@dataclass(frozen=True)
class Cell:
    """All runs of one method on one problem.

    Attributes:
        runs: The runs, by seed; empty if all failed.
        failed: How many runs ended in an error.
    """

    runs: tuple[Run, ...]
    failed: int = 0

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.runs)

    @property
    def mean(self) -> float | None:
        """Mean over the seeds."""
        return statistics.fmean(run.value for run in self.runs) if self.runs else None

    @property
    def std(self) -> float | None:
        """Standard deviation over the seeds (of a sample); none with one seed."""
        return statistics.stdev(run.value for run in self.runs) if self.n > 1 else None

    @property
    def seconds(self) -> float | None:
        """Mean time of a run."""
        times = [run.seconds for run in self.runs if run.seconds is not None]
        return statistics.fmean(times) if times else None

    @property
    def peak_mb(self) -> float | None:
        """Most memory that any run held."""
        return max((run.peak_mb for run in self.runs if run.peak_mb is not None), default=None)

    @property
    def values(self) -> dict[int, float]:
        """Value by seed."""
        return {run.seed: run.value for run in self.runs}

    @property
    def command(self) -> str:
        """What makes the cell again: the command of the highest seed, which runs the others too."""
        return next((run.command for run in reversed(self.runs) if run.command), "")


class Cells:
    """Cells by what they are about.

    Args:
        results: The runs.
    """

    def __init__(self, results: Results) -> None:
        runs: dict[tuple[Any, ...], list[Run]] = {}
        failed: dict[tuple[Any, ...], int] = {}
        for run in results.runs:
            runs.setdefault(run.key, []).append(run)
        for identity, _ in results.failed:
            failed[identity[:-1]] = failed.get(identity[:-1], 0) + 1
        self._cells = {
            key: Cell(
                tuple(sorted(runs.get(key, []), key=lambda run: run.seed)), failed.get(key, 0)
            )
            for key in _as_registered(dict.fromkeys((*runs, *failed)))
        }

    def __len__(self) -> int:
        return sum(1 for cell in self._cells.values() if cell.runs)

    def experiments(self) -> list[str]:
        """Names of the experiments, in the order in which they are registered."""
        return list(dict.fromkeys(key[0] for key in self._cells))

    def keys(self, experiment: str) -> list[tuple[str, str, float, str, bool]]:
        """Dataset, method, missing rate, variant and leak of an experiment's cells."""
        return [key[1:] for key in self._cells if key[0] == experiment]

    def find(
        self,
        experiments: Sequence[str],
        dataset: str,
        method: str,
        p: float,
        variant: str = "",
        leaked: bool = False,
    ) -> Cell | None:
        """The cell of the first of the experiments that has it."""
        for experiment in experiments:
            cell = self._cells.get((experiment, dataset, method, p, variant, leaked))
            if cell is not None:
                return cell
        return None


def _as_registered(keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Cells in the order of their experiments, so that a cell run again keeps its row.

    Those of no registered experiment come last, as given.
    """
    places: dict[tuple[Any, ...], int] = {}
    for experiment in registered().values():
        for cell in experiment.cells:
            places.setdefault((experiment.name, cell.dataset, cell.method), len(places))
    return sorted(keys, key=lambda key: places.get(key[:3], len(places)))


@dataclass(frozen=True)
class Comparison:
    """Two cells, seed by seed.

    Attributes:
        difference: Mean of the differences over the common seeds.
        seeds: Number of common seeds.
        p_value: Two-sided, of the paired t-test; none with too few seeds.
    """

    difference: float
    seeds: int
    p_value: float | None

    @property
    def significant(self) -> bool:
        """Whether the p-value is below 0.05."""
        return self.p_value is not None and self.p_value < 0.05


def compare(ours: Cell, other: Cell) -> Comparison | None:
    """A paired t-test over the common seeds; none if no seed is common.

    The two runs of a seed share the split and the missing cells, so their difference varies less
    than either. Wilcoxon's test cannot go below 1/16 with five pairs, hence the t-test.

    Args:
        ours: One cell.
        other: The one it is compared with.
    """
    common = sorted(ours.values.keys() & other.values.keys())
    if not common:
        return None
    differences = [ours.values[seed] - other.values[seed] for seed in common]
    mean = statistics.fmean(differences)
    if len(common) < FEWEST_SEEDS:
        return Comparison(mean, len(common), None)
    if max(differences) - min(differences) < 1e-12:  # the test divides by the spread
        return Comparison(mean, len(common), 1.0 if abs(mean) < 1e-12 else 0.0)
    from scipy.stats import ttest_rel

    found = ttest_rel(
        [ours.values[seed] for seed in common], [other.values[seed] for seed in common]
    )
    p_value = float(found.pvalue)
    return Comparison(mean, len(common), p_value if math.isfinite(p_value) else None)


def best(cells: Iterable[Cell | None]) -> Cell | None:
    """The cell with the highest mean."""
    measured = [cell for cell in cells if cell is not None and cell.mean is not None]
    return max(measured, key=lambda cell: cell.mean or 0.0, default=None)
