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

    indptr: NDArray[np.int64]
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
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        places = np.repeat(starts - indptr[:-1], counts)
        places += np.arange(indptr[-1])
        scale = None
        if limit is not None:
            cut = np.flatnonzero(sizes > limit)
            if len(cut):
                offsets = draw_distinct(sizes[cut], limit, generator)
                target = indptr[cut, None] + np.arange(limit)
                places[target] = starts[cut, None] + offsets
                scale = sizes / np.maximum(counts, 1)
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
    drawn = np.empty((len(sizes), count), dtype=np.int64)
    large = sizes > 2 * count
    wanted = np.full(int(large.sum()), count, dtype=np.int64)
    drawn[large] = _draw_padded(sizes[large], wanted, count, generator)

    small = sizes[~large]
    left_out = _draw_padded(small, small - count, count, generator)
    kept = np.arange(3 * count) < small[:, None]  # wide enough for the padding of left_out
    np.put_along_axis(kept, left_out, False, axis=1)
    drawn[~large] = np.nonzero(kept)[1].reshape(-1, count)
    return drawn


def _draw_padded(
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    width: int,
    generator: np.random.Generator,
) -> Integers:
    """``counts[row]`` different numbers below ``sizes[row]``, rising, then numbers beyond it."""
    largest = int(sizes.max(initial=0)) + width
    dtype = np.int32 if largest < 2**31 else np.int64
    column = np.arange(width)
    numbers = (generator.random((len(sizes), width)) * sizes[:, None]).astype(dtype)
    np.copyto(numbers, (sizes[:, None] + column).astype(dtype), where=column >= counts[:, None])
    numbers.sort(axis=1)
    unfinished = np.flatnonzero(_repeats(numbers).any(axis=1))
    # Redrawing only the repeated numbers treats all numbers alike, so the final set is uniform.
    while len(unfinished):
        part = numbers[unfinished]
        row, place = np.nonzero(_repeats(part))
        part[row, place + 1] = generator.random(len(row)) * sizes[unfinished[row]]
        part.sort(axis=1)
        numbers[unfinished] = part
        unfinished = unfinished[_repeats(part).any(axis=1)]
    return numbers


def _repeats(numbers: Integers) -> NDArray[np.bool_]:
    repeated: NDArray[np.bool_] = numbers[:, 1:] == numbers[:, :-1]
    return repeated
