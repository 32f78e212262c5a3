"""A small graph, a change of it, and a small model."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import torch

from grafenne import FeatureGraph, GrafenneClassifier, GraphDelta, Split

SMALL: dict[str, Any] = {"width": 8, "epochs": 15, "patience": 15}
TEST = [f"n{number}" for number in range(0, 40, 5)]


def small_graph(nodes: int = 40, features: int = 10, seed: int = 0) -> FeatureGraph:
    """Two classes that features and edges tell; ids ``n0``, ``n1``, …"""
    rng = np.random.default_rng(seed)
    group = np.arange(nodes) % 2
    likely = (np.arange(features) % 2)[None, :] == group[:, None]
    cells = np.argwhere(rng.random((nodes, features)) < np.where(likely, 0.5, 0.15))
    same = group[:, None] == group[None, :]
    linked = np.triu(rng.random((nodes, nodes)) < np.where(same, 4 / nodes, 1 / nodes), 1)
    pairs = np.argwhere(linked)
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        [f"f{number}" for number in range(features)],
        (cells[:, 0], cells[:, 1], np.ones(len(cells))),
        (pairs[:, 0], pairs[:, 1]),
        labels=np.array(["even", "odd"])[group],
    )


def small_split(graph: FeatureGraph) -> Split:
    """Every fifth node tests, every fifth validates, the others train."""
    number = np.array([int(str(node)[1:]) for node in graph.nodes])
    parts = (number % 5 >= 2, number % 5 == 1, number % 5 == 0)
    return Split(*(np.flatnonzero(part) for part in parts))


def small_change(*, label: str = "even", feature: str = "brand new") -> GraphDelta:
    """A new node with a new feature, an edge, and other features for two training nodes."""
    return GraphDelta(
        nodes_added=["n42"],
        labels_set=[("n42", label)],
        triples_added=[("n42", feature, 1.0), ("n42", "f0", 1.0), ("n3", feature, 1.0)],
        edges_added=[("n42", "n2"), ("n42", "n4")],
        nodes_removed=["n9"],
    )


def fitted(**settings: Any) -> GrafenneClassifier:
    """A small model of the small graph; a copy, so that it may be changed."""
    return deepcopy(_fitted(tuple(settings.items())))


@cache
def _fitted(settings: tuple[tuple[str, Any], ...]) -> GrafenneClassifier:
    graph = small_graph()
    return GrafenneClassifier(**{**SMALL, **dict(settings)}).fit(graph, small_split(graph))


def weights(model: Any) -> dict[str, torch.Tensor]:
    """The parameters of a model by name."""
    return {name: tensor.clone() for name, tensor in model.network_.state_dict().items()}


def same_weights(one: Any, other: Any) -> bool:
    """Whether two models have the very same parameters."""
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )
