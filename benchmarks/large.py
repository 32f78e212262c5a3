"""A graph that is too large for one batch: sampled training and exact inference in blocks.

The graph is written once as a folder of mapped arrays, by a process of its own. Another process
opens it, trains some steps and infers for all nodes, each with its peak of resident memory (which
counts the pages of the mapped files that it touched).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.memory import _largest, _read, _reset_peak
from benchmarks.results import Row
from benchmarks.variants import Unvalidated, build_encoder
from grafenne.errors import ParameterError
from grafenne.sampling import Sampler, iterate_batches

MOST_MB, MOST_SHARE = 8000.0, 1 / 3


@dataclass(frozen=True)
class LargeCase:
    """What is measured; the defaults are the bound's.

    Attributes:
        nodes: Number of nodes; features are a tenth of them, edges ten and values thirty times.
        width: Width of the hidden states.
        batch_size: Training nodes per step.
        neighbours: Most neighbours per node and layer.
        features_per_node: Most features per node, by layer.
        nodes_per_feature: Most nodes per feature.
        steps: Number of steps that are timed.
    """

    nodes: int = 1_000_000
    width: int = 64
    batch_size: int = 1024
    neighbours: int = 5
    features_per_node: tuple[int, int] = (10, 3)
    nodes_per_feature: int = 2
    steps: int = 5


def parse_size(dataset: str) -> int:
    """The number of nodes in a name such as ``large-1e6``."""
    try:
        return int(float(dataset.removeprefix("large-")))
    except ValueError:
        raise ParameterError(f"The size of {dataset!r} is not a number.") from None


def measure_large(name: str, case: LargeCase) -> list[Row]:
    """Rows of a training step and of an inference pass.

    Args:
        name: Name of the benchmark, for the rows.
        case: What to measure.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = _process("make", folder, case)
        found = _process("run", folder, case)
    dataset = f"large-{case.nodes:.0e}".replace("e+0", "e")
    step = Row(name, "ours", "step", dataset, case.width, 1, repeats=case.steps)
    _fill(step, found["step_seconds"], found["step_mb"], found["values"])
    share = found["sampler_seconds"] / (step.median_seconds or 1.0)
    step.more = {**found, **made, **asdict(case), "sampler_share": share}
    step.note = (
        f"sampler {share:.0%} of the step, {found['sampled_nodes']:,} nodes in a sample, process "
        f"{found['step_mb'] / 1e3:.2f} GB"
    )
    step.hold(f"process under {MOST_MB / 1e3:g} GB", found["step_mb"] < MOST_MB)
    step.hold("sampler at most a third of the step", share <= MOST_SHARE)
    infer = Row(name, "ours", "evaluate", dataset, case.width, 1, repeats=1)
    _fill(infer, found["inference_seconds"], found["inference_mb"], found["values"])
    infer.note = f"all nodes, exact, process {found['inference_mb'] / 1e3:.2f} GB"
    infer.hold(f"process under {MOST_MB / 1e3:g} GB", found["inference_mb"] < MOST_MB)
    return [step, infer]


def _fill(row: Row, seconds: list[float], megabytes: float, values: int) -> None:
    row.median_seconds = statistics.median(seconds)
    row.low_seconds, row.high_seconds = min(seconds), max(seconds)
    row.process_mb, row.values = megabytes, values


def _process(work: str, folder: str, case: LargeCase) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", work, folder, json.dumps(asdict(case))],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    if done.returncode != 0:
        raise RuntimeError(f"'{work}' ended with code {done.returncode}: {done.stderr[-500:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def make(folder: str, case: LargeCase) -> dict[str, Any]:
    """Writes the graph."""
    from grafenne.datasets.synthetic import synthetic

    graph = synthetic(
        case.nodes, max(case.nodes // 10, 10), 16, values_per_node=30, degree=20, seed=0
    )
    target = Path(folder) / "graph"
    graph.write(target, format="mapped")
    size = sum(path.stat().st_size for path in target.iterdir())
    return {"folder_mb": size / 1e6, "edges": graph.num_edges}


def run(folder: str, case: LargeCase) -> dict[str, Any]:
    """Opens the graph, trains and infers."""
    from grafenne.data.mapped import open_mapped
    from grafenne.ops import RandomBits
    from grafenne.training.loop import TrainingSettings, train

    started = time.perf_counter()
    graph = open_mapped(Path(folder) / "graph")
    opened = time.perf_counter() - started
    bits = RandomBits(0)
    objective, sampler = _objective(graph, case, bits)
    stamped = Stamped(objective)
    _reset_peak()
    train(Unvalidated(stamped), TrainingSettings(epochs=1), bits)
    step_mb = _read("VmHWM") or _largest()
    sampling = []
    generator = np.random.default_rng(1)
    batches = iterate_batches(objective.train.numpy(), case.batch_size, generator)
    for positions in list(batches)[: case.steps]:
        started = time.perf_counter()
        sample = sampler.sample(positions)
        sampling.append(time.perf_counter() - started)
    sampled = len(sample.node_positions[0])
    del sample
    _reset_peak()
    started = time.perf_counter()
    objective.validate()
    return {
        "open_seconds": opened,
        "step_seconds": stamped.seconds(),
        "step_mb": step_mb,
        "sampler_seconds": statistics.median(sampling),
        "sampled_nodes": sampled,
        "inference_seconds": [time.perf_counter() - started],
        "inference_mb": _read("VmHWM") or _largest(),
        "values": graph.num_values,
        "parameters": sum(p.numel() for p in objective.network.parameters()),
        "threads": torch.get_num_threads(),
    }


def _objective(graph: Any, case: LargeCase, bits: Any) -> tuple[Any, Sampler]:
    from benchmarks.problem import Case, Problem
    from grafenne.allotrope import to_allotropic
    from grafenne.data.split import Split, random_split
    from grafenne.tasks.classification import NodeClassification
    from grafenne.training.node_objective import NodeNetwork, NodeObjective

    split = random_split(graph, seed=0)
    # One epoch is then a warm-up and the steps that are timed.
    split = Split(split.train[: case.batch_size * (case.steps + 2)], split.validation, split.test)
    task = NodeClassification(graph.labels.classes)
    problem = Problem(graph, to_allotropic(graph), task, task.targets(graph), split)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        encoder = build_encoder(problem, Case("large", case.width))
        network = NodeNetwork(encoder, task.output_width)
    sampler = Sampler(
        problem.graph,
        encoder.num_layers,
        neighbours=case.neighbours,
        features_per_node=list(case.features_per_node),
        nodes_per_feature=case.nodes_per_feature,
    )
    objective = NodeObjective(
        network,
        problem.graph,
        task,
        problem.targets,
        split.train,
        split.validation,
        bits,
        sampler=sampler,
        batch_size=case.batch_size,
    )
    return objective, sampler


class Stamped:
    """An objective that notes when each step begins."""

    def __init__(self, objective: Any) -> None:
        self.objective, self.network = objective, objective.network
        self.moments: list[float] = []

    network: nn.Module

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """The losses of one epoch."""
        for compute in self.objective.batches():
            yield partial(self._noted, compute)

    def _noted(self, compute: Callable[[], Tensor]) -> Tensor:
        self.moments.append(time.perf_counter())
        return compute()

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes."""
        validated: tuple[float, float] = self.objective.validate()
        return validated

    def seconds(self) -> list[float]:
        """From step to step, the first one left out."""
        return [float(gap) for gap in np.diff(self.moments)[1:]]


if __name__ == "__main__":
    given = LargeCase(**json.loads(sys.argv[3]))
    print(json.dumps({"make": make, "run": run}[sys.argv[1]](sys.argv[2], given)))
