from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grafenne import (
    FeatureGraph,
    GrafenneClassifier,
    GrafenneLinkPredictor,
    GrafenneRegressor,
    GraphDelta,
    GraphStream,
    Split,
)
from grafenne.allotrope import to_allotropic
from grafenne.continual import STRATEGIES, Finetune, make_strategy, run_stream
from grafenne.errors import DataError, NotFittedError, ParameterError, UnknownNameError
from tests.continual.cases import (
    SMALL,
    TEST,
    fitted,
    same_weights,
    small_change,
    small_graph,
    small_split,
    weights,
)


def scrambled(graph: Any, nodes: list[str]) -> Any:
    """The graph with the other label at these nodes."""
    labels = {node: graph.label_of(node) for node in graph.nodes}
    labels |= {node: "even" if labels[node] == "odd" else "odd" for node in nodes}
    return graph.with_labels(labels)


def short(strategy: str) -> dict[str, Any]:
    """Few epochs, where a strategy has any of its own."""
    return {} if strategy in ("retrain", "frozen") else {"epochs": 3}


@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("states", ["exact", "fixed"])
def test_every_strategy_updates_and_repeats_itself(strategy: str, states: str) -> None:
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    plan = make_strategy(strategy, **short(strategy))
    models = [
        fitted().update(graph, delta, strategy=deepcopy(plan), states=states) for _ in range(2)
    ]
    assert same_weights(*models)
    assert models[0].predict(after).shape == (40,)
    report = models[0].last_update_
    assert report.strategy == strategy
    assert report.affected >= 4  # n42, n3, n2, n4, and what was joined to n9
    assert (report.trained_on == 0) == (strategy == "frozen")


@pytest.mark.parametrize("states", ["exact", "fixed"])
def test_kinds_of_features_are_hidden_in_updates_too(states: str) -> None:
    """With nearly everything hidden, what features there are hardly matters to the update."""
    graph, delta = small_graph(), small_change()
    # Without validation nodes the epoch counts whether or not it was any use.
    split = Split(small_split(graph.apply(delta)).train)
    moved = {}
    for rate in (0.0, 0.99):
        model = fitted().set_params(kind_dropout=rate)
        before = model.network_.encoder.features.weight.detach().clone()
        model.update(graph, delta, strategy="finetune", split=split, states=states, epochs=1)
        after = model.network_.encoder.features.weight[: len(before)].detach()
        moved[rate] = float((after - before).abs().sum(dim=1).gt(0).double().mean())
    assert moved[0.0] > 0.5
    assert moved[0.99] < moved[0.0] / 2


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_test_labels_never_matter(strategy: str) -> None:
    graph, delta = small_graph(), small_change()
    more = short(strategy)
    told = fitted().update(graph, delta, strategy=strategy, **more)
    other = fitted().update(scrambled(graph, TEST), delta, strategy=strategy, **more)
    assert same_weights(told, other)


def test_validation_labels_only_choose() -> None:
    """Whatever they are, the outcome is the start or the end of the very same training."""
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    end = fitted().update(
        graph, delta, strategy="finetune", split=Split(small_split(after).train), epochs=5
    )
    start = fitted().update(graph, delta, strategy="finetune", learning_rate=1e-12, epochs=5)
    outcomes = set()
    for flipped in ([], ["n1", "n6", "n11", "n16", "n21", "n26", "n31", "n36"]):
        model = fitted().update(
            scrambled(graph, flipped), delta, strategy="finetune",
            split=small_split(after), epochs=5,
        )  # fmt: skip
        kept = model.last_update_.kept_start
        outcomes.add(kept)
        expected = weights(start if kept else end)
        for name, tensor in weights(model).items():
            torch.testing.assert_close(tensor, expected[name])
    assert outcomes == {True, False}


@pytest.mark.parametrize("strategy", ["warm-start", "finetune"])
def test_vectors_decay_in_updates_as_they_do_in_training(strategy: str) -> None:
    graph, delta = small_graph(), small_change()
    split = small_split(graph.apply(delta))
    unjudged = Split(split.train, np.array([], dtype=np.int64), split.test)

    def size(**settings: Any) -> float:
        model = fitted().set_params(weight_decay=1.0, **settings)
        model.update(graph, delta, strategy=strategy, epochs=5, split=unjudged)
        return float(model.network_.encoder.features.weight.detach().norm())

    usual, none = size(), size(feature_decay=0.0)
    # Of these two only the one that trains on all nodes has a penalty.
    assert (usual < none) if strategy == "warm-start" else (usual == none)


def test_no_change_changes_nothing() -> None:
    graph, model = small_graph(), fitted()
    for strategy in ("ewc", "finetune", "warm-start"):
        assert same_weights(fitted().update(graph, GraphDelta(), strategy=strategy), model)


@pytest.mark.parametrize("features", ["learned", "name", "structural"])
@pytest.mark.parametrize("strategy", ["ewc", "online-ewc", "finetune"])
def test_nothing_to_learn_from_leaves_the_model_as_it_was(
    features: str, strategy: str, tmp_path: Path
) -> None:
    """New features at a test node alone: to all that comes they go on being unseen."""
    graph, model = small_graph(), fitted(features=features)
    model.update(graph, small_change(), strategy=strategy, epochs=3)  # there is something to keep
    graph = graph.apply(small_change())
    delta = GraphDelta(triples_added=[("n0", "seen at a test node", 1.0)])
    after = graph.apply(delta)
    expected, old = model.predict_proba(after), weights(model)
    model.update(graph, delta, strategy=strategy, epochs=3)
    assert model.last_update_.trained_on == 0
    assert model.last_update_.new_features >= 1
    assert np.array_equal(model.predict_proba(after), expected)
    assert all(torch.equal(old[name], now) for name, now in weights(model).items())
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(after), expected)
    more = GraphDelta(
        triples_added=[("n3", "later", 1.0), ("n3", "seen at a test node", 1.0)],
        labels_set=[("n3", "even")],
    )
    loaded.update(after, more, strategy=strategy, epochs=3, learning_rate=0.03)
    assert np.isfinite(loaded.predict_proba(after.apply(more))).all()


def test_an_update_that_is_no_better_changes_no_prediction() -> None:
    """Also where the change brings features: they do not count more than before."""
    graph = small_graph()
    delta = GraphDelta(triples_added=[(f"n{n}", "new", 1.0) for n in range(0, 40, 3)])
    after = graph.apply(delta)
    expected = fitted().predict_proba(after)
    model = fitted().update(graph, delta, strategy="finetune", learning_rate=1e-12, epochs=5)
    assert model.last_update_.kept_start
    assert model.last_update_.trained_on > 0
    assert model.n_features_in_ == 10
    assert np.array_equal(model.predict_proba(after), expected)


def test_what_is_new_does_not_move_the_structural_vectors_of_known_features(
    tmp_path: Path,
) -> None:
    """An update that takes new features in begins where the model left off."""
    graph = small_graph()
    delta = GraphDelta(triples_added=[(f"n{n}", f"new {n % 4}", 1.0) for n in range(0, 40, 3)])
    after = graph.apply(delta)
    parts = small_split(after)
    model = fitted(features="structural")
    before = model.network_.encoder.features(to_allotropic(after))
    alone = Split(parts.train, np.empty(0, dtype=np.int64), parts.test)  # nothing says to stay
    options = {"strategy": "finetune", "learning_rate": 1e-9, "split": alone, "epochs": 2}
    model.update(graph, delta, **options)
    assert not model.last_update_.kept_start
    assert model.n_features_in_ == len(after.features)
    torch.testing.assert_close(model.network_.encoder.features(to_allotropic(after)), before)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(after), model.predict_proba(after))


def test_a_label_that_is_taken_back_is_no_longer_shown() -> None:
    graph = small_graph()
    model = fitted(labels_as_features=True)
    shown = model.label_features_.nodes[0]
    model.update(graph, GraphDelta(labels_removed=[shown]), strategy="finetune", epochs=2)
    assert shown not in model.label_features_.nodes
    assert len(model.label_features_.nodes) > 5


def test_frozen_stays_and_retrained_equals_a_fresh_fit() -> None:
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    assert same_weights(fitted().update(graph, delta, strategy="frozen"), fitted())
    split = small_split(after)
    model = fitted().update(graph, delta, strategy="retrain", split=split)
    assert same_weights(model, GrafenneClassifier(**SMALL).fit(after, split))
    model = fitted().update(graph, delta, strategy="retrain", split=split, seed=7)
    fresh = GrafenneClassifier(**{**SMALL, "random_state": 7}).fit(after, split)
    assert same_weights(model, fresh)
    assert model.random_state == fitted().random_state
    with pytest.raises(ParameterError, match="'retrain' has no setting 'epochs'; it has none"):
        model.update(graph, delta, strategy="retrain", epochs=3)


def test_far_features_keep_their_vectors_with_fixed_states() -> None:
    graph = small_graph()
    lonely = graph.apply(
        GraphDelta(nodes_added=["far"], triples_added=[("far", "far feature", 1.0)])
    )
    # Without dropout the update is sure to find something better than the start.
    model = GrafenneClassifier(**SMALL, feature_dropout=0.0).fit(lonely, small_split(graph))
    old = weights(model)["encoder.features.weight"]
    model.update(lonely, small_change(), strategy="finetune", states="fixed")
    assert not model.last_update_.kept_start
    now = weights(model)["encoder.features.weight"]
    assert torch.equal(now[10], old[10])
    assert not torch.equal(now[0], old[0])


def test_fixed_states_come_close_to_exact_ones() -> None:
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    answers = [
        fitted().update(graph, delta, states=states, epochs=10).predict_proba(after)
        for states in ("exact", "fixed")
    ]
    assert np.abs(answers[0] - answers[1]).mean() < 0.05
    assert (answers[0].argmax(axis=1) == answers[1].argmax(axis=1)).mean() > 0.9


def test_a_snapshot_stands_for_the_change() -> None:
    graph, delta = small_graph(), small_change()
    after = graph.apply(delta)
    by_delta = fitted().update(graph, delta, epochs=3)
    assert same_weights(by_delta, fitted().update(graph, after, epochs=3))
    assert same_weights(by_delta, fitted().update(graph, delta, after=after, epochs=3))


@pytest.mark.parametrize("features", ["learned", "name"])
def test_labels_as_features_and_files(features: str, tmp_path: Path) -> None:
    graph, delta = small_graph(), small_change(label="third")
    model = fitted(labels_as_features=True, features=features, validation_share=0.01)
    assert "n42" not in model.label_features_.nodes
    model.update(graph, delta, strategy="replay", epochs=3)
    after = graph.apply(delta)
    assert "n42" in model.label_features_.nodes
    assert not {"n9", *TEST} & set(model.label_features_.nodes)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(after), model.predict_proba(after))
    loaded.update(after, GraphDelta(triples_removed=[("n42", "f0")]), strategy="finetune")
    assert loaded.last_update_.trained_on == 1


@pytest.mark.parametrize("normalisation", ["layer", "batch", "none"])
def test_other_networks(normalisation: str) -> None:
    graph, delta = small_graph(), small_change()
    model = fitted(normalisation=normalisation, backbone="gcn", num_layers=3, skip=False)
    old = weights(model)
    model.update(graph, delta, strategy="finetune", epochs=2)
    statistics = [name for name in old if "running" in name]
    assert bool(statistics) == (normalisation == "batch")
    for name in statistics:
        assert torch.equal(weights(model)[name], old[name])


def test_regression() -> None:
    graph = small_graph().with_labels(
        {f"n{number}": number / 7 + 0.01 for number in range(40)}, kind="number"
    )
    model = GrafenneRegressor(**SMALL).fit(graph, small_split(graph))
    delta = GraphDelta(labels_set=[("n3", 9.5)], triples_added=[("n4", "new", 2.5)])
    for strategy in ("ewc", "contgnn", "finetune"):
        model.update(graph, delta, strategy=strategy, epochs=3)
        assert model.last_update_.trained_on >= 2
    assert np.isfinite(model.predict(graph.apply(delta))).all()


def test_balanced_classes() -> None:
    model = fitted(class_weight="balanced")
    model.update(small_graph(), small_change(label="third"), strategy="finetune", epochs=2)
    assert model.classes_.tolist() == ["even", "odd", "third"]


def test_learning_from_the_change() -> None:
    """Only features that nobody knew tell the class; a frozen model can but guess."""
    graph = small_graph()
    names = [f"x{number}" for number in range(30)]
    delta = GraphDelta(
        nodes_added=names,
        labels_set=[(name, "even" if place % 2 else "odd") for place, name in enumerate(names)],
        triples_added=[(n, f"mark {place % 2}", 1.0) for place, n in enumerate(names)],
    )
    after = graph.apply(delta)
    model = fitted().update(graph, delta, strategy="ewc", learning_rate=0.03, epochs=40)
    assert model.score(after, names) > max(fitted().score(after, names), 0.9)


def test_errors() -> None:
    model, graph, delta = fitted(), small_graph(), small_change()
    with pytest.raises(NotFittedError):
        GrafenneClassifier().update(graph, delta)
    with pytest.raises(UnknownNameError, match="Did you mean 'finetune'"):
        model.update(graph, delta, strategy="fine-tune")
    with pytest.raises(ParameterError, match=r"no setting 'penalti'.*Did you mean 'penalty'"):
        model.update(graph, delta, strategy="ewc", penalti=1.0)
    with pytest.raises(ParameterError, match="belongs to the strategy"):
        model.update(graph, delta, strategy=Finetune(), epochs=3)
    with pytest.raises(UnknownNameError, match="states"):
        model.update(graph, delta, states="rough")
    with pytest.raises(DataError, match="GraphDelta or a FeatureGraph"):
        model.update(graph, ["n1"])  # type: ignore[arg-type]
    assert not hasattr(model, "updates_")


def test_ids_and_classes_that_changed_their_type_are_told() -> None:
    """Nothing would be the same: neither the nodes nor the classes that a model knows."""
    graph = small_graph()
    numbers = graph.with_labels({node: place % 2 for place, node in enumerate(graph.nodes)})
    with pytest.raises(DataError, match="are text, such as 'even', but the graph's are whole"):
        fitted().evaluate(numbers)
    with pytest.raises(DataError, match="are text, such as 'even', but the graph's are whole"):
        fitted().update(graph, numbers, strategy="finetune", epochs=1)
    with pytest.raises(DataError, match="nodes that are text, such as 'n0', into whole numbers"):
        fitted().update(graph, FeatureGraph.from_arrays(5, 0), strategy="finetune", epochs=1)
    with pytest.raises(DataError, match="new node 7 does not fit"):
        graph.apply(GraphDelta(nodes_added=[7]))
    assert 7 in FeatureGraph.from_arrays(5, 0).apply(GraphDelta(nodes_added=[7])).nodes


@pytest.mark.parametrize("kind", [GrafenneRegressor, GrafenneLinkPredictor])
def test_a_stream_needs_a_classifier(kind: Any) -> None:
    stream = GraphStream.from_deltas(small_graph(), [small_change()])
    with pytest.raises(ParameterError, match=f"classifier of nodes, not a {kind.__name__}"):
        run_stream(kind(), stream)
