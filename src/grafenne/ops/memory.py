"""Memory that training frees and takes again in every step stays with the process meanwhile.

The C library gives large blocks back to the system as soon as they are freed, so every state of
every layer is mapped, zeroed and faulted in anew: half of a training step on Physics at width 256
(2.8 against 1.3 seconds where the process keeps them from its start, 2.0 in runs of three steps,
which begin and end with the cost). While training lasts, glibc is asked to keep them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h
_LARGEST = 2**31 - 1
_USUAL = {_MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 64 << 20}  # where glibc itself ends up


@contextmanager
def kept_memory() -> Iterator[None]:
    """Freed memory stays with the process inside, and goes back to the system at the end.

    Does nothing where the C library is another one, or where the user has set it up already.
    """
    library = _c_library()
    if library is None:
        yield
        return
    for name in _USUAL:
        library.mallopt(name, _LARGEST)
    try:
        yield
    finally:
        for name, value in _USUAL.items():
            library.mallopt(name, value)
        library.malloc_trim(0)


def _c_library() -> Any:
    own = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in own):
        return None
    return CDLL(None)
