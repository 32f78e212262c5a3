"""Whole trainings: how long until the validation loss is as low as asked."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import Tensor, nn

from benchmarks.problem import Case, Problem, load_problem
from benchmarks.results import Row
from benchmarks.variants import TrainedVariant, make_variant, too_large
from grafenne.training.loop import TrainingSettings, train

MOST_EPOCHS = 200
SLACK = 1.02  # the goal is this much above what plain PyG GraphSAGE reaches


class GoalReached(Exception):  # noqa: N818  it is no error
    """Ends a training as soon as its goal is met."""


class UntilLoss:
    """An objective that ends training when its validation loss is low enough."""

    def __init__(self, objective: Any, goal: float) -> None:
        self._objective, self._goal = objective, goal
        self.epochs = 0

    @property
    def network(self) -> nn.Module:
        """What is trained."""
        network: nn.Module = self._objective.network
        return network

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """The losses of one epoch."""
        batches: Iterator[Callable[[], Tensor]] = self._objective.batches()
        return batches

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes."""
        self.epochs += 1
        loss, metric = self._objective.validate()
        if loss <= self._goal:
            raise GoalReached
        return loss, metric


def train_until(variant: TrainedVariant, goal: float, epochs: int) -> tuple[float, int | None]:
    """Seconds, and the number of epochs it took; ``None`` if the goal was not reached."""
    objective = UntilLoss(variant.objective, goal)
    settings = TrainingSettings(epochs=epochs, patience=epochs)
    started = time.perf_counter()
    try:
        train(objective, settings, variant.bits)
    except GoalReached:
        return time.perf_counter() - started, objective.epochs
    return time.perf_counter() - started, None


def compare_trainings(
    name: str,
    case: Case,
    variants: Sequence[str],
    *,
    repeats: int = 3,
    loss: float | None = None,
    epochs: int = MOST_EPOCHS,
) -> list[Row]:
    """One row per variant; each repeat has a seed of its own, and variants take turns.

    Args:
        name: Name of the benchmark, for the rows.
        case: What to train on.
        variants: Names; the limits, which train nothing, are left out.
        repeats: Trainings of each variant.
        loss: Validation loss to reach; by default a little above the best of plain PyG GraphSAGE
            with sparse features in ``epochs`` epochs.
        epochs: Most epochs.
    """
    problem = load_problem(case.dataset)
    goal = _reference_loss(problem, case, epochs) * SLACK if loss is None else loss
    names = ["ours", *(v for v in variants if v != "ours" and not v.startswith("limit"))]
    refused = {variant: too_large(variant, problem, case) for variant in names}
    found: dict[str, list[tuple[float, int | None]]] = {variant: [] for variant in names}
    for variant in names:  # index structures and library start-up are not part of a training
        if not refused[variant]:
            make_variant(variant, problem, case).run("epoch", 1)
    for seed in range(repeats):
        for variant in names:
            if not refused[variant]:
                ready = make_variant(variant, problem, case, seed)
                found[variant].append(train_until(ready, goal, epochs))  # type: ignore[arg-type]
    return [_row(name, case, variant, found, goal, refused[variant]) for variant in names]


def _reference_loss(problem: Problem, case: Case, epochs: int) -> float:
    variant = make_variant("pyg-sage-sparse", problem, case)
    settings = TrainingSettings(epochs=epochs, patience=epochs)
    return train(variant.objective, settings, variant.bits).best_loss  # type: ignore[attr-defined]


def _row(
    name: str,
    case: Case,
    variant: str,
    found: dict[str, list[tuple[float, int | None]]],
    goal: float,
    note: str,
) -> Row:
    row = Row(
        name,
        variant,
        "train",
        case.dataset,
        case.width,
        case.heads,
        case.feature_dropout,
        note=note,
    )
    row.more["validation_loss"] = goal
    if not found[variant]:
        return row
    seconds = [duration for duration, _ in found[variant]]
    reached = [epochs for _, epochs in found[variant] if epochs is not None]
    row.repeats = len(seconds)
    row.note = f"loss {goal:.3f} after {reached} epochs"
    row.more["epochs"] = reached
    if len(reached) < len(seconds):
        row.note = f"loss {goal:.3f} not reached in {len(seconds) - len(reached)} runs"
        return row
    row.median_seconds = statistics.median(seconds)
    row.low_seconds, row.high_seconds = min(seconds), max(seconds)
    ours = found["ours"]
    if all(epochs is not None for _, epochs in ours):
        ratios = [mine / base for mine, (base, _) in zip(seconds, ours, strict=True)]
        row.ratio_to_ours = statistics.median(ratios)
        row.ratio_low, row.ratio_high = min(ratios), max(ratios)
    return row
