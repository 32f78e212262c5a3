"""Commands in processes of their own that can be killed at any moment.

Most of them are forked from a server that has imported everything, so that they start in
milliseconds; some are started from nothing, as from a shell.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

MAIN = "grafenne.cli.main:main"
LONGEST = 120.0
"""Seconds after which a command counts as hanging."""


@dataclass(frozen=True)
class Work:
    """What a process does.

    Attributes:
        words: The words after ``grafenne``.
        folder: The folder in which it is done.
        log: Where standard output and, with ``.err``, standard error go.
        function: ``module:function`` that takes the words and returns the exit code.
        checkpoint_every: Seconds between two checkpoints.
        largest_file: Most bytes that a file may have, as on a full disk; ``None`` for no limit.
    """

    words: tuple[str, ...]
    folder: Path
    log: Path
    function: str = MAIN
    checkpoint_every: float = 0.0
    largest_file: int | None = None

    @property
    def output(self) -> str:
        """What it wrote on standard output."""
        return self.log.read_text(encoding="utf-8")

    @property
    def complaints(self) -> str:
        """What it wrote on standard error."""
        return self.log.with_suffix(".err").read_text(encoding="utf-8")


def do_work(work: Work) -> None:
    """The whole life of a process."""
    for number, path in ((1, work.log), (2, work.log.with_suffix(".err"))):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(work.folder)
    import torch

    from grafenne.training import checkpoint

    torch.set_num_threads(1)
    checkpoint.EVERY = work.checkpoint_every
    if work.largest_file is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (work.largest_file, work.largest_file))
    module, _, name = work.function.partition(":")
    code = getattr(import_module(module), name)(list(work.words))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without what multiprocessing would do at its end


class Process:
    """A running :class:`Work`.

    Args:
        work: What it does.
        bare: Whether it is started from nothing instead of being forked.
    """

    def __init__(self, work: Work, bare: bool = False) -> None:
        self.work, self.started = work, time.monotonic()
        self._process: Any
        if bare:
            told = {**vars(work), "folder": str(work.folder), "log": str(work.log)}
            words = [sys.executable, "-m", "torture.faults_process", json.dumps(told)]
            self._process = subprocess.Popen(words)
        else:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["torture.faults_preload"])
            self._process = context.Process(target=do_work, args=(work,))
            self._process.start()

    def alive(self) -> bool:
        """Whether it still runs."""
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll() is None
        return bool(self._process.is_alive())

    def wait(self, seconds: float = LONGEST) -> int:
        """Its exit code; below zero the signal that ended it."""
        end = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > end:
                self.kill()
                raise TimeoutError(f"{' '.join(self.work.words)} took over {seconds:.0f} s.")
            time.sleep(0.001)
        code = (
            self._process.returncode
            if isinstance(self._process, subprocess.Popen)
            else self._process.exitcode
        )
        return int(code)

    def kill(self) -> bool:
        """Ends it by SIGKILL; whether it was still running."""
        self._process.kill()
        if isinstance(self._process, subprocess.Popen):
            return self._process.wait() == -signal.SIGKILL
        self._process.join()
        return bool(self._process.exitcode == -signal.SIGKILL)


def finish(work: Work, bare: bool = False) -> int:
    """Does all of it and returns the exit code."""
    return Process(work, bare).wait()


def main(arguments: Sequence[str]) -> None:
    """What a process that is started from nothing does."""
    told: Mapping[str, Any] = json.loads(arguments[0])
    paths = {name: Path(told[name]) for name in ("folder", "log")}
    do_work(Work(**{**told, **paths, "words": tuple(told["words"])}))


if __name__ == "__main__":
    main(sys.argv[1:])
