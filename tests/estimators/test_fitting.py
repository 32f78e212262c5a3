"""Settings that the user leaves open fit the graph and what there is to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grafenne import Split
from grafenne.estimators import fitting
from tests.estimators.cases import graph_for, make


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
        (13, 20, 0.0, {}),
        (13, 20, 0.0, {"features": "company", "batch_size": 8}),  # which looks at all values too
    ],
)
def test_nothing_is_hidden_where_many_nodes_are_told_apart_by_their_known_zeros(
    examples: int,
    one_in: int,
    rate: float,
    settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "MANY_EXAMPLES", 12)
    graph = graph_for("classifier", features=40)
    ones = np.arange(graph.num_values) % one_in == 0
    values = replace(graph.values, data=ones.astype(graph.values.data.dtype))
    split = Split(np.arange(examples), np.arange(examples, 29))
    model = make("classifier", epochs=1, reach=0, **settings)
    model.fit(graph.replace(values=values), split)
    assert model.network_.encoder.feature_dropout.rate == pytest.approx(rate, abs=0.08)
