"""Coverage-guided mutation of every file that the readers take."""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grafenne.errors import GrafenneError
from torture.bad_input_cases import sentence_problem, time_limit
from torture.bad_input_changes import event_lines
from torture.bad_input_checks import check_result
from torture.bad_input_coverage import Coverage, mutated
from torture.bad_input_world import World, make_world
from torture.settings import Settings

EXECUTIONS = 500
"""Mutants of each file in the long form."""
LIMIT = 10.0
MOST_BYTES = 100_000
MEMORY = 8 << 30
MOST_TOLD = 30


@dataclass(frozen=True)
class Target:
    """A file whose content is mutated.

    Attributes:
        thing: What of the world is copied.
        file: The file within it; empty where the thing is the file.
        read: Reads the copy.
    """

    thing: str
    file: str
    read: Callable[[Path], Any]


def _graph(path: Path) -> Any:
    from grafenne import FeatureGraph

    return FeatureGraph.read(path)


def _delta(path: Path) -> Any:
    from grafenne import GraphDelta

    return GraphDelta.read(path)


def _model(path: Path) -> Any:
    from grafenne.estimators.persistence import load_estimator

    return load_estimator(path)


def _planetoid(path: Path) -> Any:
    from grafenne.datasets.planetoid import read_planetoid

    return read_planetoid(path, "cora")


def _coauthor(path: Path) -> Any:
    from grafenne.datasets.coauthor import read_coauthor

    return read_coauthor(path)


def _actor(path: Path) -> Any:
    from grafenne.datasets.actor import read_actor

    return read_actor(path / "out1_node_feature_label.txt", path / "out1_graph_edges.txt")


def _dblp(path: Path) -> Any:
    from grafenne.datasets.dblp import load_dblp

    return load_dblp(path)


TARGETS: dict[str, Target] = {
    **{
        f"csv-{name}": Target("tables", f"{name}.csv", _graph)
        for name in ("features", "edges", "labels", "nodes")
    },
    "csv-notes": Target("tables", "graph.json", _graph),
    "parquet-features": Target("parquet", "features.parquet", _graph),
    "parquet-labels": Target("parquet", "labels.parquet", _graph),
    "events": Target("events", "", _delta),
    "mapped-notes": Target("mapped", "graph.json", _graph),
    **{
        f"mapped-{name}": Target("directed", f"{name}.npy", _graph)
        for name in (
            *("values-indptr", "values-indices", "by-feature-places", "edges-both-indices"),
            *("edges-in-indptr", "edges-sources", "nodes-starts", "nodes-letters", "labels"),
        )
    },
    "model-json": Target("updated", "model.json", _model),
    "model-weights": Target("model", "model.safetensors", _model),
    "model-memory": Target("updated", "memory.json", _model),
    "pickle-features": Target("planetoid", "ind.cora.allx", _planetoid),
    "pickle-graph": Target("planetoid", "ind.cora.graph", _planetoid),
    "npz": Target("physics", "", _coauthor),
    "actor": Target("actor", "out1_node_feature_label.txt", _actor),
    "dblp": Target("dblp", "papers.txt", _dblp),
}


def fuzz(name: str, world: World, folder: Path, executions: int, seed: int) -> dict[str, Any]:
    """Mutates one file again and again, and keeps the mutants that reach new lines.

    Args:
        name: One of :data:`TARGETS`.
        world: The sound world.
        folder: A folder for the copy; the last mutant stays in it if the process dies.
        executions: How many mutants to read.
        seed: Seed of the mutations.

    Returns:
        What happened, ``problems`` among it.
    """
    target = TARGETS[name]
    draw = random.Random(f"{seed} {name}")
    copy = world.copy(target.thing, folder / "copy")
    path = copy / target.file if target.file else copy
    first = path.read_bytes()
    if name == "events":
        first = "\n".join(event_lines()).encode()
    queue, counts, problems = [first], Counter[str](), []
    coverage = Coverage()
    path.write_bytes(first)
    # Without a limit: the first reading imports half of the package.
    problem = check_result(target.read(copy))
    if problem is not None:
        raise AssertionError(f"{name} is not sound before it is damaged: {problem}")
    coverage.of(lambda: _outcome(target, copy))
    for _ in range(executions):
        # The newest half of the queue is as likely as the rest: it reached the rarest lines.
        parents = queue[len(queue) // 2 :] if draw.random() < 0.5 else queue
        data = mutated(draw.choice(parents), queue, draw)[:MOST_BYTES]
        path.write_bytes(data)
        is_new, (kind, problem) = coverage.of(lambda: _outcome(target, copy))
        counts[kind] += 1
        if is_new:
            queue.append(data)
        if problem is not None:
            problems.append(f"{name}: {problem}; input {data[:300]!r}")
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "executions": executions,
        "refused": counts["refused"],
        "accepted": counts["accepted"],
        "kept": len(queue),
        "lines": coverage.lines,
        "problems": problems,
    }


def _outcome(target: Target, copy: Path) -> tuple[str, str | None]:
    try:
        with time_limit(LIMIT):
            result = target.read(copy)
            return "accepted", check_result(result)
    except GrafenneError as error:
        return "refused", sentence_problem(str(error))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return "escaped", f"{type(error).__name__} escaped: {error}"[:400]


def _in_process(name: str, world: Path, folder: Path, executions: int, seed: int) -> dict[str, Any]:
    """:func:`fuzz` in a process of its own, which may not take all memory."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return fuzz(name, World(world), folder, executions, seed)


def run(settings: Settings) -> dict[str, Any]:
    """Fuzzes every file, each in a process of its own, as a crash must be seen too."""
    world = make_world(settings.folder / "world")
    executions = settings.times(EXECUTIONS)
    totals, problems = Counter[str](), []
    by_target = {}
    for name in TARGETS:
        folder = settings.folder / name
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                found = pool.submit(
                    _in_process, name, world.folder, folder, executions, settings.seed
                ).result()
            except BrokenProcessPool:
                found = {"problems": [f"{name}: the process died reading what is in {folder}"]}
        problems += found.pop("problems")
        by_target[name] = found
        # The lines of different files are partly the same, so they do not add up.
        totals.update({name: count for name, count in found.items() if name != "lines"})
        settings.say(f"{name}: {found}")
    for problem in problems[:MOST_TOLD]:
        settings.say(problem)
    if problems:
        raise AssertionError(f"{len(problems)} mutants answered wrongly; first {problems[0]}")
    return {**totals, "targets": by_target}
