"""Features from afar: the recursion against a loop, and what it is for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph, GrafenneClassifier
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.split import Split
from grafenne.data.values import FeatureValues
from grafenne.errors import ModelFileError, ParameterError
from grafenne.nn import Reach
from grafenne.nn.block import kept_blocks, whole_graph_blocks
from grafenne.ops import Adjacency
from tests.reference import adjacency_edges, randomised
from tests.small_graphs import random_graph


def by_loops(reach: Reach, graph: AllotropicGraph, messages: Tensor) -> Tensor:
    """The mean over the neighbours that have heard something, node by node."""
    edges = adjacency_edges(graph.adjacency)
    knows = set(graph.incidence.rows.tolist())
    nothing, restart = torch.zeros(4).double(), 1 / (reach.steps + 1)
    far = {node: messages[node] for node in knows}
    for _ in range(reach.steps):
        following = {}
        for node in range(graph.num_nodes):
            around = [(sender, weight) for receiver, sender, weight in edges if receiver == node]
            total = sum(abs(weight) for _, weight in around)
            parts = [((1 - restart) * w / total, far[s]) for s, w in around if s in far]
            parts += [(restart, messages[node])] if node in knows else []
            if parts:
                whole = sum(abs(weight) for weight, _ in parts)
                following[node] = sum((weight / whole * part for weight, part in parts), nothing)
        far = following
    rows = [far.get(node, nothing) for node in range(graph.num_nodes)]
    scaled = [(row - row.mean()) / (row.var(correction=0) + 1e-5).sqrt() for row in rows]
    return messages + torch.stack(scaled) @ reach.far.weight.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("steps", [1, 4])
def test_equals_the_loop_in_values_and_gradients(weighted: bool, steps: int) -> None:
    graph = to_allotropic(random_graph(3, nodes=8, weighted=weighted))
    reach = randomised(Reach(4, steps))
    messages = torch.randn(8, 4, dtype=torch.double, requires_grad=True)
    blocks = whole_graph_blocks(graph, steps, torch.double)
    torch.testing.assert_close(reach(blocks, messages, None), by_loops(reach, graph, messages))
    assert torch.autograd.gradcheck(lambda x: reach(blocks, x, None), (messages,))


def test_nodes_that_have_heard_nothing_do_not_count() -> None:
    graph = random_graph(3, nodes=9)
    few = to_allotropic(graph.without_features(graph.features, nodes=graph.nodes[2:]))
    assert len(set(few.incidence.rows.tolist())) == 2
    reach = randomised(Reach(4, 3))
    messages = torch.randn(9, 4, dtype=torch.double)
    blocks = whole_graph_blocks(few, 3, torch.double)
    torch.testing.assert_close(reach(blocks, messages, None), by_loops(reach, few, messages))


def test_edges_of_negative_weight_count_by_their_size() -> None:
    graph = to_allotropic(random_graph(3, nodes=9, weighted=True))
    edges = graph.adjacency
    assert edges.weights is not None
    sign = torch.where(torch.arange(len(edges)) % 3 == 0, -1.0, 1.0)
    graph = graph.with_adjacency(Adjacency(edges.pattern, edges.weights * sign))
    reach = randomised(Reach(4, 3))
    messages = torch.randn(9, 4, dtype=torch.double)
    blocks = whole_graph_blocks(graph, 3, torch.double)
    torch.testing.assert_close(reach(blocks, messages, None), by_loops(reach, graph, messages))


def test_a_feature_that_is_left_out_is_not_heard() -> None:
    graph = to_allotropic(random_graph(3, nodes=8))
    reach = randomised(Reach(4, 2))
    messages = torch.randn(8, 4, dtype=torch.double)
    keep = (torch.arange(graph.incidence.num_entries) % 3 == 0).double()
    blocks, _ = kept_blocks(graph, 2, torch.double, keep)
    whole = whole_graph_blocks(graph, 2, torch.double)
    thin = reach(blocks, messages, None)
    torch.testing.assert_close(reach(whole, messages, keep), thin)
    assert not torch.allclose(reach(whole, messages, None), thin)


def test_what_is_heard_does_not_fade() -> None:
    length = 30
    graph = to_allotropic(chain(length))
    reach = Reach(4, length - 1).double()
    messages = torch.zeros(graph.num_nodes, 4, dtype=torch.double)
    starts = torch.arange(0, graph.num_nodes, length)
    messages[starts] = torch.randn(len(starts), 4, dtype=torch.double)
    blocks = whole_graph_blocks(graph, reach.steps, torch.double)
    heard = reach(blocks, messages, None) - messages
    torch.testing.assert_close(heard[starts + length - 1], heard[starts])


def chain(length: int) -> FeatureGraph:
    """Chains of two colours; only the first node of a chain has a feature, which tells it."""
    chains = 40
    rows, sources = [], []
    for number in range(chains):
        rows.append(number * length)
        sources += [number * length + step for step in range(length - 1)]
    colours = np.arange(chains) % 2
    return FeatureGraph.from_arrays(
        chains * length,
        ["red", "blue"],
        (rows, colours, np.ones(chains)),
        (sources, np.array(sources) + 1),
        labels=np.array(["red", "blue"], dtype=object)[np.repeat(colours, length)],
    )


def test_hears_a_feature_that_the_layers_do_not() -> None:
    length = 6
    graph = chain(length)
    ends = np.arange(length - 1, graph.num_nodes, length)  # five edges from the feature
    split = Split(train=ends[:24], validation=ends[24:32], test=ends[32:])
    asked = [graph.nodes[int(end)] for end in split.test]
    truth = [graph.label_of(node) for node in asked]
    scores = {}
    for reach in (0, 5):
        model = GrafenneClassifier(width=8, reach=reach, epochs=150, random_state=1)
        model.fit(graph, split)
        scores[reach] = np.mean(model.predict(graph, asked) == np.array(truth))
    assert scores == {0: 0.5, 5: 1.0}


def one_in_twenty(graph: FeatureGraph, usual: float, other: float) -> FeatureGraph:
    """The graph with other values; nearly all are the same, so that they tell little."""
    old = graph.values
    data = np.full_like(old.data, usual)
    data[::20] = other
    return graph.replace(values=FeatureValues(old.indptr, old.indices, data, graph.num_features))


def test_reach_is_chosen_where_features_are_few() -> None:
    few, many = chain(3), random_graph(2, nodes=12, features=12)
    many = many.with_labels([str(number % 2) for number in range(12)])
    settings = {"width": 4, "epochs": 1}
    assert GrafenneClassifier(**settings).fit(few).reach_ == 10
    assert GrafenneClassifier(**settings).fit(many).reach_ == 0
    assert GrafenneClassifier(**settings).fit(one_in_twenty(many, 0.0, 1.0)).reach_ == 10
    assert GrafenneClassifier(**settings).fit(one_in_twenty(many, 10.0, 11.0)).reach_ == 10
    assert GrafenneClassifier(**settings).fit(one_in_twenty(many, 1.0, 1.0)).reach_ == 0
    assert GrafenneClassifier(**settings).fit(one_in_twenty(many, 1.0, 2.0)).reach_ == 0  # counts
    assert GrafenneClassifier(**settings, batch_size=8).fit(few).reach_ == 0
    assert GrafenneClassifier(**settings, reach=3).fit(few).reach_ == 3


@pytest.mark.parametrize(("edges", "steps"), [(59, 10), (60, 3)])
def test_three_steps_are_enough_where_nodes_have_ten_neighbours(edges: int, steps: int) -> None:
    sources, targets = np.triu_indices(12, 1)
    graph = FeatureGraph.from_arrays(
        [f"n{number}" for number in range(12)],
        ["f"],
        (np.arange(12), np.zeros(12, dtype=int), np.ones(12)),
        (sources[:edges], targets[:edges]),
        labels=[str(number % 2) for number in range(12)],
    )
    assert GrafenneClassifier(width=4, epochs=1).fit(graph).reach_ == steps


@pytest.mark.parametrize("reach", [-1, 1.5, True, "far"])
def test_a_reach_that_is_none_is_refused(reach: object) -> None:
    with pytest.raises(ParameterError, match="reach must be a whole number"):
        GrafenneClassifier(reach=reach).fit(chain(3))
    with pytest.raises(ParameterError, match="at least 1 step"):
        Reach(4, 0)


def test_a_model_that_reaches_far_is_kept_explained_and_updated(tmp_path: Path) -> None:
    graph = chain(4)
    model = GrafenneClassifier(width=8, reach=4, epochs=60, random_state=0).fit(graph)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(graph), model.predict_proba(graph))

    end = graph.nodes[3]
    told = loaded.explain(graph, end)
    assert told.probability == pytest.approx(model.predict_proba(graph, [end]).max(), abs=1e-5)
    # All that the last node of a chain knows comes through its only neighbour.
    assert [part.name for part in told.neighbours] == [graph.nodes[2]]
    assert told.neighbours[0].contribution > 1

    smaller = graph.subgraph([node for node in graph.nodes if node != graph.nodes[0]])
    for states in ("fixed", "exact"):
        loaded.update(graph, smaller, strategy="finetune", states=states, epochs=2)
        assert np.isfinite(loaded.predict_proba(smaller)).all()
        loaded = GrafenneClassifier.load(tmp_path / "model")

    about = json.loads((tmp_path / "model" / "model.json").read_text())
    for wrong in (3, -1, "far"):
        about["reach"] = wrong
        (tmp_path / "model" / "model.json").write_text(json.dumps(about))
        with pytest.raises(ModelFileError):
            GrafenneClassifier.load(tmp_path / "model")
