from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from grafenne import Split
from grafenne.continual import Ewc, OnlineEwc
from grafenne.continual.ewc import (
    GRID,
    follow_rows,
    leave_rows,
    quadratic_penalty,
    sample_unaffected,
)
from grafenne.errors import ParameterError
from grafenne.ops import RandomBits
from tests.continual.cases import fitted, small_change, small_graph, small_split, weights


def test_penalty_by_hand() -> None:
    now = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([5.0])}
    start = {"a": torch.tensor([0.0, 4.0]), "b": torch.tensor([4.0])}
    importance = {"a": torch.tensor([2.0, 0.5]), "b": torch.tensor([0.0])}
    # (2 · 1² + 0.5 · 2² + 0 · 1²) / 2
    assert float(quadratic_penalty(now, start, importance)) == 2.0


def test_a_larger_penalty_moves_less() -> None:
    moved = []
    for penalty in (0.0, 1e3, 1e8):
        model, graph = fitted(), small_graph()
        start = weights(model)["head.weight"]
        # Without validation nodes the last epoch stays, whatever it is worth.
        split = Split(small_split(graph.apply(small_change())).train)
        model.update(graph, small_change(), split=split, penalty=penalty, epochs=5, sample=20)
        moved.append(float((weights(model)["head.weight"] - start).norm()))
    assert moved[0] > moved[1] > moved[2]


def test_automatic_penalty_is_one_of_the_grid() -> None:
    model = fitted()
    model.update(small_graph(), small_change(), strategy="ewc", penalty="auto", epochs=5)
    assert model.last_update_.penalty in GRID


def test_automatic_penalty_needs_validation_nodes() -> None:
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    split = Split(small_split(after).train)
    with pytest.raises(ParameterError, match="validation"):
        fitted().update(graph, delta, split=split, strategy=Ewc(penalty="auto"))


def test_importance_follows_its_rows() -> None:
    earlier = {"rows": torch.tensor([[1.0], [2.0]]), "flat": torch.tensor([3.0])}
    now = {"rows": torch.zeros(3, 1), "flat": torch.zeros(1)}
    moved = follow_rows(earlier, {"rows": torch.tensor([1, -1, 0]).numpy()}, now)
    assert moved["rows"].tolist() == [[2.0], [0.0], [1.0]]
    assert moved["flat"].tolist() == [3.0]
    back = leave_rows(moved, {"rows": torch.tensor([1, -1, 0]).numpy()})
    assert {name: tensor.tolist() for name, tensor in back.items()} == {
        name: tensor.tolist() for name, tensor in earlier.items()
    }


def test_the_sample_is_as_large_as_asked_wherever_there_are_unaffected_nodes() -> None:
    """From release to release most nodes are affected; a sample of all would be nearly empty."""
    train, affected = np.arange(0, 100, 2), np.arange(80)
    bits = RandomBits(0)
    context: Any = SimpleNamespace(train=train, affected=affected, bits=bits)
    drawn = [sample_unaffected(context, 6) for _ in range(3)]
    assert all(len(set(part.tolist())) == 6 for part in drawn)
    assert {node for part in drawn for node in part.tolist()} <= {*range(80, 100, 2)}
    assert len({tuple(part) for part in drawn}) > 1
    assert len(sample_unaffected(context, 25)) == 10  # all there are


def test_online_importance_adds_up() -> None:
    model, graph, strategy = fitted(), small_graph(), OnlineEwc(epochs=2, decay=0.5)
    assert strategy.stored_numbers() == 0
    after = graph.apply(small_change())
    model.update(graph, small_change(), strategy=strategy)
    stored = strategy.stored_numbers()
    assert stored == sum(tensor.numel() for tensor in model.network_.parameters())
    again = after.diff(after.without_features(["f1"], ["n4"]))
    model.update(after, again, strategy=copy.deepcopy(strategy))
    assert model.strategy_.stored_numbers() == stored


@pytest.mark.parametrize(
    "settings", [{"penalty": -1}, {"penalty": "best"}, {"sample": 0}, {"epochs": 0}]
)
def test_bad_settings(settings: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(settings))):
        Ewc(**settings)  # type: ignore[arg-type]
