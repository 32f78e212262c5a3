"""Several processes train what one would, and survive the loss of one of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from grafenne.datasets.synthetic import synthetic
from grafenne.estimators.model_files import WEIGHTS
from grafenne.training.distributed import World, bytes_of_main, mean_of_all, of_main
from tests.training.distributed_workers import train_and_record, train_command, worker

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    synthetic(60, 20, 2, seed=1).write(folder / "graph", format="mapped")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(worker, (2, port, str(folder)), nprocs=2)
    return folder


@pytest.mark.parametrize(("name", "weight"), [("plain", None), ("weighted", "given")])
def test_two_processes_have_the_gradients_of_one(
    two_processes: Path, name: str, weight: str | None
) -> None:
    alone = train_and_record(weight)
    assert alone["gradients"].shape[0] == 6  # three batches, two epochs
    assert (np.abs(alone["gradients"]).max(axis=1) > 1e-3).all()
    for rank in (0, 1):
        found = np.load(two_processes / f"{name}-{rank}.npz")
        np.testing.assert_allclose(found["gradients"], alone["gradients"], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found["losses"], alone["losses"], rtol=1e-8)


def test_a_whole_graph_is_not_shared_out(two_processes: Path) -> None:
    for rank in (0, 1):
        assert "batch_size" in (two_processes / f"error-{rank}.txt").read_text()


def test_shares_cover_a_batch() -> None:
    batch = np.array([5, 3, 9, 1, 7])
    shares = [World(rank, 3).share(batch).tolist() for rank in range(3)]
    assert shares == [[5, 1], [3, 7], [9]]
    assert [World(rank, 3).share(batch[:1]).tolist() for rank in range(3)] == [[5]] * 3


def test_alone_nothing_is_exchanged() -> None:
    assert World().alone
    assert World().is_main
    assert of_main(1.5, 2.0) == [1.5, 2.0]
    assert mean_of_all(3.0) == 3.0
    assert bytes_of_main(lambda: b"abc") == b"abc"


def run_to_the_end(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A command with processes of its own, none of which outlives it."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.terminate()  # it takes its workers along, which being killed it could not
        process.communicate(timeout=60)
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_a_killed_worker_costs_only_the_steps_since_the_last_checkpoint(
    two_processes: Path,
) -> None:
    # 36 training nodes in batches of 10: the sixth step is the second of the second epoch.
    stormy = run_to_the_end(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", "--max-restarts", "1"),
            *("-m", "tests.training.distributed_workers"),
            *train_command(two_processes, "stormy"),
        ],
        KILL_STEP="6",
    )
    assert stormy.returncode == 0, stormy.stderr
    assert stormy.stderr.count("Going on from the checkpoint") == 1
    result = json.loads(stormy.stdout)  # one result, of the first process, and nothing else
    assert (result["processes"], result["epochs"]) == (2, 3)
    calm = load_file(two_processes / "calm" / WEIGHTS)
    found = load_file(two_processes / "stormy" / WEIGHTS)
    assert calm.keys() == found.keys()
    assert all(np.array_equal(found[name], calm[name]) for name in calm)
    assert not (two_processes / "stormy.checkpoint").exists()
