"""Phase 3 against the printed equations, with and without edges among features."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.nn import NodeToFeature
from tests.reference import (
    PHASES,
    adjacency_edges,
    assert_same,
    draw,
    edges_of,
    feature_neighbours,
    randomised,
)
from tests.small_graphs import DEGENERATE, VALUE_KINDS, random_graph

MODES = ("paper", "value")


def check(graph: FeatureGraph, options: dict[str, Any], keep: Tensor | None = None) -> None:
    """Phase 3 of ``graph`` equals the loops, in values and gradients."""
    allotropic = to_allotropic(graph)
    back = allotropic.incidence.transpose
    values = allotropic.edge_values(torch.double)
    if values is not None:
        values = values[allotropic.incidence.permutation.long()]
    nodes, features = draw(graph.num_nodes, 3, seed=1), draw(graph.num_features, 5, seed=2)
    phase = randomised(NodeToFeature(5, 3, 6, **options))
    edges = edges_of(back, values, keep)
    assert_same(
        lambda: phase(back, values, nodes, features, keep),
        lambda: PHASES[options["mode"]](phase, edges, nodes, features, graph.num_features),
        [nodes, features, *phase.parameters()],
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("values", VALUE_KINDS)
def test_equals_the_loops(mode: str, heads: int, values: str) -> None:
    check(random_graph(11, values=values), {"mode": mode, "heads": heads})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregation", ["attention", "mean", "sum"])
@pytest.mark.parametrize("values", ["binary", "zeros"])
def test_aggregations_and_hidden_edges(mode: str, aggregation: str, values: str) -> None:
    graph = random_graph(12, values=values)
    keep = (torch.arange(graph.num_values) % 3 > 0).double()
    keep[: to_allotropic(graph).incidence.transpose.counts[0]] = 0  # nobody shows feature 0
    check(graph, {"mode": mode, "aggregation": aggregation, "heads": 2}, keep)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_graphs(mode: str, name: str) -> None:
    check(DEGENERATE[name], {"mode": mode, "heads": 2})


def test_the_transpose_carries_the_same_values() -> None:
    """What phase 3 sees of an edge is what phase 1 sees of it."""
    graph = random_graph(13)
    allotropic = to_allotropic(graph)
    incidence, back = allotropic.incidence, allotropic.incidence.transpose
    turned = allotropic.values[incidence.permutation.long()]
    forward = {(v, u): e for v, u, e in edges_of(incidence, allotropic.values)}
    assert forward == {(v, u): e for u, v, e in edges_of(back, turned)}
    assert len(forward) == graph.num_values


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, -1.0], [0.0, 0.0, 3.0]])
def test_feature_edges_equal_the_loops(weights: list[float] | None) -> None:
    links = ([0, 1, 0], [1, 2, 3]) if weights is None else ([0, 1, 0], [1, 2, 3], weights)
    graph = FeatureGraph.from_arrays(
        3, 5, ([0, 0, 1, 2], [0, 1, 1, 3], [1.0, 2.0, -1.0, 0.5]), feature_edges=links
    )
    allotropic = to_allotropic(graph)
    back, links = allotropic.incidence.transpose, allotropic.feature_adjacency
    values = allotropic.values[allotropic.incidence.permutation.long()]
    nodes, features = draw(3, 4, seed=1), draw(5, 4, seed=2)
    phase = randomised(NodeToFeature(4, 4, 4, feature_edges=True))
    edges = edges_of(back, values)
    assert_same(
        lambda: phase(back, values, nodes, features, feature_adjacency=links),
        lambda: (
            PHASES["value"](phase, edges, nodes, features, 5)
            + feature_neighbours(phase, adjacency_edges(links), features)
        ),
        [nodes, features, *phase.parameters()],
    )


def test_feature_edges_matter_only_when_they_are_there_and_wanted() -> None:
    allotropic = to_allotropic(random_graph(14, feature_edges=True))
    back, links = allotropic.incidence.transpose, allotropic.feature_adjacency
    nodes, features = draw(allotropic.num_nodes, 4), draw(allotropic.num_features, 4)
    using = randomised(NodeToFeature(4, 4, 4, feature_edges=True))
    plain = randomised(NodeToFeature(4, 4, 4))
    plain.load_state_dict(using.state_dict(), strict=False)
    without = plain(back, None, nodes, features)
    assert torch.equal(without, using(back, None, nodes, features))
    assert torch.equal(without, plain(back, None, nodes, features, feature_adjacency=links))
    changed = using(back, None, nodes, features, feature_adjacency=links)
    assert ((changed - without).abs().max(dim=1).values > 1e-3).all()  # each has a neighbour


def test_reset_parameters_draws_anew() -> None:
    torch.manual_seed(2)
    phase = NodeToFeature(4, 4, 4, feature_edges=True)
    before = {name: weight.clone() for name, weight in phase.named_parameters()}
    phase.reset_parameters()
    assert not torch.equal(before["neighbour.weight"], phase.neighbour.weight)
    assert not torch.equal(before["attention.message.weight"], phase.attention.message.weight)
