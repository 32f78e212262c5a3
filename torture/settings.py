"""What every suite is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """How a suite runs.

    Attributes:
        seed: Where all of the suite's randomness comes from.
        scale: How much to try; 1.0 is the long form, the tests use a small fraction.
        folder: An empty folder for whatever the suite writes; it is removed afterwards.
        say: Takes a line of progress.
    """

    seed: int
    scale: float
    folder: Path
    say: Callable[[str], None]

    def times(self, count: int) -> int:
        """``count`` in the long form, its share in a shorter one, never less than one."""
        return max(1, round(count * self.scale))
