from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.edges import EdgeList
from grafenne.data.labels import Labels
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, UnknownNameError
from tests.strategies import feature_graphs


@pytest.fixture
def graph() -> FeatureGraph:
    """tea - milk - water; tea: warm 1, price 2.5; milk: price 0; water has no feature."""
    return FeatureGraph.from_arrays(
        ["tea", "milk", "water"],
        ["warm", "price", "unused"],
        ([0, 0, 1], [0, 1, 1], [1.0, 2.5, 0.0]),
        ([1, 1], [0, 2]),
        labels={"tea": "hot", "water": "cold"},
    )


def test_counts(graph: FeatureGraph) -> None:
    assert (graph.num_nodes, graph.num_edges, graph.num_values) == (3, 2, 3)
    assert (graph.num_features, graph.num_used_features) == (3, 2)
    assert not graph.directed


def test_queries(graph: FeatureGraph) -> None:
    assert graph.features_of("tea") == {"warm": 1.0, "price": 2.5}
    assert graph.features_of("milk") == {"price": 0.0}
    assert graph.features_of("water") == {}
    assert graph.nodes_with("price") == {"tea": 2.5, "milk": 0.0}
    assert graph.nodes_with("unused") == {}
    assert sorted(map(str, graph.neighbors("milk"))) == ["tea", "water"]
    assert graph.label_of("tea") == "hot"
    assert graph.label_of("milk") is None
    assert graph.with_labels(None).label_of("tea") is None


def test_neighbours_of_directed_edges() -> None:
    graph = FeatureGraph.from_arrays("abc", 0, edges=([0, 2], [1, 1]), directed=True)
    assert graph.neighbors("b", "in") == ["a", "c"]
    assert graph.neighbors("b", "out") == []
    assert graph.neighbors("a", "out") == ["b"]
    assert graph.neighbors("a") == ["b"]


def test_unknown_names(graph: FeatureGraph) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown node 'mlk'\. Did you mean 'milk'"):
        graph.features_of("mlk")
    with pytest.raises(UnknownNameError, match=r"Unknown feature 'prize'\. Did you mean 'price'"):
        graph.nodes_with("prize")
    with pytest.raises(UnknownNameError, match="'beer'"):
        graph.subgraph(["tea", "beer"])


def test_summaries(graph: FeatureGraph) -> None:
    assert repr(graph) == "FeatureGraph(3 nodes, 2 edges, 2 features, 3 values, 2 classes)"
    table = graph.describe()["value"]
    assert table["nodes"] == 3
    assert table["observed zeros"] == 1
    assert table["nodes without features"] == 1
    assert table["features per node (most)"] == 2
    assert table["feature names never used"] == 1
    assert table["degree (mean)"] == pytest.approx(4 / 3)
    assert table["share of cells with a value"] == 0.5
    assert table["labelled nodes"] == 2
    assert FeatureGraph.from_arrays(0, 0).describe()["value"]["nodes"] == 0


def test_numbered_nodes_and_features() -> None:
    graph = FeatureGraph.from_arrays(2, 2, ([1], [1], [3]))
    assert list(graph.nodes) == [0, 1]
    assert graph.features_of(1) == {"f1": 3.0}


def test_subgraphs(graph: FeatureGraph) -> None:
    part = graph.subgraph(["water", "milk"])
    assert list(part.nodes) == ["water", "milk"]
    assert part.features is graph.features
    assert part.features_of("milk") == {"price": 0.0}
    assert part.neighbors("milk") == ["water"]
    assert part.label_of("water") == "cold"
    assert graph.subgraph([]).num_nodes == 0
    with pytest.raises(DataError, match="'tea' is listed twice"):
        graph.subgraph(["tea", "tea"])


def test_more_features(graph: FeatureGraph) -> None:
    more = graph.with_features({"water": {"clear": 1.0}, "tea": {"price": 3}})
    assert more.features_of("water") == {"clear": 1.0}
    assert more.features_of("tea") == {"warm": 1.0, "price": 3.0}
    assert list(more.features) == ["warm", "price", "unused", "clear"]
    assert list(graph.features) == ["warm", "price", "unused"]
    assert graph.features_of("tea")["price"] == 2.5
    for bad in (float("nan"), "dear", None):
        with pytest.raises(DataError):
            graph.with_features({"tea": {"price": bad}})  # type: ignore[dict-item]
    with pytest.raises(DataError, match="names must be text"):
        graph.with_features({"tea": {3: 1.0}})  # type: ignore[dict-item]


def test_fewer_features(graph: FeatureGraph) -> None:
    assert graph.without_features(["price"]).num_values == 1
    assert graph.without_features("price").features_of("tea") == {"warm": 1.0}
    only = graph.without_features(["price"], nodes=["milk"])
    assert only.features_of("tea") == graph.features_of("tea")
    assert only.features_of("milk") == {}
    assert only.features is graph.features
    with pytest.raises(UnknownNameError):
        graph.without_features(["colour"])


def test_parts_must_fit_together(graph: FeatureGraph) -> None:
    with pytest.raises(DataError, match="disagree on the number of nodes"):
        graph.replace(nodes=Vocabulary("ab"))
    with pytest.raises(DataError, match="disagree on the number of nodes"):
        graph.replace(edges=EdgeList.empty(4))
    with pytest.raises(DataError, match="disagree on the number of nodes"):
        graph.replace(labels=Labels("class", np.array([-1, -1])))
    with pytest.raises(DataError, match="disagree on the number of features"):
        graph.replace(values=FeatureValues.empty(3, 2))
    with pytest.raises(DataError, match="disagree on the number of features"):
        graph.replace(feature_edges=EdgeList.empty(2))
    with pytest.raises(TypeError, match="colours"):
        graph.replace(colours=None)
    with pytest.raises(DataError, match="Feature names must be text, got 3"):
        FeatureGraph.from_arrays(1, [3])  # type: ignore[list-item]


def test_a_matrix_taken_out_is_a_copy(graph: FeatureGraph) -> None:
    matrix = graph.to_scipy()
    assert matrix.nnz == 3
    matrix.data[:] = 9
    assert graph.features_of("milk") == {"price": 0.0}


# ---- equality --------------------------------------------------------------------------------


def permuted(graph: FeatureGraph, generator: np.random.Generator) -> FeatureGraph:
    """The same graph with nodes, features, edges and triples in another order."""
    node, feature = (generator.permutation(n) for n in (graph.num_nodes, graph.num_features))
    triples, edges = (generator.permutation(n) for n in (graph.num_values, graph.num_edges))
    nodes, features = graph.nodes.take(np.argsort(node)), graph.features.take(np.argsort(feature))
    labels = {name: graph.label_of(name) for name in graph.nodes}

    def moved(part: EdgeList, place: Any, order: Any) -> tuple[Any, ...]:
        ends = (place[part.sources[order]], place[part.targets[order]])
        return ends if part.weights is None else (*ends, part.weights[order])

    return FeatureGraph.from_arrays(
        nodes,
        features,
        (
            node[graph.values.rows[triples]],
            feature[graph.values.indices[triples]],
            graph.values.data[triples],
        ),
        moved(graph.edges, node, edges),  # type: ignore[arg-type]
        directed=graph.directed,
        labels=None if graph.labels is None else labels,
        label_kind=None if graph.labels is None else graph.labels.kind,
        feature_edges=moved(
            graph.feature_edges, feature, generator.permutation(len(graph.feature_edges))
        ),
    )


@settings(deadline=None)
@given(feature_graphs(), st.integers(0, 1000))
def test_the_order_of_nodes_and_features_does_not_matter(graph: FeatureGraph, seed: int) -> None:
    other = permuted(graph, np.random.default_rng(seed))
    assert graph == other
    assert other == graph
    assert hash(graph) == hash(other)


@settings(deadline=None)
@given(feature_graphs())
def test_names_that_nobody_uses_do_not_matter(graph: FeatureGraph) -> None:
    features = graph.features.extended(["a name that nobody has"])
    assert graph == graph.replace(
        features=features,
        values=graph.values.resized(len(features)),
        feature_edges=graph.feature_edges.resized(len(features)),
    )


@settings(deadline=None)
@given(feature_graphs(), st.data())
def test_any_single_difference_is_seen(graph: FeatureGraph, data: st.DataObject) -> None:
    others = [
        graph.replace(edges=EdgeList.empty(graph.num_nodes, directed=not graph.directed)),
        FeatureGraph.from_arrays([*graph.nodes, "one more"], graph.features),
    ]
    if graph.num_values:
        place = data.draw(st.integers(0, graph.num_values - 1))
        keep = np.arange(graph.num_values) != place
        others.append(graph.replace(values=graph.values.take(keep)))
        changed = graph.values.data.astype(np.float64)
        changed[place] = 0.5 if changed[place] != 0.5 else 1.5
        old = graph.values
        others.append(
            graph.replace(values=FeatureValues(old.indptr, old.indices, changed, old.num_features))
        )
    for name in ("edges", "feature_edges"):
        part: EdgeList = getattr(graph, name)
        if not len(part):
            continue
        place = data.draw(st.integers(0, len(part) - 1))
        others.append(graph.replace(**{name: part.take(np.arange(len(part)) != place)}))
        weights = np.full(len(part), 0.5)
        if part.weights is not None:
            weights = part.weights.copy()
            weights[place] = 0.5 if weights[place] != 0.5 else 1.5
        others.append(
            graph.replace(
                **{name: EdgeList(part.sources, part.targets, weights, part.size, part.directed)}
            )
        )
    if graph.num_nodes:
        node = data.draw(st.sampled_from(list(graph.nodes)))
        labels = {name: graph.label_of(name) for name in graph.nodes}
        kind = None if graph.labels is None else graph.labels.kind
        if labels[node] is None:
            labels[node] = 0.25 if kind == "number" else "another label"
        else:
            labels[node] = None
        others.append(graph.with_labels(labels, kind))
    for other in others:
        assert graph != other
        assert other != graph


def test_values_are_compared_exactly() -> None:
    def one(value: float) -> FeatureGraph:
        return FeatureGraph.from_arrays(1, 1, ([0], [0], [value]))

    assert one(0.1 + 0.2) != one(0.3)
    assert one(0.0) != FeatureGraph.from_arrays(1, 1)
    assert one(1.0) != "a graph"


def test_labels_are_compared_by_kind() -> None:
    bare = FeatureGraph.from_arrays(2, 0)
    assert bare == bare.with_labels([None, None])
    assert bare.with_labels([1, 2]) != bare.with_labels([1, 2], "number")
    assert bare.with_labels(["1", "2"]) != bare.with_labels([1, 2])
    assert bare.with_labels(["x", None]) != bare.with_labels([None, "x"])


def test_edges_may_be_one_array_with_a_row_for_each_end() -> None:
    pairs = np.array([[0, 1], [1, 2]])
    graph = FeatureGraph.from_arrays(3, 2, edges=pairs, feature_edges=pairs[:, :1])
    plain = FeatureGraph.from_arrays(3, 2, edges=([0, 1], [1, 2]), feature_edges=([0], [1]))
    assert graph == plain
    assert len(graph.edges) == 2
    assert len(graph.feature_edges) == 1
