"""Node regression."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split
from grafenne.estimators.checks import check_graph
from grafenne.estimators.node_estimator import GrafenneNodeEstimator
from grafenne.tasks.regression import NodeRegression, numeric_labels, regression_metrics


@dataclass(kw_only=True, eq=False, repr=False)
class GrafenneRegressor(GrafenneNodeEstimator):
    """Predicts a number for nodes in a graph whose nodes have different features.

    >>> model = GrafenneRegressor().fit(graph)
    >>> model.predict(graph)

    Parameters and attributes are those of :class:`~grafenne.GrafenneClassifier`, without the ones
    about classes.
    """

    task_name: ClassVar[str] = "regression"

    dropout: float = 0.2
    feature_dropout: float | None = 0.1

    def _make_task(self, graph: FeatureGraph, split: Split) -> NodeRegression:
        return NodeRegression.fitted(numeric_labels(graph)[split.train])

    def predict(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> NDArray[np.float64]:
        """The number predicted for each node, in the graph's order or that of ``nodes``."""
        outputs = self._outputs(graph, nodes)
        task: NodeRegression = self.task_
        return task.numbers(outputs)

    def score(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None) -> float:
        """R² on the labelled nodes among ``nodes``; NaN when the truth does not vary."""
        r2 = self.evaluate(graph, nodes)["r2"]
        return float("nan") if r2 is None else float(r2)

    def evaluate(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> dict[str, float | int | None]:
        """MAE, RMSE and R² on the labelled nodes among ``nodes``."""
        self._check_fitted()
        check_graph(graph)
        positions = self._positions(graph, nodes).numpy()
        truth = numeric_labels(graph)[positions]
        known = ~np.isnan(truth)
        chosen = graph.nodes.take(positions[known])
        return regression_metrics(truth[known], self.predict(graph, chosen))

    def _read_output(self, output: Tensor) -> tuple[Any, float | None]:
        task: NodeRegression = self.task_
        return float(task.numbers(output.unsqueeze(0))[0]), None

    def _task_to_dict(self) -> dict[str, Any]:
        return {"center": self.task_.center, "spread": self.task_.spread}

    def _task_from_dict(self, about: dict[str, Any]) -> None:
        self.task_ = NodeRegression(float(about["center"]), float(about["spread"]))
