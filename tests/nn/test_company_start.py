"""Where trained feature vectors start: by the company that the features keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import cosine_similarity

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneLinkPredictor
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.split import random_split
from grafenne.nn.company_start import company_start

TOPICS = 3


def made_graph(
    has: NDArray[np.bool_], edges: list[tuple[int, int]], values: NDArray[Any] | None = None
) -> FeatureGraph:
    """A graph of the nodes and features of a table that says who has what."""
    rows, columns = np.nonzero(has)
    data = np.ones(len(rows)) if values is None else values[rows, columns]
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(has.shape[0])],
        [f"f{number}" for number in range(has.shape[1])],
        (rows, columns, data),
        np.array(edges, dtype=np.int64).reshape(-1, 2).T,
        labels=[str(number % TOPICS) for number in range(has.shape[0])],
    )


def topical(per_topic: int = 30, nodes: int = 180, seed: int = 0) -> FeatureGraph:
    """Nodes of three topics, each with a few of its topic's features and one of any."""
    random = np.random.default_rng(seed)
    has = np.zeros((nodes, TOPICS * per_topic), dtype=bool)
    for node in range(nodes):
        own = node % TOPICS * per_topic + random.choice(per_topic, 6, replace=False)
        has[node, own] = True
        has[node, random.integers(has.shape[1])] = True
    return made_graph(has, [(node, node + TOPICS) for node in range(nodes - TOPICS)])


def topics_apart(vectors: torch.Tensor) -> float:
    """How much more alike features of one topic are than others, as a difference of cosines."""
    vectors = vectors - vectors.mean(dim=0)  # what all have in common says nothing
    alike = cosine_similarity(vectors.unsqueeze(1), vectors.unsqueeze(0), dim=2)
    topic = torch.arange(len(vectors)) * TOPICS // len(vectors)
    same = topic.unsqueeze(1) == topic
    others = same & ~torch.eye(len(vectors), dtype=torch.bool)
    return float(alike[others].mean() - alike[~same].mean())


def begun(estimator: Any, graph: FeatureGraph) -> torch.Tensor:
    """The feature vectors of an estimator that takes one step of no length."""
    estimator.set_params(epochs=1, learning_rate=1e-30, weight_decay=0.0, width=16)
    vectors: torch.Tensor = estimator.fit(graph).network_.encoder.features.weight.detach()
    return vectors[:, :16]


def squared_distances(vectors: torch.Tensor) -> NDArray[np.float64]:
    return (torch.cdist(vectors.double(), vectors.double()) ** 2).numpy()


def by_singular_vectors(
    has: NDArray[np.bool_], edges: list[tuple[int, int]], width: int, own: float
) -> NDArray[np.float64]:
    """Squared distances of the vectors, from the equation and a dense decomposition."""
    table = has.astype(float)
    scaled = table / np.sqrt(np.maximum(table.sum(1, keepdims=True), 1))
    scaled = scaled / np.sqrt(np.maximum(table.sum(0, keepdims=True), 1))
    joined = np.eye(len(has))
    for one, other in edges:
        joined[one, other] = joined[other, one] = 1
    mean = joined / joined.sum(1, keepdims=True)
    _, sizes, vectors = np.linalg.svd(mean @ mean @ scaled)
    rows = (vectors[:width] * np.sqrt(sizes[:width, None])).T
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances: NDArray[np.float64] = own**2 * width * (2 - 2 * rows @ rows.T)
    return distances


@pytest.mark.parametrize(("shared", "own"), [(True, 0.7), (False, 1.0)])
def test_it_is_the_rows_of_the_main_singular_vectors(shared: bool, own: float) -> None:
    random = np.random.default_rng(3)
    has = random.random((30, 12)) < 0.3
    edges = [(int(a), int(b)) for a, b in random.integers(30, size=(25, 2)) if a < b]
    edges = sorted(set(edges))
    torch.manual_seed(0)
    start = company_start(to_allotropic(made_graph(has, edges)), 4, shared=shared)
    expected = by_singular_vectors(has, edges, 4, own=own)
    np.testing.assert_allclose(squared_distances(start), expected, rtol=1e-3, atol=1e-3)


def test_known_zeros_are_no_company() -> None:
    random = np.random.default_rng(4)
    has = random.random((30, 12)) < 0.3
    edges = [(node, node + 1) for node in range(29)]
    zeros = ~has & (random.random(has.shape) < 0.5)
    graph = to_allotropic(made_graph(has | zeros, edges, has.astype(float)))
    torch.manual_seed(0)
    start = company_start(graph, 4, has[has | zeros])
    expected = by_singular_vectors(has, edges, 4, own=1.0)
    np.testing.assert_allclose(squared_distances(start), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("has", "edges"),
    [
        (np.zeros((4, 3), dtype=bool), [(0, 1)]),
        (np.ones((4, 3), dtype=bool), []),
        (np.ones((1, 1), dtype=bool), []),
        (np.eye(5, dtype=bool), [(0, 1), (1, 2)]),
        (np.array([[True, False], [True, False]]), [(0, 1)]),
    ],
)
def test_any_graph_gives_vectors_of_unit_scale(
    has: NDArray[np.bool_], edges: list[tuple[int, int]]
) -> None:
    graph: AllotropicGraph = to_allotropic(made_graph(has, edges))
    torch.manual_seed(0)
    drawn = torch.stack([company_start(graph, 64) for _ in range(20)])
    assert drawn.shape[1:] == (has.shape[1], 64)
    assert drawn.square().mean(dim=(0, 2)).sqrt() == pytest.approx(1.0, abs=0.1)


def test_features_of_one_topic_start_alike_unless_a_random_start_is_asked_for() -> None:
    graph = topical()
    assert topics_apart(begun(GrafenneClassifier(), graph)) > 0.2
    assert topics_apart(begun(GrafenneClassifier(features="company"), graph)) > 0.2
    assert topics_apart(begun(GrafenneLinkPredictor(), graph)) > 0.2
    assert abs(topics_apart(begun(GrafenneClassifier(features="learned"), graph))) < 0.05


def test_nodes_are_compared_by_features_that_have_nothing_in_common() -> None:
    graph = topical()
    apart, joined = begun(GrafenneLinkPredictor(), graph), begun(GrafenneClassifier(), graph)
    ratio = apart.var(dim=0).sum() / joined.var(dim=0).sum()
    assert float(ratio) == pytest.approx(1 / 0.7**2, rel=0.1)


def test_the_start_is_random_in_batches_and_where_features_add_up() -> None:
    graph = topical()
    plain = begun(GrafenneClassifier(features="learned", batch_size=20), graph)
    assert begun(GrafenneClassifier(batch_size=20), graph).equal(plain)
    direct = begun(GrafenneClassifier(features="learned", direct=True), graph)
    assert begun(GrafenneClassifier(direct=True), graph).equal(direct)
    asked = begun(GrafenneClassifier(features="company", batch_size=20), graph)
    assert topics_apart(asked) > 0.2


def test_the_same_number_added_to_all_values_changes_no_start() -> None:
    random = np.random.default_rng(5)
    values = (random.random((60, 30)) < 0.05).astype(float)  # all known, nearly all zero
    edges = [(node, node + 1) for node in range(59)]
    plain, shifted = (made_graph(values >= 0, edges, values + by) for by in (0.0, 10.0))
    start = begun(GrafenneClassifier(), plain)
    assert begun(GrafenneClassifier(), shifted).equal(start)
    found = (values > 0).any(axis=0)  # a feature that nobody is known to have starts at random
    expected = by_singular_vectors(values > 0, edges, 16, own=1.0)
    distances = squared_distances(start)[np.ix_(found, found)]
    np.testing.assert_allclose(distances, expected[np.ix_(found, found)], rtol=1e-3, atol=1e-3)


def test_labels_that_are_shown_start_among_the_features_of_their_nodes() -> None:
    graph = topical()
    split = random_split(graph, 0)
    model = GrafenneClassifier(labels_as_features=True, epochs=1, learning_rate=1e-30, width=16)
    vectors = model.fit(graph, split).network_.encoder.features.weight.detach()
    features, labels = vectors[: graph.num_features], vectors[graph.num_features :]
    near = cosine_similarity(labels.unsqueeze(1), features.unsqueeze(0), dim=2)
    topics = near.view(TOPICS, TOPICS, -1).mean(dim=2)  # of each label to each topic's features
    assert topics.argmax(dim=1).tolist() == [int(name) for name in model.classes_]
