"""Updates: a long stream of small changes, each taken in by one model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from grafenne.datasets import load
from torture.load import COUNTED, MOST_GROWTH_MB, expect, expect_no_more, small_model
from torture.load_memory import folder_bytes, living, resident_mb
from torture.load_stream import small_changes
from torture.settings import Settings

UPDATES = 1000

SLOWEST = 1.25
"""Updates at the end may take so many times the processor time of those at the start."""


def run(settings: Settings) -> dict[str, Any]:
    """A stream of small changes, each taken in by the model."""
    graph = load("debian-mini")
    model = small_model(graph, width=8)
    count = settings.times(UPDATES)
    part, before = max(1, count // 10), graph.num_features
    seconds: list[float] = []
    held, counted, size = 0.0, {}, 0
    for number, change in enumerate(small_changes(graph, count, settings.seed)):
        started = time.process_time()
        after = graph.apply(change)
        model.update(graph, change, after=after, epochs=1, sample=5)
        seconds.append(time.process_time() - started)
        graph = after
        if number == part - 1:
            del after
            size = saved_bytes(model, settings.folder / "model")  # imports what saving needs
            held, counted = resident_mb(), living(*COUNTED)
        if (number + 1) % 100 == 0:
            settings.say(f"{number + 1} updates, {sum(seconds[-100:]) / 100:.3f} s each")
    growth = resident_mb() - held
    early, late = sum(seconds[:part]) / part, sum(seconds[-part:]) / part
    final = saved_bytes(model, settings.folder / "model")
    model.predict_proba(graph)
    expect(growth <= MOST_GROWTH_MB, f"{count} updates took {growth:.1f} MB")
    expect_no_more(counted)
    if count >= 500:
        expect(late <= SLOWEST * early, f"an update slowed down from {early} to {late} s")
    return {
        "updates": count,
        "seconds_first_tenth": round(early, 4),
        "seconds_last_tenth": round(late, 4),
        "growth_mb": round(growth, 2),
        "new_features": graph.num_features - before,
        "saved_bytes_after_first_tenth": size,
        "saved_bytes_at_the_end": final,
        "bytes_per_update": round((final - size) / max(count - part, 1)),
    }


def saved_bytes(model: Any, folder: Path) -> int:
    """Size of the model's folder."""
    model.save(folder)
    return folder_bytes(folder)
