"""Smoothing of answers: equal to a loop over the nodes, and chosen only where it helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grafenne import FeatureGraph
from grafenne.tasks.shown_labels import ShownLabels
from grafenne.tasks.smoothing import SHARES, Smoothing, choose_smoothing

NOBODY = ShownLabels([], np.array([], dtype=np.int64))


def graph_of(edges: list[tuple[int, int]], nodes: int, **settings: Any) -> FeatureGraph:
    pairs = np.array(edges).reshape(-1, 2)
    weights = settings.pop("weights", None)
    given = (pairs[:, 0], pairs[:, 1]) if weights is None else (*pairs.T, np.array(weights))
    return FeatureGraph.from_arrays(nodes, 0, edges=given, **settings)  # type: ignore[arg-type]


def random_case(nodes: int = 12, classes: int = 3) -> tuple[FeatureGraph, NDArray[np.float64]]:
    rng = np.random.default_rng(4)
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < 0.3, 1))
    weights = rng.uniform(0.2, 3.0, len(pairs)).tolist()
    answers = rng.dirichlet(np.ones(classes), nodes)
    return graph_of([(int(a), int(b)) for a, b in pairs], nodes, weights=weights), answers


def smoothed_in_loops(
    graph: FeatureGraph, answers: NDArray[np.float64], share: float, shown: dict[int, int]
) -> NDArray[np.float64]:
    """The docstring's equation, node by node."""
    edges = list(zip(graph.edges.sources, graph.edges.targets, graph.edges.weights, strict=True))
    mean = float(np.mean([abs(weight) for _, _, weight in edges]))
    around: list[dict[int, float]] = [{node: 1.0} for node in range(graph.num_nodes)]
    for source, target, weight in edges:
        around[source][target] = around[target][source] = abs(weight) / mean
    degree = [sum(senders.values()) for senders in around]
    start = answers.copy()
    for node, code in shown.items():
        start[node] = np.eye(answers.shape[1])[code]
    now = start
    for _ in range(10):
        then = now
        now = np.array(
            [
                (1 - share) * start[node]
                + share
                * sum(
                    weight / (degree[node] * degree[sender]) ** 0.5 * then[sender]
                    for sender, weight in senders.items()
                )
                for node, senders in enumerate(around)
            ]
        )
    return now / now.sum(axis=1, keepdims=True)


def test_it_is_what_the_equation_says() -> None:
    graph, answers = random_case()
    shown = ShownLabels([2, 7, "elsewhere"], np.array([1, 0, 2]))
    found = Smoothing(0.6, shown).smooth(graph, answers)
    assert found == pytest.approx(smoothed_in_loops(graph, answers, 0.6, {2: 1, 7: 0}), abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(np.ones(12))


def test_it_does_not_change_what_it_is_given() -> None:
    graph, answers = random_case()
    before = answers.copy()
    Smoothing(0.6, ShownLabels([2], np.array([1]))).smooth(graph, answers)
    assert np.array_equal(answers, before)
    assert np.array_equal(Smoothing(0.0, NOBODY).smooth(graph, answers), before)


def test_nodes_may_stand_in_any_order() -> None:
    graph, answers = random_case()
    order = np.random.default_rng(0).permutation(12)
    shown = ShownLabels([2, 7], np.array([1, 0]))
    found = Smoothing(0.6, shown).smooth(graph.subgraph_at(order), answers[order])
    assert found == pytest.approx(Smoothing(0.6, shown).smooth(graph, answers)[order])


def test_a_lonely_node_answers_for_itself_and_a_shown_one_by_its_label() -> None:
    graph, answers = graph_of([], 2), np.array([[0.7, 0.3], [0.6, 0.4]])
    found = Smoothing(0.9, ShownLabels([1], np.array([1]))).smooth(graph, answers)
    assert found == pytest.approx(np.array([[0.7, 0.3], [0.0, 1.0]]))


@pytest.mark.parametrize("weights", [[1e300, 1e300], [-2.0, 2.0], [1e-300, 1e-300]])
def test_weights_count_beside_each_other_and_by_their_size(weights: list[float]) -> None:
    answers = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    path = [(0, 1), (1, 2)]
    found = Smoothing(0.5, NOBODY).smooth(graph_of(path, 3, weights=weights), answers)
    assert found == pytest.approx(Smoothing(0.5, NOBODY).smooth(graph_of(path, 3), answers))


def test_edges_of_weight_zero_carry_nothing() -> None:
    answers = np.array([[0.9, 0.1], [0.4, 0.6]])
    found = Smoothing(0.5, NOBODY).smooth(graph_of([(0, 1)], 2, weights=[0.0]), answers)
    assert found == pytest.approx(answers)


def test_directed_edges_carry_answers_either_way() -> None:
    answers = np.array([[0.9, 0.1], [0.4, 0.6]])
    directed = graph_of([(0, 1)], 2, directed=True)
    found = Smoothing(0.5, NOBODY).smooth(directed, answers)
    assert found == pytest.approx(Smoothing(0.5, NOBODY).smooth(graph_of([(0, 1)], 2), answers))


def test_it_is_chosen_where_neighbours_know_better() -> None:
    # The middle of a star is unsure; the nodes around it are sure, and right.
    star = graph_of([(0, other) for other in range(1, 6)], 6)
    answers = np.array([[0.55, 0.45], *[[0.05, 0.95]] * 5])
    chosen = choose_smoothing(star, answers, NOBODY, np.array([0]), np.array([1]))
    assert chosen.share == 0.9
    assert chosen.smooth(star, answers)[0].argmax() == 1


def test_it_is_not_chosen_where_neighbours_mislead_or_nobody_can_tell() -> None:
    star = graph_of([(0, other) for other in range(1, 6)], 6)
    answers = np.array([[0.55, 0.45], *[[0.05, 0.95]] * 5])
    misled = choose_smoothing(star, answers, NOBODY, np.array([0]), np.array([0]))
    assert misled.share == 0.0
    nobody = np.array([], dtype=np.int64)
    assert choose_smoothing(star, answers, NOBODY, nobody, nobody).share == 0.0


def test_loss_or_accuracy_chooses() -> None:
    # Smoothing makes node 0 a lot surer, and turns node 2 a little for the worse.
    pairs = graph_of([(0, 1), (2, 3)], 4)
    answers = np.array([[0.55, 0.45], [0.99, 0.01], [0.51, 0.49], [0.45, 0.55]])
    asked, truth = np.array([0, 2]), np.array([0, 0])

    def right(smoothing: Smoothing) -> bool:
        found = smoothing.smooth(pairs, answers)[asked]
        return bool((found.argmax(axis=1) == truth).all())

    by_loss = choose_smoothing(pairs, answers, NOBODY, asked, truth, "loss")
    assert by_loss.share == 0.9
    assert not right(by_loss)
    by_metric = choose_smoothing(pairs, answers, NOBODY, asked, truth, "metric")
    assert right(by_metric)
    # Of those without an error, the one with the lowest loss.
    assert not right(Smoothing(min(share for share in SHARES if share > by_metric.share), NOBODY))
