"""Looking things up in sorted arrays of whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def find_sorted(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each wanted number in the sorted, distinct ``keys``; -1 where it is not."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0  # whatever stands there is smaller, so it does not match
    return np.where(keys[places] == wanted, places, -1)
