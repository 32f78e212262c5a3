"""What every estimator must hold on graphs of all kinds: degenerate, directed, weighted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, Split
from grafenne.errors import DataError
from tests.estimators.cases import (
    EVERY,
    NODE,
    answers,
    graph_for,
    make,
)

every = pytest.mark.parametrize("kind", EVERY)
of_nodes = pytest.mark.parametrize("kind", NODE)


def degenerate(kind: str) -> dict[str, FeatureGraph]:
    """Graphs at the edge of what can be learned from."""
    labels: list[Any] = [0.5, 2.0, -1.0, 4.0] if kind == "regressor" else ["a", "b", "a", "b"]
    cells = ([0, 0, 1, 2], [0, 1, 1, 0], [1.0, -2.0, 0.0, 3.0])
    ring = ([0, 1, 2, 3], [1, 2, 3, 0])
    chain = ([0, 1, 2], [1, 2, 3])
    same = [1.5] * 4 if kind == "regressor" else ["a"] * 4

    def build(features: Any = 2, triples: Any = cells, edges: Any = ring, **more: Any) -> Any:
        return FeatureGraph.from_arrays(4, features, triples, edges, **{"labels": labels, **more})

    graphs = {
        "no edges": build(edges=None),
        "no features": build(features=0, triples=None),
        "nothing but names": build(triples=None),
        "one class": build(labels=same),
        "one labelled node": build(labels={2: labels[2]}),
        "unused names": build(features=5),
        "directed": build(directed=True, edges=([0, 1, 1, 3], [1, 0, 2, 0])),
        "weighted": build(edges=(*chain, [0.5, 0.0, -2.0])),
        "loops": build(edges=([0, 0, 1, 2], [0, 1, 1, 3])),
        "linked features": build(features=3, feature_edges=([0, 1], [1, 2])),
        "huge values": build(triples=([0, 1, 2], [0, 0, 1], [1e30, -1e30, 1e-30])),
    }
    if kind == "links":
        del graphs["no edges"]
    return graphs


@every
@pytest.mark.parametrize("features", ["company", "learned", "name", "structural"])
@pytest.mark.parametrize("normalisation", ["layer", "batch"])
def test_degenerate_graphs_give_finite_numbers(
    kind: str, features: str, normalisation: str
) -> None:
    for name, graph in degenerate(kind).items():
        model = make(kind, epochs=2, features=features, normalisation=normalisation)
        if kind == "links":
            model.set_params(validation_share=0.3)
        result = answers(model.fit(graph), graph)
        assert np.isfinite(result).all(), name
        assert len(result) == 4
        assert np.isfinite(model.embed(graph)).all(), name


@of_nodes
def test_degenerate_graphs_work_in_batches(kind: str) -> None:
    for name, graph in degenerate(kind).items():
        model = make(kind, epochs=2, batch_size=2, neighbours=1, nodes_per_feature=1).fit(graph)
        assert np.isfinite(answers(model, graph)).all(), name


@every
def test_graphs_without_anything_to_learn_from_are_refused(kind: str) -> None:
    empty = FeatureGraph.from_arrays(0, 0)
    with pytest.raises(DataError):
        make(kind).fit(empty)
    with pytest.raises(DataError):
        make(kind).fit(FeatureGraph.from_arrays(3, 1, labels=[None, None, None]))


@of_nodes
def test_a_split_must_fit_the_graph(kind: str) -> None:
    graph = graph_for(kind)
    hidden = graph.with_labels({"n0": graph.label_of("n0"), "n2": graph.label_of("n2")})
    cases = [
        (graph, Split([0, 30], [1]), "30"),
        (hidden, Split([0, 1], [2]), "'n1'.*train"),
        (hidden, Split([0], [1]), "'n1'.*validation"),
        (graph, Split([], [1, 2]), "no training nodes"),
    ]
    for given, split, message in cases:
        with pytest.raises(DataError, match=message):
            make(kind).fit(given, split)


@every
def test_direction_and_weights_of_edges_reach_the_model(kind: str) -> None:
    directed = graph_for(kind, directed=True)
    results = [
        answers(make(kind, direction=direction).fit(directed), directed)
        for direction in ("both", "in", "out")
    ]
    assert not np.array_equal(results[0], results[1])
    assert not np.array_equal(results[1], results[2])
    weighted = graph_for(kind, weighted=True)
    plain = weighted.replace(edges=graph_for(kind).edges)
    model = make(kind).fit(weighted)
    assert not np.array_equal(answers(model, weighted), answers(model, plain))


@every
def test_edges_among_features_are_used_unless_switched_off(kind: str) -> None:
    graph = graph_for(kind, feature_edges=True)
    bare = graph_for(kind)
    model = make(kind).fit(graph)
    assert not np.array_equal(answers(model, graph), answers(model, bare))
    without = make(kind, feature_edges=False).fit(graph)
    assert np.array_equal(answers(without, graph), answers(without, bare))
