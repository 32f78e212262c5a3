"""Runs strategies over a stream, with the evaluation walled off from the learner.

The learner gets every graph and every change with the labels of all test nodes taken out; the
validation labels it gets serve to choose epochs and settings. The true labels stay here.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.continual.parts import StreamSplit
from grafenne.continual.registry import make_strategy
from grafenne.continual.results import GROUPS, StepResult, StreamResults
from grafenne.continual.strategies import Strategy
from grafenne.data.delta import GraphDelta
from grafenne.data.delta_rows import Rows
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.labels import Labels
from grafenne.data.split import Split
from grafenne.data.stream import GraphStream
from grafenne.errors import DataError, ParameterError

SplitRule = Callable[[FeatureGraph], Split]


def run_stream(
    estimator: Any,
    stream: GraphStream,
    strategies: Iterable[str | Strategy] = ("ewc", "finetune", "frozen", "retrain"),
    *,
    split_rule: SplitRule | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[StepResult], None] | None = None,
) -> StreamResults:
    """Fits a classifier on the first snapshot and lets each strategy follow the stream.

    All strategies begin with the same fitted model and see the same graphs.

    Args:
        estimator: A classifier; a copy of it is fitted.
        stream: The snapshots.
        strategies: Names or strategies; no two of one name.
        split_rule: From a snapshot to its split; by default :class:`StreamSplit` with ``seed``.
            A node must never change its part.
        seed: Seed of fitting, of the updates, and of the default split.
        options: Arguments of :meth:`~grafenne.GrafenneClassifier.update` for every strategy,
            for instance ``{"states": "exact"}``.
        progress: Called with each result as it comes.
    """
    from sklearn.base import clone

    plans = [copy.deepcopy(make_strategy(strategy)) for strategy in strategies]
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"The strategy {name!r} is listed twice.")
    rule = StreamSplit(seed=seed) if split_rule is None else split_rule
    judge = _Judge(stream.first, rule(stream.first))
    fitted = clone(estimator).set_params(random_state=seed)
    begin = time.perf_counter()
    fitted.fit(judge.view, _without_test(judge.split))
    spent = time.perf_counter() - begin
    learners = {plan.name: copy.deepcopy(fitted) for plan in plans}
    results: dict[str, list[StepResult]] = {}
    for plan in plans:
        first = judge.score(fitted)
        results[plan.name] = [judge.result(plan.name, 0, first, first, spent)]
        if progress is not None:
            progress(results[plan.name][0])
    for number, (delta, graph) in enumerate(stream.steps(), start=1):
        before, told = judge.view, judge.move(graph, delta, rule(graph))
        for plan in plans:
            learner = learners[plan.name]
            prior = judge.score(learner)
            with _PeakMemory() as memory:
                begin = time.perf_counter()
                learner.update(
                    before,
                    told,
                    after=judge.view,
                    split=_without_test(judge.split),
                    strategy=plan,
                    **(options or {}),
                )
                spent = time.perf_counter() - begin
            result = judge.result(plan.name, number, judge.score(learner), prior, spent)
            result.peak_memory = memory.bytes
            result.stored_numbers = plan.stored_numbers()
            result.report = learner.last_update_.to_dict()
            results[plan.name].append(result)
            if progress is not None:
                progress(result)
    return StreamResults([step for name in names for step in results[name]], seed)


class _Judge:
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
        self.view = graph.replace(labels=_hidden(graph.labels, split.test))

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


def _without_test(split: Split) -> Split:
    return Split(split.train, split.validation)


def _hidden(labels: Labels | None, positions: NDArray[np.int64]) -> Labels | None:
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


class _PeakMemory:
    """Most memory of the process inside the block, above what it held before (Linux only)."""

    _status, _reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def __init__(self) -> None:
        self.bytes: int | None = None
        self._held: int | None = None

    def __enter__(self) -> _PeakMemory:
        import ctypes

        try:
            # Memory that was freed but not given back would hide what is used now.
            ctypes.CDLL(None).malloc_trim(0)
            self._reset.write_text("5")
            self._held = self._read("VmRSS")
        except (OSError, AttributeError, TypeError, ValueError):
            self._held = None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._held is not None:
            self.bytes = max(self._read("VmHWM") - self._held, 0)

    def _read(self, field: str) -> int:
        for line in self._status.read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
        raise ValueError(f"{self._status} does not tell {field}")
