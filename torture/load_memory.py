"""What a process holds: memory, and the settings of the libraries that it shares with others."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

PYTHON_BLOCK_BYTES = 64
"""About the size of a small Python object; those have an allocator of their own."""


def resident_mb() -> float:
    """Resident memory in 10^6 bytes, without what is only waiting to be given back (Linux)."""
    gc.collect()
    with suppress(AttributeError, OSError):  # not glibc: told as it is
        ctypes.CDLL(None).malloc_trim(0)
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("/proc/self/status does not tell VmRSS")


class MallocInfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` answers with."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated_mb() -> float:
    """Memory in 10^6 bytes that was asked for and not given back.

    Unlike the resident memory it does not depend on where the allocator finds room among what the
    process did before: what grows here is held by somebody.
    """
    gc.collect()
    python = sys.getallocatedblocks() * PYTHON_BLOCK_BYTES
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:  # not glibc
        return python / 1e6
    ask.restype = MallocInfo
    told = ask()
    return (told.uordblks + told.hblkhd + python) / 1e6


def living(*kinds: type) -> dict[str, int]:
    """How many objects of each kind are alive."""
    gc.collect()
    counts = dict.fromkeys((kind.__name__ for kind in kinds), 0)
    for item in gc.get_objects():
        if type(item) in kinds:  # isinstance would wake up lazy objects of other libraries
            counts[type(item).__name__] += 1
    return counts


def folder_bytes(folder: Path) -> int:
    """Size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def global_state() -> dict[str, Any]:
    """Everything that the whole process shares and that a library might change in passing."""
    numpy_state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return {
        "torch generator": torch.random.get_rng_state().tolist(),
        "numpy generator": repr(numpy_state),
        "python generator": random.getstate(),
        "threads": torch.get_num_threads(),
        "default type": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "gradients": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "floating point errors": np.geterr(),
        "warnings": list(warnings.filters),
        "environment": dict(os.environ),
        "folder": Path.cwd(),
    }
