"""No number that is not finite comes out of an estimator, whatever finite ones go in."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph, split_edges
from grafenne.baselines import make_method
from grafenne.errors import DataError, NotFittedError, ParameterError, TrainingError
from grafenne.estimators.registry import ESTIMATORS, WRAPPERS
from grafenne.impute.registry import IMPUTERS
from grafenne.tasks.regression import NodeRegression
from torture.numbers import fit_on_named, use_on_named
from torture.numbers_check import check_fit, numbers_of
from torture.numbers_graphs import NAMED, extreme_graphs, make_graph
from torture.numbers_subjects import KINDS, Subject

WORST = (
    "mixed values",
    "values beyond 32 bits",
    "largest weights",
    "no features at all",
    "targets beyond 32 bits",
)
"""The graphs on which something was found."""

every_kind = pytest.mark.parametrize("subject", KINDS, ids=str)


@every_kind
def test_every_estimator_answers_or_refuses_extreme_graphs(subject: Subject) -> None:
    """The long form tries every method there is on all the graphs: ``make torture``."""
    assert sum(fit_on_named(subject, WORST).values()) == len(WORST)


@every_kind
def test_a_fitted_model_meets_extreme_graphs(subject: Subject) -> None:
    names = ("one huge value", "huge negative weights")
    assert sum(use_on_named(subject, names).values()) >= len(names)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(KINDS))
def test_graphs_with_numbers_of_any_size(data: st.DataObject, subject: Subject) -> None:
    check_fit(subject, data.draw(extreme_graphs(subject.task)))


def test_a_hundred_thousand_features_on_one_node(tmp_path: Path) -> None:
    for method in ("grafenne", "pcfi+sage"):
        graph = NAMED["many features on one node"]("classification")
        assert check_fit(Subject(method, "classification"), graph, tmp_path) == "answered"


def test_the_short_form_has_one_of_each_kind() -> None:
    made = [subject.make() for subject in KINDS]
    wrapped = [model for model in made if hasattr(model, "imputer")]
    inner = [getattr(model, "estimator", model) for model in made]
    assert {type(model).__name__ for model in inner} == set(ESTIMATORS)
    assert {type(model).__name__ for model in wrapped} == set(WRAPPERS)
    assert {model.imputer.name for model in wrapped} == set(IMPUTERS)


# ---- a loss that is no longer finite -------------------------------------------------------------


def spoiled_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimizer makes all weights infinite once it has made that many good steps."""
    step, done = torch.optim.Adam.step, [0]

    def spoiling(self: torch.optim.Adam, closure: None = None) -> None:
        step(self, closure)
        done[0] += 1
        if done[0] > epochs:
            with torch.no_grad():
                for group in self.param_groups:
                    for weight in group["params"]:
                        weight.fill_(math.inf)

    monkeypatch.setattr(torch.optim.Adam, "step", spoiling)


@every_kind
def test_the_last_good_weights_stay_when_the_loss_is_lost(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph, whole = make_graph(subject.task), "batch_size" not in subject.settings
    good = subject.make(epochs=2).fit(graph)
    spoiled_after(2 if whole else 6, monkeypatch)
    model = subject.make(epochs=50, patience=50)
    with pytest.raises(TrainingError, match=r"no longer a finite number\. Try a lower learning"):
        model.fit(graph)
    assert model.history_.stopped == "not finite"
    assert 0 <= model.history_.best_epoch < len(model.history_.epochs) < 50
    answers = numbers_of(subject, model, graph)
    assert np.isfinite(answers).all()
    if whole:
        assert np.array_equal(answers, numbers_of(subject, good, graph))
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    assert np.array_equal(answers, numbers_of(subject, loaded, graph))


@every_kind
def test_a_model_without_a_single_good_epoch_is_not_fitted(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(subject.task)
    model = subject.make()
    spoiled_after(0, monkeypatch)
    with pytest.raises(TrainingError, match="Training stopped in epoch 1 because"):
        model.fit(graph)
    with pytest.raises(NotFittedError):
        numbers_of(subject, model, graph)


@every_kind
def test_an_absurd_learning_rate(subject: Subject) -> None:
    absurd = {**subject.settings, "learning_rate": 1e30, "clip_norm": None}
    check_fit(Subject(subject.method, subject.task, absurd), make_graph(subject.task))


@pytest.mark.parametrize("setting", ["learning_rate", "weight_decay"])
def test_settings_beyond_32_bits_are_refused_by_name(setting: str) -> None:
    """They ended in an error of torch."""
    with pytest.raises(ParameterError, match=rf"{setting} must be .*1e\+30, got 1e\+38"):
        make_method("grafenne", **{setting: 1e38}).fit(make_graph("classification"))


def test_an_update_that_loses_its_loss_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for task in ("classification", "regression"):
        graph = make_graph(task)
        model = Subject("grafenne", task).make().fit(graph)
        known = numbers_of(Subject("grafenne", task), model, graph)
        changed = make_graph(task, values=np.array([2.0, -3.0]))
        with monkeypatch.context() as patch:
            spoiled_after(0, patch)
            with pytest.raises(TrainingError, match="no longer a finite number"):
                model.update(graph, changed, epochs=5)
        assert np.array_equal(known, numbers_of(Subject("grafenne", task), model, graph))
        assert not hasattr(model, "lineage_") or not model.lineage_


# ---- what was found --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "settings"), [("links", {}), ("classification", {"batch_size": 4})]
)
def test_a_far_value_does_not_spoil_the_answers(task: str, settings: dict[str, int]) -> None:
    """Through common features it reached other nodes, whose probabilities were NaN."""
    subject = Subject("grafenne", task, settings)
    model = subject.make().fit(make_graph(task))
    far = make_graph(task, values=np.array([1.0, 2.0, -1.0] * 10 + [1e30]))
    assert np.isfinite(numbers_of(subject, model, far)).all()


def test_what_is_beyond_the_network_is_refused_by_name() -> None:
    graph = make_graph("classification")
    model = make_method("grafenne", width=4, epochs=3, scaling="none").fit(graph)
    far = make_graph("classification", values=np.array([1e300]))
    with pytest.raises(DataError, match=r"no finite answer for node 'n\d+': values or edge"):
        model.predict(far)
    with pytest.raises(DataError, match=r"no finite answer for node 'n\d+'"):
        model.embed(far)
    with pytest.raises(DataError, match="no finite state for feature 'f"):
        model.embed(far, of="features")
    with pytest.raises(DataError, match="no finite answer for node 'n0'"):
        model.explain(far, "n0")
    links = make_method("grafenne", task="links", width=4, epochs=3, scaling="none").fit(graph)
    with pytest.raises(DataError, match="no finite answer for node 'n3'"):
        links.predict_proba(far, [("n3", "n4")])


@pytest.mark.parametrize("method", ["nm+sage", "fp+sage", "pcfi+sage"])
def test_imputers_name_the_value_that_is_too_large(method: str) -> None:
    far = make_graph("classification", values=np.array([1.0, 1e39]))
    with pytest.raises(DataError, match=r"Node 'n0' has the value 1e\+39 for feature 'f2'"):
        make_method(method).fit(far)


def test_targets_beyond_all_sums_are_refused_by_name() -> None:
    targets = np.linspace(0, 1, 12)
    targets[4] = 1.5e308
    with pytest.raises(DataError, match=r"label of node 'n4' is 1\.5e\+308; .* at most 1e\+300"):
        make_method("grafenne", task="regression").fit(make_graph("regression", labels=targets))


def test_huge_targets_are_learned_as_well_as_ordinary_ones() -> None:
    ordinary = make_graph("regression")
    huge = make_graph("regression", labels=np.sin(np.arange(12)) * 1e300)
    settings: dict[str, Any] = {"task": "regression", "width": 8, "epochs": 30}
    expected = make_method("grafenne", **settings).fit(ordinary)
    found = make_method("grafenne", **settings).fit(huge)
    np.testing.assert_allclose(found.predict(huge) / 1e300, expected.predict(ordinary), rtol=1e-3)
    assert found.evaluate(huge)["r2"] == pytest.approx(expected.evaluate(ordinary)["r2"], rel=1e-3)
    assert found.evaluate(huge)["rmse"] == pytest.approx(
        1e300 * expected.evaluate(ordinary)["rmse"], rel=1e-3
    )


@pytest.mark.parametrize("method", ["mask+grafenne", "mask+sage"])
def test_a_mask_of_observed_cells_reaches_a_link_predictor(method: str, tmp_path: Path) -> None:
    """The features that it adds were forgotten: ignored, or the saved model did not load."""
    graph: FeatureGraph = make_graph("links")
    model = make_method(method, task="links", width=4, epochs=2).fit(graph, split_edges(graph, 0))
    assert "observed f0" in model.estimator_.feature_names_in_
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    pairs = [("n0", "n1"), ("n3", "n9")]
    assert np.array_equal(model.predict_proba(graph, pairs), again.predict_proba(graph, pairs))


def test_pcfi_is_the_same_by_nodes_and_by_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """With far more features than nodes, a matrix of features x features was still made."""
    from grafenne.impute import pcfi

    rng = np.random.default_rng(0)
    cells = np.argwhere(rng.random((6, 60)) < 0.5)
    graph = make_graph("links", nodes=6, features=60, cells=cells, values=rng.normal(size=99))
    imputer = pcfi.PseudoConfidence(keep=None)
    by_nodes = imputer.transform(graph)
    monkeypatch.setattr(pcfi, "MANY_MORE", 10**9)
    by_features = imputer.transform(graph)
    assert by_nodes.num_values > graph.num_values
    np.testing.assert_array_equal(by_nodes.values.indices, by_features.values.indices)
    np.testing.assert_allclose(by_nodes.values.data, by_features.values.data, rtol=1e-4, atol=1e-5)


def test_only_ratios_of_edge_weights_matter_where_they_are_averaged() -> None:
    model = make_method("grafenne", width=4, epochs=3).fit(
        make_graph("classification", weights=np.array([1.0, 2.0]))
    )
    answers = [
        model.predict_proba(make_graph("classification", weights=np.array([size, 2 * size])))
        for size in (1.0, 1e300, 1e-300)
    ]
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-5)
    np.testing.assert_allclose(answers[2], answers[0], rtol=1e-5)


def test_negative_weights_do_not_make_propagated_values_grow() -> None:
    """Their sums were nearly nothing, and forty steps of dividing by it went beyond all numbers."""
    graph = make_graph("links", weights=np.array([1.0, -0.999]))
    filled = make_method("fp+sage").imputer.transform(graph)
    assert filled.num_values > graph.num_values
    assert np.abs(filled.values.data).max() < 10


def test_a_prediction_beyond_all_numbers_is_refused() -> None:
    task = NodeRegression(0.0, 1e300)
    assert task.numbers(torch.tensor([[2.0]])).tolist() == [2e300]
    with pytest.raises(DataError, match=r"1e\+20 times the spread 1e\+300"):
        task.numbers(torch.tensor([[1e20]]))
