"""Classes that are more or less frequent in use than in training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph, GrafenneClassifier, Split
from grafenne.errors import ParameterError, UnknownNameError
from grafenne.tasks.class_shares import shares_in_use
from grafenne.tasks.classification import NodeClassification


def test_shares_are_those_of_the_validation_nodes_with_one_more_of_each_class() -> None:
    found = shares_in_use("validation", ["a", "b", "c"], np.array([0, 0, 1]))
    assert found is not None
    assert found.tolist() == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    assert shares_in_use(None, ["a"], np.array([0])) is None


def test_given_shares_are_brought_to_sum_to_one() -> None:
    found = shares_in_use({"b": 1e300, "a": 3e300}, ["a", "b"], np.array([]))
    assert found is not None
    assert found.tolist() == pytest.approx([0.75, 0.25])


def test_the_training_loss_takes_the_ratio_of_shares_for_granted() -> None:
    """Of 4 training nodes 3 are "a", in use half of them: log(3/2) and log(1/2) by hand."""
    task = NodeClassification(["a", "b"], None, np.array([3, 1]), np.array([0.5, 0.5]))
    outputs, target = torch.zeros(1, 2), torch.tensor([0])
    assert float(task.training_loss(outputs, target)) == pytest.approx(-math.log(3 / 4))
    assert float(task.loss(outputs, target)) == pytest.approx(math.log(2))
    # With weights that make the classes count alike, nothing is left to take for granted.
    even = NodeClassification(["a", "b"], "balanced", np.array([3, 1]), np.array([0.5, 0.5]))
    assert float(even.training_loss(outputs, target)) == pytest.approx(math.log(2))
    plain = NodeClassification(["a", "b"], None, np.array([3, 1]))
    assert torch.equal(plain.training_loss(outputs, target), plain.loss(outputs, target))


def coins(counts: tuple[int, int, int, int]) -> tuple[FeatureGraph, Split]:
    """Nodes that tell nothing of their class: as many "a" and "b" in training, then in validation.

    All have the same feature, so a model can only say how frequent the classes are.
    """
    names = [name for name, count in zip("abab", counts, strict=True) for _ in range(count)]
    graph = FeatureGraph.from_arrays(
        len(names), 1, triples=(range(len(names)), [0] * len(names), [1.0] * len(names)),
        labels=names,
    )  # fmt: skip
    learned = counts[0] + counts[1]
    return graph, Split(range(learned), range(learned, len(names)))


def answer(graph: FeatureGraph, split: Split, **settings: Any) -> float:
    """The probability of "b" for any node."""
    plain = {"width": 4, "epochs": 150, "patience": 150, "dropout": 0.0, "feature_dropout": 0.0}
    model = GrafenneClassifier(**plain, weight_decay=0.0, **settings).fit(graph, split)
    probabilities = model.predict_proba(graph)[:, 1]
    assert np.ptp(probabilities) < 1e-6
    return float(probabilities[0])


@pytest.mark.parametrize(
    ("settings", "validation", "expected"),
    [
        ({"class_shares": "validation"}, (10, 30), 31 / 42),
        ({"class_shares": {"a": 1.0, "b": 4.0}}, (10, 40), 0.8),
        # A validation node of "a" counts as five: 5 x 5 to 100.
        ({"class_shares": {"a": 1, "b": 4}, "class_weight": {"a": 5, "b": 1}}, (5, 100), 0.8),
    ],
)
def test_answers_are_for_the_shares_in_use(
    settings: dict[str, Any], validation: tuple[int, int], expected: float
) -> None:
    graph, split = coins((20, 20, *validation))
    assert answer(graph, split, **settings) == pytest.approx(expected, abs=0.03)


def test_without_the_setting_answers_are_for_the_shares_in_training() -> None:
    graph, split = coins((30, 10, 15, 5))
    assert answer(graph, split) == pytest.approx(0.25, abs=0.03)


def test_a_saved_model_and_an_update_keep_the_setting(tmp_path: Any) -> None:
    graph, split = coins((20, 20, 10, 30))
    model = GrafenneClassifier(width=4, epochs=2, class_shares={"a": 1.0, "b": 4.0})
    model.fit(graph, split).save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m")
    assert loaded.class_shares == {"a": 1.0, "b": 4.0}
    later = graph.with_labels({**{node: graph.label_of(node) for node in graph.nodes}, 0: "b"})
    loaded.update(graph, later, strategy="finetune", epochs=1)
    shift = loaded.task_.shift
    assert shift is not None
    assert shift.tolist() == pytest.approx([math.log(19 / 40 / 0.2), math.log(21 / 40 / 0.8)])


@pytest.mark.parametrize(
    ("shares", "error", "match"),
    [
        ("train", ParameterError, "class_shares is None, 'validation' or a mapping"),
        (0.5, ParameterError, "class_shares is None, 'validation' or a mapping"),
        ({"a": 0.5}, ParameterError, "class_shares lacks the class 'b'"),
        ({"a": 0.5, "b": 0.0}, ParameterError, "class_shares of 'b' must be a number above 0"),
        ({"a": 0.5, "b": True}, ParameterError, "class_shares of 'b' must be a number above 0"),
        ({"a": 0.5, "b": math.inf}, ParameterError, "class_shares of 'b'"),
        ({"a": 0.5, "bb": 0.5}, UnknownNameError, "class in class_shares 'bb'"),
    ],
)
def test_wrong_shares_are_named(shares: Any, error: type[Exception], match: str) -> None:
    graph, split = coins((2, 2, 1, 1))
    with pytest.raises(error, match=match):
        GrafenneClassifier(width=4, epochs=1, class_shares=shares).fit(graph, split)


def test_without_validation_nodes_there_is_nothing_to_go_by() -> None:
    graph, split = coins((2, 2, 1, 1))
    with pytest.raises(ParameterError, match="needs validation nodes"):
        GrafenneClassifier(width=4, epochs=1, class_shares="validation").fit(
            graph, Split(split.train)
        )
