"""Progress of many runs: a count, what came out, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from grafenne.experiments.cost import duration_text


class RunProgress:
    """Tells of each finished run, and how many are left; on a terminal with a bar below.

    Args:
        costs: Expected seconds of each run, by its name.
        jobs: How many run at a time.
        quiet: Tells nothing.
        stream: Where to write; standard error by default.
    """

    def __init__(
        self,
        costs: Mapping[Any, float],
        jobs: int,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self.costs, self.jobs, self.quiet = dict(costs), max(jobs, 1), quiet
        self.stream = sys.stderr if stream is None else stream
        self.total, self.finished = len(self.costs), 0
        self._left, self._done = sum(self.costs.values()), 0.0
        self._started = time.monotonic()
        self._bar: Any = None
        if not quiet and self.total and self.stream.isatty():
            self._bar = _make_bar(self.total)

    def finish(self, name: Any, text: str) -> None:
        """Called when a run has ended, well or not."""
        cost = self.costs.pop(name, 0.0)
        self.finished += 1
        self._left -= cost
        self._done += cost
        if self.quiet:
            return
        line = f"[{self.finished}/{self.total}] {text}"
        if self._bar is not None:
            self._bar.print(line, markup=False, highlight=False)
            self._bar.move(self.finished, self.time_left())
            return
        left = f"; {self.time_left()} left" if self.finished < self.total else ""
        self.stream.write(f"{line}{left}\n")
        self.stream.flush()

    def time_left(self) -> str:
        """Expected time for what is left, at the speed seen so far."""
        passed = time.monotonic() - self._started
        pace = passed / self._done if self._done else 1 / self.jobs
        return f"about {duration_text(max(self._left, 0.0) * pace)}"

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.stop()


class _Bar:
    """A bar of rich with a text for the time left."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True)
        self.print = console.print
        self._progress = Progress(
            TextColumn("runs"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("runs", total=total, left="")
        self._progress.start()

    def move(self, finished: int, left: str) -> None:
        """Shows how far it is."""
        self._progress.update(self._task, completed=finished, left=f"{left} left")

    def stop(self) -> None:
        """Removes the bar."""
        self._progress.stop()


def _make_bar(total: int) -> _Bar:
    return _Bar(total)
