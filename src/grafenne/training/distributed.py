"""Several processes that train one network, on PyTorch's DistributedDataParallel.

``torchrun`` starts the processes and starts them again when one is lost. All of them have the
same seed, so they draw the same batches without a word; each computes the loss of its share of a
batch, and only gradients travel. The first process alone writes: the log, the checkpoint, the
model. Without ``torchrun`` everything here does nothing.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from grafenne.errors import ParameterError, TrainingError

Compute = Callable[[], Tensor]
LONGEST_WAIT = 300.0
"""Seconds in which all processes must have started."""


@dataclass(frozen=True)
class World:
    """The processes of a run.

    Attributes:
        rank: Number of this process; 0 is the one that writes.
        size: How many there are.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there is no other."""
        return self.size == 1

    def share(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The part of a batch that this process computes.

        A batch with fewer nodes than processes gives some of them a node that another has, too:
        every process must take part in every step.
        """
        mine = positions[self.rank :: self.size]
        return mine if len(mine) else positions[:1]


def world() -> World:
    """The processes of the present run."""
    if distributed.is_available() and distributed.is_initialized():
        return World(distributed.get_rank(), distributed.get_world_size())
    return World()


def check_alone(reason: str) -> None:
    """Raises an error with this reason where there are several processes."""
    if not world().alone:
        raise ParameterError(reason)


def local_rank() -> int:
    """Number of this process on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def is_restarted() -> bool:
    """Whether ``torchrun`` started the processes again after one was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined(device: str | None = None) -> Iterator[World]:
    """Joins the other processes that ``torchrun`` started; by itself without it.

    Args:
        device: Where to compute: ``cpu`` talks through gloo, ``cuda`` through NCCL, each process
            of a machine with a processor of its own.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or not world().alone:
        yield world()
        return
    kind = torch.device(device or "cpu").type
    if kind not in ("cpu", "cuda"):
        raise ParameterError(f"Several processes train on cpu or cuda, got {device!r}.")
    if kind == "cuda":
        torch.cuda.set_device(local_rank())
    store, rank, size = next(rendezvous("env://"))
    distributed.init_process_group(
        # States and checkpoints live in main memory also where gradients do not.
        "gloo" if kind == "cpu" else "cpu:gloo,cuda:nccl",
        store=_own_store(store, rank, size),
        rank=rank,
        world_size=size,
    )
    try:
        yield world()
    finally:
        distributed.destroy_process_group()


def _own_store(store: Any, rank: int, size: int) -> Any:
    """A part of the store that holds nothing of an earlier start.

    ``torchrun`` keeps one store for all restarts (and no number of them that all machines agree
    on), so a process could read the address of one that is gone, and wait for it. Here each
    process says a word that was never said before, and the first one answers to that very word
    with the name of the part to use.
    """
    word = uuid.uuid4().hex
    if rank:
        store.set(f"grafenne/hello/{rank}", word)
        name = store.get(f"grafenne/welcome/{word}").decode()  # waits for it
        store.set(f"grafenne/heard/{name}/{rank}", "yes")
        return PrefixStore(name, store)
    deadline = time.monotonic() + LONGEST_WAIT
    missing = set(range(1, size))
    while missing:
        for other in sorted(missing):
            if store.check([f"grafenne/hello/{other}"]):  # perhaps still an earlier one
                said = store.get(f"grafenne/hello/{other}").decode()
                store.set(f"grafenne/welcome/{said}", word)
            if store.check([f"grafenne/heard/{word}/{other}"]):
                missing.remove(other)
        if missing and time.monotonic() > deadline:
            raise TrainingError(
                f"Process {min(missing)} of {size} did not join within {LONGEST_WAIT:.0f} s."
            )
        time.sleep(0.02)
    return PrefixStore(word, store)


class _Losses(nn.Module):
    """Computes a given loss; the wrapper needs the network inside the module that it calls."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, compute: Compute) -> Tensor:
        return compute()


def parallel(network: nn.Module) -> Callable[[Compute], Tensor]:
    """A function that computes losses whose gradients are averaged over all processes.

    Args:
        network: The network; the first process's weights go to all others.
    """
    if world().alone:
        return lambda compute: compute()
    # Some parameters take no part (slopes where all values are 1), and not in every batch.
    return nn.parallel.DistributedDataParallel(_Losses(network), find_unused_parameters=True)


def of_main(*numbers: float) -> list[float]:
    """The numbers as the first process has them."""
    told = torch.tensor(numbers, dtype=torch.float64)
    if not world().alone:
        distributed.broadcast(told, src=0)
    return told.tolist()


def mean_of_all(number: float) -> float:
    """The mean over all processes."""
    size = world().size
    if size == 1:
        return number
    total = torch.tensor(number, dtype=torch.float64)
    distributed.all_reduce(total)
    return float(total) / size


def bytes_of_main(content: Callable[[], bytes]) -> bytes:
    """What the first process reads, in every process: a disk need not be shared.

    Args:
        content: Reads it; called in the first process only.
    """
    if world().alone:
        return content()
    data = torch.frombuffer(bytearray(content()), dtype=torch.uint8) if world().is_main else None
    [size] = of_main(0.0 if data is None else len(data))
    if data is None:
        data = torch.empty(int(size), dtype=torch.uint8)
    distributed.broadcast(data, src=0)
    return data.numpy().tobytes()


def exchange_rows(rows: Tensor, shares: list[list[tuple[int, int]]]) -> None:
    """Gives every process the rows that the others computed.

    Args:
        rows: ``[rows, width]`` in main memory, own rows filled in.
        shares: For each process, the spans of rows that are its own, one after another.
    """
    if world().alone:
        return
    for rank, spans in enumerate(shares):
        if spans:
            distributed.broadcast(rows[spans[0][0] : spans[-1][1]], src=rank)


def wait_for_all() -> None:
    """Returns when every process has come this far."""
    if not world().alone:
        distributed.barrier()
