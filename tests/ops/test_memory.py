from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys
import numpy as np
from contextlib import nullcontext
from grafenne.ops.memory import kept_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

with kept_memory() if sys.argv[1] == "kept" else nullcontext():
    np.ones(1 << 23)  # 64 MiB, freed at once
    before = faults()
    for _ in range(5):
        np.ones(1 << 23)
print(faults() - before)
"""


def faults(how: str) -> int:
    """Page faults while 64 MiB are taken and freed five times, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS, how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_memory_that_is_freed_and_taken_again_is_not_mapped_anew() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("only glibc is told to keep memory")
    assert faults("kept") < faults("given back") / 10
