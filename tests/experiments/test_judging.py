"""Settings judged by validation nodes that did not choose the epoch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grafenne import GrafenneClassifier, datasets
from grafenne.baselines import GraphNetworkClassifier
from grafenne.data.split import random_split
from grafenne.estimators.tune import try_estimator
from grafenne.experiments.judging import Halves, try_apart
from grafenne.tasks.classification import NodeClassification

SMALL: dict[str, Any] = {"width": 8, "patience": 30, "random_state": 3}


def test_each_half_judges_the_epoch_that_the_other_chose() -> None:
    halves = Halves(NodeClassification(["a", "b"]), 0)
    halves.epochs = [((1.0, 0.5), (2.0, 0.4)), ((0.5, 0.6), (3.0, 0.3)), ((0.7, 0.7), (0.4, 0.9))]
    # The first half chooses the second epoch, the second half the third.
    assert halves.judged() == pytest.approx(((3.0 + 0.7) / 2, (0.3 + 0.7) / 2))
    assert halves.judged("metric") == pytest.approx(((0.4 + 0.7) / 2, (0.9 + 0.7) / 2))


def test_halves_share_the_nodes_and_stay_who_they_are() -> None:
    outputs = torch.tensor([[4.0, 0.0], [0.0, 4.0], [4.0, 0.0], [0.0, 4.0]])
    task = NodeClassification(["a", "b"])
    halves = Halves(task, 1)
    for wrong in range(4):  # one node is answered wrongly, another one each time
        halves.add(outputs, torch.tensor([0, 1, 0, 1]) ^ (torch.arange(4) == wrong).long())
    accuracies = [(first[1], second[1]) for first, second in halves.epochs]
    assert sorted(accuracies) == [(0.5, 1.0)] * 2 + [(1.0, 0.5)] * 2


@pytest.mark.parametrize("kind", [GrafenneClassifier, GraphNetworkClassifier])
def test_training_is_what_it_is_without_judging_apart(kind: Any) -> None:
    graph = datasets.load("synthetic", num_nodes=100, num_features=30, num_classes=3)
    split = random_split(graph, 0, (0.3, 0.4, 0.3))
    plain = try_estimator(kind(epochs=12, **SMALL), graph, split)
    apart = try_apart(kind(epochs=12, **SMALL), graph, split)
    assert (apart["epochs"], apart["best_epoch"]) == (plain["epochs"], plain["best_epoch"])
    # No half can do better on the other's choice than all together on their own.
    assert apart["loss"] >= plain["loss"] - 1e-6  # but for the rounding of 32-bit means

    # With a single epoch there is nothing to choose: the mean of two halves is the whole.
    plain = try_estimator(kind(epochs=1, **SMALL), graph, split)
    apart = try_apart(kind(epochs=1, **SMALL), graph, split)
    assert (apart["loss"], apart["metric"]) == pytest.approx((plain["loss"], plain["metric"]))
