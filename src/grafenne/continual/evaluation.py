"""Runs strategies over a stream, with the evaluation walled off from the learner.

The learner gets every graph and every change with the labels of all test nodes taken out; the
validation labels it gets serve to choose epochs and settings. The true labels stay here.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from grafenne.continual.judge import Judge, without_test
from grafenne.continual.parts import StreamSplit
from grafenne.continual.peak_memory import PeakMemory
from grafenne.continual.registry import make_strategy
from grafenne.continual.results import StepResult, StreamResults
from grafenne.continual.strategies import Strategy
from grafenne.continual.stream_log import StreamLog, change_identity, stream_identity
from grafenne.data.atomic import reserved
from grafenne.data.delta import GraphDelta
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split
from grafenne.data.stream import GraphStream
from grafenne.errors import ParameterError

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
    log: Path | str | None = None,
    fitted: Any = None,
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
        log: A JSON-lines file with a line per strategy and step. A run that was interrupted goes
            on from it, to the same numbers; until the run is done the models are kept beside it.
        fitted: What :func:`fit_first` gave for the same estimator, stream, rule and seed.
    """
    from grafenne.estimators.classifier import NodeClassifier

    if not isinstance(estimator, NodeClassifier):
        raise ParameterError(
            "Streams are judged by accuracy, so they need a classifier of nodes, not a "
            f"{type(estimator).__name__}."
        )
    plans = [copy.deepcopy(make_strategy(strategy)) for strategy in strategies]
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"The strategy {name!r} is listed twice.")
    rule = StreamSplit(seed=seed) if split_rule is None else split_rule
    with reserved(log):
        kept = None
        if log is not None:
            kept = StreamLog(
                log, stream_identity(estimator, stream, rule(stream.first), seed, options)
            )
        follower = _Followers(plans, kept, progress, stream.num_steps)
        if follower.left:
            if kept is not None and kept.has_first():
                fitted = kept.first()
            elif fitted is None:
                fitted = fit_first(estimator, stream.first, rule, seed)
            if kept is not None and not kept.has_first():
                kept.keep_first(fitted)
        follower.follow(fitted, stream, rule, options or {})
        if kept is not None:
            kept.tidy()
    return StreamResults([step for name in names for step in follower.results[name]], seed)


def fit_first(estimator: Any, graph: FeatureGraph, rule: SplitRule, seed: int) -> Any:
    """A copy of the estimator, fitted on the first snapshot without its test labels."""
    from sklearn.base import clone

    judge = Judge(graph, rule(graph))
    fitted = clone(estimator).set_params(random_state=seed)
    return fitted.fit(judge.view, without_test(judge.split))


class _Followers:
    """One learner for each strategy, and what came of it so far.

    Args:
        plans: The strategies.
        kept: Where results are kept, if they are.
        progress: Told of each result.
        num_steps: Number of steps of the stream.
    """

    def __init__(
        self,
        plans: list[Strategy],
        kept: StreamLog | None,
        progress: Callable[[StepResult], None] | None,
        num_steps: int,
    ) -> None:
        self.plans = {plan.name: plan for plan in plans}
        self.kept, self.progress = kept, progress
        self.results: dict[str, list[StepResult]] = {
            plan.name: [] if kept is None else kept.results(plan) for plan in plans
        }
        self.done = {name: len(steps) for name, steps in self.results.items()}
        self.left = [name for name, steps in self.results.items() if len(steps) <= num_steps]

    def follow(
        self, fitted: Any, stream: GraphStream, rule: SplitRule, options: Mapping[str, Any]
    ) -> None:
        """Goes through the stream, over what was done before to what is left.

        What was done is only compared with the stream: a log may be of another one.
        """
        learners = {name: self._learner(name, fitted) for name in self.left}
        judge = Judge(stream.first, rule(stream.first))
        change = self._compare(0, None, judge)
        for name in self.left:
            if not self.results[name]:
                first = judge.score(fitted)
                spent = fitted.history_.seconds
                self._tell(judge.result(name, 0, first, first, spent), learners[name], change)
        for number, (delta, graph) in enumerate(stream.steps(), start=1):
            before, told = judge.view, judge.move(graph, delta, rule(graph))
            change = self._compare(number, told, judge)
            for name, learner in learners.items():
                if number >= len(self.results[name]):
                    result = self._step(number, name, learner, judge, before, told, options)
                    self._tell(result, learner, change)

    def _compare(self, number: int, delta: GraphDelta | None, judge: Judge) -> str:
        """Compares a step with the log, tells what is there of it, and says what step it is."""
        if self.kept is None:
            return ""
        change = change_identity(delta, judge.graph, judge.split)
        self.kept.check(number, change)
        for name, count in self.done.items():  # what the log tells is told once it is known to fit
            if self.progress is not None and number < count:
                self.progress(self.results[name][number])
        return change

    def _learner(self, name: str, fitted: Any) -> Any:
        done = len(self.results[name]) - 1
        if self.kept is None or done < 1:
            return copy.deepcopy(fitted)
        learner = self.kept.learner(name, done)
        self.plans[name] = learner.strategy_  # with what it remembers
        return learner

    def _step(
        self,
        number: int,
        name: str,
        learner: Any,
        judge: Judge,
        before: FeatureGraph,
        told: GraphDelta,
        options: Mapping[str, Any],
    ) -> StepResult:
        plan, prior = self.plans[name], judge.score(learner)
        with PeakMemory() as memory:
            begin = time.perf_counter()
            learner.update(
                before,
                told,
                after=judge.view,
                split=without_test(judge.split),
                strategy=plan,
                **options,
            )
            spent = time.perf_counter() - begin
        result = judge.result(name, number, judge.score(learner), prior, spent)
        result.peak_memory = memory.bytes
        result.stored_numbers = plan.stored_numbers()
        result.report = learner.last_update_.to_dict()
        return result

    def _tell(self, result: StepResult, learner: Any, change: str) -> None:
        self.results[result.strategy].append(result)
        if self.kept is not None:
            self.kept.add(result, self.plans[result.strategy], learner, change)
        if self.progress is not None:
            self.progress(result)
