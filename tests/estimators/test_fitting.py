"""Settings that the user leaves open fit the graph and what there is to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, Split
from grafenne.estimators import fitting
from tests.estimators.cases import graph_for, make


def nearly_all_zeros(graph: FeatureGraph, one_in: int = 20) -> FeatureGraph:
    """The graph with one value in so many 1 and all others 0."""
    ones = np.arange(graph.num_values) % one_in == 0
    return graph.replace(values=replace(graph.values, data=ones.astype(graph.values.data.dtype)))


@pytest.mark.parametrize(
    ("features", "examples", "rate"),
    [
        (6, 12, 0.0),  # three features a node: none to spare
        (40, 12, 0.8),  # twenty, of which four stay
        (40, 13, 0.5),  # the same, with more to learn from
        (12, 13, 1 / 3),  # six, of which four stay
    ],
)
def test_features_are_hidden_by_how_many_there_are_and_how_many_nodes_teach(
    features: int, examples: int, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_EXAMPLES", 12)
    graph = graph_for("classifier", features=features)
    split = Split(np.arange(examples), np.arange(examples, 29))
    model = make("classifier", epochs=1, reach=0).fit(graph, split)
    assert model.network_.encoder.feature_dropout.rate == pytest.approx(rate, abs=0.08)


@pytest.mark.parametrize(
    ("examples", "one_in", "rate", "settings"),
    [
        (13, 2, 0.5, {}),  # half of the values are ones: as many are hidden as ever
        (12, 20, 0.8, {}),  # hardly any is, but there is little to learn from
        (13, 20, 0.8, {}),
        (13, 20, 0.8, {"features": "company", "batch_size": 8}),  # which looks at all values too
    ],
)
def test_much_is_hidden_where_many_nodes_are_told_apart_by_their_known_zeros(
    examples: int,
    one_in: int,
    rate: float,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "MANY_EXAMPLES", 12)
    graph = nearly_all_zeros(graph_for("classifier", features=40), one_in)
    split = Split(np.arange(examples), np.arange(examples, 29))
    model = make("classifier", epochs=1, reach=0, **settings).fit(graph, split)
    assert model.network_.encoder.feature_dropout.rate == pytest.approx(rate, abs=0.08)


@pytest.mark.parametrize(
    ("kind", "examples", "zeros", "scale"),
    [
        ("classifier", 13, True, 0.1),
        ("regressor", 13, True, 0.1),
        ("classifier", 12, True, 1.0),  # there is little to learn from
        ("classifier", 13, False, 1.0),  # a start by company says something
    ],
)
def test_vectors_start_small_where_many_nodes_are_told_apart_by_their_known_zeros(
    kind: str, examples: int, zeros: bool, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_EXAMPLES", 12)
    graph = graph_for(kind, features=40)
    split = Split(np.arange(examples), np.arange(examples, 29))
    still = {"epochs": 1, "learning_rate": 1e-12, "features": "company"}
    model = make(kind, **still).fit(nearly_all_zeros(graph) if zeros else graph, split)
    vectors = model.network_.encoder.features.weight
    assert float(vectors.detach().square().mean().sqrt()) == pytest.approx(scale, rel=0.1)


@pytest.mark.parametrize(
    ("examples", "zeros", "settings", "decays"),
    [
        (13, True, {}, False),
        (12, True, {}, True),  # there is little to learn from
        (13, False, {}, True),  # nodes have twenty features
        (13, True, {"feature_decay": 0.5}, True),
        (13, False, {"feature_decay": 0.0}, False),
        (13, True, {"direct": True}, True),
        (13, True, {"batch_size": 8}, True),
    ],
)
def test_vectors_do_not_decay_where_features_are_few_and_many_nodes_teach(
    examples: int,
    zeros: bool,
    settings: dict[str, Any],
    decays: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Known by a feature that no node has: nothing but a penalty moves its vector."""
    monkeypatch.setattr(fitting, "MANY_EXAMPLES", 12)
    graph = graph_for("classifier", features=40)
    graph = nearly_all_zeros(graph) if zeros else graph
    unused = FeatureGraph.from_arrays(
        list(graph.nodes),
        [*graph.features, "unused"],
        (graph.values.rows, graph.values.indices, graph.values.data),
        (graph.edges.sources, graph.edges.targets),
        labels=graph.labels.values,
    )
    split = Split(np.arange(examples), np.arange(examples, 29))
    model = make("classifier", weight_decay=0.5, features="learned", **settings)
    first = make("classifier", **{**settings, "features": "learned", "learning_rate": 1e-12})
    vectors = [
        each.fit(unused, split).network_.encoder.features.weight[-1, :8] for each in (first, model)
    ]
    assert bool((vectors[0] == vectors[1]).all()) != decays
