"""Experiments on a graph so small that a run takes a moment, and runs that go wrong."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.registry import Experiment, experiments, grid, register

DATA = {"options": {"num_nodes": 80, "num_features": 30, "num_classes": 3}}
METHODS = ("sage", "fp+sage", "grafenne")


def register_tiny() -> None:
    """Adds the experiments, unless they are there."""
    if "tiny" in experiments():
        return
    for name in ("tiny", "tiny-too"):
        cells = grid(name, ("synthetic",), METHODS, (0.5, 0.99), search="tiny", data=DATA)
        register(Experiment(name=name, title="Tiny", paper="none", cells=cells))
    links = {**DATA, "split": "edges"}
    cells = grid("tiny-links", ("synthetic",), ("sage", "fp+sage"), (0.5,), data=links)
    cells += grid(
        "tiny-links",
        ("synthetic",),
        ("fp+sage",),
        (0.5,),
        data={**links, "leaked": True},
        extra={"leaked": True},
    )
    register(Experiment(name="tiny-links", title="Tiny links", paper="none", cells=cells))
    register(
        Experiment(
            name="tiny-counts",
            title="Tiny counts",
            paper="none",
            cells=[Cell("tiny-counts", "synthetic", "counts", data=DATA)],
            run="grafenne.experiments.statistics:count_dataset",
            configure="grafenne.experiments.statistics:configure_counts",
            seeds=1,
            unit="count",
        )
    )
    for name in ("broken", "killed", "slow"):
        register(
            Experiment(
                name=name,
                title="Goes wrong",
                paper="none",
                cells=[Cell(name, "synthetic", method) for method in ("good", "bad")],
                run=f"tests.experiments.tiny:run_{name}",
                configure="tests.experiments.tiny:configure",
                seeds=2,
            )
        )
    cells = [
        Cell("shared", "synthetic", "any", extra={"strategy": name}) for name in ("good", "bad")
    ]
    register(
        Experiment(
            name="shared",
            title="Runs in one process",
            paper="none",
            cells=cells,
            run="tests.experiments.tiny:run_shared",
            configure="tests.experiments.tiny:configure",
            together="strategy",
            seeds=2,
        )
    )


def configure(cell: Cell, *, chosen: Any, epochs: int | None) -> dict[str, Any]:
    """What decides the runs below."""
    return {"epochs": epochs}


def run_broken(
    *, keys: Mapping[str, Any], seed: int, config: Any, root: Path | None
) -> dict[str, Any]:
    """Fails for the bad method, unless a file says otherwise."""
    if keys["method"] == "bad" and not (root is not None and (root / "good").exists()):
        raise ValueError("this one is bad")
    return {"value": 0.25 + seed / 2, "metric": "accuracy", "seconds": 0.5}


def run_killed(
    *, keys: Mapping[str, Any], seed: int, config: Any, root: Path | None
) -> dict[str, Any]:
    """Dies as by a lack of memory for the bad method."""
    if keys["method"] == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": 0.5, "metric": "accuracy"}


def run_slow(
    *, keys: Mapping[str, Any], seed: int, config: Any, root: Path | None
) -> dict[str, Any]:
    """The good method ends at once; the bad one writes down who it is and goes on for long."""
    if keys["method"] == "bad" and "SLOW" in os.environ:
        Path(os.environ["SLOW"]).write_text(str(os.getpid()))
        time.sleep(600)
    return {"value": 0.5, "metric": "accuracy"}


def run_shared(
    *,
    keys: Sequence[Mapping[str, Any]],
    seed: int,
    config: Any,
    tell: Callable[[Mapping[str, Any]], None],
    root: Path | None,
) -> None:
    """Tells which process each run was made in; the bad strategy fails like :func:`run_broken`."""
    for place, cell in enumerate(keys):
        if cell["strategy"] == "bad" and not (root is not None and (root / "good").exists()):
            raise ValueError("this one is bad")
        rows = [{"step": 0, "value": float(os.getpid())}]
        tell({"place": place, "metric": "accuracy", "value": 0.25 + seed / 2, "rows": rows})
