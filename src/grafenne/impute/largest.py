"""The largest cells of each node, gathered from blocks of columns that come one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rank_in_rows(
    rows: NDArray[np.int64], values: NDArray[np.floating], num_rows: int
) -> NDArray[np.int64]:
    """For each cell how many cells of its row are larger in size; equal ones are in given order.

    Args:
        rows: Row of each cell.
        values: Value of each cell.
        num_rows: Number of rows.
    """
    order = np.lexsort((-np.abs(values), rows))
    counts = np.bincount(rows, minlength=num_rows)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows)) - first
    return ranks


class LargestCells:
    """Keeps the cells of each node that are largest in size.

    For a given number of cells this is the best approximation of a row in the least-squares
    sense; :attr:`dropped_share` tells how good it is.

    Args:
        num_nodes: Number of rows.
        keep: Most cells per node; ``None`` for all cells that are not zero.
    """

    def __init__(self, num_nodes: int, keep: int | None) -> None:
        self.num_nodes, self.keep = num_nodes, keep
        self._all: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self._columns = np.zeros((num_nodes, keep or 0), dtype=np.int64)
        self._values = np.zeros((num_nodes, keep or 0), dtype=np.float32)
        self._total = 0.0

    def add(self, columns: NDArray[np.int64], cells: NDArray[np.float32]) -> None:
        """Looks at some more columns, ``cells`` is ``[num_nodes, len(columns)]``."""
        self._total += float(np.square(cells, dtype=np.float64).sum())
        if self.keep is None:
            node, place = np.nonzero(cells)
            self._all.append((node, columns[place], cells[node, place]))
            return
        if not self.keep:
            return
        values = np.concatenate((self._values, cells), axis=1)
        names = np.concatenate(
            (self._columns, np.broadcast_to(columns, (self.num_nodes, len(columns)))), axis=1
        )
        if values.shape[1] > self.keep:
            best = np.argpartition(-np.abs(values), self.keep - 1, axis=1)[:, : self.keep]
            values = np.take_along_axis(values, best, axis=1)
            names = np.take_along_axis(names, best, axis=1)
        self._values, self._columns = values, names

    def triples(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Node, column and value of each kept cell."""
        if self.keep is not None:
            node, place = np.nonzero(self._values)
            return node, self._columns[node, place], self._values[node, place]
        empty = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, np.float32))
        parts = self._all or [empty]
        node, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        return node, column, value.astype(np.float32)

    @property
    def dropped_share(self) -> float:
        """Share of the sum of squares of all cells that was left out."""
        if self.keep is None or not self._total:
            return 0.0
        kept = float(np.square(self._values, dtype=np.float64).sum())
        return max(1 - kept / self._total, 0.0)
