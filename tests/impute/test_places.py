"""Places: coordinates of nodes by random walks, comparable between graphs that share nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, Split
from grafenne.baselines.methods import make_method
from grafenne.errors import DataError, ModelFileError, ParameterError
from grafenne.impute import ImputedClassifier, Places
from grafenne.impute.links import fill_split
from grafenne.tasks.links import split_edges


def communities(count: int = 3, size: int = 12) -> FeatureGraph:
    """Groups of nodes with many edges inside and one to the next group; nodes have no features."""
    rng = np.random.default_rng(0)
    edges = []
    for group in range(count):
        start = group * size
        edges += [
            (start + a, start + b)
            for a in range(size)
            for b in range(a)
            if b == a - 1 or rng.random() < 0.5
        ]
        edges.append((start + 3, (start + size) % (count * size) + 5 % size))
    labels = {f"n{node}": f"group {node // size}" for node in range(count * size)}
    return FeatureGraph.from_frames(
        edges=pd.DataFrame([(f"n{a}", f"n{b}") for a, b in edges], columns=["source", "target"]),
        labels=labels,
        nodes=list(labels),
    )


def smaller() -> FeatureGraph:
    """The same without its first two nodes."""
    graph = communities()
    return graph.subgraph_at(np.arange(2, graph.num_nodes))


def places_of(graph: FeatureGraph, imputer: Places | None = None) -> np.ndarray:
    filled = (Places(count=4) if imputer is None else imputer).transform(graph)
    table = np.zeros((filled.num_nodes, filled.num_features))
    table[filled.values.rows, filled.values.indices] = filled.values.data
    return table[:, graph.num_features :]


def by_hand(graph: FeatureGraph, count: int, damping: float) -> np.ndarray:
    """The cosines between all places, by the whole decomposition of the whole matrix."""
    number = graph.num_nodes
    matrix = np.eye(number)
    for node in graph.nodes:
        for other in graph.neighbors(node):
            matrix[graph.nodes.position(node), graph.nodes.position(other)] = 1
    scale = 1 / np.sqrt(matrix.sum(axis=1))
    eigenvalues, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    below = eigenvalues < 1 - 1e-9  # the others say which component a node is in
    weights = (1 - damping) / (1 - damping * eigenvalues[below][-count:])
    rows = vectors[:, below][:, -count:] * weights
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


@pytest.mark.parametrize("size", [4, 12])  # 12 nodes, all at once, and 36, by sparse products
@pytest.mark.parametrize("damping", [0.5, 0.99])
def test_places_are_weighted_eigenvectors(size: int, damping: float) -> None:
    graph = communities(size=size)
    places = places_of(graph, Places(count=4, damping=damping))
    np.testing.assert_allclose(places @ places.T, by_hand(graph, 4, damping), atol=1e-5)


def test_the_order_of_the_nodes_does_not_matter() -> None:
    graph = communities()
    order = np.random.default_rng(1).permutation(graph.num_nodes)
    places, other = places_of(graph)[order], places_of(graph.subgraph_at(order))
    np.testing.assert_allclose(other @ other.T, places @ places.T, atol=1e-5)


def test_features_stay_and_a_node_without_edges_has_no_place() -> None:
    graph = FeatureGraph.from_arrays(
        list("abcde"), ["f"], ([0, 4], [0, 0], [2.0, 3.0]), ([0, 1, 2], [1, 2, 3])
    )
    filled = Places(count=2).transform(graph)
    assert list(filled.features) == ["f", "place 1", "place 2"]
    assert filled.features_of("e") == {"f": 3.0}
    told = filled.features_of("a")
    assert told["f"] == 2.0
    assert told["place 1"] ** 2 + told["place 2"] ** 2 == pytest.approx(1.0)


@pytest.mark.parametrize("edges", [None, ([0], [1])])
def test_more_coordinates_than_the_graph_has(edges: tuple[list[int], list[int]] | None) -> None:
    graph = FeatureGraph.from_arrays(list("abc"), 0, None, edges)
    places = places_of(graph, Places(count=8))
    assert places.shape == (3, 8)
    assert np.isfinite(places).all()
    assert not places[2].any()


def test_nodes_keep_their_places_when_others_join() -> None:
    imputer, later = Places(count=4), communities()
    before = places_of(smaller(), imputer)
    after = places_of(later, imputer)
    assert (before * after[2:]).sum(axis=1).min() > 0.9
    # Those that joined stand where their group stands.
    nearest = (after[:2] @ before.T).argmax(axis=1)
    assert nearest.max() < 12 - 2


def test_the_same_graph_has_the_same_places_to_the_last_bit() -> None:
    imputer = Places(count=4)
    first = imputer.transform(communities())
    imputer.transform(smaller())
    assert np.array_equal(imputer.transform(communities()).values.data, first.values.data)


def test_graphs_without_a_common_node_cannot_be_compared() -> None:
    imputer = Places(count=2)
    imputer.transform(communities())
    other = FeatureGraph.from_arrays(list("xyz"), 0, None, ([0, 1], [1, 2]))
    with pytest.raises(DataError, match="No node of this graph"):
        imputer.transform(other)


def test_bad_settings_and_names_that_are_taken_are_refused() -> None:
    graph = communities()
    for settings, told in (
        ({"count": 0}, "count must be a whole number from 1, got 0"),
        ({"count": 2.5}, "got 2.5"),
        ({"damping": 1.0}, "damping must be between 0 and 1, got 1.0"),
    ):
        with pytest.raises(ParameterError, match=told):
            Places(**settings).transform(graph)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'place 1'"):
        Places(count=2).transform(Places(count=2).transform(graph))


def two_labels_each(graph: FeatureGraph, size: int) -> Split:
    starts = np.arange(0, graph.num_nodes, size)
    train = np.concatenate((starts + 2, starts + 7))
    rest = np.setdiff1d(np.arange(graph.num_nodes), train)
    return Split(train=train, validation=rest[::3], test=np.setdiff1d(rest, rest[::3]))


@pytest.mark.parametrize("name", ["places+gcn", "places+grafenne"])
def test_few_labels_are_enough_where_groups_are_all_there_is(name: str) -> None:
    graph = communities()
    split = two_labels_each(graph, 12)
    test = graph.nodes.take(split.test)
    model = make_method(name, epochs=60, imputer__count=4, random_state=0).fit(graph, split)
    assert model.score(graph, test) > 0.9
    plain = GrafenneClassifier(epochs=60, random_state=0).fit(graph, split)
    assert plain.score(graph, test) < 0.7


def test_a_saved_model_knows_the_places(tmp_path: Path) -> None:
    graph, later = smaller(), communities()
    inner = GrafenneClassifier(epochs=10, direct=True, scaling="none", random_state=0)
    model = ImputedClassifier(imputer=Places(count=4), estimator=inner).fit(graph)
    model.save(tmp_path / "model")
    loaded = ImputedClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    assert np.array_equal(loaded.predict_proba(later), model.predict_proba(later))


def test_a_saved_model_whose_places_do_not_fit_is_refused(tmp_path: Path) -> None:
    graph = communities()
    model = ImputedClassifier(imputer=Places(count=4), estimator=GrafenneClassifier(epochs=1))
    model.fit(graph).save(tmp_path / "model")
    about = tmp_path / "model" / "model.json"
    about.write_text(about.read_text().replace('"n7",', "", 1))
    with pytest.raises(ModelFileError, match="35 nodes with 4 coordinates"):
        ImputedClassifier.load(tmp_path / "model")


def test_parts_of_the_graph_have_places_of_their_own_and_crumbs_have_none() -> None:
    def chain(start: int, size: int) -> list[tuple[int, int]]:
        return [(node, node + 1) for node in range(start, start + size - 1)]

    edges = np.array([*chain(0, 10), *chain(10, 10), *chain(20, 2)])
    graph = FeatureGraph.from_arrays(22, 0, None, (edges[:, 0], edges[:, 1]))
    places = places_of(graph)
    cosines = places @ places.T
    assert np.abs(cosines[:10, 10:20]).max() < 1e-5
    # The ends of a chain are far from each other, but in the same part.
    assert min(cosines[0, 9], cosines[10, 19]) > 0.3
    assert not places[20:].any()


@pytest.mark.parametrize("kind", ["pairs", "star", "clique", "nothing"])
def test_graphs_that_are_all_alike_have_finite_places(kind: str) -> None:
    number = 60
    edges = {
        "pairs": [(node, node + 1) for node in range(0, number, 2)],
        "star": [(0, node) for node in range(1, number)],
        "clique": [(a, b) for a in range(number) for b in range(a)],
        "nothing": [],
    }[kind]
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    graph = FeatureGraph.from_arrays(number, 0, None, (ends[:, 0], ends[:, 1]))
    places = places_of(graph)
    lengths = np.linalg.norm(places, axis=1)
    assert np.isfinite(places).all()
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()


def test_views_for_link_prediction_are_comparable() -> None:
    graph = communities()
    filled = fill_split(Places(count=4), split_edges(graph, 0))
    whole = filled.graph.values.data.reshape(-1, 4)
    for view in filled.views:
        table = np.zeros((graph.num_nodes, 4))
        table[view.values.rows, view.values.indices] = view.values.data
        assert np.median((table * whole).sum(axis=1)) > 0.5
