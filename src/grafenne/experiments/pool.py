"""Runs tasks in processes of their own, several at a time.

Each task has a fresh process, so that one that dies takes nothing with it, and the memory it
needed at most is its own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from grafenne.experiments.registry import find_function

PRELOADED = ("grafenne.experiments.preload",)


@dataclass(frozen=True)
class Task:
    """Something to compute.

    Attributes:
        name: What it is called in events.
        function: ``module:function``; what it returns, a mapping, is told.
        arguments: Its arguments by name, plain data.
        tells: Whether it takes an argument ``tell``, to be called with a mapping each time that
            there is something to keep before it ends.
    """

    name: Any
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tells: bool = False


@dataclass(frozen=True)
class Event:
    """What happened to a task.

    Attributes:
        task: The task.
        kind: ``started``, ``told`` (something to keep), ``done`` or ``failed``.
        data: What the task told or returned; for a failure ``error``.
    """

    task: Task
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def run_tasks(tasks: Sequence[Task], *, jobs: int, threads: int) -> Iterator[Event]:
    """Runs all tasks and tells what happens.

    Args:
        tasks: The tasks; they are begun in this order.
        jobs: How many run at a time.
        threads: Threads of each.
    """
    context = _context()
    waiting = list(reversed(tasks))
    running: dict[Any, tuple[Task, Any, Connection]] = {}  # by the connection to the process
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                receiver, theirs = context.Pipe(duplex=False)
                # The other way round: it closes when this process ends, in whatever way.
                lifeline, alive = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(task, threads, theirs, lifeline))
                process.start()
                theirs.close()
                lifeline.close()
                running[receiver] = (task, process, alive)
                yield Event(task, "started")
            for ready in wait(list(running)):
                ours: Any = ready
                task, process, alive = running[ours]
                event = _next_event(task, ours)
                if event is not None and event.kind == "told":
                    yield event
                    continue
                process.join()
                del running[ours]
                ours.close()
                alive.close()
                yield event or Event(task, "failed", {"error": _how_it_died(process.exitcode)})
    finally:
        for receiver, (_, process, alive) in running.items():
            process.terminate()
            process.join()
            receiver.close()
            alive.close()


def _next_event(task: Task, connection: Connection) -> Event | None:
    try:
        kind, data = connection.recv()
    except (EOFError, OSError):
        return None
    return Event(task, kind, data)


def _how_it_died(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"the process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"the process was ended by signal {-code}"
    return f"the process ended with code {code} and told nothing"


def _context() -> Any:
    if not sys.platform.startswith("linux"):
        return multiprocessing.get_context("spawn")
    # The server has imported everything, so that a fresh process costs milliseconds.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def _work(task: Task, threads: int, connection: Connection, lifeline: Connection) -> None:
    """The whole life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the one who waits for us
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    try:
        import torch
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        torch.set_num_threads(threads)
        threadpool_limits(threads)
        arguments = dict(task.arguments)
        if task.tells:
            arguments["tell"] = lambda data: connection.send(("told", data))
        result = find_function(task.function)(**arguments) or {}
        connection.send(("done", {**result, "peak_mb": peak_megabytes()}))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        connection.send(("failed", {"error": text.splitlines()[0]}))
    connection.close()


def _end_with(lifeline: Connection) -> None:
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def peak_megabytes() -> float | None:
    """Most memory that this process held so far; ``None`` where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
