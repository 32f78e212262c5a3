"""What is filled in for link prediction does not tell of the edges that are asked for."""

from __future__ import annotations

import numpy as np

from grafenne import FeatureGraph, split_edges
from grafenne.impute import make_imputer
from grafenne.impute.links import VIEWS, fill_split


def sparse_graph() -> FeatureGraph:
    """A graph in which a node in three has a feature of its own, joined at random."""
    rng = np.random.default_rng(0)
    known = np.arange(0, 200, 3)
    pairs = np.unique(np.sort(rng.integers(200, size=(600, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(200)],
        [f"f{number}" for number in range(len(known))],
        (known, np.arange(len(known)), np.ones(len(known))),
        (pairs[:, 0], pairs[:, 1]),
    )


def likeness(graph: FeatureGraph, pairs: np.ndarray) -> float:
    """Mean cosine of the features of both ends."""
    rows = graph.to_scipy().toarray()
    length = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)
    first, second = rows[pairs[:, 0]], rows[pairs[:, 1]]
    both = length[pairs[:, 0]] * length[pairs[:, 1]]
    return float(((first * second).sum(axis=1) / both).mean())


def test_training_edges_look_like_those_that_will_be_asked_for() -> None:
    split = split_edges(sparse_graph(), 0)
    filled = fill_split(make_imputer("feature-propagation"), split)
    assert len(filled.views) == VIEWS
    later = likeness(filled.graph, split.validation)
    assert likeness(filled.graph, split.train) > later + 0.15  # what a network would learn to see
    missing = []
    every = {*map(tuple, split.train.tolist())}
    for view in filled.views:
        left = every - {*zip(view.edges.sources.tolist(), view.edges.targets.tolist(), strict=True)}
        missing.append(likeness(view, np.array(sorted(left))))
    # Not more alike than those; somewhat less, as a view has fewer edges to fill along.
    assert later - 0.2 < np.mean(missing) < later + 0.05


def test_the_leaked_way_sees_all_edges_and_has_no_views() -> None:
    graph = sparse_graph()
    split = split_edges(graph, 0)
    imputer = make_imputer("feature-propagation")
    leaked, honest = fill_split(imputer, split, leaked_by=graph), fill_split(imputer, split)
    assert not leaked.views
    assert likeness(leaked.graph, split.test) > likeness(honest.graph, split.test) + 0.15


def test_what_does_not_spread_needs_no_views() -> None:
    split = split_edges(sparse_graph(), 0)
    assert not fill_split(make_imputer("special"), split).views
