"""Saved models: the same bits after loading, and what cannot be saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch_geometric.nn import GATConv, GCNConv, GraphConv, SAGEConv

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneRegressor, Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ModelFileError, NotFittedError, ParameterError
from grafenne.estimators.grafenne_estimator import GrafenneEstimator
from grafenne.nn import LearnedFeatures
from tests.estimators.cases import EVERY, answers, graph_for, make

ABOUT, WEIGHTS, MEMORY = "model.json", "model.safetensors", "memory.json"


def vectors(names: list[str]) -> np.ndarray:
    return np.array([[len(name), sum(map(ord, name)) % 5] for name in names], dtype=float)


def unseen(directed: bool) -> FeatureGraph:
    """Another graph, with nodes and features that training never saw."""
    return FeatureGraph.from_arrays(
        ["x", "y", "n3"],
        ["new", "f1", "spare"],
        ([0, 0, 1, 2], [0, 1, 0, 2], [1.0, 4.5, -2.0, 0.5]),
        ([0, 1], [1, 2]),
        directed=directed,
    )


def check_same(model: Any, loaded: Any, graph: FeatureGraph) -> None:
    for asked in (graph, unseen(graph.directed)):
        assert np.array_equal(answers(model, asked), answers(loaded, asked))
        assert np.array_equal(model.embed(asked), loaded.embed(asked))
    assert list(loaded.feature_names_in_) == list(model.feature_names_in_)
    assert loaded.n_features_in_ == model.n_features_in_
    assert loaded.history_ == model.history_
    assert loaded.num_parameters_ == model.num_parameters_


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    **{kind: (kind, {}) for kind in EVERY},
    "name": ("classifier", {"features": "name"}),
    "company": ("classifier", {"features": "company", "direct": True}),
    "labels and random start": ("classifier", {"labels_as_features": True, "features": "learned"}),
    "structural": ("regressor", {"features": "structural"}),
    # "spare" has a vector but was in no training graph.
    "mapping": ("classifier", {"features": {"f1": [1.0, 2.0], "spare": [9.0, -9.0]}}),
    "array": ("links", {"features": np.arange(18.0).reshape(6, 3)}),
    "labels": ("classifier", {"labels_as_features": True}),
    "labels and name": ("classifier", {"labels_as_features": True, "features": "name"}),
    "labels and structural": ("classifier", {"labels_as_features": True, "features": "structural"}),
    "labels and mapping": (
        "classifier",
        {"labels_as_features": True, "features": {"f1": [1.0], "spare": [3.0]}},
    ),
    "robust": ("regressor", {"scaling": "robust", "normalisation": "batch"}),
    "paper": ("classifier", {"mode": "paper", "heads": 2, "backbone": "gat", "num_layers": 3}),
    "sum": ("classifier", {"aggregation": "sum", "normalisation": "none", "skip": False}),
    "smoothing": ("classifier", {"smoothing": 0.5}),
    "smoothing that was chosen": ("classifier", {"smoothing": "auto", "labels_as_features": True}),
    "batches": ("classifier", {"batch_size": 5, "neighbours": [2, None]}),
    "weights": ("classifier", {"class_weight": {"odd": 2.0}}),
    "pyg sage": ("classifier", {"backbone": SAGEConv}),
    "pyg gat": ("regressor", {"backbone": GATConv}),
    "pyg gcn": ("links", {"backbone": GCNConv}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    kind, settings = MODELS[name]
    graph = graph_for(kind)
    model = make(kind, epochs=3, **settings).fit(graph)
    model.save(tmp_path / "model")
    files = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert files == [MEMORY, ABOUT, WEIGHTS]
    state = torch.random.get_rng_state()
    loaded = type(model).load(tmp_path / "model")
    assert torch.equal(state, torch.random.get_rng_state())
    check_same(model, loaded, graph)
    if "features" not in settings or isinstance(settings["features"], str):
        assert loaded.get_params() == model.get_params()
    if kind == "links":
        again = loaded.edge_parts_.split(graph)
        assert np.array_equal(again.validation, model.split_.validation)
        assert loaded.evaluate(again, "validation") == model.evaluate(model.split_, "validation")
    if kind == "classifier":
        assert list(loaded.classes_) == list(model.classes_)
        told = [model.explain(graph, "n3").to_dict(), loaded.explain(graph, "n3").to_dict()]
        assert told[0] == told[1]
    # A loaded model can be saved again, and trained again from its settings.
    loaded.save(tmp_path / "again")
    check_same(model, GrafenneEstimator.load(tmp_path / "again"), graph)
    again = clone(loaded).fit(graph)
    if not isinstance(settings.get("features"), dict | np.ndarray):
        assert np.array_equal(answers(again, graph), answers(model, graph))


def test_feature_edges_and_directions_come_back(tmp_path: Path) -> None:
    graph = graph_for("links", feature_edges=True, directed=True, weighted=True)
    model = make("links", direction="in").fit(graph)
    model.save(tmp_path / "m")
    check_same(model, type(model).load(tmp_path / "m"), graph)


def test_a_model_without_features_can_be_saved(tmp_path: Path) -> None:
    graph = FeatureGraph.from_arrays(4, 0, None, ([0, 1], [1, 2]), labels=["a", "b", "a", "b"])
    model = make("classifier", epochs=1).fit(graph)
    model.save(tmp_path / "m")
    check_same(model, GrafenneClassifier.load(tmp_path / "m"), graph)


def test_class_names_keep_their_kind(tmp_path: Path) -> None:
    graph = graph_for("classifier").with_labels([number % 3 for number in range(30)])
    model = make("classifier", epochs=1, class_weight={0: 2.0, 2: 0.5}).fit(graph)
    model.save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m")
    assert loaded.predict(graph).tolist() == model.predict(graph).tolist()
    assert loaded.class_weight == {0: 2.0, 2: 0.5}
    assert loaded.score(graph) == model.score(graph)


def test_the_text_file_tells_what_a_person_wants_to_know(tmp_path: Path) -> None:
    model = make("classifier", random_state=11, width=12).fit(graph_for("classifier"))
    model.save(tmp_path / "m")
    about = json.loads((tmp_path / "m" / ABOUT).read_text(encoding="utf-8"))
    assert about["estimator"] == "GrafenneClassifier"
    assert about["settings"]["width"] == 12
    assert about["settings"]["random_state"] == 11
    assert about["classes"] == ["even", "odd"]
    assert about["features"] == [f"f{number}" for number in range(6)]
    assert {"torch", "numpy", "python"} <= about["versions"].keys()
    assert about["scaler"]["method"] == "standard"


# ---- layers and embeddings of one's own ------------------------------------------------------


def test_a_callable_is_passed_again(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    for number, labels in enumerate((False, True)):
        model = make("classifier", features=vectors, labels_as_features=labels).fit(graph)
        model.save(tmp_path / str(number))
        with pytest.raises(ModelFileError, match="features="):
            GrafenneClassifier.load(tmp_path / str(number))
        loaded = GrafenneClassifier.load(tmp_path / str(number), features=vectors)
        check_same(model, loaded, graph)
        with pytest.raises(ModelFileError, match="does not fit"):
            GrafenneClassifier.load(
                tmp_path / str(number), features=lambda names: np.ones((len(names), 3))
            )


def test_an_embedding_layer_of_ones_own_is_passed_again(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    own = LearnedFeatures(graph.features, 8)
    model = make("classifier", features=own).fit(graph)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="features="):
        GrafenneClassifier.load(tmp_path / "m")
    check_same(model, GrafenneClassifier.load(tmp_path / "m", features=own), graph)


def test_a_layer_of_ones_own_is_passed_again(tmp_path: Path) -> None:
    graph = graph_for("regressor")
    model = make("regressor", backbone=GraphConv(8, 8, aggr="max")).fit(graph)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="backbone="):
        GrafenneRegressor.load(tmp_path / "m")
    loaded = GrafenneRegressor.load(tmp_path / "m", backbone=GraphConv(8, 8, aggr="max"))
    check_same(model, loaded, graph)
    with pytest.raises(ModelFileError, match="does not fit"):
        GrafenneRegressor.load(tmp_path / "m", backbone="sage")


def test_only_some_settings_may_be_replaced(tmp_path: Path) -> None:
    make("classifier", epochs=1).fit(graph_for("classifier")).save(tmp_path / "m")
    assert GrafenneClassifier.load(tmp_path / "m", verbose=True).verbose
    with pytest.raises(ParameterError, match="'width'"):
        GrafenneClassifier.load(tmp_path / "m", width=3)
    with pytest.raises(ParameterError, match="device 'gpu'"):
        GrafenneClassifier.load(tmp_path / "m", device="gpu")


# ---- saving ----------------------------------------------------------------------------------


def test_saving_replaces_a_model_whole_and_refuses_other_folders(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    first, second = (make("classifier", random_state=seed).fit(graph) for seed in (0, 1))
    first.save(tmp_path / "m")
    second.save(tmp_path / "m")
    check_same(second, GrafenneClassifier.load(tmp_path / "m"), graph)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes\.txt"):
        first.save(tmp_path / "m")
    check_same(second, GrafenneClassifier.load(tmp_path / "m"), graph)
    with pytest.raises(NotFittedError):
        make("classifier").save(tmp_path / "n")


def test_what_cannot_be_saved_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    graph = graph_for("classifier", nodes=6).with_labels([("a", 1), ("b", 2)] * 3)
    with pytest.raises(ParameterError, match=r"\('a', 1\)"):
        make("classifier", epochs=1).fit(graph).save(tmp_path / "m")
    ids = FeatureGraph.from_arrays([(0, 1), (1, 2), (2, 3)], 1, labels=["a", "b", "a"])
    with pytest.raises(ParameterError, match=r"\(\d, \d\) is neither"):
        make("classifier", epochs=1, labels_as_features=True).fit(ids).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_was_saved_without_its_split_can_be_updated(tmp_path: Path) -> None:
    graph = graph_for("classifier")
    strange = [("id", node) for node in graph.nodes]
    graph = graph.replace(nodes=Vocabulary(strange, kind="node"))
    model = make("classifier").fit(graph)
    model.save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m")
    check_same(model, loaded, graph)
    assert not hasattr(loaded, "split_")
    loaded.update(graph, graph, strategy="finetune")  # all labelled nodes count as new


def test_the_split_comes_back(tmp_path: Path) -> None:
    for number, nodes in enumerate(
        ([f"n{place}" for place in range(9)], 9, [3 * n for n in range(9)])
    ):
        graph = FeatureGraph.from_arrays(nodes, 1, labels=["a", "b", "a"] * 3)
        split = Split([0, 4, 5], [1, 2], [7])
        model = make("classifier", epochs=1).fit(graph, split)
        model.save(tmp_path / str(number))
        loaded = GrafenneClassifier.load(tmp_path / str(number))
        assert loaded.split_nodes_ == graph.nodes
        for part in ("train", "validation", "test"):
            assert np.array_equal(getattr(loaded.split_, part), getattr(split, part))


def test_strange_ids_are_left_out(tmp_path: Path) -> None:
    graph = FeatureGraph.from_arrays([(0, 1), (1, 2), (2, 3)], 1, labels=["a", "b", "a"])
    make("classifier", epochs=1).fit(graph).save(tmp_path / "m")
    assert not (tmp_path / "m" / MEMORY).exists()
    assert not hasattr(GrafenneClassifier.load(tmp_path / "m"), "split_")
