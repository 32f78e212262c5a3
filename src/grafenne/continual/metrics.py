"""What is told about a learner that follows a stream, as plain functions of accuracies.

A *group* i of test nodes is what step i of the stream touched; group 0 is the first snapshot.
``accuracy[t][i]`` is the accuracy of the model after step t, on the graph of step t, on the nodes
of group i that are still there. NaN stands for a group without test nodes and is left out of
every mean. Shares are from 0 to 1; multiply by 100 for points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grafenne.errors import DataError


def average_performance(per_step: Sequence[float]) -> float:
    """Mean over the steps of the accuracy on all test nodes."""
    return _mean(per_step)


def forgetting(accuracy: ArrayLike) -> float:
    """How far each earlier group has fallen from its best (Chaudhry et al., 2018).

    The mean over the groups but the last of (best accuracy after any step but the last) minus
    (accuracy after the last). Negative if they rose.
    """
    matrix = _square(accuracy)
    losses = []
    for group in range(len(matrix) - 1):
        seen = matrix[group:-1, group]
        seen = seen[~np.isnan(seen)]
        losses.append(seen.max() - matrix[-1, group] if len(seen) else np.nan)
    return _mean(losses)


def backward_transfer(accuracy: ArrayLike) -> float:
    """How later updates changed earlier groups (Lopez-Paz & Ranzato, 2017).

    The mean over the groups but the last of (accuracy after the last step) minus (accuracy right
    after the group's own step).
    """
    matrix = _square(accuracy)
    return _mean([matrix[-1, group] - matrix[group, group] for group in range(len(matrix) - 1)])


def forward_transfer(ahead: Sequence[float], frozen: Sequence[float]) -> float:
    """How earlier updates help with what comes next, before it is learnt.

    Args:
        ahead: Per step, the accuracy on the nodes it touched, of the model *before* its update.
        frozen: The same of a model that was never updated.
    """
    if len(ahead) != len(frozen):
        raise DataError(f"There are {len(ahead)} and {len(frozen)} steps; they must be as many.")
    return _mean(np.asarray(ahead, dtype=float) - np.asarray(frozen, dtype=float))


def update_forgetting(before: Sequence[float], after: Sequence[float]) -> float:
    """What updates cost the nodes that the change left alone.

    Args:
        before: Per step, the accuracy on unaffected test nodes of the model before its update.
        after: The same after the update, on the same graph.
    """
    if len(before) != len(after):
        raise DataError(f"There are {len(before)} and {len(after)} steps; they must be as many.")
    return _mean(np.asarray(before, dtype=float) - np.asarray(after, dtype=float))


def oracle_gap(per_step: Sequence[float], oracle: Sequence[float]) -> float:
    """Mean over the steps of the oracle's accuracy minus the learner's."""
    return forward_transfer(oracle, per_step)


def _square(accuracy: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(accuracy, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            f"The accuracies need a row per step and a column per group, got {matrix.shape}."
        )
    return matrix


def _mean(numbers: Sequence[float] | NDArray[np.float64]) -> float:
    known = np.asarray(numbers, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")
