"""Vectors of features that training never saw: the regression, and what it is for."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneRegressor
from grafenne.allotrope import to_allotropic
from grafenne.data.split import Split
from grafenne.nn.new_features import DOUBT, LEAST, RIDGE, NewFeatures
from tests.small_graphs import random_graph


def test_the_map_is_the_ridge_regression() -> None:
    graph = to_allotropic(random_graph(4, nodes=9, features=6))
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(9, 3, generator=generator)
    vectors = torch.randn(graph.num_features, 4, generator=generator)
    reading = NewFeatures(3, 4)
    assert not reading.is_learned
    reading.learn(graph, outputs, vectors)
    assert reading.is_learned

    told = np.log(torch.softmax(outputs, 1).numpy() + LEAST)
    told = told - told.mean(axis=0)
    rows, columns = graph.incidence.rows.tolist(), graph.incidence.indices.tolist()
    read, trust = np.zeros((graph.num_features, 3)), np.zeros(graph.num_features)
    for feature in range(graph.num_features):
        nodes = [row for row, column in zip(rows, columns, strict=True) if column == feature]
        trust[feature] = len(nodes) / (len(nodes) + DOUBT)
        if nodes:
            read[feature] = told[nodes].mean(axis=0) * trust[feature]
    target = vectors.numpy() - vectors.numpy().mean(axis=0)
    squares = read.T @ np.diag(trust) @ read
    penalty = RIDGE * np.trace(squares) / 3 * np.eye(3)
    weight = np.linalg.inv(squares + penalty) @ read.T @ np.diag(trust) @ target
    np.testing.assert_allclose(reading.weight.numpy(), weight, rtol=2e-3, atol=1e-4)
    expected = vectors.numpy().mean(axis=0) + read @ weight
    found = reading.read(graph, outputs, vectors.mean(dim=0))
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3, atol=1e-3)


def test_outputs_that_all_say_the_same_teach_nothing() -> None:
    graph = to_allotropic(random_graph(4, nodes=9, features=6))
    reading = NewFeatures(2, 4)
    reading.learn(graph, torch.ones(9, 2), torch.randn(graph.num_features, 4))
    assert not reading.is_learned


def words(new: bool, nodes: int = 300) -> FeatureGraph:
    """Nodes of two classes; the old words tell little of them, the new ones everything."""
    generator = np.random.default_rng(3)
    classes = np.arange(nodes) % 2
    names = [f"old {number}" for number in range(40)]
    table = generator.random((nodes, 40)) < np.where(
        (np.arange(40) % 2)[None, :] == classes[:, None], 0.2, 0.1
    )
    if new:
        names += [f"new {number}" for number in range(20)]
        tells = (np.arange(20) % 2)[None, :] == classes[:, None]
        table = np.hstack((table, tells & (generator.random((nodes, 20)) < 0.5)))
    rows, columns = np.nonzero(table)
    none = np.empty(0, dtype=np.int64)
    return FeatureGraph.from_arrays(
        nodes,
        names,
        (rows, columns, np.ones(len(rows))),
        (none, none),
        labels=np.array(["x", "y"], dtype=object)[classes],
    )


@pytest.mark.parametrize("more", [{}, {"batch_size": 50}])
def test_new_features_that_tell_the_class_are_worth_using(
    more: dict[str, int], tmp_path: Path
) -> None:
    part, whole = words(new=False), words(new=True)
    split = Split(train=np.arange(150), validation=np.arange(150, 200), test=np.arange(200, 300))
    model = GrafenneClassifier(width=16, epochs=60, random_state=1, **more).fit(part, split)
    asked = whole.nodes.take(split.test)
    used, ignored = model.score(whole, asked), model.score(part, asked)
    assert used > ignored + 0.1
    plain = deepcopy(model)  # which puts a new feature at the mean of those it occurs with
    plain.network_.new_features.weight.zero_()
    assert used > plain.score(whole, asked)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(whole), model.predict_proba(whole))
    told = loaded.explain(whole, asked[0])
    assert told.probability == pytest.approx(model.predict_proba(whole, asked[:1]).max(), abs=1e-5)


def test_an_update_does_not_depend_on_earlier_predictions() -> None:
    part, whole = words(new=False), words(new=True)
    answers = []
    for before in (False, True):
        model = GrafenneClassifier(width=8, epochs=5, random_state=1).fit(part)
        if before:
            model.predict(whole)
        model.update(part, whole, epochs=2)
        answers.append(model.predict_proba(whole))
    assert np.array_equal(*answers)


def test_a_class_that_comes_later_leaves_the_reading_whole() -> None:
    part, whole = words(new=False), words(new=True)
    model = GrafenneClassifier(width=8, epochs=5, random_state=1).fit(part)
    later = ["z" if number < 10 else part.label_of(node) for number, node in enumerate(part.nodes)]
    model.update(part, part.with_labels(later), epochs=2)
    assert set(model.classes_) == {"x", "y", "z"}
    assert np.isfinite(model.predict_proba(whole)).all()


def test_numbers_are_read_too() -> None:
    part, whole = words(new=False), words(new=True)
    target = [float(part.label_of(node) == "x") for node in part.nodes]
    model = GrafenneRegressor(width=8, epochs=20, random_state=1).fit(part.with_labels(target))
    assert model.network_.new_features.weight.shape[0] == 1
    assert not np.allclose(model.predict(part), model.predict(whole))
