"""Labels as features: a help where features are absent, and no leak by construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph, GrafenneClassifier, Split, drop_features, random_split
from grafenne.allotrope import to_allotropic
from grafenne.datasets.synthetic import synthetic
from grafenne.errors import DataError
from grafenne.nn import StructuralFeatures
from grafenne.training.label_features import FeaturesAndLabels, LabelFeatures
from tests.estimators.cases import graph_for, make

QUICK: dict[str, Any] = {"width": 16, "epochs": 50, "patience": 50}


def relabelled(graph: FeatureGraph, positions: Any, kind: str) -> FeatureGraph:
    """The graph with some labels flipped, removed, or with no label at all anywhere."""
    if kind == "no labels":
        return graph.with_labels(None)
    labels: dict[Any, Any] = {node: graph.label_of(node) for node in graph.nodes}
    for node in graph.nodes.take(np.asarray(positions)):
        if kind == "removed":
            del labels[node]
        else:
            labels[node] = "odd" if labels[node] == "even" else "even"
    return graph.with_labels(labels)


@pytest.mark.parametrize("kind", ["flipped", "removed", "no labels"])
def test_no_label_of_a_predicted_graph_is_ever_read(kind: str) -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    model = make("classifier", labels_as_features=True).fit(graph, split)
    expected = model.predict_proba(graph)
    others = np.concatenate((split.validation, split.test))
    assert np.array_equal(model.predict_proba(relabelled(graph, others, kind)), expected)
    # Not even those of the training nodes: what they show was fixed in training.
    everyone = np.arange(graph.num_nodes)
    assert np.array_equal(model.predict_proba(relabelled(graph, everyone, kind)), expected)


def test_no_test_label_plays_a_part_in_fitting() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    first = make("classifier", labels_as_features=True).fit(graph, split)
    second = make("classifier", labels_as_features=True).fit(
        relabelled(graph, split.test, "flipped"), split
    )
    assert np.array_equal(first.predict_proba(graph), second.predict_proba(graph))


def test_validation_labels_choose_the_epoch_and_nothing_else() -> None:
    """With the epoch fixed to the first, flipping validation and test labels changes nothing."""
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    others = np.concatenate((split.validation, split.test))
    flipped = relabelled(graph, others, "flipped")
    for batch_size in (None, 5):
        settings = {"labels_as_features": True, "epochs": 1, "batch_size": batch_size}
        first = make("classifier", **settings).fit(graph, split)
        second = make("classifier", **settings).fit(flipped, split)
        assert np.array_equal(first.predict_proba(graph), second.predict_proba(graph))


def test_only_training_nodes_show_a_label_and_they_show_their_own() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    model = make("classifier", labels_as_features=True, epochs=1).fit(graph, split)
    shown: LabelFeatures = model.label_features_
    assert shown.nodes == graph.nodes.take(split.train)
    seen = shown.add_to(graph)
    assert seen.num_values == graph.num_values + len(split.train)
    for position, node in enumerate(graph.nodes):
        extra = seen.features_of(node).keys() - graph.features_of(node).keys()
        assert extra == (
            {f"label of node={graph.label_of(node)}"} if position in split.train else set()
        )
        assert all(seen.features_of(node)[name] == 1.0 for name in extra)


def test_a_graph_without_the_training_nodes_can_be_predicted() -> None:
    graph = graph_for("classifier")
    model = make("classifier", labels_as_features=True).fit(graph)
    other = FeatureGraph.from_arrays(
        ["p", "q"], ["f1", "new"], ([0, 1], [0, 1], [2.0, 1.0]), ([0], [1])
    )
    assert np.isfinite(model.predict_proba(other)).all()
    mixed = FeatureGraph.from_arrays(["p", "n0"], ["f1"], ([0], [0], [2.0]), ([0], [1]))
    alone = FeatureGraph.from_arrays(["p", "x"], ["f1"], ([0], [0], [2.0]), ([0], [1]))
    assert not np.array_equal(model.predict_proba(mixed), model.predict_proba(alone))


def test_the_reserved_prefix_is_refused() -> None:
    graph = graph_for("classifier").with_features({"n0": {"label of node=odd": 1.0}})
    with pytest.raises(DataError, match="'label of node=odd'"):
        make("classifier", labels_as_features=True).fit(graph)
    other = graph_for("classifier").with_features({"n0": {"label of node=other": 1.0}})
    model = make("classifier", labels_as_features=True, epochs=1).fit(graph_for("classifier"))
    with pytest.raises(DataError, match="kept for labels"):
        model.predict(other)
    make("classifier", epochs=1).fit(graph)  # without the option it is a name like any other


def test_classes_whose_text_is_the_same_stay_apart() -> None:
    shown = LabelFeatures([1, "1"], ["n0", "n1"], np.array([0, 1]))
    assert shown.names == ["label of node=1", "label of node='1'"]


FEATURES = {
    "learned": "learned",
    "name": "name",
    "structural": "structural",
    "mapping": {"f1": [1.0, 2.0], "f2": [0.0, 1.0]},
    "array": np.ones((40, 3)),
    "callable": lambda names: np.array([[float(name[1:])] for name in names]),  # f0, f1, …
}


@pytest.fixture(scope="module")
def absent() -> tuple[FeatureGraph, Split, float]:
    """A homophilous graph without any feature value, and the accuracy without labels."""
    graph = drop_features(synthetic(240, 40, 3, degree=6, homophily=0.9, seed=5), rate=1.0, seed=0)
    split = random_split(graph, 0)
    assert graph.num_values == 0
    model = GrafenneClassifier(**QUICK).fit(graph, split)
    return graph, split, model.score(graph, graph.nodes.take(split.test))


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
def test_labels_help_where_features_are_absent_for_every_embedding(
    features: Any, absent: tuple[FeatureGraph, Split, float]
) -> None:
    graph, split, without = absent
    model = GrafenneClassifier(**QUICK, features=features, labels_as_features=True)
    reached = model.fit(graph, split).score(graph, graph.nodes.take(split.test))
    assert reached > without + 0.2
    assert reached > 0.7


def test_labels_help_in_batches_larger_than_the_training_set(
    absent: tuple[FeatureGraph, Split, float],
) -> None:
    graph, split, without = absent
    model = GrafenneClassifier(
        **{**QUICK, "epochs": 25}, labels_as_features=True, batch_size=10_000
    )
    assert model.fit(graph, split).score(graph, graph.nodes.take(split.test)) > without + 0.2


def test_the_embedding_of_other_features_does_not_know_the_labels() -> None:
    """A sketch of a rare feature would otherwise tell the label of the one node that has it."""
    graph = graph_for("classifier").with_features({"n3": {"rare": 1.0}})
    names, nodes = ["a", "b"], ["n3", "n4", "n5"]
    torch.manual_seed(0)
    embedding: FeaturesAndLabels | None = None
    states = []
    for codes in ([0, 1, 0], [1, 0, 0]):
        shown = LabelFeatures(names, nodes, np.array(codes))
        seen = to_allotropic(shown.add_to(graph))
        embedding = embedding or FeaturesAndLabels(StructuralFeatures(8), shown.names)
        states.append(embedding(seen).detach())
    assert torch.equal(states[0], states[1])
    inner = StructuralFeatures(8)
    inner.load_state_dict(embedding.inner.state_dict())  # type: ignore[union-attr]
    assert torch.equal(states[0][:-2], inner(to_allotropic(graph)).detach())
    assert states[0].shape == (graph.num_features + 2, 8)
