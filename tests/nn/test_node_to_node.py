"""Phase 2: each backbone against the loops, against PyG, and PyG layers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.errors import ParameterError, UnknownNameError
from grafenne.nn import NodeToNode
from grafenne.ops import Adjacency
from tests.reference import BACKBONES, adjacency_edges, assert_same, draw, randomised
from tests.small_graphs import DEGENERATE, random_graph


def adjacency_of(graph: FeatureGraph, direction: str = "both") -> Adjacency:
    return to_allotropic(graph, direction=direction).adjacency


def check(backbone: str, adjacency: Adjacency, in_width: int = 4, width: int = 6) -> None:
    """A backbone equals the loops, in values and gradients."""
    nodes = draw(adjacency.pattern.num_columns, in_width)
    phase = randomised(NodeToNode(in_width, width, backbone=backbone, heads=2))
    edges = adjacency_edges(adjacency)
    assert_same(
        lambda: phase(adjacency, nodes),
        lambda: BACKBONES[backbone](phase.convolution, edges, nodes),
        [nodes, *phase.parameters()],
    )


@pytest.mark.parametrize("backbone", BACKBONES)
def test_equals_the_loops(backbone: str) -> None:
    check(backbone, adjacency_of(random_graph(1, nodes=6)))
    check(backbone, adjacency_of(random_graph(2, nodes=6, weighted=True)))
    check(backbone, adjacency_of(random_graph(3, nodes=6, directed=True, weighted=True), "in"))
    check(backbone, adjacency_of(random_graph(4, nodes=5)), in_width=6, width=4)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_graphs(backbone: str, name: str) -> None:
    check(backbone, adjacency_of(DEGENERATE[name]))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_negative_and_zero_weights(backbone: str) -> None:
    graph = FeatureGraph.from_arrays(
        4, 0, None, ([0, 1, 2, 3], [1, 2, 3, 0], [-1.0, 0.0, -3.0, 0.5])
    )
    check(backbone, adjacency_of(graph))


def copy_weights(ours: Any, theirs: Any) -> None:
    """Gives a PyG layer the weights of one of ours."""
    pairs: dict[str, tuple[Any, ...]] = {
        "SAGEConv": (("own", "lin_r"), ("neighbour", "lin_l")),
        "GCNConv": (("linear", "lin"),),
        "GINConv": (("hidden", "nn.0"), ("output", "nn.2")),
        "GraphConv": (("own", "lin_root"), ("neighbour", "lin_rel")),
        "GATConv": (("linear", "lin"),),
    }
    with torch.no_grad():
        for mine, other in pairs[type(theirs).__name__]:
            target, source = theirs.get_submodule(other), getattr(ours, mine)
            target.weight.copy_(source.weight)
            if target.bias is not None and source.bias is not None:
                target.bias.copy_(source.bias)
        if isinstance(theirs, pyg.SAGEConv):  # PyG keeps the one bias at the neighbours
            theirs.lin_l.bias.copy_(ours.own.bias)
        elif isinstance(theirs, pyg.GraphConv):
            theirs.lin_rel.bias.copy_(ours.own.bias)
        elif isinstance(theirs, pyg.GCNConv):
            theirs.bias.copy_(ours.linear.bias)
        elif isinstance(theirs, pyg.GINConv):
            theirs.eps.fill_(ours.epsilon.item())
        elif isinstance(theirs, pyg.GATConv):
            theirs.att_src.copy_(ours.sender.unsqueeze(0))
            theirs.att_dst.copy_(ours.receiver.unsqueeze(0))
            theirs.bias.copy_(ours.bias)


def pyg_layer(backbone: str) -> Any:
    if backbone == "gin":
        inner = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8))
        return pyg.GINConv(inner, train_eps=True)
    if backbone == "gat":
        return pyg.GATConv(5, 4, heads=2)
    return {"sage": pyg.SAGEConv, "gcn": pyg.GCNConv, "graph": pyg.GraphConv}[backbone](5, 8)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_pyg(backbone: str, directed: bool, weighted: bool) -> None:
    if weighted and backbone not in ("gcn", "graph"):
        weighted = False  # these PyG layers take no weights
    seed = 20 + directed
    graph = random_graph(seed, nodes=12, directed=directed, weighted=weighted)
    loop = graph.edges.sources == graph.edges.targets
    if backbone == "gcn":  # PyG leaves out the added loop where the graph has one
        graph = graph.replace(edges=graph.edges.take(~loop))
    adjacency = adjacency_of(graph, "in")
    ours = randomised(NodeToNode(5, 8, backbone=backbone, heads=2)).convolution
    theirs = pyg_layer(backbone).double()
    copy_weights(ours, theirs)
    nodes = draw(graph.num_nodes, 5)
    edges, weights = adjacency.edge_index()
    more = [weights] if weighted else []

    outputs = [ours(adjacency, nodes), theirs(nodes, edges, *more)]
    torch.testing.assert_close(*outputs)
    direction = draw(*outputs[0].shape, seed=3).detach()
    gradients = [torch.autograd.grad((out * direction).sum(), nodes)[0] for out in outputs]
    torch.testing.assert_close(*gradients)


def test_edge_index_runs_from_sender_to_receiver() -> None:
    """A directed edge a -> b brings a's state to b, unless the direction is turned."""
    graph = FeatureGraph.from_arrays(["a", "b"], 0, None, ([0], [1]), directed=True)
    nodes = torch.tensor([[1.0], [2.0]])
    for direction, reached in (("in", [0.0, 1.0]), ("out", [2.0, 0.0]), ("both", [2.0, 1.0])):
        phase = NodeToNode(1, 1, backbone="graph")
        nn.init.zeros_(phase.convolution.own.weight)
        nn.init.zeros_(phase.convolution.own.bias)
        nn.init.ones_(phase.convolution.neighbour.weight)
        result = phase(adjacency_of(graph, direction), nodes)
        assert result.flatten().tolist() == reached


@pytest.mark.parametrize("backbone", [*BACKBONES, pyg.GATConv, pyg.SAGEConv, pyg.GCNConv])
def test_an_edge_of_weight_zero_carries_nothing(backbone: Any) -> None:
    """So edges can be hidden without building the graph again."""
    ends = ([0, 1, 2, 3], [1, 2, 3, 0])
    hidden = FeatureGraph.from_arrays(4, 0, None, (*ends, [1.0, 0.0, 1.0, 0.0]))
    absent = FeatureGraph.from_arrays(4, 0, None, ([0, 2], [1, 3], [1.0, 1.0]))
    phase = randomised(NodeToNode(6, 6, backbone=backbone))
    nodes = draw(4, 6)
    torch.testing.assert_close(
        phase(adjacency_of(hidden), nodes), phase(adjacency_of(absent), nodes)
    )


PYG_LAYERS = {
    "SAGEConv class": lambda: pyg.SAGEConv,
    "GATv2Conv class": lambda: pyg.GATv2Conv,
    "TransformerConv class": lambda: pyg.TransformerConv,
    "GCNConv": lambda: pyg.GCNConv(8, 8),
    "lazy SAGEConv": lambda: pyg.SAGEConv(-1, 8),
    "GATConv with heads": lambda: pyg.GATConv(8, 4, heads=2, dropout=0.5),
    "GINConv with batch norm": lambda: pyg.GINConv(
        nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())
    ),
    "ChebConv": lambda: pyg.ChebConv(8, 8, K=2),
}


@pytest.mark.parametrize("name", PYG_LAYERS)
def test_any_pyg_layer_serves(name: str) -> None:
    graph = random_graph(30, nodes=9, weighted=True)
    adjacency = adjacency_of(graph)
    phase = NodeToNode(8, 8, backbone=PYG_LAYERS[name]()).eval()
    nodes = torch.randn(9, 8, generator=torch.Generator().manual_seed(0))
    result = phase(adjacency, nodes)
    layer = phase.convolution.layer
    edges, weights = adjacency.edge_index()
    more = [weights.float()] if name in ("GCNConv", "ChebConv") else []
    expected = layer(nodes, edges, *more)
    assert result.shape == (9, 8)
    torch.testing.assert_close(result, expected)


def test_an_instance_is_used_as_it_is() -> None:
    layer = pyg.SAGEConv(8, 8)
    layer.train()
    before = {name: weight.clone() for name, weight in layer.state_dict().items()}
    phase = NodeToNode(8, 8, backbone=layer)
    assert phase.convolution.layer is layer
    assert layer.training
    assert all(torch.equal(before[name], weight) for name, weight in layer.state_dict().items())
    phase.reset_parameters()
    assert not torch.equal(before["lin_l.weight"], layer.lin_l.weight)


def test_trying_a_layer_out_leaves_its_statistics_alone() -> None:
    inner = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
    NodeToNode(8, 8, backbone=pyg.GINConv(inner))
    assert inner[1].num_batches_tracked == 0
    assert torch.equal(inner[1].running_mean, torch.zeros(8))


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        (lambda: pyg.SAGEConv(8, 5), "from width 8 to 6, but SAGEConv gives 5 columns"),
        (lambda: pyg.SAGEConv(3, 6), "from width 8 to 6, but SAGEConv does not work"),
        (lambda: pyg.GINConv, "GINConv does not work"),
        (lambda: pyg.RGCNConv, "num_relations"),
        (lambda: 5, "int does not work"),
    ],
)
def test_layers_that_do_not_fit(backbone: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        NodeToNode(8, 6, backbone=backbone())


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"'sgae'.+mean 'sage'"):
        NodeToNode(8, 8, backbone="sgae")
    with pytest.raises(ParameterError, match="multiple of the 3 heads"):
        NodeToNode(8, 8, backbone="gat", heads=3)


def test_senders_beyond_the_receivers_are_heard() -> None:
    """In a part of a graph the receivers are the first of the senders."""
    graph = random_graph(31, nodes=8)
    whole = adjacency_of(graph)
    first = whole.pattern.indptr[4]
    part = Adjacency(
        type(whole.pattern)(whole.pattern.indptr[:5], whole.pattern.indices[:first], 8),
        degrees=whole.degrees(torch.double),
    )
    nodes: Tensor = draw(8, 4)
    for backbone in BACKBONES:
        phase = randomised(NodeToNode(4, 4, backbone=backbone))
        torch.testing.assert_close(phase(part, nodes), phase(whole, nodes)[:4])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_reset_parameters_draws_anew(backbone: str) -> None:
    torch.manual_seed(0)
    phase = NodeToNode(4, 4, backbone=backbone)
    before = [weight.clone() for weight in phase.parameters() if weight.numel() > 4]
    phase.reset_parameters()
    after = [weight for weight in phase.parameters() if weight.numel() > 4]
    assert all(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert np.isfinite(sum(weight.abs().sum().item() for weight in phase.parameters()))
