"""Explanations of links: exact for held feature states, either end, with and without direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph, GrafenneLinkPredictor
from grafenne.allotrope import to_allotropic
from grafenne.errors import DataError, ParameterError, UnknownNameError
from grafenne.impute import ImputedLinkPredictor
from grafenne.nn.block import whole_graph_blocks
from tests.estimators.cases import graph_for, make
from tests.estimators.test_explain import without_edge

ENDS = ("source", "target")


def held(model: Any, graph: FeatureGraph, changed: FeatureGraph, pair: tuple[str, str]) -> float:
    """The log-odds in a changed graph with the states of the features of the unchanged one."""
    encoder = model.network_.encoder
    places = torch.from_numpy(graph.nodes.positions(list(pair)))[None]
    with torch.no_grad():
        states = encoder(to_allotropic(model.scaler_.transform(graph))).feature_states
        other = to_allotropic(model.scaler_.transform(changed))
        blocks = whole_graph_blocks(other, encoder.num_blocks, encoder.dtype)
        nodes = encoder.encode_fixed(blocks, encoder.states_of_blocks(states))
        return float(model.network_.score(nodes, places))


@pytest.mark.parametrize("backbone", ["sage", "gat"])
@pytest.mark.parametrize("directed", [False, True])
def test_contributions_equal_brute_force_occlusion(backbone: str, directed: bool) -> None:
    graph = graph_for("links", nodes=40, directed=directed)
    model = make("links", backbone=backbone, epochs=15, patience=15).fit(graph)
    joined = (str(graph.nodes[int(graph.edges.sources[0])]),
              str(graph.nodes[int(graph.edges.targets[0])]))  # fmt: skip
    for pair in (("n3", "n10"), ("n10", "n3"), joined):
        told = model.explain(graph, *pair, top=None)
        assert (told.source, told.target) == pair
        assert told.probability == pytest.approx(model.predict_proba(graph, [pair])[0], abs=1e-5)
        base = held(model, graph, graph, pair)
        for end, node in zip(ENDS, pair, strict=True):
            features = getattr(told, f"{end}_features")
            assert {part.name: part.value for part in features} == graph.features_of(node)
            for part in features:
                changed = graph.without_features([part.name], nodes=[node])
                expected = base - held(model, graph, changed, pair)
                assert part.contribution == pytest.approx(expected, abs=1e-4)
            neighbours = getattr(told, f"{end}_neighbours")
            assert {part.name for part in neighbours} == set(graph.neighbors(node))
            for part in neighbours:
                changed = without_edge(graph, node, part.name)
                expected = base - held(model, graph, changed, pair)
                assert part.contribution == pytest.approx(expected, abs=1e-4)
            sizes = [abs(part.contribution) for part in features]
            assert sizes == sorted(sizes, reverse=True)


def test_it_can_be_read_by_people_and_programs() -> None:
    graph = graph_for("links")
    model = make("links").fit(graph)
    told = model.explain(graph, "n1", "n2", top=1)
    assert str(told).startswith("n1 - n2: a link with probability 0.")
    assert "features of n2" in str(told)
    frame = told.to_frame()
    assert set(frame["kind"]) <= {
        "source_feature", "target_feature", "source_neighbour", "target_neighbour"
    }  # fmt: skip
    assert frame["kind"].is_unique
    plain = told.to_dict()
    assert plain["source"] == "n1"
    assert [part["name"] for part in plain["source_features"]] == [
        part.name for part in told.source_features
    ]


def test_what_cannot_be_explained_is_told() -> None:
    graph = graph_for("links")
    model = make("links").fit(graph)
    with pytest.raises(ParameterError, match="'n1' twice"):
        model.explain(graph, "n1", "n1")
    with pytest.raises(UnknownNameError, match="'n99'"):
        model.explain(graph, "n1", "n99")
    with pytest.raises(ParameterError, match="top"):
        model.explain(graph, "n1", "n2", top=0)
    with pytest.raises(DataError, match="directed"):
        model.explain(graph_for("links", directed=not graph.directed), "n1", "n2")


def test_behind_an_imputation_filled_in_features_count_too() -> None:
    graph = graph_for("links")
    inner = GrafenneLinkPredictor(width=8, epochs=2)
    model = ImputedLinkPredictor(imputer="neighbourhood-mean", estimator=inner).fit(graph)
    filled = model.imputer_.transform(graph)
    told = model.explain(graph, "n1", "n2", top=None)
    assert {part.name for part in told.source_features} == set(filled.features_of("n1"))
    assert np.isfinite([part.contribution for part in told.source_features]).all()
