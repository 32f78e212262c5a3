"""The ways of doing the same work that are compared, by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from benchmarks.problem import Case, Problem
from benchmarks.system import available_megabytes
from grafenne.errors import unknown_name
from grafenne.estimators.classifier import GrafenneClassifier
from grafenne.estimators.fitting import fitting_feature_dropout
from grafenne.nn.features import make_features
from grafenne.nn.model import Grafenne
from grafenne.ops import RandomBits, set_random_bits
from grafenne.training.loop import Objective, TrainingSettings, train
from grafenne.training.node_objective import NodeNetwork, NodeObjective

VARIANTS = {
    "ours": "GRAFENNE as it is, through its own objective and training loop",
    "scatter": "the same equations in PyG's gather-and-scatter message passing",
    "pyg-sage": "plain PyG SAGEConv, dense features, edge_index",
    "pyg-sage-csr": "plain PyG SAGEConv, dense features, adjacency in compressed rows",
    "pyg-sage-sparse": "plain PyG SAGE, features in a sparse matrix",
    "pyg-gcn": "plain PyG GCNConv, dense features",
    "limit": "lower limit: only the dense, sparse and sampled products of the step",
    "limit-kept": "lower limit over the values that feature dropout leaves in a training step",
}
WORKS = ("step", "evaluate", "epoch")


class Variant(Protocol):
    """Something that can be timed."""

    def run(self, work: str, count: int) -> float:
        """Seconds for ``count`` of: ``step`` (training), ``evaluate``, ``epoch`` (both)."""


class Unvalidated:
    """An objective whose validation costs nothing, so that an epoch is a training step."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective

    @property
    def network(self) -> nn.Module:
        """What is trained."""
        return self._objective.network

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """The losses of one epoch."""
        return self._objective.batches()

    def validate(self) -> tuple[float, float]:
        """Never better than before: the loop keeps no further copy of the weights."""
        return 1.0, 0.0


class TrainedVariant:
    """A network in the package's own training loop, with its Adam, clipping and checks.

    Args:
        objective: What is trained.
        bits: Source of randomness.
    """

    def __init__(self, objective: Any, bits: RandomBits) -> None:
        self.objective, self.bits = objective, bits

    def run(self, work: str, count: int) -> float:
        """See :class:`Variant`."""
        if work == "evaluate":
            started = time.perf_counter()
            for _ in range(count):
                self.objective.validate()
            return time.perf_counter() - started
        objective = Unvalidated(self.objective) if work == "step" else self.objective
        settings = TrainingSettings(epochs=count, patience=count)
        return train(objective, settings, self.bits).seconds


def make_variant(name: str, problem: Problem, case: Case, seed: int = 0) -> Variant:
    """A variant, ready to run; the same seed gives ours and ``scatter`` the same weights."""
    if name not in VARIANTS:
        raise unknown_name("variant", name, VARIANTS)
    if name.startswith("limit"):
        from benchmarks.lower_limit import LowerLimit

        rate = feature_dropout(problem, case) if name == "limit-kept" else 0.0
        return LowerLimit(problem, case, GrafenneClassifier()._num_layers, rate)
    bits = RandomBits(seed)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        if name.startswith("pyg-"):
            from benchmarks.pyg_models import pyg_objective

            return TrainedVariant(pyg_objective(name[4:], problem, case.width), bits)
        encoder: Any = build_encoder(problem, case)
        if name == "scatter":
            from benchmarks.scatter_model import ScatterGrafenne

            encoder = ScatterGrafenne(encoder)
        network = NodeNetwork(encoder, problem.task.output_width)
    set_random_bits(network, bits)
    objective = NodeObjective(
        network,
        problem.graph,
        problem.task,
        problem.targets,
        problem.split.train,
        problem.split.validation,
        bits,
    )
    return TrainedVariant(objective, bits)


def build_encoder(problem: Problem, case: Case) -> Grafenne:
    """The network that the classifier builds with its defaults."""
    chosen = GrafenneClassifier().get_params(deep=False)
    return Grafenne(
        make_features(chosen["features"], problem.graph.features, case.width),
        width=case.width,
        heads=case.heads,
        num_layers=GrafenneClassifier()._num_layers,
        feature_dropout=feature_dropout(problem, case),
        **{
            name: chosen[name]
            for name in (
                "backbone",
                "mode",
                "aggregation",
                "normalisation",
                "skip",
                "dropout",
            )
        },
    )


def feature_dropout(problem: Problem, case: Case) -> float:
    """The share of values hidden in a training step."""
    if case.feature_dropout is None:
        # The classifier's choice where few nodes teach; rows measured before it had another for
        # many stay comparable.
        return fitting_feature_dropout(problem.graph, examples=0)
    return case.feature_dropout


def too_large(name: str, problem: Problem, case: Case) -> str:
    """Why a variant cannot run in the memory at hand, or nothing."""
    if name == "scatter":
        needed = _scatter_megabytes(problem, case)
    elif name.startswith("pyg-"):
        from benchmarks.pyg_models import pyg_megabytes

        needed = pyg_megabytes(name[4:], problem, case.width)
    else:
        return ""
    there = available_megabytes()
    if needed < 0.6 * there:
        return ""
    return f"not run: needs about {needed / 1e3:.1f} GB, {there / 1e3:.1f} GB are free"


def _scatter_megabytes(problem: Problem, case: Case) -> float:
    """About the messages that a training step keeps for its backward pass."""
    kept = problem.graph.incidence.num_entries * (1 - feature_dropout(problem, case))
    # Two or four arrays of messages in each of three phases; half of that again while at work.
    arrays = (2 if problem.graph.is_binary else 4) * 3 * 1.5
    return kept * case.width * 4 * arrays / 1e6
