"""Streams by name or folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from grafenne.continual import make_task
from grafenne.errors import DataError, ParameterError


def test_a_folder_is_a_stream(tmp_path: Path) -> None:
    drawn = make_task("synthetic", options={"num_nodes": 30, "num_features": 10, "steps": 4})
    drawn.stream.write(tmp_path / "stream")
    task = make_task(str(tmp_path / "stream"))
    assert [graph.num_nodes for graph in task.stream] == [30] * 4
    assert "hash" in task.labels


def test_only_the_first_steps() -> None:
    options = {"num_nodes": 30, "num_features": 10, "steps": 4}
    whole, short = (make_task("synthetic", steps=steps, options=options) for steps in (None, 2))
    assert (whole.stream.num_steps, short.stream.num_steps) == (3, 2)
    assert list(short.stream) == list(whole.stream)[:3]


def test_few_labels_of_new_nodes_become_known() -> None:
    options = {"num_nodes": 200, "num_features": 20, "steps": 2, "node_churn": 0.5}
    task = make_task("synthetic", new_labels=0.1, options=options)
    first, last = task.stream.first, task.stream.last()
    split = task.split_rule(last)
    new = {node for node in last.nodes if node not in first.nodes}
    told = [node for part in (split.train, split.validation) for node in last.nodes.take(part)]
    assert 0 < len(new.intersection(told)) < 0.25 * len(new)
    assert len(new.intersection(last.nodes.take(split.test))) > 0.75 * len(new)
    assert "0.1" in task.labels


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'actor' does not change"):
        make_task("actor")
    with pytest.raises(ParameterError, match="adds no nodes"):
        make_task("cora", new_labels=0.1)
    with pytest.raises(ParameterError, match="no option 'drift'"):
        make_task("cora", options={"drift": 1})
    with pytest.raises(ParameterError, match="at least 1"):
        make_task("synthetic", steps=0)
    with pytest.raises(ParameterError, match="share from 0 to 1"):
        make_task("synthetic", new_labels=2)
    with pytest.raises(DataError, match="not a folder"):
        make_task(str(tmp_path / "nowhere"))
