"""Several variants on one case: times side by side, memory in processes of their own."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.memory import measure_peak
from benchmarks.problem import Case, Problem, load_problem
from benchmarks.results import Row
from benchmarks.timing import LEAST_SECONDS, Times, time_interleaved
from benchmarks.variants import make_variant, too_large


def compare(
    name: str,
    case: Case,
    work: str,
    variants: Sequence[str],
    *,
    repeats: int = 5,
    memory: bool = True,
    problem: Problem | None = None,
    least_seconds: float = LEAST_SECONDS,
) -> list[Row]:
    """One row per variant, ours first.

    Args:
        name: Name of the benchmark, for the rows.
        case: What to run on.
        work: ``step``, ``evaluate`` or ``epoch``.
        variants: Names; ours is added if it is missing.
        repeats: Measurements of each variant.
        memory: Whether to measure peak memory too.
        problem: The data, if it is loaded already.
        least_seconds: How long a measurement lasts at least, about.
    """
    problem = load_problem(case.dataset) if problem is None else problem
    names = ["ours", *(variant for variant in variants if variant != "ours")]
    refused = {variant: too_large(variant, problem, case) for variant in names}
    ready = {v: make_variant(v, problem, case) for v in names if not refused[v]}
    times = time_interleaved(ready, work, repeats, least_seconds=least_seconds)
    del ready
    rows = [
        row_of(name, case, work, variant, times.get(variant), repeats, refused[variant])
        for variant in names
    ]
    for row in rows:
        row.values = problem.graph.incidence.num_entries
        # The limit is a list of products without a network; its memory says nothing.
        if memory and row.median_seconds is not None and not row.variant.startswith("limit"):
            peak = measure_peak(case, row.variant, work)
            row.peak_mb, row.process_mb = peak.growth_mb, peak.process_mb
            row.memory_method = peak.method
            ours = rows[0].peak_mb
            row.memory_ratio = peak.growth_mb / ours if ours else None
    return rows


def row_of(
    name: str,
    case: Case,
    work: str,
    variant: str,
    times: Times | None,
    repeats: int,
    note: str = "",
) -> Row:
    """The row of one variant."""
    row = Row(
        name, variant, work, case.dataset, case.width, case.heads, case.feature_dropout, note=note
    )
    if times is not None:
        row.median_seconds, row.repeats = times.median, repeats
        row.low_seconds, row.high_seconds = min(times.seconds), max(times.seconds)
        row.ratio_to_ours = times.ratio
        row.ratio_low, row.ratio_high = min(times.ratios), max(times.ratios)
    return row
