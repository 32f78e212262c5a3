"""Load: many predictions in one process, and several threads with one model."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grafenne import FeatureGraph, GrafenneClassifier
from grafenne.data.vocabulary import Vocabulary
from grafenne.datasets import load
from grafenne.estimators.persistence import load_estimator
from torture.load_memory import allocated_mb, living, resident_mb
from torture.settings import Settings

PREDICTIONS = 100
LARGEST_RELEASE = "sid"
"""The release with the most packages."""

COUNTED = (FeatureGraph, Vocabulary, torch.nn.Linear)
"""What a leak would leave behind."""

MOST_GROWTH_MB = 5.0
"""Growth of the resident memory beyond this counts as broken, in a process with nothing else."""

MOST_HELD_MB = 1.0
"""Growth of what was asked for and not given back beyond this counts as broken, anywhere."""


def run(settings: Settings) -> dict[str, Any]:
    """Predictions on ``debian``, and threads on ``debian-mini``."""
    full = "debian" if os.environ.get("GRAFENNE_DATA") else "debian-mini"
    return {
        "predictions": many_predictions(full, settings),
        "threads": many_threads(settings),
    }


def small_model(graph: FeatureGraph, **more: Any) -> GrafenneClassifier:
    """A model that has learned a little; load does not depend on how much."""
    return GrafenneClassifier(**{"width": 16, "epochs": 2, **more}).fit(graph)


def many_predictions(name: str, settings: Settings) -> dict[str, Any]:
    """Asks one model about one graph again and again."""
    graph = load(name, release=LARGEST_RELEASE)
    model = small_model(graph)
    count = settings.times(PREDICTIONS)
    ask_again(model, graph, max(3, count // 10))
    resident, counted, held = resident_mb(), living(*COUNTED), allocated_mb()
    ask_again(model, graph, count)
    held_growth = allocated_mb() - held
    growth = resident_mb() - resident
    told = f"{growth:+.2f} MB resident, {held_growth:+.3f} MB held"
    settings.say(f"{count} predictions on {name}: {told}")
    expect(held_growth <= MOST_HELD_MB, f"{count} predictions took {told}")
    if count >= PREDICTIONS:
        expect(growth <= MOST_GROWTH_MB, f"{count} predictions took {told}")
    expect_no_more(counted)
    return {
        "dataset": name,
        "nodes": graph.num_nodes,
        "predictions": count,
        "resident_mb": round(resident, 1),
        "growth_mb": round(growth, 2),
        "held_growth_mb": round(held_growth, 3),
    }


def ask_again(model: GrafenneClassifier, graph: FeatureGraph, count: int) -> None:
    """Predicts so many times, every tenth time on a copy of the graph; all must be the same."""
    first = model.predict_proba(graph)
    for number in range(count):
        asked = graph.replace() if number % 10 == 0 else graph
        if not np.array_equal(first, model.predict_proba(asked)):
            raise RuntimeError(f"Prediction {number} differs from the first one.")
    del asked
    model.predict_proba(graph)  # the copy that was kept for speed goes


def many_threads(settings: Settings) -> dict[str, Any]:
    """Two threads predict with one loaded model while a third loads models."""
    graph = load("debian-mini")
    asked = 0
    for name, more in THREAD_SETTINGS.items():
        folder = settings.folder / f"threads-{name}"
        small_model(graph, **more).save(folder)
        asked += ask_in_threads(folder, graph, settings.times(20))
        settings.say(f"{asked} answers of two threads compared")
    return {"settings": len(THREAD_SETTINGS), "answers_compared": asked}


THREAD_SETTINGS: dict[str, dict[str, Any]] = {
    "whole": {},
    "blocks": {"batch_size": 1024},
    "labels": {"labels_as_features": True},
    "structural": {"features": "structural"},
}
"""Models whose predictions go different ways."""


def ask_in_threads(folder: Path, graph: FeatureGraph, rounds: int) -> int:
    """Asks a fresh model in two threads at once, a third one loading it; all must agree.

    Returns:
        How many answers were compared, each of them bit for bit.
    """
    expected = load_estimator(folder).predict_proba(graph.replace())
    compared = 0
    with ThreadPoolExecutor(3) as threads:
        for _ in range(rounds):
            model, fresh = load_estimator(folder), graph.replace()
            work = [threads.submit(model.predict_proba, fresh) for _ in range(2)]
            other = threads.submit(lambda: load_estimator(folder).predict_proba(graph))
            for answer in (*work, other):
                expect(np.array_equal(expected, answer.result()), f"{folder.name}: threads differ")
                compared += 1
    return compared


def expect_no_more(counted: dict[str, int]) -> None:
    """Raises if there are more objects than there were."""
    now = living(*COUNTED)
    grown = any(now[name] > before for name, before in counted.items())
    expect(not grown, f"objects grew from {counted} to {now}")


def expect(held: bool, otherwise: str) -> None:
    """Raises unless what was promised holds."""
    if not held:
        raise RuntimeError(otherwise)
