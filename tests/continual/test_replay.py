from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph
from grafenne.continual import ContGnn, ExperienceReplay
from grafenne.continual.contgnn import border_share, influence
from grafenne.continual.replay import Reservoir
from grafenne.errors import ParameterError
from tests.continual.cases import fitted, small_change, small_graph


def test_a_reservoir_is_a_uniform_sample() -> None:
    generator = np.random.default_rng(0)
    held = np.zeros(20)
    for _ in range(2000):
        reservoir = Reservoir(5)
        reservoir.offer(range(12), generator)
        reservoir.offer(range(12, 20), generator)
        assert len(set(reservoir.nodes)) == 5
        held[reservoir.nodes] += 1
    np.testing.assert_allclose(held / 2000, 0.25, atol=0.04)


def test_the_memory_is_trained_on() -> None:
    model, graph = fitted(), small_graph()
    model.update(graph, small_change(), strategy="finetune", epochs=1)
    alone = model.last_update_.trained_on
    model = fitted().update(graph, small_change(), strategy="replay", memory=10, epochs=1)
    assert alone < model.last_update_.trained_on <= alone + 10


def test_a_name_goes_on_with_its_memory() -> None:
    model, graph, delta = fitted(), small_graph(), small_change()
    model.update(graph, delta, strategy="replay", memory=7, epochs=1)
    first = model.strategy_
    after = graph.apply(delta)
    model.update(after, after.without_features(["f0"]), strategy="replay", memory=7, epochs=1)
    assert model.strategy_ is first
    model.update(after, after.without_features(["f1"]), strategy="replay", memory=8, epochs=1)
    assert model.strategy_ is not first


def test_contgnn_remembers_each_class_by_its_share() -> None:
    model, graph, strategy = fitted(), small_graph(), ContGnn(memory=10, epochs=1)
    model.update(graph, small_change(), strategy=strategy)
    assert 8 <= strategy.stored_numbers() <= 10
    assert model.last_update_.trained_on > 8


def test_contgnn_detects_nodes_beside_the_affected_ones() -> None:
    graph, delta = small_graph(), small_change()
    trained = {}
    for share in (0.0, 1.0):
        model = fitted().update(graph, delta, strategy=ContGnn(memory=1, detected=share, epochs=1))
        trained[share] = model.last_update_.trained_on
    alone = fitted().update(graph, delta, strategy="finetune", epochs=1).last_update_.trained_on
    remembered = trained[0.0] - alone  # one for each class at most, some of them affected
    assert 0 <= remembered <= 2
    assert alone + alone <= trained[1.0] <= alone + alone + 2


def path() -> FeatureGraph:
    return FeatureGraph.from_arrays(["a", "b", "c"], 1, None, ([0, 1], [1, 2]))


def test_influence_spreads_over_two_steps() -> None:
    graph = path()
    before = path().replace()
    states = {id(graph): torch.tensor([[3.0, -1.0]]), id(before): torch.tensor([[2.0, 1.0]])}

    def embed(where: FeatureGraph, nodes: list[Any]) -> torch.Tensor:
        assert nodes == ["a"]
        return states[id(where)]

    context: Any = SimpleNamespace(after=graph, before=before, affected=np.array([0]), embed=embed)
    # The change is |3 - 2| + |-1 - 1| = 3; each step averages over a node and its neighbours.
    expected = np.array([5 / 12, 5 / 18, 1 / 6]) * 3
    np.testing.assert_allclose(influence(context), expected)


def test_borders_are_seen_by_training_labels_alone() -> None:
    context: Any = SimpleNamespace(after=path(), train=np.array([0, 1]))
    share = border_share(context, np.array([0, 1, 0]))
    # b has one known neighbour, of another class; c's label is not known. Half is the middle.
    assert share[1] == pytest.approx(0.5)
    assert share[2] == pytest.approx(0.5)
    alike = border_share(context, np.array([1, 1, 0]))
    assert alike[1] == pytest.approx(1 / (1 + np.exp(5)))


def test_bad_memories() -> None:
    for kind in (ExperienceReplay, ContGnn):
        with pytest.raises(ParameterError, match="memory"):
            kind(memory=0)
