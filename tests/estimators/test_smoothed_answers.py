"""Classifiers whose answers are smoothed: better where edges join nodes of a class, and no leak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, GraphDelta, random_split
from grafenne.baselines.methods import make_method
from grafenne.errors import ParameterError
from tests.estimators.cases import graph_for, make
from tests.estimators.test_label_features import relabelled


def two_camps(nodes: int = 120) -> FeatureGraph:
    """Two classes, edges mostly within them, and one feature that hardly tells them apart."""
    rng = np.random.default_rng(2)
    group = np.arange(nodes) % 2
    same = group[:, None] == group[None, :]
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < np.where(same, 0.08, 0.004), 1))
    value = 0.4 * group + rng.normal(size=nodes)
    return FeatureGraph.from_arrays(
        nodes,
        1,
        (np.arange(nodes), np.zeros(nodes, dtype=np.int64), value),
        (pairs[:, 0], pairs[:, 1]),
        labels=np.array(["left", "right"])[group],
    )


def test_it_helps_where_features_tell_little_and_edges_much() -> None:
    graph = two_camps()
    split = random_split(graph, 0, (0.2, 0.3, 0.5))
    test = graph.nodes.take(split.test)
    settings: dict[str, Any] = {"width": 8, "num_layers": 1, "epochs": 30, "skip": False}
    plain = GrafenneClassifier(**settings).fit(graph, split)
    smoothed = GrafenneClassifier(**settings, smoothing="auto").fit(graph, split)
    assert smoothed.smoothing_.share > 0
    assert smoothed.score(graph, test) > plain.score(graph, test) + 0.05
    assert smoothed.history_.epochs == plain.history_.epochs  # nothing of it is trained


def test_labels_of_a_predicted_graph_are_never_read() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    model = make("classifier", smoothing=0.5).fit(graph, split)
    expected = model.predict_proba(graph)
    everyone = np.arange(graph.num_nodes)
    for kind in ("flipped", "no labels"):
        assert np.array_equal(model.predict_proba(relabelled(graph, everyone, kind)), expected)
    flipped = relabelled(graph, split.test, "flipped")
    again = make("classifier", smoothing="auto").fit(flipped, split)
    first = make("classifier", smoothing="auto").fit(graph, split)
    assert np.array_equal(again.predict_proba(graph), first.predict_proba(graph))


def test_training_nodes_alone_show_their_label() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    model = make("classifier", smoothing=0.5).fit(graph, split)
    assert model.smoothing_.shown.nodes == graph.nodes.take(split.train)
    shown = [model.classes_[code] for code in model.smoothing_.shown.codes]
    assert shown == [graph.label_of(node) for node in model.smoothing_.shown.nodes]


def test_without_a_share_nothing_changes() -> None:
    graph = graph_for("classifier")
    plain = make("classifier").fit(graph)
    for smoothing in (0, 0.0):
        model = make("classifier", smoothing=smoothing).fit(graph)
        assert np.array_equal(model.predict_proba(graph), plain.predict_proba(graph))


def test_a_node_gets_the_same_whoever_else_is_asked() -> None:
    graph = graph_for("classifier")
    model = make("classifier", smoothing=0.5).fit(graph)
    every = model.predict_proba(graph)
    for position in (0, 7, graph.num_nodes - 1):
        alone = model.predict_proba(graph, [graph.nodes[position]])
        assert np.array_equal(alone[0], every[position])
    assert model.predict_proba(graph, []).shape == (0, 2)


@pytest.mark.parametrize("method", ["gcn", "fp+sage", "pagnn", "gcnmf", "traditional", "fate"])
def test_baselines_have_it_too(method: str) -> None:
    graph = graph_for("classifier")
    settings = {"width": 8, "epochs": 3}
    plain = make_method(method, **settings).fit(graph)
    smoothed = make_method(method, **settings, smoothing=0.5).fit(graph)
    inner = getattr(smoothed, "estimator_", smoothed)
    expected = inner.smoothing_.smooth(graph, plain.predict_proba(graph))
    assert smoothed.predict_proba(graph) == pytest.approx(expected)
    assert (
        smoothed.evaluate(graph)["accuracy"]
        == (smoothed.predict(graph) == [graph.label_of(node) for node in graph.nodes]).mean()
    )


def test_in_batches_too() -> None:
    graph = graph_for("classifier")
    model = make("classifier", smoothing="auto", batch_size=5).fit(graph)
    assert model.predict_proba(graph).sum(axis=1) == pytest.approx(np.ones(graph.num_nodes))


def test_an_explanation_tells_of_the_class_that_is_predicted() -> None:
    graph = graph_for("classifier")
    model = make("classifier", smoothing=0.9).fit(graph)
    plain = make("classifier").fit(graph)
    names, probabilities = model.predict(graph), model.predict_proba(graph)
    turned = np.flatnonzero(names != plain.predict(graph))
    assert len(turned)
    for position in (int(turned[0]), 0):
        told = model.explain(graph, graph.nodes[position], top=None)
        own = plain.explain(graph, graph.nodes[position], top=None)
        assert told.prediction == names[position]
        assert told.probability == pytest.approx(probabilities[position].max())
        sign = 1.0 if told.prediction == own.prediction else -1.0  # there are two classes
        given = {part.name: part.contribution for part in told.features}
        expected = {part.name: sign * part.contribution for part in own.features}
        assert given == pytest.approx(expected, abs=1e-5)


def test_an_update_brings_the_shown_labels_up_to_date(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    model = make("classifier", smoothing=0.5).fit(graph)
    before = len(model.smoothing_.shown.nodes)
    gone = model.smoothing_.shown.nodes[0]
    change = GraphDelta(
        nodes_added=["new"], edges_added=[("new", "n1")], labels_set=[("new", "third")],
        labels_removed=[gone],
    )  # fmt: skip
    after = graph.apply(change)
    model.update(graph, change, strategy="finetune", epochs=2)
    shown = model.smoothing_.shown.nodes
    assert "new" in shown
    assert gone not in shown
    assert len(shown) == before
    assert model.predict_proba(after).shape == (graph.num_nodes + 1, 3)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(after), model.predict_proba(after))


@pytest.mark.parametrize("wrong", ["much", 1.0, -0.1, True, float("nan")])
def test_strange_shares_are_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="smoothing is 'auto', or at least 0 and below 1"):
        make("classifier", smoothing=wrong).fit(graph_for("classifier"))
