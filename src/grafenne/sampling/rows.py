"""Drawing at most k entries from each of many rows, without replacement, all rows at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from grafenne.ops import SparsePattern

Integers = NDArray[np.integer[Any]]


class Picked(NamedTuple):
    """Entries drawn from some rows.

    Attributes:
        indptr: Where each of these rows begins, ``[rows + 1]``.
        columns: Column of each entry in the whole matrix, ``[entries]``.
        places: Which entry of the whole matrix each one is, ``[entries]``, rising within a row.
        scale: By how much a sum over the drawn entries of a row must be multiplied to have the
            whole row's sum as its mean, ``[rows]``; ``None`` if every row is complete.
    """

    indptr: Integers
    columns: Integers
    places: NDArray[np.int64]
    scale: NDArray[np.float64] | None

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def pattern(self, num_columns: int) -> SparsePattern:
        """The drawn entries as a pattern of their own; ``columns`` must be numbered for it."""
        return SparsePattern(
            torch.from_numpy(self.indptr), torch.from_numpy(self.columns), num_columns
        )


class CompressedRows:
    """The rows of a sparse pattern, to draw entries from.

    Args:
        pattern: The pattern; its arrays are shared, not copied.
    """

    def __init__(self, pattern: SparsePattern) -> None:
        self.indptr: Integers = pattern.indptr.cpu().numpy()
        self.indices: Integers = pattern.indices.cpu().numpy()

    def pick(self, rows: Integers, limit: int | None, generator: np.random.Generator) -> Picked:
        """Entries of the given rows, at most ``limit`` of each, in the order of the whole matrix.

        Args:
            rows: Row positions.
            limit: Most entries per row; ``None`` for all.
            generator: Draws the entries of rows with more than ``limit``.
        """
        starts = self.indptr[rows].astype(np.int64)
        sizes = self.indptr[rows + 1] - starts
        counts = sizes if limit is None else np.minimum(sizes, limit)
        begins = _starts(counts)
        total = int(counts.sum())
        indptr = np.append(begins, total).astype(np.int32 if total < 2**31 else np.int64)
        scale = None
        cut = sizes > limit if limit is not None else np.zeros(len(sizes), dtype=bool)
        if limit is not None and cut.any():
            drawn = starts[cut, None] + draw_distinct(sizes[cut], limit, generator)
            scale = sizes / np.maximum(counts, 1)
            if cut.all():
                places = drawn.reshape(-1)
                return Picked(indptr, self.indices[places], places, scale)
        places = np.repeat(starts - begins, counts)
        places += np.arange(total)
        if scale is not None:
            places[np.repeat(cut, counts)] = drawn.reshape(-1)
        return Picked(indptr, self.indices[places], places, scale)


def draw_distinct(
    sizes: NDArray[np.int64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """For each row, ``count`` different whole numbers below its size, rising: ``[rows, count]``.

    Every subset is equally likely. The work is proportional to rows x count, however large the
    sizes are: where a row has at most twice the numbers wanted, those to *leave out* are drawn,
    so at most half of a row is ever drawn and a repeated number stays the exception.

    Args:
        sizes: Size of each row, all larger than ``count``.
        count: How many numbers to draw from each.
        generator: The source of randomness.
    """
    large = sizes > 2 * count
    if large.all():
        return _draw_rows(sizes, count, generator)
    drawn = np.empty((len(sizes), count), dtype=np.int64)
    drawn[large] = _draw_rows(sizes[large], count, generator)
    small = sizes[~large]
    kept = np.ones(small.sum(), dtype=bool)
    kept[_draw_subsets(small, small - count, generator)] = False
    drawn[~large] = np.flatnonzero(kept).reshape(-1, count) - _starts(small)[:, None]
    return drawn


def _draw_rows(
    sizes: NDArray[np.int64], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """``count`` different numbers below each size, rising, ``[rows, count]``."""
    scale = sizes[:, None].astype(np.float64)
    drawn: NDArray[np.int64] = (generator.random((len(sizes), count)) * scale).astype(np.int64)
    drawn.sort(axis=1)
    again = np.arange(len(sizes))
    part = drawn
    while True:
        repeated = part[:, 1:] == part[:, :-1]
        inside = np.flatnonzero(repeated.any(axis=1))
        if not len(inside):
            return drawn
        # Redrawing only what is repeated treats all numbers alike, so the final set is uniform.
        again, part = again[inside], part[inside]
        row, place = np.nonzero(repeated[inside])
        part[row, place + 1] = generator.random(len(row)) * sizes[again[row]]
        part.sort(axis=1)
        drawn[again] = part


def _draw_subsets(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """``counts[row]`` different numbers of each row, rising, where rows are numbered through.

    The numbers of a row run from the sum of the sizes before it to that sum plus its own size.
    """
    row = np.repeat(np.arange(len(sizes)), counts)
    start, size = _starts(sizes)[row], sizes[row]
    numbers = _draw(start, size, generator)
    numbers.sort()
    part, place = numbers, None
    while True:
        repeated = np.flatnonzero(part[1:] == part[:-1]) + 1
        if not len(repeated):
            return numbers
        # Redrawing only what is repeated treats all numbers alike, so the final set is uniform.
        part[repeated] = _draw(start[repeated], size[repeated], generator)
        touched = np.zeros(len(sizes), dtype=bool)
        touched[row[repeated]] = True
        inside = np.flatnonzero(touched[row])
        part, row, start, size = part[inside], row[inside], start[inside], size[inside]
        place = inside if place is None else place[inside]
        part.sort()  # a row's numbers stay within the row's places
        numbers[place] = part


def _draw(
    start: NDArray[np.int64], size: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    return start + (generator.random(len(start)) * size).astype(np.int64)


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    starts: NDArray[np.int64] = np.cumsum(sizes) - sizes
    return starts
