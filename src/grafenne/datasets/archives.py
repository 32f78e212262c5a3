"""Arrays from ``.npz`` files, which are read in memory and never unpacked."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.errors import DataError


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """The named arrays of a file; other members of the archive are not looked at.

    Args:
        path: The file.
        names: The arrays that must be in it.
    """
    found: dict[str, Any] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            for name in names:
                if name not in arrays:
                    raise DataError(f"{path.name} lacks an array: {name}.")
                found[name] = arrays[name]
    except DataError:
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways, all of them the file's
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DataError(f"{path.name} is damaged: {reason}.") from None
    for name, array in found.items():
        if not isinstance(array, np.ndarray):  # NumPy gives a member without header as bytes
            raise DataError(f"{path.name} is damaged: {name} is not an array.")
    return found
