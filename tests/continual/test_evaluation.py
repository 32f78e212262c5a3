from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, GraphDelta, GraphStream, Split
from grafenne.continual import Ewc, EwcReplay, StreamSplit, run_stream, synthetic_task
from grafenne.continual.results import StepResult, StreamResults
from grafenne.errors import DataError, ParameterError, UnknownNameError
from tests.continual.cases import SMALL, TEST, small_change, small_graph, small_split

SEEN: list[Any] = []


class Spy(GrafenneClassifier):
    """Notes what labels it was shown."""

    def fit(self, graph: FeatureGraph, split: Split | None = None, **more: Any) -> Any:
        SEEN.append((graph, None))
        return super().fit(graph, split, **more)

    def update(self, graph: FeatureGraph, change: Any, **more: Any) -> Any:
        SEEN.append((more["after"], change))
        SEEN.append((graph, change))
        return super().update(graph, change, **more)


def stream() -> GraphStream:
    second = GraphDelta(
        nodes_added=["n45", "n47"],
        labels_set=[("n45", "odd"), ("n47", "even")],
        triples_removed=[("n42", "f0")],
    )
    return GraphStream.from_deltas(small_graph(), [small_change(), second])


def test_the_learner_never_sees_a_test_label() -> None:
    SEEN.clear()
    run_stream(Spy(**SMALL), stream(), [Ewc(epochs=2), "frozen"], split_rule=small_split)
    assert len(SEEN) == 1 + 2 * 2 * 2
    hidden = {*TEST, "n45"}
    for graph, change in SEEN:
        known = {node for node in graph.nodes if graph.label_of(node) is not None}
        assert not known & hidden
        assert known
        if change is not None:
            assert not hidden & set(change.labels_set.ids("node"))


def test_groups_and_summary() -> None:
    results = run_stream(
        GrafenneClassifier(**SMALL),
        stream(),
        [Ewc(epochs=2), "frozen", "retrain"],
        split_rule=small_split,
        options={"states": "exact"},
    )
    last = results.of("ewc")[2]
    # At step 2 the nodes n42 (features), n45 and n47 (added) are affected; only n45 tests.
    assert last.nodes == {"all": 9, "affected": 1, "unaffected": 8, "new": 1}
    assert last.report["states"] == "exact"
    assert last.accuracy["affected"] == last.accuracy["new"]
    assert len(last.groups) == 3
    summary = results.summary().set_index("strategy")
    assert summary.loc["retrain", "gap to oracle"] == 0
    assert summary.loc["retrain", "time of oracle's"] == 1
    assert summary.loc["frozen", "update forgetting"] == 0
    assert summary.loc["frozen", "forward transfer"] == 0
    assert set(results.table()["metric"]) == {
        "accuracy",
        "accuracy_affected",
        "accuracy_unaffected",
        "accuracy_new",
    }
    assert results.rows(dataset="small")[0]["dataset"] == "small"


def test_summary_by_hand() -> None:
    def step(strategy: str, number: int, after: float, before: float, groups: list[float]) -> Any:
        group = {"all": after, "affected": after, "unaffected": after, "new": float("nan")}
        prior = dict.fromkeys(group, before)
        nodes = {"all": 10, "affected": 5, "unaffected": 5, "new": 0}
        return StepResult(strategy, number, group, prior, groups, nodes, seconds=float(number))

    results = StreamResults(
        [
            step("ewc", 0, 0.9, 0.9, [0.9]),
            step("ewc", 1, 0.8, 0.85, [0.8, 0.7]),
            step("ewc", 2, 0.7, 0.75, [0.7, 0.8, 0.6]),
            step("retrain", 0, 0.9, 0.9, [0.9]),
            step("retrain", 1, 0.9, 0.9, [0.9, 0.9]),
            step("retrain", 2, 0.8, 0.9, [0.9, 0.9, 0.9]),
            step("frozen", 0, 0.9, 0.9, [0.9]),
            step("frozen", 1, 0.85, 0.85, [0.85, 0.85]),
            step("frozen", 2, 0.65, 0.65, [0.7, 0.7, 0.65]),
        ],
        seed=0,
    )
    for result in results.of("ewc")[1:]:
        result.peak_memory = 10 * result.step
    for result in results.of("retrain")[1:]:
        result.peak_memory = 40 * result.step
    told = results.summary().set_index("strategy").loc["ewc"]
    assert told["average"] == pytest.approx(0.75)
    assert told["forgetting"] == pytest.approx(((0.9 - 0.7) + (0.7 - 0.8)) / 2)
    assert told["backward transfer"] == pytest.approx(((0.7 - 0.9) + (0.8 - 0.7)) / 2)
    assert told["update forgetting"] == pytest.approx(0.05)
    assert told["gap to oracle"] == pytest.approx(0.1)
    assert told["time of oracle's"] == 1.0
    assert told["memory of oracle's"] == 20 / 80
    assert told["seconds"] == 1.5
    # Before the first step both are the same model; before the second 0.75 against 0.65.
    assert told["forward transfer"] == pytest.approx(0.1)


def test_same_seed_same_results() -> None:
    task = synthetic_task(num_nodes=60, num_features=20, steps=2, signal=0.2, seed=1)
    estimator = GrafenneClassifier(**SMALL)
    runs = [
        run_stream(
            estimator, task.stream, [EwcReplay(epochs=3)], split_rule=task.split_rule, seed=5
        )
        for _ in range(2)
    ]
    scores = [[step.accuracy["all"] for step in run.steps] for run in runs]
    assert scores[0] == scores[1]
    assert len(scores[0]) == 2


def test_errors() -> None:
    estimator = GrafenneClassifier(**SMALL)
    with pytest.raises(ParameterError, match="'ewc' is listed twice"):
        run_stream(estimator, stream(), ["ewc", "ewc"])
    with pytest.raises(UnknownNameError, match="Did you mean 'ewc'"):
        run_stream(estimator, stream(), ["ewcc"])

    def moving(graph: FeatureGraph) -> Split:
        return StreamSplit(seed=graph.num_edges)(graph)

    with pytest.raises(DataError, match="moved node"):
        run_stream(estimator, stream(), ["frozen"], split_rule=moving)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    script = Path(__file__).parents[2] / "examples" / "stream.py"
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert "gap to oracle" in printed
    assert printed.count("trained on") == 2
    assert np.isfinite(float(printed.split()[-1]))
