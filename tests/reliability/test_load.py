"""A process that predicts and updates for long holds no more than one that has just begun."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from grafenne import GrafenneClassifier
from grafenne.estimators.persistence import load_estimator
from torture.load import (
    COUNTED,
    THREAD_SETTINGS,
    ask_in_threads,
    many_predictions,
    small_model,
)
from torture.load_memory import global_state, living
from torture.load_stream import NEW_NAME_EVERY, small_changes
from torture.load_updates import saved_bytes
from torture.numbers_check import numbers_of
from torture.numbers_graphs import make_graph
from torture.numbers_subjects import KINDS, Subject
from torture.settings import Settings


def test_predictions_leave_nothing_behind(tmp_path: Path) -> None:
    said: list[str] = []
    told = many_predictions("debian-mini", Settings(0, 0.2, tmp_path, said.append))
    assert (told["predictions"], told["nodes"]) == (20, 4285)
    assert len(said) == 1


def test_a_prediction_that_keeps_something_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    predict = GrafenneClassifier.predict_proba

    def leaking(self: GrafenneClassifier, *args: object) -> np.ndarray:
        answer = predict(self, *args)
        kept.append(answer.copy())
        return answer

    monkeypatch.setattr(GrafenneClassifier, "predict_proba", leaking)
    with pytest.raises(RuntimeError, match="20 predictions took"):
        many_predictions("debian-mini", Settings(0, 0.2, tmp_path, print))


def test_a_stream_of_updates_leaves_only_its_new_names_and_a_line_each(tmp_path: Path) -> None:
    graph = make_graph("classification", nodes=40)
    model = small_model(graph, width=4)
    features, counted, sizes = graph.num_features, {}, []
    for number, change in enumerate(small_changes(graph, 30, 0)):
        after = graph.apply(change)
        model.update(graph, change, after=after, epochs=1, sample=2)
        graph = after
        if number == 9:
            del after
            counted = living(*COUNTED)
        if number % 10 == 9:
            sizes.append(saved_bytes(model, tmp_path / "model"))
    assert graph.num_nodes == 41
    assert graph.num_features == features + 30 // NEW_NAME_EVERY
    assert len(model.lineage_) == 30
    del after, change
    now = living(*COUNTED)
    assert all(now[name] <= count for name, count in counted.items())
    first, second = np.diff(sizes)
    assert abs(second - first) < 200  # as much each time: nothing adds up
    assert second < 10 * 1000
    assert len(load_estimator(tmp_path / "model").lineage_) == 30


@pytest.mark.parametrize("name", THREAD_SETTINGS)
def test_two_threads_answer_as_one(name: str, tmp_path: Path) -> None:
    graph = make_graph("classification", nodes=300, features=40)
    small_model(graph, **THREAD_SETTINGS[name]).save(tmp_path / "model")
    assert ask_in_threads(tmp_path / "model", graph, rounds=3) == 9


def test_two_threads_grow_one_vocabulary_each_for_itself() -> None:
    """Both would have appended to the list of names that they share."""
    from concurrent.futures import ThreadPoolExecutor

    from grafenne.data.vocabulary import Vocabulary

    for _ in range(20):
        names = Vocabulary([f"n{number}" for number in range(50)])
        with ThreadPoolExecutor(2) as threads:
            grown = list(threads.map(names.extended, [[f"a{n}" for n in range(500)]] * 2))
        for longer in grown:
            assert len(longer) == 550
            assert longer.positions([f"a{n}" for n in range(500)]).tolist() == list(range(50, 550))


@pytest.mark.parametrize("subject", KINDS, ids=str)
def test_nothing_that_the_process_shares_is_left_changed(subject: Subject, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        graph = make_graph(subject.task)
        subject.make().fit(graph)  # libraries that are imported late set themselves up
        before = global_state()
        model = subject.make().fit(graph)
        numbers_of(subject, model, graph)
        model.embed(graph)
        model.save(tmp_path / "model")
        numbers_of(subject, load_estimator(tmp_path / "model"), graph)
        if subject.is_grafenne and subject.task != "links":
            model.update(graph, make_graph(subject.task, values=np.array([2.0, 3.0])), epochs=1)
            model.explain(graph, "n0")
        after = global_state()
    for name, value in before.items():
        assert after[name] == value, name
    assert torch.is_grad_enabled()
