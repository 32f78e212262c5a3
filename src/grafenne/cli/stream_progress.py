"""The results of a stream as they come: a table that grows on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.cli.output import say

if TYPE_CHECKING:
    from grafenne.continual.results import StepResult


@contextmanager
def show_progress(
    strategies: Sequence[str], num_steps: int, plot: Path | None, title: str, quiet: bool
) -> Iterator[Callable[[StepResult], None]]:
    """Gives what :func:`~grafenne.continual.run_stream` is to tell its results to.

    Args:
        strategies: Names of the strategies.
        num_steps: Number of changes.
        plot: The picture to draw anew after every step.
        title: Title of the picture.
        quiet: Whether to show nothing.
    """
    seen: list[StepResult] = []

    def draw() -> None:
        from grafenne.cli.stream_plot import draw_stream

        if plot is not None:
            draw_stream(seen, plot, title)

    def take(result: StepResult) -> None:
        seen.append(result)
        # A picture of half a step would be drawn several times for nothing.
        if sum(other.step == result.step for other in seen) == len(strategies):
            draw()

    if quiet:
        yield take
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), auto_refresh=False) as live:

            def show(result: StepResult) -> None:
                take(result)
                live.update(_table(seen, strategies, num_steps), refresh=True)

            yield show
    else:

        def tell(result: StepResult) -> None:
            take(result)
            say(_line(result, num_steps))

        yield tell


def _line(result: StepResult, num_steps: int) -> str:
    """``step 2/4 ewc: all 0.812, affected 0.790, …, 1.2 s``."""
    parts = [f"{group} {value:.3f}" for group, value in result.accuracy.items() if value == value]
    return (
        f"step {result.step}/{num_steps} {result.strategy}: {', '.join(parts)}, "
        f"{result.seconds:.1f} s"
    )


def _table(results: Sequence[StepResult], strategies: Sequence[str], num_steps: int) -> Any:
    """The last step of each strategy, and the accuracies on all test nodes step by step."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("strategy", "step", "affected", "unaffected", "new", "seconds"):
        table.add_column(column, justify="left" if column == "strategy" else "right")
    table.add_column("all, step by step")
    for name in strategies:
        steps = [result for result in results if result.strategy == name]
        if not steps:
            table.add_row(name, f"0/{num_steps}")
            continue
        last = steps[-1]
        table.add_row(
            name,
            f"{last.step}/{num_steps}",
            *(_share(last.accuracy[group]) for group in ("affected", "unaffected", "new")),
            f"{last.seconds:.1f}",
            " ".join(_share(step.accuracy["all"]) for step in steps),
        )
    return table


def _share(value: float) -> str:
    return "-" if value != value else f"{100 * value:.1f}"
