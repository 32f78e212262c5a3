"""Local numbers for the nodes or features of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grafenne.sampling.rows import Integers


class Numbering:
    """Numbers positions 0, 1, 2, … in the order in which they are first met.

    A table with a place for every position of the graph makes this a few array reads. It is
    allocated once; clearing it costs only as much as was numbered.

    Args:
        size: Number of positions in the graph.
    """

    def __init__(self, size: int) -> None:
        self._number = np.full(size, -1, dtype=np.int32 if size < 2**31 else np.int64)
        self._parts: list[NDArray[np.int64]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def positions(self) -> NDArray[np.int64]:
        """The numbered positions, by number."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.empty(0, dtype=np.int64)

    def number(self, positions: Integers) -> Integers:
        """The numbers of these positions; those not met before get the next ones."""
        numbers: Integers = self._number[positions]
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            fresh = positions[unknown].astype(np.int64)
            # Of several equal positions exactly one finds its own mark again.
            mark = np.arange(len(fresh), dtype=self._number.dtype)
            self._number[fresh[::-1]] = mark[::-1]
            first = fresh[self._number[fresh] == mark]
            self._number[first] = np.arange(self._count, self._count + len(first))
            self._parts.append(first)
            self._count += len(first)
            numbers[unknown] = self._number[fresh]
        return numbers

    def clear(self) -> None:
        """Forgets all numbers."""
        self._number[self.positions] = -1
        self._parts, self._count = [], 0
