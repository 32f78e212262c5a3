"""Classification: targets, class weights, and metrics against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph
from grafenne.errors import DataError, ParameterError, UnknownNameError
from grafenne.tasks.classification import NodeClassification, classification_metrics


def test_metrics_equal_those_worked_out_by_hand() -> None:
    truth = np.array([0, 0, 1, 1, 2])
    probabilities = np.array(
        [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.2, 0.5, 0.3], [0.1, 0.8, 0.1], [0.4, 0.2, 0.4]]
    )
    # Predicted 0, 1, 1, 1 and, by the first of two equal columns, 0.
    result = classification_metrics(truth, probabilities, ["a", "b", "c"])
    assert result["accuracy"] == 0.6
    assert result["nodes"] == 5
    # a: 1 of 2 predicted right, 1 of 2 found; b: 2 of 3, 2 of 2; c: never predicted.
    assert result["per_class"]["a"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "nodes": 2}
    assert result["per_class"]["b"]["precision"] == pytest.approx(2 / 3)
    assert result["per_class"]["b"]["f1"] == pytest.approx(0.8)
    assert result["per_class"]["c"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "nodes": 1}
    assert result["macro_f1"] == pytest.approx((0.5 + 0.8 + 0) / 3)
    # a: {.7, .3} against {.2, .1, .4} is 5 of 6 pairs; b: {.5, .8} against {.2, .6, .2} is 5 of 6;
    # c: {.4} against {.1, .1, .3, .1} is all.
    assert result["auc"] == pytest.approx((5 / 6 + 5 / 6 + 1) / 3)


def test_ties_count_half_in_the_auc() -> None:
    truth = np.array([0, 1, 1])
    probabilities = np.array([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    result = classification_metrics(truth, probabilities, ["a", "b"])
    assert result["auc"] == pytest.approx(0.75)


def test_one_class_has_no_auc_and_a_class_that_nobody_has_does_not_count() -> None:
    probabilities = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0]])
    result = classification_metrics(np.array([0, 0]), probabilities, ["a", "b", "c"])
    assert (result["accuracy"], result["macro_f1"], result["auc"]) == (1.0, 1.0, None)
    assert result["per_class"]["c"]["nodes"] == 0


def test_no_nodes_are_an_error() -> None:
    with pytest.raises(DataError, match="no labelled node"):
        classification_metrics(np.array([], dtype=int), np.empty((0, 2)), ["a", "b"])


def test_targets_are_positions_among_the_known_classes() -> None:
    graph = FeatureGraph.from_arrays(5, 0, labels=["c", None, "a", "b", "c"])
    assert NodeClassification(["c", "a"]).targets(graph).tolist() == [0, -1, 1, -1, 0]
    with pytest.raises(DataError, match="no labels"):
        NodeClassification(["a"]).targets(graph.with_labels(None))
    with pytest.raises(DataError, match="numbers; use a regressor"):
        NodeClassification(["a"]).targets(graph.with_labels([0.5] * 5))


def test_class_weights() -> None:
    outputs, targets = torch.tensor([[0.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0])
    plain = NodeClassification(["a", "b"]).loss(outputs, targets)
    first, second = math.log(2), math.log(1 + math.e**2)
    assert float(plain) == pytest.approx((first + second) / 2, rel=1e-6)

    counts = np.array([3, 1])
    balanced = NodeClassification(["a", "b"], "balanced", counts)
    assert balanced.weight is not None
    assert balanced.weight.tolist() == pytest.approx([4 / 6, 4 / 2])  # each class counts the same
    assert (balanced.weight * torch.tensor(counts)).tolist() == pytest.approx([2.0, 2.0])

    given = NodeClassification(["a", "b"], {"b": 3.0})
    mixed = given.loss(
        torch.zeros(2, 2) + torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([0, 1])
    )
    expected = (math.log(1 + math.e) + 3 * math.log(2)) / 4  # weighted mean
    assert float(mixed) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        ({"z": 1.0}, UnknownNameError),
        ({"a": 0.0}, ParameterError),
        ({"a": -1.0}, ParameterError),
        ({"a": float("nan")}, ParameterError),
        ({"a": "much"}, ParameterError),
        ("equal", ParameterError),
        (3, ParameterError),
    ],
)
def test_wrong_class_weights_are_named(weight: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="class_weight"):
        NodeClassification(["a", "b"], weight, np.array([1, 1]))  # type: ignore[arg-type]


def test_quick_metric_is_accuracy() -> None:
    outputs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0], [2.0, 5.0]])
    assert NodeClassification(["a", "b"]).quick_metric(outputs, torch.tensor([0, 1, 1, 1])) == 0.75
