"""Vectors of features that training never saw: the regression, and what it is for."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneRegressor
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.continual.inductive import hide_part
from grafenne.data.split import Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.datasets import synthetic
from grafenne.nn import FeatureToNode, Grafenne, LearnedFeatures, NameFeatures
from grafenne.nn.new_features import DOUBT, LEAST, RIDGE, RIDGES, NewFeatures, learn_new_features
from grafenne.training.node_objective import NodeNetwork
from tests.small_graphs import random_graph


@pytest.mark.parametrize(("seed", "ridge"), [(0, 0.01), (6, 1.0), (8, 100.0)])
def test_the_map_is_the_ridge_regression(seed: int, ridge: float) -> None:
    graph = to_allotropic(random_graph(4, nodes=9, features=6))
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.randn(9, 3, generator=generator)
    vectors = torch.randn(graph.num_features, 4, generator=generator)
    reading = NewFeatures(3, 4)
    assert not reading.is_learned
    known = torch.arange(graph.num_features) != 2  # a vector to be read, not to be learned from
    reading.learn(graph, outputs, vectors, known)
    assert reading.is_learned

    told = np.log(torch.softmax(outputs, 1).numpy() + LEAST)
    told = told - told.mean(axis=0)
    middle = vectors.numpy()[known.numpy()].mean(axis=0)
    target = vectors.numpy() - middle
    own = [set() for _ in range(9)]  # the features of each node
    for row, column in zip(graph.incidence.rows.tolist(), graph.incidence.indices.tolist(),
                           strict=True):  # fmt: skip
        own[row].add(column)
    read, trust = np.zeros((graph.num_features, 4 + 3)), np.zeros(graph.num_features)
    for feature in range(graph.num_features):
        nodes = [node for node in range(9) if feature in own[node]]
        trust[feature] = len(nodes) / (len(nodes) + DOUBT)
        company = [target[others].mean(axis=0) for node in nodes
                   if (others := sorted(own[node] - {feature, 2}))]  # fmt: skip
        if company:
            read[feature, :4] = np.mean(company, axis=0) * trust[feature]
        if nodes:
            read[feature, 4:] = told[nodes].mean(axis=0) * trust[feature]
    shares = (trust[:, None] * read**2)[known.numpy()].sum(axis=0)

    def solved(ridge: float, taught: list[int]) -> Any:
        weighed = trust[taught, None] * read[taught]
        penalty = np.repeat([ridge * shares[:4].mean(), RIDGE * shares[4:].mean()], [4, 3])
        squares = weighed.T @ read[taught] + np.diag(penalty)
        return np.linalg.inv(squares) @ weighed.T @ target[taught]

    taught = [0, 1, 3, 4, 5]
    errors = [
        sum(
            trust[one] * ((read[one] @ solved(ridge, [o for o in taught if o != one])
                           - target[one]) ** 2).sum()
            for one in taught
        )
        for ridge in RIDGES
    ]  # fmt: skip
    assert RIDGES[int(np.argmin(errors))] == ridge
    weight = solved(ridge, taught)
    np.testing.assert_allclose(reading.weight.numpy(), weight, rtol=2e-3, atol=1e-4)
    expected = middle + read @ weight
    found = reading.read(graph, outputs, vectors, known)
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3, atol=1e-3)
    vectors[2] = 1e6  # what is to be read is in nobody's company
    again = reading.read(graph, outputs, vectors, known)
    torch.testing.assert_close(again, found)


def pairs(second: bool) -> AllotropicGraph:
    """Six nodes with a feature of their own each, and a second one that the next has too."""
    nodes = np.arange(6)
    rows, columns = (np.tile(nodes, 2), np.r_[nodes, (nodes + 1) % 6]) if second else (nodes, nodes)
    none = np.empty(0, dtype=np.int64)
    return to_allotropic(
        FeatureGraph.from_arrays(
            6, list("abcdef"), (rows, columns, np.ones(len(rows))), (none, none)
        )
    )


@pytest.mark.parametrize(("company", "answers"), [(True, False), (False, True), (False, False)])
def test_what_tells_nothing_teaches_nothing(company: bool, answers: bool) -> None:
    graph, reading = pairs(company), NewFeatures(2, 4)
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(6, 2, generator=generator) if answers else torch.ones(6, 2)
    every = torch.ones(6, dtype=torch.bool)
    reading.learn(graph, outputs, torch.randn(6, 4, generator=generator), every)
    assert bool(reading.weight[:4].any()) == company
    assert bool(reading.weight[4:].any()) == answers
    assert reading.is_learned == (company or answers)


def test_a_feature_that_is_guessed_at_counts_half() -> None:
    graph = random_graph(4, nodes=9, features=6)
    seen = to_allotropic(graph)
    some = LearnedFeatures(graph.features[:3], 8).double()
    assert some.trust(seen).tolist() == [1, 1, 1, 0.5, 0.5, 0.5]
    encoder = Grafenne(some, width=8, reach=2).double().eval()
    found = encoder(seen).nodes

    every = LearnedFeatures(graph.features, 8).double()
    assert every.trust(seen) is None
    every.weight.data.copy_(some(seen))
    encoder.features = every
    half = torch.where(seen.incidence.indices < 3, 1.0, 0.5).double()
    torch.testing.assert_close(encoder(seen, half).nodes, found)
    assert not torch.allclose(encoder(seen).nodes, found)


@pytest.mark.parametrize("kind", ["learned", "name", "structural"])
def test_features_that_training_never_saw_count_half_until_an_update(kind: str) -> None:
    graph = synthetic(num_nodes=60, num_features=12)
    telling = [f"{kind}:{word}" for kind in ("owner", "editor") for word in
               ("linus", "linda", "linnea", "susan", "susanna", "suse")]  # fmt: skip
    hidden = hide_part(graph.replace(features=Vocabulary(telling, kind="feature")), 0)
    for shown in (False, True):
        model = GrafenneClassifier(features=kind, width=8, epochs=3, labels_as_features=shown)
        model.fit(hidden.part, hidden.split)
        graph = model._prepare(hidden.whole)
        trust = model.network_.encoder.features.trust(graph).tolist()
        new = [count for name, count in zip(graph.features, trust, strict=True)
               if name in hidden.unseen]  # fmt: skip
        assert new == [0.5] * len(hidden.unseen)
        assert sum(trust) == len(trust) - len(new) / 2
        model.update(hidden.part, hidden.whole, split=hidden.whole_split)
        assert model.network_.encoder.features.trust(model._prepare(hidden.whole)) is None


def test_names_that_say_nothing_are_not_guessed_at() -> None:
    graph = synthetic(num_nodes=60, num_features=12)
    numbered = [f"word_{341 + number}" for number in range(12)]
    hidden = hide_part(graph.replace(features=Vocabulary(numbered, kind="feature")), 0)
    model = GrafenneClassifier(features="name", width=8, epochs=3)
    model.fit(hidden.part, hidden.split)
    ignored = hidden.whole.without_features(hidden.unseen)
    np.testing.assert_allclose(
        model.predict_proba(hidden.whole), model.predict_proba(ignored), atol=1e-6
    )
    model.update(hidden.part, hidden.whole, split=hidden.whole_split)  # then it knows them
    found = model.predict_proba(hidden.whole)
    assert not np.allclose(found, model.predict_proba(ignored), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "trust"),
    [
        ("uitoolkit::gtk4", 0.5),  # like gtk3
        ("uitoolkit::999", 0.5),  # of a kind that not all are of
        ("tag_341", 0),  # what most names have, and a number
        ("tag_12", 1),  # known
        ("zebra", 0),  # like nothing that is known
    ],
)
def test_what_a_name_says(name: str, trust: float) -> None:
    known = ["uitoolkit::gtk3", "tag_12", "tag_34", "tag_uitoolkit::qt"]
    features = NameFeatures(4, names=Vocabulary(known, kind="feature"))
    names = Vocabulary(dict.fromkeys([*known, name]), kind="feature")
    graph = random_graph(4, nodes=9, features=len(names)).replace(features=names)
    found = features.trust(to_allotropic(graph))
    assert (1.0 if found is None else found.tolist()[names.positions([name])[0]]) == trust


def test_half_a_feature_is_half_as_much_in_the_mean() -> None:
    graph = random_graph(4, nodes=9, features=6, values="binary")
    seen = to_allotropic(graph)
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(6, 8, dtype=torch.double, generator=generator)
    weights = torch.rand(seen.incidence.num_entries, dtype=torch.double, generator=generator)
    phase = FeatureToNode(8, 0, 8).double()
    found = phase(seen.incidence, None, states, keep=weights)
    attention, rows = phase.attention, seen.incidence.rows
    for node in range(8):
        own = rows == node
        senders, share = states[seen.incidence.indices[own].long()], weights[own]
        scores = torch.exp(attention.score(senders)[:, 0]) * share
        mean = (scores / scores.sum()) @ attention.message(senders)
        grown = attention.count_shift + mean * attention.count_scale
        torch.testing.assert_close(found[node], mean + share.sum().log1p() * grown)


@pytest.mark.parametrize(("losses", "worth"), [((1, 2, 4, 2), True), ((3, 2, 1, 3), False)])
def test_both_halves_of_the_features_are_asked(losses: tuple[float, ...], worth: bool) -> None:
    graph = random_graph(4, nodes=9, features=6)
    seen = to_allotropic(graph)
    encoder = Grafenne(LearnedFeatures(graph.features, 8), width=8).eval()
    network = NodeNetwork(encoder, 3).eval()
    before = encoder.features.weight.detach().clone()
    told = iter(losses)  # of each half: with the mean of its company, with the vectors read
    shown = []

    def outputs(keep: torch.Tensor | None) -> torch.Tensor:
        shown.append(keep)
        with torch.no_grad():
            return network(seen, keep)

    learn_new_features(network, seen, outputs, lambda _: next(told), 6, np.random.default_rng(0))
    assert network.new_features.is_learned == worth
    assert torch.equal(encoder.features.weight, before)
    hidden = [keep == 0 for keep in (shown[0], shown[3])]
    assert torch.equal(hidden[0], ~hidden[1])  # each triple is hidden once
    for first in (0, 3):
        for keep in shown[first + 1 : first + 3]:
            assert torch.equal(keep, torch.where(shown[first] == 0, 0.5, 1.0))


def test_labels_are_company_but_never_new(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(4, nodes=9, features=6)
    seen = to_allotropic(graph)
    network = NodeNetwork(Grafenne(LearnedFeatures(graph.features, 8), width=8).eval(), 3).eval()
    taught = []

    def learn(self: Any, graph: Any, outputs: Any, vectors: Any, known: Any, examples: Any) -> None:
        taught.append((known.tolist(), examples.tolist()))

    monkeypatch.setattr(NewFeatures, "learn", learn)
    answers = torch.zeros(9, 3)
    learn_new_features(network, seen, lambda _: answers, lambda _: 1.0, 4, np.random.default_rng(0))
    assert len(taught) == 2
    for known, examples in taught:
        assert known[4:] == [True, True]
        assert examples == [*known[:4], False, False]
        assert sum(known[:4]) == 2


def words(new: bool, nodes: int = 300) -> FeatureGraph:
    """Nodes of two classes; the old words tell little of them, the new ones everything."""
    generator = np.random.default_rng(3)
    classes = np.arange(nodes) % 2
    names = [f"old {number}" for number in range(40)]
    table = generator.random((nodes, 40)) < np.where(
        (np.arange(40) % 2)[None, :] == classes[:, None], 0.2, 0.1
    )
    if new:
        names += [f"new {number}" for number in range(20)]
        tells = (np.arange(20) % 2)[None, :] == classes[:, None]
        table = np.hstack((table, tells & (generator.random((nodes, 20)) < 0.5)))
    rows, columns = np.nonzero(table)
    none = np.empty(0, dtype=np.int64)
    return FeatureGraph.from_arrays(
        nodes,
        names,
        (rows, columns, np.ones(len(rows))),
        (none, none),
        labels=np.array(["x", "y"], dtype=object)[classes],
    )


SPLIT = Split(train=np.arange(150), validation=np.arange(150, 200), test=np.arange(200, 300))


def fitted(**more: Any) -> GrafenneClassifier:
    """A model that knows the old words, and found that vectors can be read for others."""
    settings = {"width": 16, "epochs": 60, "random_state": 1, **more}
    model = GrafenneClassifier(**settings).fit(words(new=False), SPLIT)
    assert model.network_.new_features.is_learned
    return model


def without_reading(model: Any) -> Any:
    """A copy that puts a new feature at the mean of those it occurs with."""
    plain = deepcopy(model)
    plain.network_.new_features.weight.zero_()
    return plain


@pytest.mark.parametrize("more", [{}, {"batch_size": 50}])
def test_new_features_that_tell_the_class_are_worth_using(
    more: dict[str, Any], tmp_path: Path
) -> None:
    part, whole = words(new=False), words(new=True)
    model = fitted(**more)
    asked = whole.nodes.take(SPLIT.test)
    used, ignored = model.score(whole, asked), model.score(part, asked)
    assert used > ignored + 0.1
    assert used > without_reading(model).score(whole, asked)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(whole), model.predict_proba(whole))
    told = loaded.explain(whole, asked[0])
    assert told.probability == pytest.approx(model.predict_proba(whole, asked[:1]).max(), abs=1e-5)


def test_an_update_does_not_depend_on_earlier_predictions() -> None:
    part, whole = words(new=False), words(new=True)
    model = fitted()
    asked = deepcopy(model)
    asked.predict(whole)
    for each in (model, asked):
        each.update(part, whole, split=SPLIT, epochs=2)
    assert np.array_equal(model.predict_proba(whole), asked.predict_proba(whole))


def test_a_class_that_comes_later_leaves_the_reading_whole(tmp_path: Path) -> None:
    part, whole = words(new=False), words(new=True)
    model = fitted()
    later = ["z" if number < 10 else part.label_of(node) for number, node in enumerate(part.nodes)]
    model.update(part, part.with_labels(later), split=SPLIT, epochs=2)
    assert set(model.classes_) == {"x", "y", "z"}
    asked = whole.nodes.take(SPLIT.test)
    assert model.score(whole, asked) > without_reading(model).score(whole, asked)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(whole), model.predict_proba(whole))


def test_numbers_are_read_too() -> None:
    part, whole = words(new=False), words(new=True)
    target = np.array([float(part.label_of(node) == "x") for node in part.nodes])
    model = GrafenneRegressor(width=16, epochs=60, feature_dropout=0.5, random_state=1)
    model.fit(part.with_labels(target.tolist()), SPLIT)
    assert model.network_.new_features.is_learned
    asked = whole.nodes.take(SPLIT.test)
    errors = [
        float(np.abs(each.predict(graph, asked) - target[SPLIT.test]).mean())
        for each, graph in ((model, whole), (model, part), (without_reading(model), whole))
    ]
    assert errors[0] < min(errors[1:])
