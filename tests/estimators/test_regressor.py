"""The regressor: it learns, in whatever unit the numbers have."""

from __future__ import annotations

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneRegressor, random_split
from grafenne.errors import DataError
from tests.estimators.cases import graph_for, make


def linear(scale: float = 1.0, nodes: int = 250) -> FeatureGraph:
    """The number of a node is twice its one feature, less a constant."""
    rng = np.random.default_rng(1)
    value = rng.uniform(-2, 2, nodes)
    return FeatureGraph.from_arrays(
        nodes,
        ["x"],
        (np.arange(nodes), np.zeros(nodes, dtype=int), value),
        labels=scale * (2 * value - 1),
    )


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_linear_truth_is_found_in_any_unit(scale: float) -> None:
    graph = linear(scale)
    split = random_split(graph, 0)
    model = GrafenneRegressor(width=16, epochs=120, dropout=0.0, feature_dropout=0.0)
    model.fit(graph, split)
    test = graph.nodes.take(split.test)
    assert model.score(graph, test) > 0.9
    report = model.evaluate(graph, test)
    truth = np.array([graph.label_of(node) for node in test])
    error = model.predict(graph, test) - truth
    assert report["mae"] == pytest.approx(np.abs(error).mean())
    assert report["rmse"] == pytest.approx(np.sqrt((error**2).mean()))
    # What is shown while training is in the unit of the labels too.
    assert model.history_.epochs[model.history_.best_epoch][2] < 0.5 * scale


def test_whole_numbers_as_labels_will_do() -> None:
    graph = graph_for("regressor").with_labels([number % 3 for number in range(30)])
    assert graph.labels is not None
    assert graph.labels.kind == "class"
    predicted = make("regressor").fit(graph).predict(graph)
    assert predicted.dtype == np.float64


def test_names_are_not_numbers() -> None:
    with pytest.raises(DataError, match="use a classifier"):
        make("regressor").fit(graph_for("classifier"))


def test_a_truth_that_does_not_vary_has_no_score() -> None:
    graph = graph_for("regressor")
    model = make("regressor").fit(graph)
    assert np.isnan(model.score(graph.with_labels([2.5] * 30)))
    with pytest.raises(DataError, match="no labelled node"):
        model.evaluate(graph.with_labels([None] * 29 + [1.5]), ["n0"])
