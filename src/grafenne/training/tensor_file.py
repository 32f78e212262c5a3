"""Tensors in a file of the format safetensors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

_NUMBER = re.compile(r"\(os error (\d+)\)")


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Writes tensors of any device by name.

    Args:
        tensors: The tensors. They must not share memory with each other.
        path: The file.

    Raises:
        OSError: If it cannot be written, for instance because the disk is full.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: one.detach().cpu().contiguous() for name, one in tensors.items()}, path)
    except SafetensorError as error:  # what the system said is only in its text
        found = _NUMBER.search(str(error))
        if found is None:
            raise
        number = int(found.group(1))
        raise OSError(number, os.strerror(number)) from None
