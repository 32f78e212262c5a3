"""Layer by layer, in blocks of rows: the result of a full pass."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric import nn as pyg

from grafenne import GrafenneClassifier
from grafenne.errors import ParameterError
from grafenne.nn.model import Encoded
from grafenne.sampling import encode_layerwise
from tests.continual.cases import SMALL, small_change, small_graph
from tests.sampling.cases import CASES, SEEDS, make_model, random_graph


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("continuous", [False, True], ids=["binary", "continuous"])
def test_layer_by_layer_equals_a_full_pass(options: dict[str, Any], continuous: bool) -> None:
    graph = random_graph(continuous=continuous)
    model = make_model(graph, **options)
    expected = model(graph)
    result = encode_layerwise(model, graph, rows=13)
    torch.testing.assert_close(result.nodes, expected.nodes, rtol=1e-12, atol=1e-12)
    assert len(result.feature_states) == len(expected.feature_states)
    for states, wanted in zip(result.feature_states, expected.feature_states, strict=True):
        torch.testing.assert_close(states, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("backbone", "local"),
    [
        (pyg.SAGEConv, True),
        (pyg.GATv2Conv, True),
        (pyg.GraphConv, True),
        (pyg.ClusterGCNConv, True),
        (pyg.GCNConv, False),
        (pyg.TAGConv, False),
        (pyg.SGConv, False),
    ],
)
def test_layers_that_need_more_than_the_edges_into_a_node_are_known(
    backbone: Any, local: bool
) -> None:
    graph = random_graph()
    model = make_model(graph, backbone=backbone)
    result = encode_layerwise(model, graph, rows=13).nodes
    assert torch.allclose(result, model(graph).nodes) == model.local == local


def test_models_with_such_layers_train_on_the_whole_graph_only() -> None:
    graph, change = small_graph(), small_change()
    with pytest.raises(ParameterError, match="leave batch_size out"):
        GrafenneClassifier(**SMALL, backbone=pyg.GCNConv, batch_size=4).fit(graph)
    model = GrafenneClassifier(**SMALL, backbone=pyg.GCNConv).fit(graph)
    with pytest.raises(ParameterError, match="take 'auto' or 'exact'"):
        model.update(graph, change, strategy="finetune", states="fixed")
    model.update(graph, change, strategy="finetune")
    assert model.last_update_.states == "exact"


@pytest.mark.parametrize("directed", [False, True])
def test_layer_by_layer_knows_weights_directions_and_feature_edges(directed: bool) -> None:
    graph = random_graph(weighted=True, directed=directed, linked=True)
    model = make_model(graph, backbone="gcn", num_layers=3, feature_edges=True)
    result = encode_layerwise(model, graph, torch.from_numpy(SEEDS), rows=50)
    torch.testing.assert_close(result.nodes, model(graph).nodes[SEEDS], rtol=1e-12, atol=1e-12)


def test_layer_by_layer_leaves_out_what_is_masked() -> None:
    graph = random_graph()
    model = make_model(graph)
    keep = torch.from_numpy(np.random.default_rng(3).random(graph.incidence.num_entries) < 0.6)
    result = encode_layerwise(model, graph, keep=keep, rows=7)
    expected = model(graph, keep.double()).nodes
    torch.testing.assert_close(result.nodes, expected, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(model(graph).nodes, expected)


def test_layer_by_layer_may_be_shared_out() -> None:
    """Two workers, each with half of the blocks, end in the same numbers, bit for bit."""
    graph = random_graph(linked=True)
    model = make_model(graph, num_layers=3, feature_edges=True)
    whole = encode_layerwise(model, graph, rows=13)
    both = threading.Barrier(2, timeout=20)
    rows_of: dict[int, Tensor] = {}
    results: dict[int, Encoded] = {}

    def work(rank: int) -> None:
        def exchange(rows: Tensor, shares: list[list[tuple[int, int]]]) -> None:
            rows_of[rank] = rows
            both.wait()
            for begin, end in shares[1 - rank]:
                rows[begin:end] = rows_of[1 - rank][begin:end]
            both.wait()

        results[rank] = encode_layerwise(model, graph, rows=13, share=(rank, 2), exchange=exchange)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in (0, 1):
        assert torch.equal(results[rank].nodes, whole.nodes)
        assert all(map(torch.equal, results[rank].feature_states, whole.feature_states))
