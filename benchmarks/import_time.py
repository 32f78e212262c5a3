"""How long ``import grafenne`` and ``grafenne --help`` take, beside an empty Python."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.results import Row

MOST_SECONDS = 0.5
COMMANDS = {
    "import grafenne": ["-c", "import grafenne"],
    "grafenne --help": ["-m", "grafenne", "--help"],
    "python alone": ["-c", "pass"],
}


def measure_imports(name: str, repeats: int = 5) -> list[Row]:
    """One row per command; they take turns, and the first round (cold files) is not counted."""
    seconds: dict[str, list[float]] = {command: [] for command in COMMANDS}
    for _ in range(repeats + 1):
        for command, arguments in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            seconds[command].append(time.perf_counter() - started)
    rows = []
    ours = seconds["import grafenne"][1:]
    for command, durations in seconds.items():
        counted = durations[1:]
        row = Row(name, command, "start", repeats=repeats)
        row.median_seconds = statistics.median(counted)
        row.low_seconds, row.high_seconds = min(counted), max(counted)
        ratios = [mine / base for mine, base in zip(counted, ours, strict=True)]
        row.ratio_to_ours = statistics.median(ratios)
        row.ratio_low, row.ratio_high = min(ratios), max(ratios)
        if command != "python alone":
            row.hold(f"under {MOST_SECONDS} s", row.median_seconds < MOST_SECONDS)
        rows.append(row)
    return rows
