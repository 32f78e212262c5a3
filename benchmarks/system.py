"""What is known about the machine."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any


def load_average() -> tuple[float, float, float]:
    """How busy the machine is: 1, 5 and 15 minutes."""
    one, five, fifteen = os.getloadavg()
    return round(one, 2), round(five, 2), round(fifteen, 2)


@lru_cache
def machine_facts() -> dict[str, Any]:
    """Processor, cores, threads and versions."""
    import torch

    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "torch_geometric": metadata.version("torch_geometric"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def available_megabytes() -> float:
    """Memory that a new process could use, in 10^6 bytes; all of it where that is not told."""
    available = _field(Path("/proc/meminfo"), "MemAvailable")
    if available:
        return int(available.split()[0]) * 1024 / 1e6
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6


def _field(path: Path, name: str) -> str:
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
