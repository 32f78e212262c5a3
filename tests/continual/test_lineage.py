"""Saved models: loading and updating equals updating, and a model knows where it comes from."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneRegressor, GraphDelta
from grafenne.continual import STRATEGIES, Finetune
from grafenne.continual.lineage import model_digest, same_update
from tests.continual.cases import (
    SMALL,
    fitted,
    same_weights,
    small_change,
    small_graph,
    small_split,
)

# A memory smaller than the training set, so that what is remembered depends on chance.
OPTIONS: dict[str, dict[str, Any]] = {
    "replay": {"memory": 8},
    "ewc-replay": {"memory": 8},
    "contgnn": {"memory": 8},
}


def later_change() -> GraphDelta:
    """After :func:`small_change`: another node, another feature, a class that was never there."""
    return GraphDelta(
        nodes_added=["n43", "n44"],
        labels_set=[("n43", "odd"), ("n44", "third")],
        triples_added=[("n43", "newer still", 1.0), ("n43", "f1", 1.0), ("n2", "newer still", 1.0)],
        edges_added=[("n43", "n3"), ("n44", "n7")],
    )


def follow(model: Any, graph: FeatureGraph, name: str, save: Path | None) -> Any:
    """Two updates, with the model through files before each of them if ``save`` is given."""
    for number, delta in enumerate((small_change(), later_change())):
        if save is not None:
            model.save(save / str(number))
            model = type(model).load(save / str(number))
        options = {} if STRATEGIES[name].kind != "continue" else {"epochs": 4}
        model.update(graph, delta, strategy=name, **options, **OPTIONS.get(name, {}))
        graph = graph.apply(delta)
    return model


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, {}) for name in STRATEGIES),
        *((name, {"labels_as_features": True}) for name in ("ewc", "online-ewc", "contgnn")),
        ("online-ewc", {"features": "name"}),
        ("ewc-replay", {"features": "structural"}),
    ],
)
def test_loading_and_updating_equals_updating(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    graph = small_graph()
    straight = follow(fitted(**settings), graph, name, None)
    through = follow(fitted(**settings), graph, name, tmp_path)
    assert same_weights(straight, through)
    after = graph.apply(small_change()).apply(later_change())
    assert np.array_equal(straight.predict_proba(after), through.predict_proba(after))
    assert through.updates_ == 2
    assert [entry["parent"] for entry in straight.lineage_] == [
        entry["parent"] for entry in through.lineage_
    ]


def test_a_regressor_too(tmp_path: Path) -> None:
    graph = small_graph()
    numbers = graph.with_labels({node: float(int(node[1:]) % 7) for node in graph.nodes})
    delta = GraphDelta(triples_added=[("n3", "new", 2.0)], labels_set=[("n4", 3.5)])
    models = [GrafenneRegressor(**SMALL).fit(numbers, small_split(numbers)) for _ in range(2)]
    models[0].save(tmp_path / "m")
    models[0] = GrafenneRegressor.load(tmp_path / "m")
    for model in models:
        model.update(numbers, delta, strategy="online-ewc", epochs=3)
    assert same_weights(*models)


def test_test_nodes_never_train_after_loading(tmp_path: Path) -> None:
    graph = small_graph()
    model = fitted()
    test = set(graph.nodes.take(model.split_.test))
    model.save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m").update(graph, small_change())
    after = graph.apply(small_change())
    used = {*after.nodes.take(loaded.split_.train), *after.nodes.take(loaded.split_.validation)}
    assert test
    assert not test & used


# ---- lineage ---------------------------------------------------------------------------------


def test_a_lineage_tells_parent_change_and_settings(tmp_path: Path) -> None:
    graph, delta = small_graph(), small_change()
    model = fitted()
    parent = model_digest(model)
    model.update(graph, delta, strategy="ewc", epochs=2, penalty=10.0)
    (entry,) = model.lineage_
    assert entry["parent"] == parent
    assert entry["delta"] == delta.digest()
    assert entry["strategy"] == "ewc"
    assert entry["settings"]["penalty"] == 10.0
    assert entry["settings"]["epochs"] == 2
    assert datetime.fromisoformat(entry["time"]).tzinfo is not None
    model.save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m")
    assert loaded.lineage_ == model.lineage_
    assert loaded.last_update_ == model.last_update_
    loaded.update(graph.apply(delta), later_change(), strategy="retrain")
    assert [step["strategy"] for step in loaded.lineage_] == ["ewc", "retrain"]
    assert loaded.lineage_[1]["parent"] == model_digest(model)


def test_fitting_again_begins_a_new_line() -> None:
    graph = small_graph()
    model = fitted().update(graph, small_change(), strategy="frozen")
    model.fit(graph, small_split(graph))
    assert not hasattr(model, "lineage_")


def test_a_digest_tells_models_apart(tmp_path: Path) -> None:
    one, other = fitted(), fitted(random_state=1)
    assert model_digest(one) != model_digest(other)
    one.save(tmp_path / "m")
    assert model_digest(GrafenneClassifier.load(tmp_path / "m", verbose=True)) == model_digest(one)
    one.update(small_graph(), small_change(), epochs=2)
    assert model_digest(one) != model_digest(fitted())


def test_the_same_update_is_recognised() -> None:
    graph, delta = small_graph(), small_change()
    one, other, third = (
        fitted().update(graph, delta, strategy="finetune", epochs=epochs).lineage_[0]
        for epochs in (2, 2, 3)
    )
    assert same_update({**one, "time": "long ago"}, other)
    assert not same_update(one, third)
    assert not same_update("nonsense", one)


def test_a_strategy_of_ones_own_is_not_kept(tmp_path: Path) -> None:
    class Mine(Finetune):
        name = "mine"

    graph = small_graph()
    model = fitted().update(graph, small_change(), strategy=Mine(epochs=2))
    model.save(tmp_path / "m")
    loaded = GrafenneClassifier.load(tmp_path / "m")
    assert not hasattr(loaded, "strategy_")
    assert loaded.lineage_[0]["strategy"] == "mine"
