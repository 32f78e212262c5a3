"""Progress of a training run: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from grafenne.training.loop import History


class Progress(Protocol):
    """Something that wants to hear of each epoch."""

    def epoch(self, history: History, epochs: int) -> None:
        """Called after each epoch."""

    def close(self) -> None:
        """Called when training ends, in whatever way."""


class PlainProgress:
    """A line every few seconds, for logs and pipes.

    Args:
        metric: Name of the validation metric.
        stream: Where to write; standard error by default, so that results stay on their own.
        every: Seconds between two lines.
    """

    def __init__(self, metric: str, stream: TextIO | None = None, every: float = 5.0) -> None:
        self.metric, self.every = metric, every
        self.stream = stream if stream is not None else sys.stderr
        self._last = time.monotonic()

    def epoch(self, history: History, epochs: int) -> None:
        """Writes a line when it is time."""
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            self.stream.write(describe_epoch(history, epochs, self.metric) + "\n")
            self.stream.flush()

    def close(self) -> None:
        """Nothing to tidy up."""


class LiveProgress:
    """A bar that moves, with loss, metric and time left.

    Args:
        metric: Name of the validation metric.
    """

    def __init__(self, metric: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.metric = metric
        self._bar = RichProgress(
            TextColumn("training"),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("training", total=None, text="")
        self._bar.start()

    def epoch(self, history: History, epochs: int) -> None:
        """Moves the bar."""
        text = describe_epoch(history, epochs, self.metric)
        self._bar.update(self._task, total=epochs, completed=len(history.epochs), text=text)

    def close(self) -> None:
        """Removes the bar."""
        self._bar.stop()


def make_progress(metric: str) -> Progress:
    """The kind that fits where standard error goes."""
    return LiveProgress(metric) if sys.stderr.isatty() else PlainProgress(metric)


def describe_epoch(history: History, epochs: int, metric: str) -> str:
    """``epoch 40/300: loss 0.512, validation loss 0.401, accuracy 0.874, 3 s left at most``."""
    loss, validation, value = history.epochs[-1]
    left = history.seconds_per_epoch * (epochs - len(history.epochs))
    return (
        f"epoch {len(history.epochs)}/{epochs}: loss {loss:.4f}, validation loss "
        f"{validation:.4f}, {metric} {value:.4f}, {left:.0f} s left at most"
    )
