"""Link objectives: an edge that is asked for is really hidden, for every backbone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, GraphConv, TransformerConv

from grafenne import FeatureGraph, split_edges, to_allotropic
from grafenne.allotrope import AllotropicGraph
from grafenne.data.values import FeatureValues
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.ops import RandomBits
from grafenne.tasks.links import EdgeSplit, edge_pairs, hide_in_turns
from grafenne.training.link_objective import LinkNetwork, LinkObjective
from tests.estimators.cases import graph_for

BACKBONES = ["sage", "gat", "gin", "gcn", "graph", GATConv, GCNConv, GraphConv, TransformerConv]
SHAPES = [
    {},
    {"weighted": True},
    {"directed": True},
    {"directed": True, "weighted": True},
]


class Watching(LinkNetwork):
    """A network that notes the pairs it was asked for and the embeddings it made."""

    pairs: Tensor
    nodes: Tensor

    def score(self, nodes: Tensor, pairs: Tensor) -> Tensor:
        self.nodes, self.pairs = nodes, pairs
        return super().score(nodes, pairs)


def objective(
    graph: FeatureGraph,
    *,
    backbone: Any = "sage",
    direction: str = "both",
    hidden_share: float = 0.5,
) -> tuple[LinkObjective, Watching, EdgeSplit]:
    split = split_edges(graph, 0, (0.8, 0.2, 0.0))
    prepared = to_allotropic(split.graph, direction=direction)
    torch.manual_seed(0)
    encoder = Grafenne(
        LearnedFeatures(graph.features, 8),
        width=8,
        backbone=backbone,
        dropout=0.0,
        feature_dropout=0.0,
    )
    network = Watching(encoder, directed=graph.directed)
    made = LinkObjective(network, prepared, split, RandomBits(1), hidden_share=hidden_share)
    return made, network, split


def step(made: LinkObjective) -> Tensor:
    (loss,) = [compute() for compute in made.batches()]
    return loss


def asked(network: Watching, graph: FeatureGraph) -> tuple[set[Any], set[Any]]:
    """The pairs of the last step: those that are edges, and the others."""
    edges = {tuple(pair) for pair in edge_pairs(graph).tolist()}
    pairs = [tuple(pair) for pair in network.pairs.tolist()]
    return {pair for pair in pairs if pair in edges}, {pair for pair in pairs if pair not in edges}


def test_a_view_is_all_that_a_step_sees_and_asks_for_what_it_lacks() -> None:
    graph = graph_for("links")
    split = split_edges(graph, 0, (0.8, 0.2, 0.0))
    count = split.graph.num_edges
    views = hide_in_turns(split.graph, 3, seed=0)
    hidden = [{*map(tuple, edge_pairs(split.graph).tolist())} for _ in views]
    for left, view in zip(hidden, views, strict=True):
        left -= {*map(tuple, edge_pairs(view).tolist())}
    assert sum(map(len, hidden)) == len(set.union(*hidden)) == count
    # A view may have other features than the graph; here a step can tell by them what it saw.
    marked = [
        view.replace(values=_scaled(view.values, 10.0 ** (number + 1)))
        for number, view in enumerate(views)
    ]
    torch.manual_seed(0)
    encoder = Grafenne(LearnedFeatures(graph.features, 8), width=8, feature_dropout=0.0, dropout=0)
    network = Watching(encoder)
    prepared = [to_allotropic(view) for view in marked]
    made = LinkObjective(
        network,
        to_allotropic(split.graph),
        replace(split, views=tuple(marked)),
        RandomBits(1),
        prepared,
    )
    seen = set()
    for _ in range(20):
        step(made)
        edges, others = asked(network, split.graph)
        number = hidden.index(edges)
        seen.add(number)
        assert len(others) == len(edges)
        torch.testing.assert_close(network.nodes, encoder(prepared[number]).nodes)
    assert seen == {0, 1, 2}


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_each_step_asks_for_about_the_share_that_it_hides(share: float) -> None:
    made, network, split = objective(graph_for("links", nodes=60), hidden_share=share)
    asked_for = []
    for _ in range(30):
        step(made)
        asked_for.append(len(asked(network, split.graph)[0]))
    assert len(set(asked_for)) > 5
    assert np.mean(asked_for) / split.graph.num_edges == pytest.approx(share, abs=0.05)


def _scaled(values: FeatureValues, by: float) -> FeatureValues:
    return FeatureValues(values.indptr, values.indices, values.data * by, values.num_features)


def with_reciprocals(graph: FeatureGraph) -> FeatureGraph:
    """Every third directed edge also in the other direction, with another weight."""
    source, target, weights = graph.edges.sources, graph.edges.targets, graph.edges.weights
    ends = (np.append(source, target[::3]), np.append(target, source[::3]))
    if weights is not None:
        ends += (np.append(weights, 3 * weights[::3]),)
    extended = FeatureGraph.from_arrays(
        list(graph.nodes), list(graph.features), None, ends, directed=True
    )
    return graph.replace(edges=extended.edges)


@pytest.mark.parametrize(
    "backbone", BACKBONES, ids=lambda b: b if isinstance(b, str) else b.__name__
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hidden_edges_are_as_good_as_removed(backbone: Any, shape: dict[str, Any]) -> None:
    graph = graph_for("links", **shape)
    if graph.directed:
        graph = with_reciprocals(graph)
    made, network, split = objective(graph, backbone=backbone)
    network.train()
    for _ in range(3):
        step(made)
        hidden, _ = asked(network, split.graph)
        assert 0 < len(hidden) < split.graph.num_edges
        kept = np.array([tuple(pair) not in hidden for pair in edge_pairs(split.graph).tolist()])
        removed = split.graph.replace(edges=split.graph.edges.take(kept))
        expected = network.encoder(to_allotropic(removed)).nodes
        assert torch.allclose(network.nodes, expected, atol=1e-5)


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_hidden_edges_are_as_good_as_removed_in_every_direction(direction: str) -> None:
    graph = with_reciprocals(graph_for("links", directed=True, weighted=True))
    made, network, split = objective(graph, direction=direction)
    step(made)
    hidden, _ = asked(network, split.graph)
    kept = np.array([tuple(pair) not in hidden for pair in edge_pairs(split.graph).tolist()])
    removed = split.graph.replace(edges=split.graph.edges.take(kept))
    expected = network.encoder(to_allotropic(removed, direction=direction)).nodes
    assert torch.allclose(network.nodes, expected, atol=1e-5)


def test_the_loss_does_not_depend_on_the_weights_of_hidden_edges() -> None:
    graph = graph_for("links", weighted=True)
    losses = []
    for factor in (1.0, 7.0):
        made, network, split = objective(graph)
        step(made)
        hidden, _ = asked(network, split.graph)
        inside = np.array([tuple(pair) in hidden for pair in edge_pairs(split.graph).tolist()])
        assert split.graph.edges.weights is not None
        weights = np.where(inside, factor, 1.0) * split.graph.edges.weights
        pairs = edge_pairs(split.graph)
        changed = FeatureGraph.from_arrays(
            list(graph.nodes), list(graph.features), None, (pairs[:, 0], pairs[:, 1], weights)
        )
        seen = split.graph.replace(edges=changed.edges)
        other = EdgeSplit(seen, *(getattr(split, name) for name in (
            "train", "validation", "test", "validation_negatives", "test_negatives")))  # fmt: skip
        again = LinkObjective(network, to_allotropic(seen), other, RandomBits(1))
        losses.append(float(step(again).detach()))
    assert losses[0] == losses[1]


def test_negatives_of_a_step_avoid_training_edges_and_change_from_step_to_step() -> None:
    made, network, split = objective(graph_for("links"))
    edges = {frozenset(pair) for pair in edge_pairs(split.graph).tolist()}
    rounds = []
    for _ in range(5):
        step(made)
        hidden, negatives = asked(network, split.graph)
        assert len(negatives) == len(hidden)
        assert not {frozenset(pair) for pair in negatives} & edges
        rounds.append(frozenset(negatives))
    assert len(set(rounds)) == 5


def test_a_dense_graph_takes_the_negatives_there_are() -> None:
    ends = np.argwhere(np.triu(np.ones((8, 8)), 1))[3:]
    graph = FeatureGraph.from_arrays(8, 2, ([0, 1], [0, 1], [1.0, 1.0]), (ends[:, 0], ends[:, 1]))
    split = split_edges(graph, 0, (0.9, 0.1, 0.0))
    network = Watching(Grafenne(LearnedFeatures(graph.features, 8), width=8))
    made = LinkObjective(network, to_allotropic(split.graph), split, RandomBits(0))
    for _ in range(5):
        assert torch.isfinite(step(made))


def test_a_single_training_edge_is_enough() -> None:
    graph = FeatureGraph.from_arrays(4, 1, ([0], [0], [1.0]), ([0, 1], [1, 2]))
    split = split_edges(graph, 0, (0.5, 0.5, 0.0))
    network = Watching(Grafenne(LearnedFeatures(graph.features, 8), width=8))
    made = LinkObjective(network, to_allotropic(split.graph), split, RandomBits(0))
    assert torch.isfinite(step(made))
    assert len(network.pairs) == 2


def test_validation_asks_the_fixed_pairs_with_all_training_edges_in_sight() -> None:
    made, network, split = objective(graph_for("links"))
    first = made.validate()
    expected = np.concatenate((split.validation, split.validation_negatives))
    assert np.array_equal(network.pairs.numpy(), expected)
    prepared: AllotropicGraph = to_allotropic(split.graph)
    assert torch.equal(network.nodes, network.encoder(prepared).nodes)
    assert made.validate() == first
    step(made)
    assert made.validate() == first


def test_scores_are_symmetric_unless_edges_are_directed() -> None:
    pairs = torch.tensor([[0, 1], [1, 0]])
    for directed in (False, True):
        graph = graph_for("links", directed=directed)
        _, network, _ = objective(graph)
        network.eval()
        first, second = network(to_allotropic(graph), pairs).tolist()
        assert (first == second) is not directed


def test_what_all_nodes_have_in_common_is_left_out_of_the_scores() -> None:
    made, network, _ = objective(graph_for("links"))
    network.centre_on(made.prepared)
    pairs = made.validation
    before = network.eval()(made.prepared, pairs)
    common = torch.full((network.encoder.output_width,), 3.0)
    network.encoder.register_forward_hook(
        lambda module, given, found: found._replace(nodes=found.nodes + common)
    )
    assert not torch.allclose(network(made.prepared, pairs), before)
    network.centre_on(made.prepared)
    torch.testing.assert_close(network(made.prepared, pairs), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("views", [0, 3])
def test_no_step_asks_for_an_edge_from_a_node_to_itself(views: int) -> None:
    nodes = np.arange(12)
    ends = (np.concatenate((nodes, nodes)), np.concatenate((nodes, (nodes + 1) % 12)))
    graph = FeatureGraph.from_arrays(12, 3, (nodes, nodes % 3, np.ones(12)), ends)
    made, network, split = objective(graph)
    if views:
        parts = tuple(hide_in_turns(split.graph, views, 0))
        seen = [to_allotropic(part) for part in parts]
        made = LinkObjective(
            network, made.prepared, replace(split, views=parts), RandomBits(1), seen
        )
    assert not (split.validation[:, 0] == split.validation[:, 1]).any()
    for _ in range(5):
        step(made)
        assert len(network.pairs) > 0
        assert not bool((network.pairs[:, 0] == network.pairs[:, 1]).any())
