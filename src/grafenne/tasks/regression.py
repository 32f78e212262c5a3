"""Node regression: targets, loss and metrics."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import DataError

LARGEST_SQUARED = 1e150
"""Squares of larger numbers may be beyond all numbers; errors are then measured in another unit."""
FARTHEST = 1e300
"""Largest size of a target: sums and differences of some are numbers too."""


class NodeRegression:
    """Predicting a number for a node.

    The network learns the number in units of the training targets' spread, so that learning
    rates mean the same whatever the unit.

    Args:
        center: Mean of the training targets.
        spread: Their standard deviation.
    """

    metric = "rmse"
    output_width = 1

    def __init__(self, center: float, spread: float) -> None:
        self.center = center
        self.spread = spread if spread > 0 else 1.0

    @classmethod
    def fitted(cls, targets: NDArray[np.float64]) -> NodeRegression:
        """The task for these training targets."""
        largest = float(np.abs(targets).max(initial=0.0)) or 1.0
        unit = largest if largest > LARGEST_SQUARED else 1.0
        return cls(float((targets / unit).mean()) * unit, float((targets / unit).std()) * unit)

    def targets(self, graph: FeatureGraph) -> Tensor:
        """Scaled target of each node, NaN where it is not known."""
        numbers = numeric_labels(graph)
        with np.errstate(over="ignore"):  # training refuses what is infinitely far away
            scaled = (numbers - self.center) / self.spread
        return torch.from_numpy(scaled).float()

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error in units of the spread."""
        return functional.mse_loss(outputs.squeeze(1), targets.to(outputs.dtype))

    training_loss = loss

    def quick_metric(self, outputs: Tensor, targets: Tensor) -> float:
        """Root mean squared error in the unit of the targets."""
        return float(self.loss(outputs, targets).sqrt()) * self.spread

    def numbers(self, outputs: Tensor) -> NDArray[np.float64]:
        """The network's outputs in the unit of the targets."""
        scaled: NDArray[np.float64] = outputs.squeeze(1).cpu().double().numpy()
        with np.errstate(over="ignore"):
            numbers: NDArray[np.float64] = scaled * self.spread + self.center
        if not np.isfinite(numbers).all():
            raise DataError(
                f"A prediction is {scaled[~np.isfinite(numbers)][0]:g} times the spread "
                f"{self.spread:g} of the training targets, which is no finite number."
            )
        return numbers


def numeric_labels(graph: FeatureGraph) -> NDArray[np.float64]:
    """The labels as numbers, NaN where unknown; class names that are numbers will do."""
    if graph.labels is None:
        raise DataError("The graph has no labels.")
    if graph.labels.kind == "number":
        return _checked(graph, graph.labels.values.astype(np.float64))
    try:
        numbers = [float(str(name)) for name in graph.labels.classes]
    except (TypeError, ValueError):
        numbers = [np.nan]
    if not np.isfinite(numbers).all():
        raise DataError("The labels of the graph are class names; use a classifier.")
    table: NDArray[np.float64] = np.array([*numbers, np.nan])
    return _checked(graph, table[graph.labels.values.astype(np.int64)])


def _checked(graph: FeatureGraph, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    far = np.flatnonzero(np.abs(numbers) > FARTHEST)
    if len(far):
        raise DataError(
            f"The label of node {graph.nodes[int(far[0])]!r} is {numbers[far[0]]}; numbers to "
            f"predict are at most {FARTHEST:g} in size."
        )
    return numbers


def regression_metrics(
    truth: NDArray[np.float64], predicted: NDArray[np.float64]
) -> dict[str, float | int | None]:
    """MAE, RMSE and R² (``None`` when the truth does not vary)."""
    if not len(truth):
        raise DataError("There is no labelled node to evaluate on.")
    unit = max(float(np.abs(truth).max()), float(np.abs(predicted).max()))
    unit = unit if unit > LARGEST_SQUARED else 1.0
    truth, predicted = truth / unit, predicted / unit
    error = predicted - truth
    spread = float(((truth - truth.mean()) ** 2).sum())
    return {
        "mae": float(np.abs(error).mean()) * unit,
        "rmse": float(np.sqrt((error**2).mean())) * unit,
        "r2": 1 - float((error**2).sum()) / spread if spread > 0 else None,
        "nodes": len(truth),
    }
