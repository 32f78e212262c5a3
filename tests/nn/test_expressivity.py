"""The paper's expressivity theorem at work.

What a GNN tells apart on the original graph, GRAFENNE with that GNN in phase 2 tells apart on
the allotropic one; and it is no magic: what colour refinement cannot tell apart stays equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.nn import Grafenne, LearnedFeatures, NodeToNode
from tests.reference import randomised
from tests.small_graphs import random_graph

BACKBONES = ["sage", "gcn", "gin", "graph", "gat", pyg.TransformerConv]
WIDTH = 16
SCALE = 0.3  # of the random weights: a saturated softmax would round differences away


def on_the_original_graph(graph: FeatureGraph, backbone: Any, seed: int) -> Tensor:
    """Two layers of a plain GNN whose input is a dense row of values (absent ones are zero)."""
    states = torch.zeros(graph.num_nodes, graph.num_features).double()
    rows, columns = graph.values.rows.astype(int), graph.values.indices.astype(int)
    states[rows, columns] = torch.from_numpy(graph.values.data).double()
    adjacency = to_allotropic(graph).adjacency
    first = NodeToNode(graph.num_features, WIDTH, backbone=backbone)
    second = NodeToNode(WIDTH, WIDTH, backbone=backbone)
    randomised(nn.ModuleList([first, second]), seed, SCALE)
    return second(adjacency, torch.tanh(first(adjacency, states)))


def on_the_allotropic_graph(
    graph: FeatureGraph, backbone: Any, seed: int, **options: Any
) -> Tensor:
    features = LearnedFeatures(graph.features, WIDTH)
    model = randomised(
        Grafenne(features, width=WIDTH, backbone=backbone, skip=False, **options), seed, SCALE
    )
    return model.eval()(to_allotropic(graph)).nodes


def apart(states: Tensor) -> Tensor:
    """Which pairs of nodes have different states, ``[num_nodes, num_nodes]``."""
    return torch.cdist(states, states, compute_mode="donot_use_mm_for_euclid_dist") > 1e-7


def twins() -> FeatureGraph:
    """Nodes whose features differ in a value, in a name, or not at all, in several places."""
    features = {0: {0: 1.0}, 1: {0: 2.0}, 2: {1: 1.0}, 3: {0: 1.0, 1: 1.0}, 4: {0: 1.0}, 5: {}}
    triples = [(v, f, x) for v, values in features.items() for f, x in values.items()]
    nodes, names, values = zip(*triples, strict=True)
    edges = ([0, 1, 2, 3, 4], [5, 5, 5, 5, 5])
    return FeatureGraph.from_arrays(6, 2, (nodes, names, values), edges)


@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
@pytest.mark.parametrize("normalisation", ["none", "layer"])
def test_what_the_backbone_tells_apart_stays_apart(backbone: Any, normalisation: str) -> None:
    for graph in (twins(), random_graph(1, nodes=10), random_graph(2, nodes=10, values="binary")):
        for seed in range(3):
            before = apart(on_the_original_graph(graph, backbone, seed))
            after = apart(
                on_the_allotropic_graph(graph, backbone, seed, normalisation=normalisation)
            )
            assert before.sum() > graph.num_nodes  # there is something to keep
            assert not (before & ~after).any()


@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
def test_equal_nodes_stay_equal(backbone: Any) -> None:
    """Nodes 0 and 4 of the star have the same feature, value and neighbour."""
    graph = twins()
    after = on_the_allotropic_graph(graph, backbone, 0)
    assert not apart(after)[0, 4]
    assert apart(after)[0, 1]
    assert apart(after)[0, 2]


@pytest.mark.parametrize("backbone", BACKBONES, ids=str)
@pytest.mark.parametrize("mode", ["value", "paper"])
def test_what_colour_refinement_cannot_tell_apart_stays_equal(backbone: Any, mode: str) -> None:
    """A ring of six and two rings of three, all nodes with the same feature."""
    ring = [(i, (i + 1) % 6) for i in range(6)]
    triangles = [(6, 7), (7, 8), (8, 6), (9, 10), (10, 11), (11, 9)]
    sources, targets = zip(*ring, *triangles, strict=True)
    nodes = np.arange(12)
    graph = FeatureGraph.from_arrays(
        12, 1, (nodes, np.zeros(12, dtype=int), np.full(12, 0.5)), (sources, targets)
    )
    assert not apart(on_the_original_graph(graph, backbone, 0)).any()
    states = on_the_allotropic_graph(graph, backbone, 0, mode=mode, num_layers=3)
    assert not apart(states).any()


@pytest.mark.parametrize(
    ("backbone", "sees_degrees"), [("gin", True), ("graph", True), ("gcn", True), ("sage", False)]
)
def test_only_what_the_backbone_sees_is_seen(backbone: str, sees_degrees: bool) -> None:
    """The ends and the middle of a path: a mean over equal neighbours hides how many they are."""
    graph = FeatureGraph.from_arrays(3, 1, ([0, 1, 2], [0, 0, 0], [1.0] * 3), ([0, 1], [1, 2]))
    before = apart(on_the_original_graph(graph, backbone, 0))
    after = apart(on_the_allotropic_graph(graph, backbone, 0, num_layers=2))
    assert bool(before[0, 1]) == bool(after[0, 1]) == sees_degrees
    assert not after[0, 2]


def test_the_printed_equations_lose_the_value_of_an_only_feature() -> None:
    """Where the theorem fails for the paper's own attention, and holds for the default."""
    graph = FeatureGraph.from_arrays(2, 1, ([0, 1], [0, 0], [0.5, 2.0]))
    assert apart(on_the_original_graph(graph, "sage", 0))[0, 1]
    assert apart(on_the_allotropic_graph(graph, "sage", 0))[0, 1]
    assert not apart(on_the_allotropic_graph(graph, "sage", 0, mode="paper"))[0, 1]
