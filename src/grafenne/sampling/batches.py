"""Cutting a list of nodes into batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grafenne.errors import ParameterError


def iterate_batches(
    positions: ArrayLike,
    batch_size: int,
    generator: np.random.Generator,
    shuffle: bool = True,
) -> Iterator[NDArray[np.int64]]:
    """Every position once, in batches; the last one may be smaller.

    Args:
        positions: Node positions, a tensor or an array.
        batch_size: Most positions in a batch.
        generator: Draws the order.
        shuffle: Whether to draw an order; otherwise it is the given one.
    """
    if batch_size < 1:
        raise ParameterError(f"batch_size must be at least 1, got {batch_size}.")
    order = np.asarray(positions, dtype=np.int64)
    if shuffle:
        order = generator.permutation(order)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]
