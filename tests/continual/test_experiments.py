"""Single runs of the continual and the inductive experiment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grafenne import datasets
from grafenne.continual.experiment import continual_rows, continual_runs
from grafenne.continual.inductive import hide_part, inductive_run, next_release
from grafenne.continual.results import StepResult, StreamResults
from grafenne.errors import UnknownNameError

SMALL: dict[str, Any] = {"width": 8, "epochs": 15}
DATA: dict[str, Any] = {"num_nodes": 120, "num_features": 40}


def test_a_continual_run_tells_steps_and_summaries() -> None:
    (rows,) = continual_runs("synthetic", ["ewc"], 1, steps=2, settings=SMALL, options=DATA)
    assert {row["strategy"] for row in rows} == {"ewc"}
    assert {row["seed"] for row in rows} == {1}
    of_all = [row for row in rows if row["metric"] == "accuracy"]
    assert [row["step"] for row in of_all] == [0, 1, 2]
    assert all(row["seconds"] > 0 for row in of_all)
    told = {row["metric"]: row["value"] for row in rows if row["step"] is None}
    assert {"average", "forgetting", "backward", "forward", "average_affected"} <= told.keys()
    assert told["average"] == pytest.approx(np.mean([row["value"] for row in of_all[1:]]))


def test_a_strategy_does_not_depend_on_those_that_went_before() -> None:
    names, known = ["replay", "frozen", "ewc"], {"steps": 2, "settings": SMALL, "options": DATA}
    together = list(continual_runs("synthetic", names, 1, **known))
    for name, rows in zip(names, together, strict=True):
        (alone,) = continual_runs("synthetic", [name], 1, **known)
        assert {row["strategy"] for row in rows} == {name}
        assert [(row["metric"], row["step"], row["value"]) for row in rows] == [
            (row["metric"], row["step"], row["value"]) for row in alone
        ]


def test_rows_by_hand() -> None:
    def step(number: int, everyone: float, touched: float, seconds: float) -> StepResult:
        empty = {"unaffected": float("nan"), "new": float("nan")}
        return StepResult(
            strategy="ewc",
            step=number,
            accuracy={"all": everyone, "affected": touched, **empty},
            before_update={"all": 0.5, "affected": 0.25, **empty},
            groups=[everyone, touched][: number + 1],
            nodes={"all": 4, "affected": 2, "unaffected": 0, "new": 0},
            seconds=seconds,
        )

    rows = continual_rows(StreamResults([step(0, 0.5, 0.5, 9.0), step(1, 0.75, 1.0, 2.0)], 3), "x")
    told = {(row["step"], row["metric"]): row for row in rows}
    assert told[1, "accuracy"]["value"] == 0.75
    assert told[1, "accuracy_affected"]["nodes"] == 2
    assert (1, "accuracy_new") not in told
    assert told[None, "average"]["value"] == 0.75
    assert told[None, "average"]["seconds"] == 2.0
    assert told[None, "forgetting"]["value"] == pytest.approx(-0.25)
    assert told[None, "average_affected"]["value"] == 1.0


def test_hidden_features_are_not_even_known_by_name() -> None:
    graph = datasets.load("synthetic", **DATA)
    problem = hide_part(graph, 0)
    assert len(problem.unseen) == 20
    assert not set(problem.unseen) & set(problem.part.features)
    assert set(problem.part.features) | set(problem.unseen) == set(graph.features)
    assert problem.whole == graph
    assert len(problem.new) == 12
    assert not set(problem.new) & set(problem.part.nodes)
    train = problem.part.nodes.take(problem.split.train)
    assert train == problem.whole.nodes.take(problem.whole_split.train)
    test = set(problem.whole.nodes.take(problem.whole_split.test))
    assert set(problem.new) < test
    # No learner sees the label of a test node.
    for seen in (problem.part, problem.shown):
        assert all(seen.label_of(node) is None for node in test if node in seen.nodes)


@pytest.mark.parametrize("features", ["learned", "structural"])
def test_an_inductive_run_tells_four_variants(features: str) -> None:
    rows = inductive_run("synthetic", features, 0, settings=SMALL, options=DATA)
    accuracy = {row["variant"]: row for row in rows if row["metric"] == "accuracy"}
    assert list(accuracy) == ["used", "ignored", "updated", "whole"]
    assert [row["step"] for row in accuracy.values()] == [0, 0, 1, None]
    assert {row["method"] for row in rows} == {features}
    assert {row["nodes"] for row in rows if row["metric"] == "accuracy_new"} == {12}
    assert all(0 <= row["value"] <= 1 for row in rows)


def test_unseen_features_help() -> None:
    options = {"num_nodes": 400, "num_features": 60, "signal": 0.6, "homophily": 0.3}
    rows = inductive_run(
        "synthetic", "structural", 0, settings={"width": 16, "epochs": 60}, options=options
    )
    told = {row["variant"]: row["value"] for row in rows if row["metric"] == "accuracy"}
    assert told["used"] > told["ignored"]


def test_the_next_release_brings_what_is_unseen() -> None:
    problem = next_release("debian-mini", 0)
    assert len(problem.unseen) > 100
    assert all(node not in problem.part.nodes for node in problem.new)
    told = [
        node
        for part in (problem.whole_split.train, problem.whole_split.validation)
        for node in problem.whole.nodes.take(part)
    ]
    fresh = [node for node in told if node not in problem.part.nodes]
    assert 0 < len(fresh) < 0.2 * (len(fresh) + len(problem.new))


def test_unknown_names_are_told() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'cora'"):
        inductive_run("corra", "name", 0)
