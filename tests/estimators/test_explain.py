"""Explanations: exact for held feature states, and in line with really changing the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch_geometric.nn import SGConv

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneRegressor, random_split
from grafenne.allotrope import to_allotropic
from grafenne.datasets.synthetic import synthetic
from grafenne.errors import ParameterError, UnknownNameError
from grafenne.estimators.explain import Explanation
from grafenne.estimators.surroundings import Contribution
from grafenne.nn.block import whole_graph_blocks
from tests.estimators.cases import graph_for, make


def without_edge(graph: FeatureGraph, first: Any, second: Any) -> FeatureGraph:
    ends = {graph.nodes.position(first), graph.nodes.position(second)}
    kept = [
        {int(a), int(b)} != ends
        for a, b in zip(graph.edges.sources, graph.edges.targets, strict=True)
    ]
    return graph.replace(edges=graph.edges.take(np.array(kept, dtype=bool)))


def log_odds(probabilities: np.ndarray, target: int) -> float:
    rest = np.delete(probabilities, target).sum()
    return float(np.log(probabilities[target]) - np.log(rest))


def occluded(
    model: Any, graph: FeatureGraph, node: Any
) -> tuple[dict[Any, float], dict[Any, float]]:
    """The fall of the answer in a full pass over a graph that is really changed."""
    target = int(model.predict_proba(graph, [node])[0].argmax())

    def answer(changed: FeatureGraph) -> float:
        return log_odds(model.predict_proba(changed, [node])[0], target)

    base = answer(graph)
    features = {
        name: base - answer(graph.without_features([name], nodes=[node]))
        for name in graph.features_of(node)
    }
    neighbours = {
        other: base - answer(without_edge(graph, node, other)) for other in graph.neighbors(node)
    }
    return features, neighbours


def held(model: Any, graph: FeatureGraph, changed: FeatureGraph, node: Any) -> float:
    """The answer for a changed graph with the states of the features of the unchanged one."""
    encoder = model.network_.encoder
    place = graph.nodes.position(node)
    with torch.no_grad():
        whole = to_allotropic(model.scaler_.transform(graph))
        states = encoder(whole).feature_states
        other = to_allotropic(model.scaler_.transform(changed))
        blocks = whole_graph_blocks(other, encoder.num_blocks, encoder.dtype)
        states = encoder.states_of_blocks(states)
        outputs = model.network_.head(encoder.encode_fixed(blocks, states))[place]
        target = int(model.network_(whole)[place].argmax())
    if isinstance(model, GrafenneRegressor):
        return float(outputs[0]) * model.task_.spread
    return log_odds(torch.softmax(outputs.double(), dim=0).numpy(), target)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("backbone", ["sage", "gcn", "gat", "gin", "graph", SGConv])
def test_contributions_equal_brute_force_occlusion_with_held_states(
    kind: str, backbone: Any
) -> None:
    graph = graph_for(kind, nodes=40, weighted=backbone == "gcn")
    # Two steps in one layer: farther than the layers are many.
    layer = SGConv(8, 8, K=2) if backbone is SGConv else backbone
    model = make(kind, backbone=layer, epochs=15, patience=15).fit(graph)
    for node in ("n3", "n10"):
        explanation = model.explain(graph, node, top=None)
        base = held(model, graph, graph, node)
        assert {part.name for part in explanation.features} == set(graph.features_of(node))
        assert {part.name for part in explanation.neighbours} == set(graph.neighbors(node))
        for part in explanation.features:
            changed = graph.without_features([str(part.name)], nodes=[node])
            expected = base - held(model, graph, changed, node)
            assert part.contribution == pytest.approx(expected, abs=1e-4)
            assert part.value == graph.features_of(node)[str(part.name)]
        for part in explanation.neighbours:
            expected = base - held(model, graph, without_edge(graph, node, part.name), node)
            assert part.contribution == pytest.approx(expected, abs=1e-4)
            assert part.value == graph.label_of(part.name)


@pytest.fixture(scope="module")
def trained() -> tuple[GrafenneClassifier, FeatureGraph]:
    graph = synthetic(200, 40, 3, values_per_node=8, degree=5, homophily=0.8, signal=0.7, seed=4)
    model = GrafenneClassifier(width=16, epochs=60, feature_dropout=0.3)
    return model.fit(graph, random_split(graph, 0)), graph


def test_rankings_agree_with_really_changing_the_graph(
    trained: tuple[GrafenneClassifier, FeatureGraph],
) -> None:
    model, graph = trained
    agreement: dict[str, list[float]] = {"features": [], "neighbours": []}
    for node in range(0, 200, 8):
        explanation = model.explain(graph, node, top=None)
        for kind, exact in zip(agreement, occluded(model, graph, node), strict=True):
            told = {part.name: part.contribution for part in getattr(explanation, kind)}
            assert told.keys() == exact.keys()
            if len(exact) > 2:
                order = list(exact)
                correlation = spearmanr(
                    [told[name] for name in order], [exact[name] for name in order]
                )
                agreement[kind].append(float(correlation.statistic))
    assert np.mean(agreement["features"]) > 0.8
    assert np.mean(agreement["neighbours"]) > 0.8


def test_what_speaks_for_the_class_counts_for_it(
    trained: tuple[GrafenneClassifier, FeatureGraph],
) -> None:
    """Contributions of features are higher, on average, where the feature goes with the class."""
    model, graph = trained
    assert graph.labels is not None
    share = {}
    for name in graph.features:
        labels = [graph.label_of(node) for node in graph.nodes_with(name)]
        share[name] = {label: labels.count(label) / len(labels) for label in set(labels)}
    speaking, silent = [], []
    for node in range(0, 200, 5):
        explanation = model.explain(graph, node, top=None)
        for part in explanation.features:
            goes_along = share[str(part.name)].get(explanation.prediction, 0) > 0.5
            (speaking if goes_along else silent).append(part.contribution)
    assert np.mean(speaking) > 0
    assert np.mean(speaking) > np.mean(silent) + 0.1


def decisive(nodes: int = 120, continuous: bool = False) -> FeatureGraph:
    """Feature ``key`` decides; five others and the edges are noise."""
    rng = np.random.default_rng(0)
    value = rng.choice([-1.0, 1.0], nodes)
    rows, columns = np.argwhere(rng.random((nodes, 5)) < 0.6).T
    ends = rng.integers(nodes, size=(2, nodes))
    labels: Any = (
        100 * value + rng.normal(size=nodes) if continuous else np.where(value > 0, "up", "down")
    )
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        ["key", "a", "b", "c", "d", "e"],
        (
            np.append(np.arange(nodes), rows),
            np.append(np.zeros(nodes, dtype=int), columns + 1),
            np.append(value, rng.normal(size=len(rows))),
        ),
        (ends[0], ends[1]),
        labels=labels,
        duplicates="first",
    )


def test_the_decisive_feature_comes_first() -> None:
    graph = decisive()
    model = GrafenneClassifier(width=16, epochs=60, feature_dropout=0.2).fit(graph)
    first = 0
    for number in range(20):
        explanation = model.explain(graph, f"n{number}")
        assert explanation.prediction == model.predict(graph, [f"n{number}"])[0]
        assert explanation.probability == pytest.approx(
            model.predict_proba(graph, [f"n{number}"]).max(), abs=1e-5
        )
        strengths = [abs(part.contribution) for part in explanation.features]
        assert strengths == sorted(strengths, reverse=True)
        first += explanation.features[0].name == "key" and explanation.features[0].contribution > 0
    assert first >= 18


def test_numbers_are_explained_in_their_own_unit() -> None:
    graph = decisive(continuous=True)
    model = GrafenneRegressor(width=16, epochs=80).fit(graph)
    explanation = model.explain(graph, "n0")
    predicted = model.predict(graph, ["n0"])[0]
    assert explanation.prediction == pytest.approx(predicted, rel=1e-4)
    assert explanation.probability is None
    key = explanation.features[0]
    assert key.name == "key"
    assert abs(key.contribution) > 20  # of about a hundred, not of about one
    assert np.sign(key.contribution) == np.sign(predicted)


def test_lonely_and_featureless_nodes_have_short_explanations() -> None:
    graph = graph_for("classifier")
    model = make("classifier").fit(graph)
    explanation = model.explain(graph, "n29")  # neither features nor edges
    assert (explanation.features, explanation.neighbours) == ([], [])
    assert "no features" in str(explanation)
    assert "no neighbours" in str(explanation)
    assert len(explanation.to_frame()) == 0
    looped = FeatureGraph.from_arrays(["x"], ["f1"], ([0], [0], [1.0]), ([0], [0]))
    assert model.explain(looped, "x").neighbours == []
    single = make("classifier", epochs=1).fit(graph.with_labels({"n0": "only", "n1": "only"}))
    assert single.explain(graph, "n0").probability == 1.0


def test_the_ways_to_read_an_explanation_agree() -> None:
    graph = graph_for("classifier")
    model = make("classifier").fit(graph)
    node = max(graph.nodes, key=lambda name: len(graph.features_of(name)))
    explanation = model.explain(graph, node, top=2)
    assert len(explanation.features) == 2
    assert len(explanation.neighbours) <= 2
    frame = explanation.to_frame()
    assert list(frame.columns) == ["kind", "name", "value", "contribution"]
    assert len(frame) == len(explanation.features) + len(explanation.neighbours)
    plain = explanation.to_dict()
    assert plain["node"] == node
    assert [part["name"] for part in plain["features"]] == list(frame["name"][:2])
    text = str(explanation)
    assert text.startswith(f"{node}: {explanation.prediction} (probability ")
    assert all(str(part.name) in text for part in explanation.features)
    with pytest.raises(ParameterError, match="top must be at least 1"):
        model.explain(graph, node, top=0)


def test_text_has_the_digits_of_a_value_that_tell() -> None:
    parts = [Contribution("place 8", -0.9463699460029602, 1.5), Contribution("age", 31.0, -0.25)]
    told = Explanation("ann", "staff", 0.875, parts, [Contribution("bob", "guest", 0.0)])
    assert str(told).splitlines() == [
        "ann: staff (probability 0.88)",
        "  features:",
        "      +1.500  place 8  [-0.9464]",
        "      -0.250  age  [31]",
        "  neighbours:",
        "      +0.000  bob  [guest]",
    ]
    assert told.to_dict()["features"][0]["value"] == -0.9463699460029602


def test_a_shown_label_is_explained_by_its_name() -> None:
    graph = graph_for("classifier")
    split = random_split(graph, 0)
    model = make("classifier", labels_as_features=True).fit(graph, split)
    node = graph.nodes[int(split.train[0])]
    explanation = model.explain(graph, node, top=None)
    shown = [part for part in explanation.features if str(part.name).startswith("label of node=")]
    assert [part.name for part in shown] == [f"label of node={graph.label_of(node)}"]
    assert shown[0].value is None
    values = {part.name: part.value for part in explanation.features if part.value is not None}
    assert values == graph.features_of(node)
    other = graph.nodes[int(split.test[0])]
    names = [str(part.name) for part in model.explain(graph, other, top=None).features]
    assert not any(name.startswith("label of node=") for name in names)


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_directed_edges_are_explained_both_ways(direction: str) -> None:
    graph = graph_for("classifier", directed=True)
    model = make("classifier", direction=direction).fit(graph)
    told = {
        part.name: part.contribution for part in model.explain(graph, "n5", top=None).neighbours
    }
    assert told.keys() == set(graph.neighbors("n5"))
    if direction == "in":
        sources = set(graph.neighbors("n5", "in"))
        assert any(told[name] != 0 for name in sources)


def test_an_unknown_node_gets_a_suggestion() -> None:
    graph = graph_for("classifier")
    model = make("classifier", epochs=1).fit(graph)
    with pytest.raises(UnknownNameError, match=r"node 'n99'.*Did you mean 'n9'"):
        model.explain(graph, "n99")
