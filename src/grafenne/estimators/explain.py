"""Which features and which neighbours decided a prediction, by name.

Each feature of the node, and each of its neighbours, is taken away in turn; its contribution is
how much the log-odds of the predicted class (or the predicted number) falls without it. Where
answers are smoothed, the class is that of the smoothed answer, and contributions are to what the
network itself says for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import ParameterError
from grafenne.estimators.checks import check_outputs
from grafenne.estimators.surroundings import Contribution, Surroundings

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.estimators.node_estimator import GrafenneNodeEstimator

Parts = Iterable[tuple[str, list[Contribution]]]


@dataclass(frozen=True)
class Explanation:
    """Why a node was predicted as it was.

    Attributes:
        node: The node.
        prediction: The predicted class or number.
        probability: Of the predicted class; ``None`` for numbers.
        features: The node's own features, strongest first.
        neighbours: The nodes joined to it, strongest first.
    """

    node: Hashable
    prediction: Any
    probability: float | None
    features: list[Contribution]
    neighbours: list[Contribution]

    def to_frame(self) -> pd.DataFrame:
        """One row per feature and neighbour."""
        return parts_frame((("feature", self.features), ("neighbour", self.neighbours)))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "node": self.node,
            "prediction": self.prediction,
            "probability": self.probability,
            "features": [vars(part) for part in self.features],
            "neighbours": [vars(part) for part in self.neighbours],
        }

    def __str__(self) -> str:
        sure = "" if self.probability is None else f" (probability {self.probability:.2f})"
        told = parts_text((("features", self.features), ("neighbours", self.neighbours)))
        return f"{self.node}: {self.prediction}{sure}\n{told}"


def parts_frame(kinds: Parts) -> pd.DataFrame:
    """Contributions as a table, one row for each."""
    import pandas as pd

    rows = [
        (kind, part.name, part.value, part.contribution) for kind, parts in kinds for part in parts
    ]
    columns = ["kind", "name", "value", "contribution"]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=columns)
    return frame


def parts_text(kinds: Parts) -> str:
    """Contributions for a person to read."""
    lines = []
    for kind, parts in kinds:
        lines.append(f"  {kind}:" if parts else f"  no {kind}")
        for part in parts:
            about = "" if part.value is None else f"  [{short_text(part.value)}]"
            lines.append(f"    {part.contribution:+8.3f}  {part.name}{about}")
    return "\n".join(lines)


def short_text(value: Any) -> str:
    """A value or label for a person to read: of a fraction, the digits that tell."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def check_top(top: int | None) -> None:
    """Raises unless ``top`` is a number of parts, or ``None`` for all."""
    if top is not None and top < 1:
        raise ParameterError(f"top must be at least 1, or None for all, got {top}.")


def explain_node(
    estimator: GrafenneNodeEstimator, graph: FeatureGraph, node: Hashable, *, top: int | None = 10
) -> Explanation:
    """Explains the prediction for one node.

    Args:
        estimator: A fitted node estimator.
        graph: The graph that holds the node.
        node: Its id.
        top: How many features and neighbours to keep, the strongest first; ``None`` for all.
    """
    check_top(top)
    around = Surroundings(estimator, graph, [graph.nodes.position(node)])
    asking = _Asking(estimator, around)
    prediction, probability = estimator._read_output(asking.outputs(around.part))
    smoothed = estimator._smoothed(graph, node)
    if smoothed is not None:
        asking.target, prediction, probability = smoothed
    base = asking.answer(around.part)
    features, neighbours = around.contributions(0, asking.answer, base, top)
    return Explanation(node, prediction, probability, features, neighbours)


class _Asking:
    """Reads the number that contributions are measured in."""

    def __init__(self, estimator: GrafenneNodeEstimator, around: Surroundings) -> None:
        self.estimator, self.around, self.target = estimator, around, -1

    def outputs(self, part: AllotropicGraph) -> Tensor:
        """Outputs of the node in a part, ``[output_width]``."""
        with torch.no_grad():
            outputs: Tensor = self.estimator.network_.head(self.around.states(part)[:1])
        check_outputs(outputs.cpu(), self.around.graph, torch.tensor(self.around.centres))
        return outputs[0]

    def answer(self, part: AllotropicGraph) -> float:
        """The log-odds of the predicted class, or the predicted number."""
        outputs = self.outputs(part)
        if self.estimator.task_name == "regression":
            return float(self.estimator._read_output(outputs)[0])
        if len(outputs) == 1:  # a single class: its odds are beyond all numbers
            return float(outputs[0])
        if self.target < 0:
            self.target = int(outputs.argmax())
        log_probability = torch.log_softmax(outputs.cpu().double(), dim=0)
        rest = torch.logsumexp(
            torch.cat((log_probability[: self.target], log_probability[self.target + 1 :])), dim=0
        )
        return float(log_probability[self.target] - rest)
