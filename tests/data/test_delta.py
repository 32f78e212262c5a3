from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.delta import GraphDelta
from grafenne.errors import DataError, GrafenneError, ParameterError, UnknownNameError
from tests.strategies import feature_graphs, finite, names, whole_numbers


@pytest.fixture
def graph() -> FeatureGraph:
    """a - b - c, undirected and unweighted; a: x 1, y 0; b: x 2; c has nothing."""
    return FeatureGraph.from_arrays(
        ["a", "b", "c"],
        ["x", "y", "unused"],
        ([0, 0, 1], [0, 1, 0], [1.0, 0.0, 2.0]),
        ([0, 1], [1, 2]),
        labels={"a": "red", "b": "blue"},
    )


def contradicting(one: FeatureGraph, other: FeatureGraph) -> bool:
    """Whether two graphs differ in what a delta cannot express."""
    if one.directed != other.directed:
        return True
    ids = [{type(name) for name in graph.nodes} for graph in (one, other)]
    if {str} in ids and {int} in ids:
        return True
    kinds = {
        graph.labels.kind
        for graph in (one, other)
        if graph.labels is not None and graph.labels.known.any()
    }
    return len(kinds) > 1


@st.composite
def pairs_of_graphs(draw: st.DrawFn) -> tuple[FeatureGraph, FeatureGraph]:
    """Two graphs that a delta can join, with many common ids and names."""
    directed = draw(st.booleans())
    ids = draw(
        st.sampled_from(
            [
                st.lists(st.sampled_from("abcdef"), unique=True, max_size=5),
                st.lists(st.integers(0, 6), unique=True, max_size=5),
                st.integers(0, 5).map(lambda count: list(range(count))),
                st.lists(names, unique=True, max_size=4),
            ]
        )
    )
    one = draw(feature_graphs(directed=directed, ids=ids))
    other = draw(feature_graphs(directed=directed, ids=ids))
    if contradicting(one, other):
        other = other.with_labels(None)
    return one, other


@settings(deadline=None)
@given(pairs_of_graphs())
def test_applying_the_difference_gives_the_other_graph(
    both: tuple[FeatureGraph, FeatureGraph],
) -> None:
    before, after = both
    delta = before.diff(after)
    result = before.apply(delta)
    assert result == after
    assert delta.is_empty == (before == after)
    # and the way back
    assert result.apply(result.diff(before)) == before
    assert result.apply(after.diff(before)) == before


@settings(deadline=None)
@given(pairs_of_graphs())
def test_applied_graphs_keep_their_order_and_are_canonical(
    both: tuple[FeatureGraph, FeatureGraph],
) -> None:
    before, after = both
    result = before.apply(before.diff(after))
    surviving = [node for node in before.nodes if node in after.nodes]
    assert list(result.nodes)[: len(surviving)] == surviving
    assert list(result.features)[: before.num_features] == list(before.features)
    names_by_node = {node: after.features_of(node) for node in after.nodes}
    assert {node: result.features_of(node) for node in result.nodes} == names_by_node
    assert {node: result.label_of(node) for node in result.nodes} == {
        node: after.label_of(node) for node in after.nodes
    }
    # Parts built from scratch agree with the edited ones.
    rebuilt = FeatureGraph.from_arrays(
        list(result.nodes),
        list(result.features),
        (result.values.rows, result.values.indices, result.values.data),
        (result.edges.sources, result.edges.targets)
        if result.edges.weights is None
        else (result.edges.sources, result.edges.targets, result.edges.weights),
        directed=result.directed,
    )
    np.testing.assert_array_equal(rebuilt.values.indptr, result.values.indptr)
    np.testing.assert_array_equal(rebuilt.values.indices, result.values.indices)
    np.testing.assert_array_equal(rebuilt.edges.sources, result.edges.sources)
    np.testing.assert_array_equal(rebuilt.edges.targets, result.edges.targets)


@settings(deadline=None)
@given(feature_graphs())
def test_a_graph_does_not_differ_from_itself(graph: FeatureGraph) -> None:
    assert graph.diff(graph).is_empty
    assert graph.apply(GraphDelta()) is graph
    assert graph.apply(graph.diff(graph)) == graph


@settings(deadline=None)
@given(feature_graphs(), feature_graphs())
def test_differences_that_no_delta_can_express_are_refused(
    one: FeatureGraph, other: FeatureGraph
) -> None:
    assume(contradicting(one, other))
    with pytest.raises(DataError, match="A delta cannot turn"):
        one.diff(other)


def naively_affected(before: FeatureGraph, after: FeatureGraph) -> list[Any]:
    def edges_at(graph: FeatureGraph, node: Any) -> set[Any]:
        weights = graph.edges.weights
        found = set()
        for row, (source, target) in enumerate(
            zip(graph.edges.sources, graph.edges.targets, strict=True)
        ):
            ends = (graph.nodes[int(source)], graph.nodes[int(target)])
            if node in ends:
                key = ends if graph.directed else frozenset(ends)
                found.add((key, None if weights is None else float(weights[row])))
        return found

    return [
        node
        for node in after.nodes
        if node not in before.nodes
        or before.features_of(node) != after.features_of(node)
        or edges_at(before, node) != edges_at(after, node)
    ]


@settings(deadline=None)
@given(pairs_of_graphs())
def test_affected_nodes_are_those_whose_features_or_edges_differ(
    both: tuple[FeatureGraph, FeatureGraph],
) -> None:
    before, after = both
    delta = before.diff(after)
    assert delta.affected_nodes(before) == naively_affected(before, before.apply(delta))


def test_a_delta_written_by_hand(graph: FeatureGraph) -> None:
    delta = GraphDelta(
        nodes_added=["d"],
        nodes_removed=["a"],
        edges_added=[("d", "c")],
        edges_removed=[("c", "b")],
        triples_added=[("c", "y", 3), ("d", "new", 4.5)],
        triples_changed=[("b", "x", 0)],
        labels_set=[("d", "green")],
        labels_removed=["b"],
        feature_edges_added=[("x", "newer", 0.5)],
    )
    after = graph.apply(delta)
    assert list(after.nodes) == ["b", "c", "d"]
    assert list(after.features) == ["x", "y", "unused", "new", "newer"]
    assert after.features_of("b") == {"x": 0.0}
    assert after.features_of("c") == {"y": 3.0}
    assert after.features_of("d") == {"new": 4.5}
    assert after.neighbors("d") == ["c"]
    assert after.neighbors("b") == []
    assert [after.label_of(node) for node in after.nodes] == [None, None, "green"]
    assert after.feature_edges.weights is not None
    assert after.feature_edges.sources.tolist() == [0]
    assert after.feature_edges.targets.tolist() == [4]
    assert after.feature_edges.weights.tolist() == [0.5]
    assert list(graph.nodes) == ["a", "b", "c"]  # the old graph is as it was
    assert list(graph.features) == ["x", "y", "unused"]
    assert len(delta) == 10
    assert repr(delta) == (
        "GraphDelta(nodes +1 -1, edges +1 -1, triples +2 ~1, labels +1 -1, feature edges +1)"
    )


def test_affected_nodes_by_hand(graph: FeatureGraph) -> None:
    assert GraphDelta(nodes_removed=["b"]).affected_nodes(graph) == ["a", "c"]
    assert GraphDelta(labels_set=[("c", "red")]).affected_nodes(graph) == []
    assert GraphDelta(nodes_added=["z"]).affected_nodes(graph) == ["z"]
    assert GraphDelta(triples_removed=[("a", "y")]).affected_nodes(graph) == ["a"]
    linked = GraphDelta(nodes_added=["z"], edges_added=[("z", "c")])
    assert linked.affected_nodes(graph) == ["c", "z"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"nodes_added": ["a"]}, "Node 'a' cannot be added"),
        ({"nodes_removed": ["q"]}, "Unknown node 'q'"),
        ({"edges_added": [("b", "a")]}, "from 'b' to 'a', which cannot be added"),
        ({"edges_added": [("a", "q")]}, "Unknown node 'q'"),
        ({"edges_removed": [("a", "c")]}, "from 'a' to 'c', which cannot be removed"),
        ({"edges_changed": [("a", "c", 2)]}, "from 'a' to 'c', which cannot be changed"),
        ({"edges_changed": [("a", "b", 2)]}, "edge from 'b' to 'c' would have no weight"),
        ({"edges_added": [("a", "c", 2)]}, "edge from 'a' to 'b' would have no weight"),
        (
            {"edges_added": [("a", "c")], "edges_removed": [("c", "a")]},
            "undirected and the delta lists the reverse",
        ),
        ({"triples_added": [("a", "y", 1)]}, "feature 'y' of node 'a', which cannot be added"),
        ({"triples_added": [("q", "y", 1)]}, "Unknown node 'q'"),
        ({"triples_removed": [("c", "y")]}, "feature 'y' of node 'c', which cannot be removed"),
        ({"triples_removed": [("c", "z")]}, "Unknown feature 'z'"),
        ({"triples_changed": [("c", "y", 1)]}, "feature 'y' of node 'c', which cannot be chang"),
        ({"labels_removed": ["c"]}, "label of node 'c' cannot be removed"),
        ({"labels_set": [("q", "red")]}, "Unknown node 'q'"),
        ({"labels_set": [("c", 1.5)], "label_kind": "number"}, "kind 'class'"),
        ({"feature_edges_removed": [("x", "y")]}, "feature edge from 'x' to 'y'"),
    ],
)
def test_a_delta_that_does_not_fit_is_refused(
    graph: FeatureGraph, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        graph.apply(GraphDelta(**parts))
    assert graph.apply(GraphDelta()) == graph
    assert list(graph.features) == ["x", "y", "unused"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"nodes_added": ["a", "b", "a"]}, "nodes_added lists node 'a' twice"),
        ({"nodes_added": ["a"], "nodes_removed": ["a"]}, "node 'a' and so does nodes_added"),
        ({"nodes_added": "abc"}, "must be a list of rows"),
        ({"nodes_added": [None]}, "Row 0 of nodes_added has no node"),
        ({"nodes_added": [float("nan")]}, "Row 0 of nodes_added has no node"),
        ({"nodes_added": [["a"]]}, "not hashable"),
        ({"edges_added": ["ab"]}, "must be a tuple"),
        ({"edges_added": [("a",)]}, r"must be \(source, target, weight\)"),
        ({"edges_added": [("a", "b", float("inf"))]}, "weight inf; it must be a finite"),
        ({"edges_added": [("a", "b", float("nan"))]}, "weight nan; it must be a finite"),
        ({"edges_added": [("a", "b")], "edges_removed": [("a", "b")]}, "from 'a' to 'b' and so"),
        ({"triples_added": [("a", "f", float("nan"))]}, "value nan; it must be a finite"),
        ({"triples_added": [("a", "f", "1")]}, "value '1'; it must be a finite"),
        ({"triples_added": [("a", "f", None)]}, "value None; it must be a finite"),
        ({"triples_added": [("a", 3, 1.0)]}, "names the feature 3; names are text"),
        (
            {"triples_added": [("a", "f", 1)], "triples_changed": [("a", "f", 2)]},
            "feature 'f' of node 'a' and so does triples_added",
        ),
        ({"labels_set": [("a", None)]}, "Row 0 of labels_set has no label"),
        ({"labels_set": [("a", 1)], "labels_removed": ["a"]}, "label of node 'a' and so does"),
        (
            {"nodes_removed": ["a"], "triples_changed": [("a", "f", 2)]},
            "feature 'f' of node 'a', but node 'a' is removed",
        ),
        ({"nodes_removed": ["a"], "edges_added": [("b", "a")]}, "node 'a' is removed"),
        ({"nodes_removed": ["a"], "labels_set": [("a", 1)]}, "node 'a' is removed"),
    ],
)
def test_a_delta_that_contradicts_itself_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        GraphDelta(**parts)


def test_a_removed_node_may_list_its_parts_as_removed(graph: FeatureGraph) -> None:
    short = GraphDelta(nodes_removed=["a"])
    long = GraphDelta(
        nodes_removed=["a"],
        edges_removed=[("a", "b")],
        triples_removed=[("a", "x")],
        labels_removed=["a"],
    )
    assert graph.apply(short) == graph.apply(long) == graph.subgraph(["b", "c"])


def test_weights_come_and_go_as_a_whole(graph: FeatureGraph) -> None:
    weighted = FeatureGraph.from_arrays(
        ["a", "b", "c"],
        ["x", "y"],
        ([0, 0, 1], [0, 1, 0], [1.0, 0.0, 2.0]),
        ([0, 0], [1, 2], [0.5, 1.0]),
        labels={"a": "red", "b": "blue"},
    )
    delta = graph.diff(weighted)
    assert list(delta.edges_changed) == [("a", "b", 0.5)]
    assert list(delta.edges_added) == [("a", "c", 1.0)]
    assert list(delta.edges_removed) == [("b", "c")]
    assert graph.apply(delta) == weighted
    assert list(weighted.diff(graph).edges_changed) == [("a", "b", None)]
    assert weighted.apply(weighted.diff(graph)) == graph


def test_label_kinds(graph: FeatureGraph) -> None:
    bare = graph.with_labels(None)
    assert bare.apply(GraphDelta(labels_set=[("a", 1.5)])).labels.kind == "number"  # type: ignore[union-attr]
    assert bare.apply(GraphDelta(labels_set=[("a", 1)])).labels.kind == "class"  # type: ignore[union-attr]
    numbers = graph.with_labels({"a": 1.0})
    assert numbers.apply(GraphDelta(labels_set=[("b", 2)])).label_of("b") == 2.0
    with pytest.raises(DataError, match="new label of node 'b' is 'red', not a finite number"):
        numbers.apply(GraphDelta(labels_set=[("b", "red")]))
    versions = graph.with_labels({"a": 1.5, "b": 2.5}, kind="class")
    delta = bare.diff(versions)
    assert delta.label_kind == "class"
    assert bare.apply(delta) == versions
    with pytest.raises(ParameterError, match="label_kind"):
        GraphDelta(label_kind="text")  # type: ignore[arg-type]


def test_classes_stay_known_and_sorted(graph: FeatureGraph) -> None:
    after = graph.apply(GraphDelta(labels_removed=["b"], labels_set=[("c", "green")]))
    assert after.labels is not None
    assert after.labels.classes == ("blue", "green", "red")
    assert after.labels.values.tolist() == [2, -1, 1]


def test_single_precision_stays_where_it_is_exact() -> None:
    graph = FeatureGraph.from_arrays(2, ["x"], ([0], [0], np.array([0.1], dtype=np.float32)))
    assert graph.apply(GraphDelta(triples_added=[(1, "x", 0.5)])).values.data.dtype == np.float32
    after = graph.apply(GraphDelta(triples_added=[(1, "x", 0.1)]))
    assert after.features_of(1) == {"x": 0.1}
    assert after.features_of(0) == graph.features_of(0)


def test_numbered_nodes_stay_numbered() -> None:
    graph = FeatureGraph.from_arrays(3, 1)
    assert graph.apply(GraphDelta(nodes_added=[3, 4])).nodes.is_range
    assert list(graph.apply(GraphDelta(nodes_added=[7])).nodes) == [0, 1, 2, 7]
    with pytest.raises(DataError, match=r"Node 2\.0 cannot be added"):
        graph.apply(GraphDelta(nodes_added=[2.0]))


def test_two_changes_of_one_graph_do_not_see_each_other(graph: FeatureGraph) -> None:
    one = graph.apply(GraphDelta(nodes_added=["p"], triples_added=[("p", "f1", 1.0)]))
    other = graph.apply(GraphDelta(nodes_added=["q"], triples_added=[("q", "f2", 2.0)]))
    assert list(one.nodes) == ["a", "b", "c", "p"]
    assert list(other.nodes) == ["a", "b", "c", "q"]
    assert one.features_of("p") == {"f1": 1.0}
    assert other.features_of("q") == {"f2": 2.0}
    assert "f1" not in other.features


triples = st.tuples(st.one_of(names, whole_numbers), names, finite)


@settings(deadline=None)
@given(st.lists(triples, unique_by=lambda row: row[:2]), st.randoms(use_true_random=False))
def test_equality_and_digest_ignore_the_order(rows: list[Any], random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = GraphDelta(triples_added=rows), GraphDelta(triples_added=shuffled)
    assert one == other
    assert one.digest() == other.digest()
    assert hash(one) == hash(other)
    assert (one == GraphDelta(triples_changed=rows)) == (not rows)


def test_a_digest_is_the_same_everywhere() -> None:
    delta = GraphDelta(nodes_added=["a", 1], edges_added=[("a", 1, 0.5)])
    assert delta.digest() == "9282ddd16c80c9b5983fc07e9c4af23b88313984f7cdca53e52334d7bb1faad3"
    assert delta.digest() != GraphDelta(nodes_added=["a", "1"]).digest()
    assert delta != "something else"


def test_rows_read_like_a_list() -> None:
    rows = GraphDelta(edges_added=[("a", "b"), ("b", "c", 2)]).edges_added
    assert len(rows) == 2
    assert rows[0] == ("a", "b", None)
    assert rows[-1] == ("b", "c", 2.0)
    assert rows[0:1] == [("a", "b", None)]
    assert list(rows) == [("a", "b", None), ("b", "c", 2.0)]
    assert list(GraphDelta(nodes_added=[("tuple", 1)]).nodes_added) == [("tuple", 1)]


def test_every_error_is_of_one_family(graph: FeatureGraph) -> None:
    with pytest.raises(GrafenneError):
        graph.apply(GraphDelta(nodes_removed=["q"]))
    with pytest.raises(UnknownNameError, match="Did you mean 'gamma'"):
        graph.apply(GraphDelta(nodes_added=["gamma"], edges_added=[("gama", "a")]))
