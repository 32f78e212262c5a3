"""What the processes of the tests do; they import this file by name."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grafenne import to_allotropic
from grafenne.cli.main import main as grafenne
from grafenne.errors import ParameterError
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.ops import RandomBits
from grafenne.sampling import Sampler
from grafenne.tasks.classification import NodeClassification
from grafenne.training.checkpoint import Checkpoint
from grafenne.training.distributed import joined, world
from grafenne.training.loop import TrainingSettings, train
from grafenne.training.node_objective import NodeNetwork, NodeObjective
from tests.estimators.cases import graph_for

TRAIN = np.arange(0, 17)
BATCH = 8  # 17 nodes: two batches of 8, shared evenly, and one node for two processes


def make_objective(class_weight: Any, *, sampled: bool = True) -> NodeObjective:
    """Everything drawn, nothing bounded, in double precision: only the sharing may differ."""
    graph = graph_for("classifier")
    prepared = to_allotropic(graph)
    bits = RandomBits(5)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        encoder = Grafenne(
            LearnedFeatures(graph.features, 8), width=8, dropout=0.0, feature_dropout=0.5
        )
        network = NodeNetwork(encoder, 3).double()
    weights = None if class_weight is None else {"a": 1.0, "b": 3.0, "c": 0.5}
    return NodeObjective(
        network,
        prepared,
        NodeClassification(["a", "b", "c"], weights),
        torch.arange(graph.num_nodes) % 3,
        TRAIN,
        np.arange(17, 24),
        bits,
        sampler=Sampler(prepared, 2, dtype=torch.float64) if sampled else None,
        batch_size=BATCH if sampled else None,
    )


def train_and_record(class_weight: Any) -> dict[str, np.ndarray]:
    """Two epochs with steps too small to matter; the gradient of every step."""
    objective = make_objective(class_weight)
    steps: list[np.ndarray] = []

    def record(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        parts = [p.grad for group in optimizer.param_groups for p in group["params"]]
        steps.append(torch.cat([p.flatten() for p in parts if p is not None]).numpy().copy())

    hook = register_optimizer_step_pre_hook(record)
    settings = TrainingSettings(epochs=2, learning_rate=1e-12, clip_norm=None, weight_decay=0.0)
    history = train(objective, settings, objective.bits)
    hook.remove()
    return {
        "gradients": np.stack(steps),
        "losses": np.array([epoch[:2] for epoch in history.epochs]),
    }


def worker(rank: int, size: int, port: int, folder: str) -> None:
    """One of several processes."""
    torch.set_num_threads(1)
    os.environ.update(
        RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    with joined("cpu"):
        for name, weight in (("plain", None), ("weighted", "given")):
            np.savez(Path(folder) / f"{name}-{rank}.npz", **train_and_record(weight))
        try:
            whole = make_objective(None, sampled=False)
            train(whole, TrainingSettings(epochs=1), whole.bits)
        except ParameterError as error:
            (Path(folder) / f"error-{rank}.txt").write_text(str(error))
        if grafenne(train_command(Path(folder), "calm")) != 0:
            raise RuntimeError("the training of two processes failed")


def train_command(folder: Path, name: str) -> list[str]:
    """A training with something random in every step; the graph is in ``folder``."""
    options = "--batch-size 10 --neighbours 2 --epochs 3 --width 8 --json"
    return ["train", str(folder / "graph"), "--out", str(folder / name), *options.split()]


def main() -> None:
    """``grafenne`` with a worker that is killed once: KILL_RANK in step KILL_STEP."""
    count = 0

    def kill(*_: Any) -> None:
        nonlocal count
        count += 1
        first = os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
        if first and count == int(os.environ["KILL_STEP"]) and world().rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    if "KILL_STEP" in os.environ:
        register_optimizer_step_pre_hook(kill)
    Checkpoint.is_due = lambda self: world().is_main  # type: ignore[method-assign]
    sys.exit(grafenne())


if __name__ == "__main__":
    main()
