"""A small world on disk that faults are tried on: graphs, a change, models."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafenne.cli.output import USAGE, complain
from grafenne.errors import GrafenneError
from grafenne.experiments.cells import Cell
from grafenne.experiments.registry import Experiment, experiments, register

SIZES: dict[str, Any] = {"num_nodes": 150, "num_features": 40, "num_classes": 3}
EXPERIMENT, RUNS = "torture", 4
"""An experiment that :func:`main` adds, and how many runs it has."""


@dataclass(frozen=True)
class World:
    """Paths of what commands read.

    Attributes:
        before: A graph.
        after: The graph after a change.
        change: The change.
        model: A model trained on the graph.
        other: Another model of it.
        results: A folder with results of an experiment.
    """

    before: Path
    after: Path
    change: Path
    model: Path
    other: Path
    results: Path


def make_world(folder: Path) -> World:
    """Writes everything below a folder."""
    from grafenne import GrafenneClassifier, random_split
    from grafenne.datasets import load_stream
    from grafenne.experiments.store import ResultFile

    names = ("before", "after", "change.jsonl", "model", "other", "results")
    world = World(*(folder / name for name in names))
    stream = load_stream("synthetic", steps=2, seed=3, **SIZES)
    before, (change,) = stream.first, tuple(stream.deltas())
    before.write(world.before, format="csv")
    before.apply(change).write(world.after, format="csv")
    change.write(world.change)
    for seed, path in enumerate((world.model, world.other)):
        estimator = GrafenneClassifier(width=8, epochs=4, random_state=seed)
        estimator.fit(before, random_split(before, 0)).save(path)
    row = {"experiment": "node-classification", "dataset": "cora", "method": "grafenne", "p": 0.0}
    ResultFile(world.results / "node-classification.jsonl").append(
        {**row, "seed": 0, "identity": "a", "value": 0.8, "metric": "accuracy", "seconds": 1.0}
    )
    return world


def main(words: list[str]) -> int:
    """``grafenne`` with one experiment more, of a few runs that take a moment."""
    from grafenne.cli.main import main as grafenne
    from grafenne.experiments import pool

    if multiprocessing.parent_process() is not None:
        # Everything is imported already in this process: a server for its own would only do so
        # once more. Commands that are started from nothing have theirs.
        pool._context = lambda: multiprocessing.get_context("fork")
    if EXPERIMENT not in experiments():
        cells = [
            Cell(EXPERIMENT, "synthetic", method, 0.5, data={"options": SIZES})
            for method in ("sage", "grafenne")
        ]
        register(Experiment(name=EXPERIMENT, title="Small", paper="none", cells=cells, seeds=2))
    return grafenne(words)


def save_repeatedly(words: list[str]) -> int:
    """Saves two models by turns under one name: the two, the name, and how often."""
    from grafenne.estimators.persistence import load_estimator

    *models, out, times = words
    loaded = [load_estimator(model) for model in models]
    try:
        for number in range(int(times)):
            loaded[number % 2].save(out)
    except GrafenneError as error:
        complain(str(error))
        return USAGE
    return 0


def save_stubbornly(words: list[str]) -> int:
    """Saves a model under a name so often; tells how often it could, and what else it was told."""
    from grafenne.estimators.persistence import load_estimator

    model, out, times = words
    loaded, saved, told = load_estimator(model), 0, []
    for _ in range(int(times)):
        try:
            loaded.save(out)
            saved += 1
        except GrafenneError as error:
            told.append(str(error))
    print(json.dumps({"saved": saved, "told": told}))
    return 0


def load_repeatedly(words: list[str]) -> int:
    """Loads a model so often; tells which ones it found, by their digests."""
    from grafenne.continual.lineage import model_digest
    from grafenne.estimators.persistence import load_estimator

    model, times = words
    found = [model_digest(load_estimator(model)) for _ in range(int(times))]
    print(json.dumps({digest: found.count(digest) for digest in sorted(set(found))}))
    return 0


def write_repeatedly(words: list[str]) -> int:
    """Writes a file full of one letter so often."""
    from grafenne.data.atomic import atomic_write

    letter, out, times = words
    for number in range(int(times)):
        with atomic_write(out) as beside:
            beside.write_text(letter * (1000 + number))
    return 0
