"""Regression: units, targets, and metrics against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph
from grafenne.errors import DataError
from grafenne.tasks.regression import NodeRegression, numeric_labels, regression_metrics


def test_metrics_equal_those_worked_out_by_hand() -> None:
    result = regression_metrics(np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 4.0]))
    # Errors 1, 0, -2; the truth lies -2, -1, 3 from its mean.
    assert result["mae"] == pytest.approx(1.0)
    assert result["rmse"] == pytest.approx((5 / 3) ** 0.5)
    assert result["r2"] == pytest.approx(1 - 5 / 14)
    assert result["nodes"] == 3


def test_a_worse_model_than_the_mean_has_a_negative_r2() -> None:
    assert regression_metrics(np.array([0.0, 2.0]), np.array([3.0, 1.0]))["r2"] == pytest.approx(-4)


def test_a_truth_that_does_not_vary_has_no_r2() -> None:
    result = regression_metrics(np.array([2.0, 2.0]), np.array([2.0, 3.0]))
    assert result["r2"] is None
    assert result["mae"] == 0.5
    with pytest.raises(DataError, match="no labelled node"):
        regression_metrics(np.array([]), np.array([]))


def test_the_network_works_in_units_of_the_spread() -> None:
    task = NodeRegression.fitted(np.array([10.0, 30.0]))
    assert (task.center, task.spread) == (20.0, 10.0)
    graph = FeatureGraph.from_arrays(3, 0, labels=[10.0, None, 35.0])
    targets = task.targets(graph)
    assert targets[[0, 2]].tolist() == [-1.0, 1.5]
    assert bool(targets[1].isnan())
    outputs = torch.tensor([[-1.0], [0.5]])
    assert task.numbers(outputs).tolist() == [10.0, 25.0]
    assert float(task.loss(outputs, torch.tensor([0.0, 0.0]))) == pytest.approx(0.625)
    assert task.quick_metric(outputs, torch.zeros(2)) == pytest.approx(10 * 0.625**0.5)


def test_equal_targets_are_no_division_by_zero() -> None:
    assert NodeRegression.fitted(np.array([3.0, 3.0])).spread == 1.0


def test_class_names_that_are_numbers_will_do_and_others_will_not() -> None:
    graph = FeatureGraph.from_arrays(3, 0, labels=["3", None, "1.5"])
    assert graph.labels is not None
    assert graph.labels.kind == "class"
    assert np.array_equal(numeric_labels(graph), [3.0, np.nan, 1.5], equal_nan=True)
    for wrong in (["a", "b", "c"], ["1", "inf", "2"], ["1", "nan", "2"]):
        with pytest.raises(DataError, match="use a classifier"):
            numeric_labels(graph.with_labels(wrong, kind="class"))
    with pytest.raises(DataError, match="no labels"):
        numeric_labels(graph.with_labels(None))
