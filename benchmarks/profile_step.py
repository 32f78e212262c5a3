"""Where the time of a training step goes: ``python -m benchmarks.profile_step --dataset physics``.

Prints torch's profile of a few steps of ours, and the lower limit product by product.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from rich.table import Table

from benchmarks.lower_limit import LowerLimit
from benchmarks.problem import Case, Problem, load_problem
from benchmarks.table import make_console, seconds_text
from benchmarks.variants import WORKS, make_variant


def profile_step(problem: Problem, case: Case, work: str = "step", count: int = 5) -> str:
    """Torch's table for ``count`` steps of ours, operators by their own time."""
    variant = make_variant("ours", problem, case)
    variant.run(work, 2)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        variant.run(work, count)
    averages = profiler.key_averages(group_by_input_shape=True)
    table: str = averages.table(sort_by="self_cpu_time_total", row_limit=30)
    return table


def limit_table(limit: LowerLimit, repeats: int = 5) -> Table:
    """Each product of the lower limit with its time."""
    table = Table(title="lower limit, product by product", title_justify="left")
    for column in ("product", "kind", "pass", "shape", "median"):
        table.add_column(column, justify="right" if column == "median" else "left")
    total = 0.0
    for operation in limit.operations:
        operation.run()
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            operation.run()
            seconds.append(time.perf_counter() - started)
        median = statistics.median(seconds)
        total += median
        which = "backward" if operation.backward else "forward"
        table.add_row(operation.label, operation.kind, which, operation.shape, seconds_text(median))
    table.add_row("all", "", "", "", seconds_text(total))
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="physics")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--feature-dropout", type=float)
    parser.add_argument("--work", choices=WORKS, default="step")
    parser.add_argument("--count", type=int, default=5)
    given = parser.parse_args()
    case = Case(given.dataset, given.width, given.heads, given.feature_dropout)
    problem = load_problem(given.dataset)
    print(profile_step(problem, case, given.work, given.count))
    make_console().print(limit_table(LowerLimit(problem, case)))


if __name__ == "__main__":
    main()
