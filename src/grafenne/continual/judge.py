"""Knows the true labels of a stream, and shows a learner what it may see."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.continual.results import GROUPS, StepResult
from grafenne.data.delta import GraphDelta
from grafenne.data.delta_rows import Rows
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.labels import Labels
from grafenne.data.split import Split
from grafenne.errors import DataError


class Judge:
    """Knows the true labels; shows the learner a view without those of the test nodes."""

    def __init__(self, graph: FeatureGraph, split: Split) -> None:
        self.touched: list[set[Hashable]] = [set(graph.nodes.take(split.test))]
        self._parts: dict[Hashable, int] = {}
        self._see(graph, split)
        test = set(self.touched[0])
        self.groups: dict[str, set[Hashable]] = {
            "all": test,
            "affected": set(),
            "unaffected": test,
            "new": set(),
        }

    def move(self, graph: FeatureGraph, delta: GraphDelta, split: Split) -> GraphDelta:
        """Goes to the next snapshot; returns the change as the learner may see it."""
        affected = set(delta.affected_nodes(self.graph))
        added = set(delta.nodes_added)
        self._see(graph, split)
        test = set(graph.nodes.take(split.test))
        self.groups = {
            "all": test,
            "affected": test & affected,
            "unaffected": test - affected,
            "new": test & added,
        }
        self.touched.append(self.groups["affected"])
        return _hide_labels(delta, test)

    def _see(self, graph: FeatureGraph, split: Split) -> None:
        self.graph, self.split = graph, split
        for code, part in enumerate((split.train, split.validation, split.test)):
            for node in graph.nodes.take(part):
                if self._parts.setdefault(node, code) != code:
                    raise DataError(f"The split rule moved node {node!r} to another part.")
        self.view = graph.replace(labels=hidden_labels(graph.labels, split.test))

    def score(self, learner: Any) -> NDArray[np.bool_]:
        """Which of the test nodes the learner gets right, in the order of the split."""
        graph, test = self.graph, self.split.test
        if not len(test) or graph.labels is None:
            return np.zeros(len(test), dtype=bool)
        predicted = learner.predict(self.view)[test]
        truth = [graph.labels.label(int(position)) for position in test]
        return np.array([a == b for a, b in zip(predicted, truth, strict=True)], dtype=bool)

    def result(
        self,
        name: str,
        step: int,
        right: NDArray[np.bool_],
        prior: NDArray[np.bool_],
        seconds: float,
    ) -> StepResult:
        """The accuracies of a learner now, by group."""
        ids = self.graph.nodes.take(self.split.test)

        def accuracy(hits: NDArray[np.bool_], group: set[Hashable]) -> float:
            inside = np.array([node in group for node in ids], dtype=bool)
            return float(hits[inside].mean()) if inside.any() else float("nan")

        return StepResult(
            strategy=name,
            step=step,
            accuracy={group: accuracy(right, self.groups[group]) for group in GROUPS},
            before_update={group: accuracy(prior, self.groups[group]) for group in GROUPS},
            groups=[accuracy(right, group) for group in self.touched],
            nodes={group: len(self.groups[group]) for group in GROUPS},
            seconds=seconds,
        )


def without_test(split: Split) -> Split:
    """The split that a learner may know."""
    return Split(split.train, split.validation)


def hidden_labels(labels: Labels | None, positions: NDArray[np.int64]) -> Labels | None:
    """The labels without those of the nodes at ``positions``."""
    if labels is None:
        return None
    values = labels.values.copy()
    values[positions] = np.nan if labels.kind == "number" else -1
    return Labels(labels.kind, values, labels.classes)


def _hide_labels(delta: GraphDelta, hidden: set[Hashable]) -> GraphDelta:
    """The change without the labels of these nodes."""
    nodes, labels = delta.labels_set.ids("node"), delta.labels_set.ids("label")
    told = [place for place, node in enumerate(nodes) if node not in hidden]
    gone = [node for node in delta.labels_removed if node not in hidden]
    if len(told) == len(nodes) and len(gone) == len(delta.labels_removed):
        return delta
    rows = Rows("labels_set", [[nodes[place] for place in told], [labels[p] for p in told]])
    parts: dict[str, Any] = {**delta.parts, "labels_set": rows, "labels_removed": gone}
    return GraphDelta(**parts, label_kind=delta.label_kind)
