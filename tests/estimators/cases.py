"""The estimators under test, small settings for them, and small graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne import (
    FeatureGraph,
    GrafenneClassifier,
    GrafenneLinkPredictor,
    GrafenneRegressor,
    split_edges,
)

ESTIMATORS: dict[str, Any] = {
    "classifier": GrafenneClassifier,
    "regressor": GrafenneRegressor,
    "links": GrafenneLinkPredictor,
}
EVERY = tuple(ESTIMATORS)
NODE = ("classifier", "regressor")
SMALL: dict[str, Any] = {"width": 8, "epochs": 4, "patience": 4, "num_layers": 2}


def make(kind: str, **settings: Any) -> Any:
    """A small estimator of a kind."""
    return ESTIMATORS[kind](**{**SMALL, **settings})


def graph_for(
    kind: str,
    *,
    nodes: int = 30,
    features: int = 6,
    seed: int = 0,
    directed: bool = False,
    weighted: bool = False,
    feature_edges: bool = False,
) -> FeatureGraph:
    """A graph with labels of the right kind; its last node has neither features nor edges."""
    rng = np.random.default_rng(seed)
    group = np.arange(nodes) % 2
    cells = np.argwhere(rng.random((nodes - 1, features)) < 0.5)
    value = rng.normal(size=len(cells)) + group[cells[:, 0]]
    value[cells[:, 1] == 0] = 1.0
    pairs = np.argwhere(np.triu(rng.random((nodes - 1, nodes - 1)) < 4 / nodes, 1))
    edges: tuple[Any, ...] = (pairs[:, 0], pairs[:, 1])
    if weighted:
        edges += (rng.uniform(0.5, 2.0, len(pairs)),)
    numbers = group + rng.normal(size=nodes)
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        [f"f{number}" for number in range(features)],
        (cells[:, 0], cells[:, 1], value),
        edges,  # type: ignore[arg-type]
        directed=directed,
        labels=numbers if kind == "regressor" else np.array(["odd", "even"])[group],
        feature_edges=([0, 1], [1, 2]) if feature_edges else None,
    )


def pairs_of(graph: FeatureGraph) -> list[tuple[Any, Any]]:
    """Every node with the next one, by id."""
    ids = list(graph.nodes)
    return list(zip(ids, ids[1:] + ids[:1], strict=True))


def answers(model: Any, graph: FeatureGraph, which: list[Any] | None = None) -> NDArray[Any]:
    """The numbers that a model gives: one row per node, or per pair of nodes."""
    if isinstance(model, GrafenneLinkPredictor):
        chosen = pairs_of(graph) if which is None else which
        result: NDArray[Any] = model.predict_proba(graph, chosen)
        return result
    if isinstance(model, GrafenneClassifier):
        return model.predict_proba(graph, which)
    numbers: NDArray[Any] = model.predict(graph, which)
    return numbers


def questions(model: Any, graph: FeatureGraph) -> list[Any]:
    """What can be asked about a graph: its nodes, or pairs of them."""
    return pairs_of(graph) if isinstance(model, GrafenneLinkPredictor) else list(graph.nodes)


def scored(model: Any, graph: FeatureGraph) -> float:
    """The score, on the whole graph or on a split of its edges."""
    if isinstance(model, GrafenneLinkPredictor):
        return model.score(split_edges(graph, 0))
    score: float = model.score(graph)
    return score
