"""The results of strategies on a stream: a row per step, and a summary per strategy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grafenne.continual import metrics

if TYPE_CHECKING:
    import pandas as pd

GROUPS = ("all", "affected", "unaffected", "new")
"""Groups of test nodes that are told apart at each step."""


@dataclass
class StepResult:
    """One strategy at one step.

    Attributes:
        strategy: Its name.
        step: Number of the step; 0 is the first snapshot.
        accuracy: By group, after the update.
        before_update: By group, of the model before the update, on the same graph.
        groups: Accuracy on the test nodes that each step so far touched, see
            :mod:`grafenne.continual.metrics`.
        nodes: Number of test nodes by group.
        seconds: Time of the update, without evaluation.
        peak_memory: Most memory of the process during the update, in bytes above what it held
            before; ``None`` where the system does not tell.
        stored_numbers: What the strategy keeps between updates besides the parameters.
        report: What the update did.
    """

    strategy: str
    step: int
    accuracy: dict[str, float]
    before_update: dict[str, float]
    groups: list[float]
    nodes: dict[str, int]
    seconds: float
    peak_memory: int | None = None
    stored_numbers: int = 0
    report: dict[str, Any] = field(default_factory=dict)


class StreamResults:
    """What :func:`~grafenne.continual.evaluation.run_stream` returns.

    Args:
        steps: The results, strategy by strategy and step by step.
        seed: Seed of the run.
    """

    def __init__(self, steps: Iterable[StepResult], seed: int) -> None:
        self.steps, self.seed = list(steps), seed

    @property
    def strategies(self) -> list[str]:
        """Names of the strategies, in order."""
        return list(dict.fromkeys(step.strategy for step in self.steps))

    def of(self, strategy: str) -> list[StepResult]:
        """The steps of one strategy."""
        return [step for step in self.steps if step.strategy == strategy]

    def rows(self, **labels: Any) -> list[dict[str, Any]]:
        """One flat row per strategy, step and group, for a file of results.

        Args:
            labels: Further columns, for instance ``dataset="cora"``.
        """
        return [
            {
                **labels,
                "strategy": step.strategy,
                "step": step.step,
                "seed": self.seed,
                "metric": "accuracy" if group == "all" else f"accuracy_{group}",
                "value": step.accuracy[group],
                "before_update": step.before_update[group],
                "nodes": step.nodes[group],
                "seconds": round(step.seconds, 4),
                "peak_memory": step.peak_memory,
                "stored_numbers": step.stored_numbers,
            }
            for step in self.steps
            for group in GROUPS
            if step.nodes[group]
        ]

    def table(self) -> pd.DataFrame:
        """:meth:`rows` as a table."""
        import pandas as pd

        table: pd.DataFrame = pd.DataFrame(self.rows())
        return table

    def summary(self) -> pd.DataFrame:
        """One row per strategy: the continual metrics, and time and memory per update.

        Columns that compare with the oracle are there if ``retrain`` ran, and the forward
        transfer if ``frozen`` ran. Forward transfer begins with the second step: before the first
        nobody has learned anything that could help.
        """
        import pandas as pd

        table: pd.DataFrame = pd.DataFrame([self._summarise(name) for name in self.strategies])
        return table

    def _summarise(self, name: str) -> dict[str, Any]:
        updates = self.of(name)[1:]
        told: dict[str, Any] = {"strategy": name}
        told["average"] = metrics.average_performance(_accuracies(updates, "all"))
        for group in GROUPS[1:]:
            told[group] = metrics.average_performance(_accuracies(updates, group))
        matrix = _matrix(self.of(name))
        told["forgetting"] = metrics.forgetting(matrix)
        told["backward transfer"] = metrics.backward_transfer(matrix)
        told["update forgetting"] = metrics.update_forgetting(
            [step.before_update["unaffected"] for step in updates],
            _accuracies(updates, "unaffected"),
        )
        if "frozen" in self.strategies:
            told["forward transfer"] = metrics.forward_transfer(
                [step.before_update["affected"] for step in updates[1:]],
                _accuracies(self.of("frozen")[2:], "affected"),
            )
        told["seconds"] = float(np.mean([step.seconds for step in updates])) if updates else 0.0
        peaks = [step.peak_memory for step in updates if step.peak_memory is not None]
        told["peak memory"] = int(max(peaks)) if peaks else None
        told["stored numbers"] = max((step.stored_numbers for step in updates), default=0)
        if "retrain" in self.strategies:
            oracle = self.of("retrain")[1:]
            told["gap to oracle"] = metrics.oracle_gap(
                _accuracies(updates, "all"), _accuracies(oracle, "all")
            )
            seconds = sum(step.seconds for step in oracle)
            spent = sum(step.seconds for step in updates)
            told["time of oracle's"] = spent / seconds if seconds else float("nan")
            most = max((step.peak_memory or 0 for step in oracle), default=0)
            told["memory of oracle's"] = max(peaks) / most if peaks and most else float("nan")
        return told


def _accuracies(steps: list[StepResult], group: str) -> list[float]:
    return [step.accuracy[group] for step in steps]


def _matrix(steps: list[StepResult]) -> list[list[float]]:
    """A square of accuracies; a group that is yet to come has none."""
    return [[*step.groups, *[float("nan")] * (len(steps) - len(step.groups))] for step in steps]
