"""The classifier: values, batches, class weights, classes it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, Split, random_split
from grafenne.data.values import FeatureValues
from grafenne.datasets.synthetic import synthetic
from grafenne.errors import DataError, ParameterError, UnknownNameError
from tests.estimators.cases import graph_for, make

QUICK: dict[str, Any] = {"width": 16, "epochs": 60, "patience": 60}


def one_number(nodes: int = 300) -> FeatureGraph:
    """Every node has one number that decides its class; the edges tell nothing."""
    rng = np.random.default_rng(0)
    value = rng.uniform(-1, 1, nodes)
    ends = rng.integers(nodes, size=(2, nodes))
    return FeatureGraph.from_arrays(
        nodes,
        ["x"],
        (np.arange(nodes), np.zeros(nodes, dtype=int), value),
        (ends[0], ends[1]),
        labels=np.where(value > 0.2, "high", "low"),
        duplicates="first",
    )


def held_out(model: GrafenneClassifier, graph: FeatureGraph, split: Split) -> float:
    return model.fit(graph, split).score(graph, graph.nodes.take(split.test))


def test_values_of_other_nodes_do_not_scale_those_of_training_nodes() -> None:
    graph = one_number(40)
    split = random_split(graph, 0)
    old = graph.values
    for part in (split.validation, split.test):
        data = old.data.copy()
        data[part] *= 100
        other = graph.replace(values=FeatureValues(old.indptr, old.indices, data, 1))
        fitted = [GrafenneClassifier(width=4, epochs=1).fit(one, split) for one in (graph, other)]
        assert fitted[0].scaler_.to_dict() == fitted[1].scaler_.to_dict()


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_one_number_decides_and_only_the_value_mode_can_see_it(scaling: str) -> None:
    graph = one_number()
    split = random_split(graph, 0)
    assert graph.labels is not None
    test = graph.labels.values[split.test]
    majority = max(np.bincount(test)) / len(test)
    assert majority < 0.7
    printed = GrafenneClassifier(mode="paper", scaling=scaling, **QUICK)
    assert held_out(printed, graph, split) < majority + 0.1
    # All nodes look the same to the printed equations, whatever their number.
    assert np.ptp(printed.predict_proba(graph)[:, 0]) < 0.2
    assert held_out(GrafenneClassifier(scaling=scaling, **QUICK), graph, split) >= 0.95


def planted(seed: int = 3) -> tuple[FeatureGraph, Split]:
    graph = synthetic(
        300, 60, 3, values_per_node=8, degree=5, homophily=0.85, signal=0.6, seed=seed
    )
    return graph, random_split(graph, 0)


@pytest.mark.parametrize("labels", [False, True])
def test_batches_learn_about_as_well_as_the_whole_graph(labels: bool) -> None:
    graph, split = planted()
    whole = GrafenneClassifier(**QUICK, labels_as_features=labels)
    bounded = GrafenneClassifier(
        **{**QUICK, "epochs": 15},
        labels_as_features=labels,
        batch_size=30,
        num_layers=2,
        neighbours=[5, 4],
        features_per_node=6,
        nodes_per_feature=10,
    )
    first, second = held_out(whole, graph, split), held_out(bounded, graph, split)
    assert first > 0.8
    assert second > first - 0.1


def test_batches_without_bounds_learn_too() -> None:
    graph, split = planted()
    assert held_out(GrafenneClassifier(width=16, epochs=12, batch_size=60), graph, split) > 0.8


def test_probabilities_and_classes_belong_together() -> None:
    graph, split = planted()
    model = GrafenneClassifier(**{**QUICK, "epochs": 10}).fit(graph, split)
    probabilities = model.predict_proba(graph)
    assert list(model.classes_) == ["class_0", "class_1", "class_2"]
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(model.predict(graph), model.classes_[probabilities.argmax(axis=1)])
    some = graph.nodes.take(split.test)
    assert graph.labels is not None
    truth = np.array([graph.label_of(node) for node in some])
    assert model.score(graph, some) == np.mean(model.predict(graph, some) == truth)
    report = model.evaluate(graph, some)
    assert report["nodes"] == len(some)
    assert sum(part["nodes"] for part in report["per_class"].values()) == len(some)


def test_a_class_that_was_not_there_in_training_counts_as_an_error() -> None:
    graph = graph_for("classifier")
    model = make("classifier", epochs=2).fit(graph)
    predicted = model.predict(graph, ["n0", "n1"])
    known = graph.with_labels({"n0": predicted[0], "n1": predicted[1]})
    assert model.score(known) == 1.0
    unknown = graph.with_labels({"n0": predicted[0], "n1": "new"})
    report = model.evaluate(unknown)
    assert report["accuracy"] == 0.5
    assert report["nodes"] == 2
    assert report["per_class"]["new"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "nodes": 1}


def test_classes_outside_training_are_no_classes_and_validate_nothing() -> None:
    graph = graph_for("classifier")
    labels: dict[Any, Any] = {node: graph.label_of(node) for node in graph.nodes}
    labels |= {"n20": "rare", "n21": "rare"}
    split = Split(np.arange(20), [20, 21], np.arange(22, 30))
    model = make("classifier", epochs=2).fit(graph.with_labels(labels), split)
    assert list(model.classes_) == ["even", "odd"]
    assert np.isfinite([epoch[1] for epoch in model.history_.epochs]).all()


def test_test_labels_play_no_part_in_fitting() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    flipped: dict[Any, Any] = {node: graph.label_of(node) for node in graph.nodes}
    for position in split.test:
        node = graph.nodes[int(position)]
        flipped[node] = "odd" if flipped[node] == "even" else "even"
    first = make("classifier").fit(graph, split).predict_proba(graph)
    second = make("classifier").fit(graph.with_labels(flipped), split).predict_proba(graph)
    assert np.array_equal(first, second)


def test_class_weights_favour_the_rare_class() -> None:
    rng = np.random.default_rng(0)
    nodes = 120
    rare = np.arange(nodes) % 8 == 0
    value = rng.normal(size=nodes) + 0.8 * rare
    graph = FeatureGraph.from_arrays(
        nodes,
        ["x"],
        (np.arange(nodes), np.zeros(nodes, dtype=int), value),
        labels=np.where(rare, "rare", "common"),
    )
    settings: dict[str, Any] = {"width": 8, "epochs": 30}
    shares = [
        np.mean(
            GrafenneClassifier(**settings, class_weight=weight).fit(graph).predict(graph) == "rare"
        )
        for weight in (None, "balanced", {"rare": 50.0})
    ]
    assert shares[0] < shares[1] < shares[2]
    with pytest.raises(UnknownNameError, match=r"class_weight 'rear'.*'rare'"):
        GrafenneClassifier(**settings, class_weight={"rear": 2.0}).fit(graph)
    with pytest.raises(ParameterError, match="class_weight"):
        GrafenneClassifier(**settings, class_weight="balance").fit(graph)


def test_names_of_classes_may_be_anything_hashable() -> None:
    graph = graph_for("classifier", nodes=8).with_labels(
        [("a", 1), ("b", 2), ("a", 1), 7, ("b", 2), True, "text", ("a", 1)], kind="class"
    )
    model = make("classifier", epochs=1, validation_share=0.0).fit(graph)
    assert len(model.classes_) == 5
    assert set(model.predict(graph)) <= {("a", 1), ("b", 2), 7, True, "text"}


def test_numbers_are_not_classes() -> None:
    graph = graph_for("regressor")
    with pytest.raises(DataError, match="use a regressor"):
        make("classifier").fit(graph)
    model = make("classifier", epochs=1).fit(graph_for("classifier"))
    with pytest.raises(DataError, match="no class labels"):
        model.evaluate(graph)
    with pytest.raises(DataError, match="no labelled node"):
        model.score(graph_for("classifier"), [])


def test_with_batches_the_model_is_used_in_blocks_with_the_same_result(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    model = GrafenneClassifier(width=8, epochs=2, batch_size=9, neighbours=3).fit(graph)
    probabilities, nodes = model.predict_proba(graph), model.embed(graph)
    features = model.embed(graph, of="features")
    model.save(tmp_path / "m")
    whole = GrafenneClassifier.load(tmp_path / "m")
    whole.batch_size = None  # the same weights in one pass over the whole graph
    np.testing.assert_allclose(probabilities, whole.predict_proba(graph), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nodes, whole.embed(graph), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(features, whole.embed(graph, of="features"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_size", [None, 100])
def test_hiding_kinds_prepares_for_nodes_that_lack_one(batch_size: int | None) -> None:
    # Tags give the class away, words are right four times out of five; new nodes have no tags.
    rng, nodes = np.random.default_rng(0), 400
    label = rng.integers(2, size=nodes)
    word = np.where(rng.random(nodes) < 0.8, label, 1 - label)
    names = ["tag:0", "tag:1", "word:0", "word:1"]
    numbers, ones = np.arange(nodes), np.ones(nodes)
    both = (np.tile(numbers, 2), np.concatenate((label, 2 + word)), np.tile(ones, 2))
    graph = FeatureGraph.from_arrays(nodes, names, both, labels=label)
    without_tags = FeatureGraph.from_arrays(nodes, names, (numbers, 2 + word, ones))

    def surprise(kind_dropout: float) -> float:
        model = GrafenneClassifier(
            feature_dropout=0.0, kind_dropout=kind_dropout, batch_size=batch_size, **QUICK
        ).fit(graph)
        told = model.predict_proba(without_tags)[numbers, label]
        return float(-np.log(told).mean())

    even = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2))  # of one who knows how good words are
    assert surprise(0.4) < even + 0.1
    assert surprise(0.4) < surprise(0.0)
