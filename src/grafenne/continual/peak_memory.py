"""How much memory a piece of work takes, where the system tells."""

from __future__ import annotations

from pathlib import Path


class PeakMemory:
    """Most memory of the process inside the block, above what it held before (Linux only)."""

    _status, _reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def __init__(self) -> None:
        self.bytes: int | None = None
        self._held: int | None = None

    def __enter__(self) -> PeakMemory:
        import ctypes

        try:
            # Memory that was freed but not given back would hide what is used now.
            ctypes.CDLL(None).malloc_trim(0)
            self._reset.write_text("5")
            self._held = self._read("VmRSS")
        except (OSError, AttributeError, TypeError, ValueError):
            self._held = None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._held is not None:
            self.bytes = max(self._read("VmHWM") - self._held, 0)

    def _read(self, field: str) -> int:
        for line in self._status.read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
        raise ValueError(f"{self._status} does not tell {field}")
