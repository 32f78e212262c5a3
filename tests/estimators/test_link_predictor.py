"""The link predictor: it finds planted communities, and only from training edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneLinkPredictor, split_edges
from grafenne.errors import DataError, ParameterError, UnknownNameError
from grafenne.estimators import suggestions
from tests.estimators.cases import graph_for, make


def communities(nodes: int = 60, directed: bool = False) -> FeatureGraph:
    """Two groups, most of whose pairs are joined and few others; features tell the group."""
    rng = np.random.default_rng(2)
    group = np.arange(nodes) % 2
    together = group[:, None] == group[None, :]
    chance = np.where(together, 0.7, 0.01)
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < chance, 1))
    cells = np.argwhere(rng.random((nodes, 10)) < 0.3)
    own = cells[:, 1] % 2 == group[cells[:, 0]]
    cells = cells[own | (rng.random(len(cells)) < 0.2)]
    return FeatureGraph.from_arrays(
        nodes,
        10,
        (cells[:, 0], cells[:, 1], np.ones(len(cells))),
        (pairs[:, 0], pairs[:, 1]),
        directed=directed,
    )


@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_planted_communities_are_found(backbone: str) -> None:
    graph = communities()
    split = split_edges(graph, 0)
    model = GrafenneLinkPredictor(width=16, epochs=60, backbone=backbone).fit(graph, split)
    report = model.evaluate(split)
    assert report["auc"] > 0.8
    assert model.score(split) == report["auc"]
    assert report["edges"] == len(split.test)
    assert model.evaluate(split, "validation")["auc"] > 0.7


def test_held_out_edges_have_no_influence_on_the_fit() -> None:
    graph = communities()
    split = split_edges(graph, 0)
    settings = {"width": 8, "epochs": 3}
    first = GrafenneLinkPredictor(**settings).fit(graph, split)  # type: ignore[arg-type]
    other = replace(split, test=split.test[:1], test_negatives=split.test_negatives[:1])
    second = GrafenneLinkPredictor(**settings).fit(split.graph, other)  # type: ignore[arg-type]
    assert np.array_equal(first.embed(split.graph), second.embed(split.graph))


def test_without_a_split_a_share_of_the_edges_validates() -> None:
    graph = communities()
    model = GrafenneLinkPredictor(width=8, epochs=2, validation_share=0.25).fit(graph)
    assert len(model.split_.validation) == round(0.25 * graph.num_edges)
    assert len(model.split_.test) == 0
    with pytest.raises(DataError, match="no test edges"):
        model.score(model.split_)


@pytest.mark.parametrize(("kept", "share", "other"), [(6, 0.5, 0.2), (1, 0.2, 0.5)])
def test_less_of_the_edges_is_hidden_where_nodes_have_hardly_a_feature(
    kept: int, share: float, other: float
) -> None:
    graph = graph_for("links")
    graph = graph.without_features(list(graph.features)[kept:])  # three values a node, or half
    split = split_edges(graph, 0)

    def scores(**settings: float) -> np.ndarray:
        model = make("links", feature_dropout=0.0, **settings).fit(graph, split)
        return model.decision_function(graph, [("n0", "n1"), ("n2", "n5")])

    usual = scores()
    assert np.array_equal(usual, scores(hidden_share=share))
    assert not np.array_equal(usual, scores(hidden_share=other))


def test_answers_agree_with_each_other() -> None:
    graph = communities()
    model = GrafenneLinkPredictor(width=8, epochs=5).fit(graph)
    pairs = [(0, 2), (0, 1), (5, 5)]
    odds = model.decision_function(graph, pairs)
    assert np.allclose(model.predict_proba(graph, pairs), 1 / (1 + np.exp(-odds)))
    assert np.array_equal(model.predict(graph, pairs), odds > 0)
    assert np.array_equal(model.decision_function(graph, np.array(pairs)), odds)
    back = [(b, a) for a, b in pairs]
    assert np.array_equal(model.decision_function(graph, back), odds)
    directed = communities(directed=True)
    other = GrafenneLinkPredictor(width=8, epochs=2).fit(directed)
    ahead, behind = (other.decision_function(directed, pair) for pair in (pairs[:2], back[:2]))
    assert not np.allclose(ahead, behind)


def test_wrong_questions_are_told() -> None:
    graph = graph_for("links")
    model = make("links", epochs=1).fit(graph)
    for wrong in ([("n0",)], ["n0"], [("n0", "n1", "n2")], [3]):
        with pytest.raises(DataError, match="Pairs of two node ids"):
            model.predict(graph, wrong)
    with pytest.raises(UnknownNameError, match=r"'tset'.*Did you mean 'test'"):
        model.evaluate(split_edges(graph, 0), "tset")
    with pytest.raises(ParameterError, match="batch_size"):
        make("links", batch_size=10).fit(graph)
    with pytest.raises(DataError, match="30 nodes, but this one has 12"):
        make("links").fit(graph_for("links", nodes=12), split_edges(graph, 0))
    with pytest.raises(DataError, match="no validation edges"):
        make("links").fit(graph, split_edges(graph, 0, (0.5, 0.0, 0.5)))
    with pytest.raises(DataError, match="no validation edges"):
        make("links", validation_share=0.0).fit(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_suggestions_are_the_best_pairs_that_are_not_there(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = communities(30, directed)
    model = GrafenneLinkPredictor(width=8, epochs=10).fit(graph)
    monkeypatch.setattr(suggestions, "BLOCK_SCORES", 70)  # two nodes at a time
    asked = [3, 0, 7, 12, 29]
    found = model.suggest(graph, asked, top=4)
    assert list(found.columns) == ["source", "target", "probability"]
    assert list(dict.fromkeys(found["source"])) == asked
    for node in asked:
        joined = set(graph.neighbors(node, "out" if directed else "both"))
        others = [other for other in graph.nodes if other != node and other not in joined]
        scores = model.predict_proba(graph, [(node, other) for other in others])
        best = np.argsort(-scores)[:4]
        rows = found[found["source"] == node]
        assert list(rows["target"]) == [others[place] for place in best]
        np.testing.assert_allclose(rows["probability"], scores[best], rtol=1e-5)
    everybody = model.suggest(graph, top=1)
    assert list(everybody["source"]) == list(graph.nodes)
    with pytest.raises(ParameterError, match="top"):
        model.suggest(graph, top=0)
    with pytest.raises(UnknownNameError, match="99"):
        model.suggest(graph, [99])


def test_a_node_that_is_joined_to_all_gets_no_suggestion() -> None:
    graph = FeatureGraph.from_arrays(4, 1, ([0], [0], [1.0]), ([0, 0, 0, 1], [1, 2, 3, 2]))
    model = GrafenneLinkPredictor(width=4, epochs=1, validation_share=0.5).fit(graph)
    found = model.suggest(graph, [0, 1])
    assert found[["source", "target"]].to_numpy().tolist() == [[1, 3]]
