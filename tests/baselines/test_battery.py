"""What must hold of every baseline, and of every imputation in front of an estimator."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from grafenne import FeatureGraph, GrafenneClassifier, Split, drop_features, split_edges
from grafenne.baselines import METHODS, GraphNetworkClassifier, make_method
from grafenne.data.values import FeatureValues
from grafenne.errors import (
    DataError,
    ModelFileError,
    NotFittedError,
    ParameterError,
    UnknownNameError,
)
from grafenne.estimators.persistence import load_estimator
from grafenne.impute import (
    FeaturePropagation,
    ImputedClassifier,
    ImputedLinkPredictor,
    ImputedRegressor,
    Imputer,
)
from grafenne.impute.links import VIEWS
from grafenne.tasks.links import edge_pairs
from tests.baselines.cases import CASES, answers, graph_for, make
from tests.estimators.cases import graph_for as labelled_graph
from tests.estimators.cases import pairs_of
from tests.small_graphs import permuted

every = pytest.mark.parametrize(("name", "task"), CASES)


@pytest.mark.parametrize("name", ["sage", "gat", "gin", "gcn", "gcnmf", "pagnn", "pagnn-2"])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_messages_run_the_way_that_is_asked_for(name: str, direction: str) -> None:
    """A node that nobody sends to does not hear of the others."""
    nodes = np.arange(24)
    odd, even = nodes[1::2], nodes[::2]
    sender, receiver = (even, odd) if direction == "in" else (odd, even)
    graph = FeatureGraph.from_arrays(
        24,
        2,
        (nodes, nodes % 2, nodes / 24 + 0.5),
        (even, odd),
        labels=np.where(nodes % 3 == 0, "a", "b"),
        directed=True,
    )
    settings = {"direction": direction, "normalise_rows": False}
    model = make(name, "classification", **settings).fit(graph)
    old = graph.values
    moved = FeatureValues(
        old.indptr, old.indices, np.where(np.isin(nodes, receiver), 9.0, old.data), 2
    )
    before, after = model.predict_proba(graph), model.predict_proba(graph.replace(values=moved))
    assert np.array_equal(before[sender], after[sender])
    assert not np.array_equal(before[receiver], after[receiver])


@every
def test_fit_predict_score_and_embed(name: str, task: str) -> None:
    graph = graph_for(task)
    model = make(name, task)
    assert model.fit(graph) is model
    result = answers(model, task, graph)
    assert np.isfinite(result).all()
    assert np.array_equal(result, answers(model, task, graph))
    embedded = model.embed(graph)
    assert len(embedded) == graph.num_nodes
    assert np.array_equal(model.embed(graph, ["n5", "n2"]), embedded[[5, 2]])
    assert model.num_parameters_ > 0
    assert len(model.history_.epochs) == 4
    if task == "links":
        split = split_edges(graph, 0)
        assert model.score(split) == model.evaluate(split)["auc"]
        assert np.array_equal(model.predict(graph, pairs_of(graph)), result > 0.5)
    else:
        assert model.score(graph) == model.evaluate(graph)["accuracy"]
        assert np.array_equal(model.predict(graph), model.classes_[result.argmax(axis=1)])
        np.testing.assert_allclose(result.sum(axis=1), 1)


@every
def test_seeds_copies_clones_and_refits(name: str, task: str) -> None:
    graph = graph_for(task)
    state = torch.random.get_rng_state()
    model = make(name, task, random_state=3).fit(graph)
    first = answers(model, task, graph)
    assert torch.equal(state, torch.random.get_rng_state())
    assert np.array_equal(first, answers(clone(model).fit(graph), task, graph))
    assert not np.array_equal(
        first, answers(make(name, task, random_state=4).fit(graph), task, graph)
    )
    assert np.array_equal(first, answers(copy.deepcopy(model), task, graph))
    assert np.array_equal(first, answers(pickle.loads(pickle.dumps(model)), task, graph))
    model.fit(graph_for(task, seed=5, features=4))
    assert np.array_equal(first, answers(model.fit(graph), task, graph))


@every
def test_a_saved_model_predicts_the_same_bits(name: str, task: str, tmp_path: Path) -> None:
    graph = graph_for(task)
    model = make(name, task).fit(graph)
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert type(load_estimator(tmp_path / "model")) is type(model)
    assert np.array_equal(answers(model, task, graph), answers(again, task, graph))
    ours, theirs = model.get_params(deep=True), again.get_params(deep=True)
    nested = ("estimator", "imputer")
    assert {k: v for k, v in ours.items() if k not in nested} == {
        k: v for k, v in theirs.items() if k not in nested
    }
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {"model.json", "model.safetensors", "memory.json"}
    with pytest.raises(ModelFileError, match="not a Grafenne"):
        GrafenneClassifier.load(tmp_path / "model")
    with pytest.raises(ParameterError, match="width"):
        type(model).load(tmp_path / "model", width=3)


@every
def test_use_before_fit_and_wrong_inputs(name: str, task: str, tmp_path: Path) -> None:
    graph = graph_for(task)
    model = make(name, task)
    for use in (
        lambda: answers(model, task, graph),
        lambda: model.embed(graph),
        lambda: model.save(tmp_path / "m"),
        lambda: model.num_parameters_,
    ):
        with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted"):
            use()
    with pytest.raises(DataError):
        model.fit("cora")
    with pytest.raises(DataError):
        model.fit(graph, "split")
    with pytest.raises(ParameterError, match="width"):
        make(name, task, width=0).fit(graph)


@every
def test_order_does_not_matter_and_unseen_nodes_and_features_are_welcome(
    name: str, task: str
) -> None:
    graph = graph_for(task, weighted=True)
    # All filled cells are kept: which of equal ones is dropped may depend on the order.
    settings = {"imputer__keep": None} if name.startswith(("nm+", "fp+", "pcfi+")) else {}
    model = make(name, task, **settings).fit(graph)
    moved, _ = permuted(graph)
    asked = pairs_of(graph) if task == "links" else list(graph.nodes)
    np.testing.assert_allclose(
        answers(model, task, graph, asked), answers(model, task, moved, asked), atol=1e-4
    )
    other = FeatureGraph.from_arrays(
        ["x", "y", "z", "lonely"],
        ["g9", "f1", "unused"],
        ([0, 0, 1, 2], [0, 1, 0, 1], [1.0, 4.0, -2.0, 0.5]),
        ([0, 1], [1, 2]),
    )
    result = answers(model, task, other)
    assert np.isfinite(result).all()
    without = answers(model, task, other.without_features(["g9"]))
    uses_them = any(word in name for word in ("fate", "traditional", "grafenne"))
    assert np.array_equal(result, without) != uses_them


@pytest.mark.parametrize("name", ["sage", "gcnmf", "pagnn", "fate", "traditional", "fp+sage"])
def test_training_goes_on_from_a_checkpoint(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grafenne.training.node_objective import NodeObjective

    graph = graph_for("classification")
    expected = answers(make(name, "classification").fit(graph), "classification", graph)
    steps = 0
    real = NodeObjective.validate

    def interrupted(self: NodeObjective) -> tuple[float, float]:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(NodeObjective, "validate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(name, "classification").fit(graph, checkpoint=tmp_path / "run")
    assert (tmp_path / "run").is_dir()
    model = make(name, "classification").fit(graph, checkpoint=tmp_path / "run")
    assert steps == 5  # two before, one that was lost, two after
    assert np.array_equal(expected, answers(model, "classification", graph))
    assert not (tmp_path / "run").exists()


# ---- learning --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("sage", "gat", "gin", "gcn", "mlp", "gcnmf", "pagnn", "pagnn-2", "fate", "traditional"),
        *("nm+sage", "fp+sage", "pcfi+sage"),
    ],
)
def test_every_method_learns_what_features_tell(name: str) -> None:
    """Two groups of nodes with words of their own, and edges within the groups.

    Three cells in ten are missing, and the zeros among the others are observed.
    """
    rng = np.random.default_rng(0)
    group = np.arange(80) % 2
    chance = np.where(group[:, None] == np.arange(20) % 2, 0.5, 0.05)
    cells = np.argwhere(rng.random((80, 20)) < chance)
    pairs = np.argwhere(np.triu((group[:, None] == group) & (rng.random((80, 80)) < 0.08), 1))
    graph = FeatureGraph.from_arrays(
        80, 20, (cells[:, 0], cells[:, 1], np.ones(len(cells))), (pairs[:, 0], pairs[:, 1]),
        labels=np.array(["a", "b"])[group],
    )  # fmt: skip
    graph = drop_features(graph, 0.3, seed=0, observed_zeros=True)
    split = Split(np.arange(30), np.arange(30, 50), np.arange(50, 80))
    few_heads = {"heads": 1} if name == "gat" else {}
    model = make_method(name, width=16, epochs=40, **few_heads).fit(graph, split)
    assert model.score(graph, range(50, 80)) > 0.85


def test_labels_as_features_are_never_those_asked_for() -> None:
    graph = graph_for("classification")
    split = Split(np.arange(15), np.arange(15, 22), np.arange(22, 30))
    model = make("sage+labels", "classification").fit(graph, split)
    shown = answers(model, "classification", graph)
    hidden = graph.with_labels({n: graph.label_of(n) for n in graph.nodes.take(range(15))})
    assert np.array_equal(shown, answers(model, "classification", hidden))


# ---- imputation in front ---------------------------------------------------------------------


def test_the_wrapper_is_the_estimator_on_the_filled_graph() -> None:
    graph = graph_for("classification")
    inner = GrafenneClassifier(width=8, epochs=3)
    model = ImputedClassifier(imputer=FeaturePropagation(keep=2), estimator=inner).fit(graph)
    filled = FeaturePropagation(keep=2).transform(graph)
    expected = clone(inner).fit(filled).predict_proba(filled)
    assert np.array_equal(model.predict_proba(graph), expected)
    with pytest.raises(NotFittedError):  # what the user passed is left alone
        inner.predict(graph)
    assert model.get_params()["estimator__width"] == 8
    assert model.get_params()["imputer__keep"] == 2
    model.set_params(estimator__width=4, imputer__keep=1)
    assert (clone(model).estimator.width, clone(model).imputer.keep) == (4, 1)


def test_links_are_filled_on_the_training_edges_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_for("links")
    split = split_edges(graph, 0)
    seen = []
    real = Imputer.transform

    def watched(self: Imputer, given: FeatureGraph, **more: Any) -> FeatureGraph:
        assert more.get("adjacency_graph") is None
        seen.append(given)
        return real(self, given, **more)

    monkeypatch.setattr(Imputer, "transform", watched)
    model = ImputedLinkPredictor(estimator=make("sage", "links")).fit(graph, split)
    model.evaluate(split)
    assert seen[0] is split.graph  # and once is enough: what follows are the views
    assert len(seen) == 1 + VIEWS
    train = {*map(tuple, split.train.tolist())}
    for view in seen[1:]:
        assert {*map(tuple, edge_pairs(view).tolist())} < train
    ImputedLinkPredictor(estimator=make("sage", "links")).fit(graph)
    assert 0 < seen[-1].num_edges < graph.num_edges


def test_a_regressor_behind_an_imputation() -> None:
    graph = labelled_graph("regressor")
    model = ImputedRegressor(imputer="neighbourhood-mean").set_params()
    assert model.estimator is None
    model = make_method("nm+grafenne", task="regression", width=8, epochs=2).fit(graph)
    assert isinstance(model, ImputedRegressor)
    assert model.predict(graph).shape == (30,)
    assert np.isfinite(model.score(graph))


def test_wrappers_name_what_is_wrong(tmp_path: Path) -> None:
    graph = graph_for("classification")
    with pytest.raises(UnknownNameError, match="Did you mean 'pcfi'"):
        ImputedClassifier(imputer="pcfii").fit(graph)
    with pytest.raises(ParameterError, match="imputer"):
        ImputedClassifier(imputer=3).fit(graph)
    with pytest.raises(ParameterError, match="estimator"):
        ImputedClassifier(estimator=FeaturePropagation()).fit(graph)
    with pytest.raises(ParameterError, match="does not answer for nodes"):
        ImputedClassifier(estimator=make("sage", "links")).fit(graph)

    class Own(Imputer):
        name = "own"

        def _transform(self, graph: FeatureGraph, edges: FeatureGraph) -> FeatureGraph:
            return graph

    model = ImputedClassifier(imputer=Own(), estimator=make("sage", "classification")).fit(graph)
    with pytest.raises(ParameterError, match="Only imputers of grafenne"):
        model.save(tmp_path / "model")


def test_a_damaged_wrapper_is_a_model_file_error(tmp_path: Path) -> None:
    make("fp+sage", "classification").fit(graph_for("classification")).save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    about = json.loads(path.read_text())
    for wrapper in (
        {**about["wrapper"], "kind": "GrafenneClassifier"},
        {**about["wrapper"], "imputer": {"name": "nothing", "settings": {}}},
        {"kind": "ImputedClassifier"},
        "ImputedClassifier",
    ):
        path.write_text(json.dumps({**about, "wrapper": wrapper}))
        with pytest.raises(ModelFileError):
            ImputedClassifier.load(tmp_path / "model")


# ---- methods by name -------------------------------------------------------------------------


def test_every_method_has_a_name_and_settings() -> None:
    for name in METHODS:
        model = make_method(name, width=32, random_state=7)
        assert model.get_params().get("width", model.get_params().get("estimator__width")) == 32
    for name in ("sage", "fp+sage+labels", "grafenne-gat", "nm+grafenne-gin", "pagnn-2"):
        assert name in METHODS
    assert make_method("gat").heads == 8
    assert make_method("grafenne+labels").labels_as_features
    assert make_method("fp+sage", imputer__keep=5).imputer.keep == 5


def test_wrong_methods_are_named() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'grafenne'"):
        make_method("grafene")
    with pytest.raises(UnknownNameError, match="task"):
        make_method("sage", task="clustering")
    with pytest.raises(ParameterError, match=r"'sage'.*'wdith'.*Did you mean 'width'"):
        make_method("sage", wdith=3)
    with pytest.raises(ParameterError, match="no imputer"):
        make_method("sage", imputer__keep=3)
    with pytest.raises(ParameterError, match="does not do links"):
        make_method("gcnmf", task="links")
    with pytest.raises(ParameterError, match="labels_as_features"):
        make_method("sage+labels", task="links")


@pytest.mark.parametrize(
    ("name", "settings", "word"),
    [
        ("gcnmf", {"components": 0}, "components"),
        ("fate", {"folds": 0}, "folds"),
        ("pagnn", {"variant": "median"}, "variant"),
        ("sage", {"kind": "sagee"}, "sagee"),
        ("sage", {"normalisation": "rows"}, "normalisation"),
        ("gat", {"heads": 3}, "heads"),
    ],
)
def test_wrong_settings_are_named(name: str, settings: dict[str, Any], word: str) -> None:
    with pytest.raises((ParameterError, UnknownNameError), match=word):
        make(name, "classification", **settings).fit(graph_for("classification"))


def test_only_nodes_have_embeddings_where_features_have_none() -> None:
    graph = graph_for("classification")
    model = GraphNetworkClassifier(width=8, epochs=1).fit(graph)
    with pytest.raises(ParameterError, match="nodes only"):
        model.embed(graph, of="features")
    assert make("fate", "classification").fit(graph).embed(graph, of="features").shape == (6, 8)


def test_filled_values_are_added_up_as_they_are() -> None:
    behind = {name: make_method(name).estimator for name in ("fp+grafenne", "mask+grafenne")}
    assert (behind["fp+grafenne"].direct, behind["fp+grafenne"].scaling) == (True, "none")
    assert behind["mask+grafenne"].direct is None
    assert make_method("nm+grafenne", scaling="standard").estimator.scaling == "standard"
