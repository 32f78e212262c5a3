"""What must hold of every estimator, in scikit-learn's conventions and beyond."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch_geometric.nn import GATConv, GraphConv

from grafenne import FeatureGraph
from grafenne.errors import DataError, NotFittedError, ParameterError, UnknownNameError
from grafenne.nn import LearnedFeatures
from tests.estimators.cases import (
    EVERY,
    NODE,
    answers,
    graph_for,
    make,
    pairs_of,
    questions,
    scored,
)
from tests.small_graphs import permuted

every = pytest.mark.parametrize("kind", EVERY)
of_nodes = pytest.mark.parametrize("kind", NODE)


def vectors(names: list[str]) -> np.ndarray:
    """An encoder that a user might have: any name gets a vector."""
    return np.array([[len(name), sum(map(ord, name)) % 7, 1.0] for name in names])


FEATURES = {
    "learned": "learned",
    "name": "name",
    "structural": "structural",
    "mapping": {f"f{number}": [float(number), 1.0] for number in range(6)},
    "array": np.arange(12.0).reshape(6, 2),
    "callable": vectors,
}
some_features = pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())


# ---- conventions -----------------------------------------------------------------------------


@every
def test_arguments_are_stored_verbatim(kind: str) -> None:
    neighbours = [3, None]
    model = make(kind, neighbours=neighbours, mode="nonsense", dropout=7)
    assert model.neighbours is neighbours
    assert model.get_params()["mode"] == "nonsense"
    assert set(vars(model)) == set(model.get_params())  # nothing else before fit


@every
def test_parameters_can_be_read_set_and_cloned(kind: str) -> None:
    model = make(kind, width=12).set_params(dropout=0.3, backbone="gcn")
    assert (model.width, model.dropout, model.backbone) == (12, 0.3, "gcn")
    fitted = model.fit(graph_for(kind))
    other = clone(fitted)
    assert other is not fitted
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.embed(graph_for(kind))
    with pytest.raises(ValueError, match="wdith"):
        model.set_params(wdith=3)
    assert "width=12" in repr(model)


@every
def test_fit_returns_self_and_fitted_state_ends_in_an_underscore(kind: str) -> None:
    model = make(kind)
    before = dict(model.get_params())
    assert model.fit(graph_for(kind)) is model
    check_is_fitted(model)
    assert model.get_params() == before
    new = {name for name in vars(model) if name not in before and not name.startswith("_")}
    assert {"network_", "history_", "split_", "feature_names_in_"} <= new
    assert all(name.endswith("_") for name in new)
    assert list(model.feature_names_in_) == [f"f{number}" for number in range(6)]
    assert model.num_parameters_ > 0


@every
def test_use_before_fit_raises_an_error_that_sklearn_users_catch(kind: str, tmp_path: Any) -> None:
    model, graph = make(kind), graph_for(kind)
    uses = [
        lambda: answers(model, graph),
        lambda: model.embed(graph),
        lambda: model.save(tmp_path / "m"),
        lambda: scored(model, graph),
        lambda: model.num_parameters_,
    ]
    if kind in NODE:
        uses += [lambda: model.explain(graph, "n0"), lambda: model.evaluate(graph)]
    for use in uses:
        with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted"):
            use()
    assert issubclass(NotFittedError, ValueError)
    assert issubclass(NotFittedError, AttributeError)


@every
@pytest.mark.parametrize("wrong", [None, np.ones((3, 2)), "cora", {"a": 1}])
def test_wrong_inputs_are_data_errors(kind: str, wrong: Any) -> None:
    graph = graph_for(kind)
    fitted = make(kind, epochs=1).fit(graph)
    uses = [
        lambda: make(kind).fit(wrong),
        lambda: fitted.embed(wrong),
        lambda: fitted.predict(wrong, pairs_of(graph) if kind == "links" else None),
        lambda: fitted.evaluate(wrong),
        lambda: fitted.score(wrong),
    ]
    if wrong is not None:
        uses.append(lambda: make(kind).fit(graph, wrong))
    if kind in NODE:
        uses.append(lambda: fitted.explain(wrong, "n0"))
    for use in uses:
        with pytest.raises(DataError):
            use()


@every
def test_unknown_names_get_a_suggestion(kind: str) -> None:
    graph = graph_for(kind)
    model = make(kind, epochs=1).fit(graph)
    with pytest.raises(UnknownNameError, match=r"'n00'.*Did you mean 'n0'"):
        answers(model, graph, [("n00", "n1")] if kind == "links" else ["n00"])
    with pytest.raises(ParameterError, match="'edges'"):
        model.embed(graph, of="edges")


@every
def test_a_fitted_estimator_can_be_copied_and_pickled(kind: str) -> None:
    graph = graph_for(kind)
    model = make(kind).fit(graph)
    expected = answers(model, graph)
    assert np.array_equal(answers(copy.deepcopy(model), graph), expected)
    assert np.array_equal(answers(pickle.loads(pickle.dumps(model)), graph), expected)


@every
def test_a_fit_that_fails_leaves_nothing_half_fitted(kind: str) -> None:
    graph = graph_for(kind)
    model = make(kind).fit(graph)
    expected = answers(model, graph)
    with pytest.raises(ParameterError, match="width"):
        model.set_params(width=0).fit(graph)
    assert np.array_equal(answers(model.set_params(width=8), graph), expected)
    with pytest.raises(ParameterError):  # found only when the network is built
        model.set_params(backbone=GATConv(3, 3)).fit(graph)
    with pytest.raises(NotFittedError):
        answers(model, graph)


# ---- randomness ------------------------------------------------------------------------------


@every
def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(kind: str) -> None:
    graph = graph_for(kind)
    first = answers(make(kind, random_state=3).fit(graph), graph)
    assert np.array_equal(first, answers(make(kind, random_state=3).fit(graph), graph))
    assert not np.array_equal(first, answers(make(kind, random_state=4).fit(graph), graph))


@every
def test_fitting_again_starts_anew(kind: str) -> None:
    graph = graph_for(kind)
    model = make(kind).fit(graph)
    first = answers(model, graph)
    model.fit(graph_for(kind, seed=5, features=4))
    assert np.array_equal(first, answers(model.fit(graph), graph))


@of_nodes
def test_the_same_seed_gives_the_same_bits_in_batches(kind: str) -> None:
    graph = graph_for(kind)
    bounds = {"batch_size": 5, "neighbours": 2, "features_per_node": 2, "nodes_per_feature": 3}
    first = answers(make(kind, **bounds).fit(graph), graph)
    assert np.array_equal(first, answers(make(kind, **bounds).fit(graph), graph))
    assert not np.array_equal(
        first, answers(make(kind, **bounds, random_state=1).fit(graph), graph)
    )


@every
def test_global_random_states_are_left_alone_and_without_influence(kind: str) -> None:
    graph = graph_for(kind)
    results = []
    # A PyG layer with dropout draws from the global generator of torch.
    for seed, backbone in ((1, "sage"), (2, "sage"), (1, GATConv(8, 8, dropout=0.5)),
                           (2, GATConv(8, 8, dropout=0.5))):  # fmt: skip
        if not isinstance(backbone, str):
            with torch.random.fork_rng():
                torch.manual_seed(0)
                backbone.reset_parameters()
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        state, legacy = torch.random.get_rng_state(), np.random.get_state()  # noqa: NPY002
        model = make(kind, backbone=backbone).fit(graph)
        results.append(answers(model, graph))
        model.embed(graph)
        assert torch.equal(state, torch.random.get_rng_state())
        after = np.random.get_state()  # noqa: NPY002
        assert np.array_equal(legacy[1], after[1])
        assert legacy[2] == after[2]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[2], results[3])


@every
def test_training_leaves_the_users_own_layers_alone(kind: str) -> None:
    graph = graph_for(kind)
    layer, embedding = GraphConv(8, 8), LearnedFeatures(graph.features, 8)
    before = [copy.deepcopy(part.state_dict()) for part in (layer, embedding)]
    model = make(kind, backbone=layer, features=embedding)
    first = answers(model.fit(graph), graph)
    for part, state in zip((layer, embedding), before, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in part.state_dict().items())
    assert np.array_equal(first, answers(model.fit(graph), graph))


# ---- answers ---------------------------------------------------------------------------------


@every
def test_answers_come_in_the_order_asked_and_do_not_depend_on_each_other(kind: str) -> None:
    graph = graph_for(kind)
    model = make(kind).fit(graph)
    whole = answers(model, graph)
    assert np.array_equal(whole, answers(model, graph))
    asked = questions(model, graph)
    some = [7, 3, 29, 7]
    assert np.array_equal(answers(model, graph, [asked[place] for place in some]), whole[some])
    assert np.array_equal(answers(model, graph, [asked[11]])[0], whole[11])
    assert len(answers(model, graph, [])) == 0
    embedded = model.embed(graph)
    assert np.array_equal(model.embed(graph, ["n5", "n2"]), embedded[[5, 2]])
    assert model.embed(graph, of="features").shape == (6, 8)


@every
def test_the_order_of_nodes_features_and_edges_does_not_matter(kind: str) -> None:
    graph = graph_for(kind, weighted=True)
    model = make(kind).fit(graph)
    moved, old = permuted(graph)
    ids = graph.nodes.take(old)
    assert list(moved.nodes) == ids
    asked = pairs_of(graph) if kind == "links" else list(graph.nodes)
    assert np.allclose(answers(model, graph, asked), answers(model, moved, asked), atol=1e-5)
    if kind in NODE:
        assert np.allclose(answers(model, graph)[old], answers(model, moved), atol=1e-5)


@every
@some_features
def test_unseen_nodes_and_features_are_welcome(kind: str, features: Any) -> None:
    model = make(kind, features=features).fit(graph_for(kind))
    other = FeatureGraph.from_arrays(
        ["x", "y", "z", "lonely"],
        ["f1 again", "f1", "unused"],
        ([0, 0, 1, 2], [0, 1, 0, 1], [1.0, 4.0, -2.0, 0.5]),
        ([0, 1], [1, 2]),
    )
    result = answers(model, other)
    assert np.isfinite(result).all()
    assert np.isfinite(model.embed(other)).all()
    without = answers(model, other.without_features(["f1 again"]))
    assert not np.array_equal(result, without)  # the unseen feature is not just ignored
    empty = FeatureGraph.from_arrays(0, 0)
    assert len(answers(model, empty, [])) == 0


# ---- settings --------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {"backbone": "sage"},
    {"backbone": "gat", "heads": 2},
    {"backbone": "gin"},
    {"backbone": "gcn"},
    {"backbone": "graph"},
    {"backbone": GATConv},
    {"mode": "paper"},
    {"mode": "paper", "heads": 2},
    {"aggregation": "mean"},
    {"aggregation": "sum"},
    {"aggregation": "sum", "mode": "paper"},
    {"normalisation": "batch"},
    {"normalisation": "none"},
    {"skip": False, "num_layers": 1},
    {"num_layers": 3},
    {"dropout": 0.0, "feature_dropout": 0.0},
    {"scaling": "none"},
    {"scaling": "robust", "schedule": "cosine", "clip_norm": None},
]


@every
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_setting_learns_something_finite(kind: str, settings: dict[str, Any]) -> None:
    graph = graph_for(kind)
    model = make(kind, **{"epochs": 2, **settings}).fit(graph)
    assert np.isfinite(answers(model, graph)).all()
    losses = [epoch[0] for epoch in model.history_.epochs]
    assert np.isfinite(losses).all()


WRONG: list[tuple[str, Any]] = [
    ("width", 0), ("width", 8.5), ("num_layers", 0), ("heads", 0), ("heads", 3),
    ("backbone", "sagee"), ("features", "leraned"), ("mode", "papper"), ("aggregation", "max"),
    ("normalisation", "layers"), ("scaling", "standart"), ("direction", "inn"),
    ("schedule", "cosin"), ("dropout", 1.0), ("dropout", -0.1), ("feature_dropout", 1.5),
    ("feature_dropout", float("nan")), ("learning_rate", 0.0), ("learning_rate", float("nan")),
    ("weight_decay", -1.0), ("weight_decay", float("nan")), ("epochs", 0), ("patience", 0),
    ("clip_norm", 0.0), ("clip_norm", float("nan")), ("validation_share", 1.0),
    ("validation_share", -0.5), ("batch_size", 0), ("neighbours", 0), ("neighbours", [1, 2, 3]),
    ("neighbours", "many"), ("features_per_node", 0), ("nodes_per_feature", -1),
    ("random_state", -1), ("random_state", None), ("random_state", "seed"), ("device", "gpu"),
]  # fmt: skip


@every
@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_named(kind: str, name: str, value: Any) -> None:
    graph = graph_for(kind)
    with pytest.raises((ParameterError, UnknownNameError), match=name):
        make(kind, **{name: value}).fit(graph)


@every
def test_a_misspelt_setting_gets_a_suggestion(kind: str) -> None:
    with pytest.raises(UnknownNameError, match=r"backbone 'sagee'.*Did you mean 'sage'"):
        make(kind, backbone="sagee").fit(graph_for(kind))
