from __future__ import annotations

import numpy as np
import pytest
import torch

from grafenne import GraphDelta, to_allotropic
from grafenne.continual.growth import grow_features, grow_head
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError
from tests.continual.cases import fitted, small_change, small_graph


def test_rows_follow_names_and_new_ones_start_in_their_company() -> None:
    model = fitted()
    old = model.network_.encoder.features.weight.detach().clone()
    delta = GraphDelta(
        nodes_added=["a", "b"],
        triples_added=[("a", "new", 1.0), ("a", "f1", 1.0), ("a", "f2", 1.0), ("b", "new", 1.0),
                       ("b", "f3", 1.0)],
    )  # fmt: skip
    graph = to_allotropic(small_graph().apply(delta))
    names = Vocabulary(["f9", "new", *(f"f{number}" for number in range(9))], kind="feature")
    rows = grow_features(model.network_, names, graph)
    weight = model.network_.encoder.features.weight.detach()
    assert rows["encoder.features.weight"].tolist() == [9, -1, *range(9)]
    assert torch.equal(weight[0], old[9])
    assert torch.equal(weight[2:], old[:9])
    # The mean over its nodes of the mean over the known features of each.
    torch.testing.assert_close(weight[1], ((old[1] + old[2]) / 2 + old[3]) / 2)


def test_other_embeddings_have_no_rows_to_grow() -> None:
    model = fitted(features="name")
    graph = to_allotropic(small_graph().apply(small_change()))
    assert grow_features(model.network_, graph.features, graph) == {}


def test_the_head_keeps_its_rows() -> None:
    network = fitted().network_
    old = network.head.weight.detach().clone()
    rows = grow_head(network, 3)
    assert torch.equal(network.head.weight[:2], old)
    torch.testing.assert_close(network.head.weight[2], old.mean(dim=0))
    assert rows["head.weight"].tolist() == rows["head.bias"].tolist() == [0, 1, -1]


def test_a_new_class_is_learnt() -> None:
    model, graph = fitted(), small_graph()
    names = [f"x{number}" for number in range(12)]
    delta = GraphDelta(
        nodes_added=names,
        labels_set=[(name, "third") for name in names],
        triples_added=[(name, "mark of the third", 1.0) for name in names],
    )
    model.update(graph, delta, strategy="warm-start", epochs=40, learning_rate=0.03)
    assert model.classes_.tolist() == ["even", "odd", "third"]
    assert model.last_update_.new_classes == ("third",)
    assert model.predict_proba(graph).shape == (40, 3)
    assert (model.predict(graph.apply(delta), names) == "third").mean() > 0.8


def test_a_new_class_can_be_refused() -> None:
    model, graph = fitted(), small_graph()
    before = model.predict_proba(graph)
    with pytest.raises(DataError, match=r"'n42' has the class 'third'.*grow"):
        model.update(graph, small_change(label="third"), new_classes="error")
    assert np.array_equal(model.predict_proba(graph), before)
    assert model.classes_.tolist() == ["even", "odd"]
