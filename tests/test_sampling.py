"""The sampler: exact without bounds, uniform and unbiased with them."""

from __future__ import annotations

import threading
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.errors import ParameterError
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.nn.model import Encoded
from grafenne.sampling import Ahead, Sample, Sampler, encode_layerwise, iterate_batches

SEEDS = np.array([17, 3, 40, 8])


def random_graph(
    num_nodes: int = 120,
    num_features: int = 60,
    *,
    continuous: bool = True,
    weighted: bool = False,
    directed: bool = False,
    linked: bool = False,
) -> AllotropicGraph:
    """Sparse enough that two layers do not reach everything from a few nodes."""
    rng = np.random.default_rng(7)
    cells = rng.choice(num_nodes * num_features, num_nodes, replace=False)
    cells = cells[cells // num_features != SEEDS[0]]  # one seed has no features
    values = rng.normal(size=len(cells)) if continuous else np.ones(len(cells))
    pairs = rng.choice(num_nodes**2, num_nodes, replace=False)
    ends = (pairs // num_nodes, pairs % num_nodes)
    weights = (rng.uniform(0.5, 2.0, len(pairs)),) if weighted else ()
    links = rng.choice(num_features**2, num_features // 4, replace=False)
    graph = FeatureGraph.from_arrays(
        num_nodes,
        num_features,
        (cells // num_features, cells % num_features, values),
        (*ends, *weights),  # type: ignore[arg-type]
        directed=directed,
        feature_edges=(links // num_features, links % num_features) if linked else None,
        duplicates="first",
    )
    return to_allotropic(graph, direction="in" if directed else "both")


def make_model(graph: AllotropicGraph, dtype: torch.dtype = torch.float64, **more: Any) -> Grafenne:
    torch.manual_seed(0)
    model = Grafenne(LearnedFeatures(graph.features, 8), width=8, **more).to(dtype).eval()
    with torch.no_grad():  # attention scores start at zero, which would hide mistakes in them
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def encode(model: Grafenne, graph: AllotropicGraph, sample: Sample, **more: Any) -> Tensor:
    features = model.features(graph)[sample.feature_positions]
    return model.encode(sample.blocks, features, sample.keeps(**more)).nodes


CASES = [
    *[{"backbone": name} for name in ("sage", "gcn", "gin", "graph", "gat")],
    *[{"backbone": name, "num_layers": 3} for name in ("sage", "gcn")],
    *[{"mode": "paper", "heads": heads} for heads in (1, 2)],
    {"mode": "value", "heads": 2, "backbone": "gat"},
    {"aggregation": "mean"},
    {"aggregation": "sum", "normalisation": "batch"},
    {"num_layers": 1},
    {"skip": False},
    {"reach": 2},
    {"reach": 1, "num_layers": 1, "skip": False},
]


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("continuous", [False, True], ids=["binary", "continuous"])
def test_without_bounds_equals_a_full_pass(options: dict[str, Any], continuous: bool) -> None:
    graph = random_graph(continuous=continuous)
    model = make_model(graph, **options)
    reach = options.get("reach", 0)
    sample = Sampler(graph, model.num_layers, reach=reach, dtype=torch.float64).sample(SEEDS)
    assert len(sample.blocks) == model.num_blocks
    assert reach or len(sample.node_positions[0]) < graph.num_nodes
    torch.testing.assert_close(
        encode(model, graph, sample), model(graph).nodes[SEEDS], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("backbone", ["sage", "gcn", "graph"])
@pytest.mark.parametrize("directed", [False, True])
def test_weights_direction_and_feature_edges_are_exact(backbone: str, directed: bool) -> None:
    graph = random_graph(weighted=True, directed=directed, linked=True)
    model = make_model(graph, backbone=backbone, num_layers=3, feature_edges=True)
    sampler = Sampler(graph, 3, dtype=torch.float64)
    sample = sampler.sample(torch.from_numpy(SEEDS))
    result = encode(model, graph, sample)
    torch.testing.assert_close(result, model(graph).nodes[SEEDS], rtol=1e-12, atol=1e-12)
    without = Sampler(graph, 3, dtype=torch.float64, feature_edges=False).sample(SEEDS)
    assert not torch.allclose(encode(model, graph, without), result)


def test_single_precision_is_close() -> None:
    graph = random_graph()
    model = make_model(graph, torch.float32)
    sample = Sampler(graph, 2).sample(SEEDS)
    torch.testing.assert_close(encode(model, graph, sample), model(graph).nodes[SEEDS])


@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_gradients_equal_those_of_a_full_pass(backbone: str) -> None:
    graph = random_graph()
    model = make_model(graph, backbone=backbone)
    model(graph).nodes[SEEDS].square().sum().backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    model.zero_grad()
    sample = Sampler(graph, 2, dtype=torch.float64).sample(SEEDS)
    encode(model, graph, sample).square().sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-10, atol=1e-10)


def test_masks_over_all_triples_reach_the_blocks() -> None:
    graph = random_graph()
    model = make_model(graph)
    keep = (torch.arange(graph.incidence.num_entries) % 3 > 0).double()
    sample = Sampler(graph, 2, dtype=torch.float64).sample(SEEDS)
    masked = encode(model, graph, sample, keep=keep)
    torch.testing.assert_close(masked, model(graph, keep).nodes[SEEDS], rtol=1e-12, atol=1e-12)
    assert not torch.allclose(masked, model(graph).nodes[SEEDS])


@pytest.mark.parametrize(
    "graph",
    [
        FeatureGraph.from_arrays(1, 0),
        FeatureGraph.from_arrays(3, 2, edges=([0, 1], [1, 2])),
        FeatureGraph.from_arrays(3, 2, ([0, 2], [1, 1], [1.0, 1.0])),
        FeatureGraph.from_arrays(3, 4, ([0], [2], [0.0]), ([0, 1, 2], [0, 1, 1])),
    ],
    ids=["one node", "no values", "no edges", "loops and a zero"],
)
@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_degenerate_graphs(graph: FeatureGraph, backbone: str) -> None:
    allotropic = to_allotropic(graph)
    model = make_model(allotropic, backbone=backbone)
    sampler = Sampler(allotropic, 2, dtype=torch.float64)
    for node in range(graph.num_nodes):
        torch.testing.assert_close(
            encode(model, allotropic, sampler.sample([node])),
            model(allotropic).nodes[node : node + 1],
        )


def test_fixed_feature_states_need_only_the_neighbourhood() -> None:
    graph = random_graph()
    model = make_model(graph, num_layers=3)
    full = model(graph)
    sample = Sampler(graph, 3, dtype=torch.float64).sample(SEEDS, fixed_features=True)

    hops = set(SEEDS.tolist())
    adjacency = graph.adjacency.pattern
    for _ in range(3):
        hops |= {
            int(sender)
            for node in list(hops)
            for sender in adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]
        }
    assert set(sample.node_positions[0].tolist()) == hops
    assert all(block.back_incidence is None for block in sample.blocks)

    states = [
        state[places]
        for state, places in zip(
            full.feature_states, sample.feature_positions_per_layer, strict=True
        )
    ]
    nodes = model.encode_fixed(sample.blocks, states)
    torch.testing.assert_close(nodes, full.nodes[SEEDS], rtol=1e-12, atol=1e-12)


def dense_graph(**more: Any) -> AllotropicGraph:
    """30 nodes; each hears from all before it, and feature f occurs on every (f + 1)th node."""
    node, feature = np.nonzero(np.arange(30)[:, None] % (np.arange(12) + 1) == 0)
    target, source = np.nonzero(np.tri(30, 30, -1))
    graph = FeatureGraph.from_arrays(
        30, 12, (node, feature, node + feature / 100), (source, target), directed=True, **more
    )
    return to_allotropic(graph, direction="in")


@pytest.mark.parametrize("fixed", [False, True])
def test_bounded_samples_are_parts_of_the_graph(fixed: bool) -> None:
    graph = dense_graph()
    rows, columns = graph.incidence.rows, graph.incidence.indices
    known = graph.adjacency.pattern
    edges = set(zip(known.indices.tolist(), known.rows.tolist(), strict=True))
    sampler = Sampler(
        graph, 2, neighbours=[2, 5], features_per_node=3, nodes_per_feature=4, dtype=torch.float64
    )
    seeds = [0, 29, 14]
    sample = sampler.sample(seeds, fixed_features=fixed)
    assert sample.node_positions[1][:3].tolist() == seeds
    for block, bound, nodes, features in zip(
        sample.blocks,
        [2, 5],
        sample.node_positions,
        sample.feature_positions_per_layer,
        strict=True,
    ):
        assert len(set(nodes.tolist())) == len(nodes)
        assert len(set(features.tolist())) == len(features)
        places = block.incidence_places
        assert places is not None
        assert block.values is not None
        assert torch.equal(rows[places].long(), nodes[block.incidence.rows.long()])
        assert torch.equal(columns[places].long(), features[block.incidence.indices.long()])
        assert torch.equal(block.values, graph.values[places].double())
        assert torch.equal(block.incidence.counts, graph.incidence.counts[nodes].clamp(max=3))
        assert len(set(places.tolist())) == len(places)

        pattern = block.adjacency.pattern
        degrees = graph.adjacency.pattern.counts[nodes[: pattern.num_rows]]
        assert torch.equal(pattern.counts, degrees.clamp(max=bound))
        drawn = torch.stack((nodes[pattern.indices.long()], nodes[pattern.rows.long()]))
        assert set(zip(*drawn.tolist(), strict=True)) <= edges
        assert len(set(zip(*drawn.tolist(), strict=True))) == pattern.num_entries
    assert sample.blocks[1].back_incidence is None
    back, places = sample.blocks[0].back_incidence, sample.blocks[0].back_places
    if fixed:
        assert back is None
        return
    features = sample.feature_positions_per_layer[1]
    assert back is not None
    assert places is not None
    assert back.num_columns == sample.blocks[0].num_nodes_out
    assert torch.equal(back.counts, graph.incidence.transpose.counts[features].clamp(max=4))
    assert torch.equal(columns[places].long(), features[back.rows.long()])
    assert torch.equal(rows[places].long(), sample.node_positions[0][back.indices.long()])
    assert sample.blocks[0].back_values is not None
    assert torch.equal(sample.blocks[0].back_values, graph.values[places].double())
    assert encode(make_model(graph), graph, sample).isfinite().all()


@pytest.mark.parametrize(("size", "bound"), [(6, 2), (6, 3), (6, 4), (7, 6), (40, 1), (40, 2)])
def test_every_subset_is_equally_likely(size: int, bound: int) -> None:
    copies = 6000
    node, feature = np.divmod(np.arange(copies * size), size)
    graph = to_allotropic(
        FeatureGraph.from_arrays(copies, size, (node, feature, np.ones(len(node))))
    )
    sample = Sampler(graph, 1, features_per_node=bound).sample(np.arange(copies))
    incidence = sample.blocks[0].incidence
    drawn = sample.feature_positions[incidence.indices.long()].view(copies, bound)
    subsets = {subset: number for number, subset in enumerate(combinations(range(size), bound))}
    counts = np.zeros(len(subsets))
    for row in drawn.tolist():
        counts[subsets[tuple(row)]] += 1  # a KeyError here: not rising, or a repeated feature
    expected = copies / len(subsets)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = len(subsets) - 1
    assert abs(chi_square - freedom) < 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_drawn_entries_are_unbiased(weighted: bool) -> None:
    # 2000 receivers with the same 8 senders and the same 8 features, and 2000 features on the
    # same 8 nodes: one sample is 2000 draws of 3 out of 8.
    copies = 2000
    few, many = np.tile(np.arange(8), copies), np.repeat(np.arange(8, copies + 8), 8)
    triples = (np.concatenate((many, few)), np.concatenate((few, many)), np.ones(16 * copies))
    weights = np.arange(1.0, 9.0) if weighted else np.ones(8)
    edges: Any = (few, many, weights[few]) if weighted else (few, many)
    graph = to_allotropic(
        FeatureGraph.from_arrays(copies + 8, copies + 8, triples, edges, directed=True),
        direction="in",
    )
    receivers = np.arange(8, copies + 8)

    def mean_per_column(weights: Tensor | None, global_columns: Tensor) -> Tensor:
        assert weights is not None
        total = torch.zeros(copies + 8, dtype=torch.float64)
        return total.index_add_(0, global_columns, weights)[:8] / copies

    # A drawn weight is 8/3 of its own with probability 3/8: the mean's deviation is 0.029.
    tolerance: dict[str, float] = {"rtol": 0.15, "atol": 0}
    sampler = Sampler(graph, 1, neighbours=3, features_per_node=3, dtype=torch.float64)
    sample = sampler.sample(receivers)
    adjacency, incidence = sample.blocks[0].adjacency, sample.blocks[0].incidence
    senders = sample.node_positions[0][adjacency.pattern.indices.long()]
    edge_weights = mean_per_column(adjacency.edge_weights(torch.float64), senders)
    torch.testing.assert_close(edge_weights, torch.from_numpy(weights), **tolerance)

    own = incidence.rows < copies  # the senders stand behind the receivers
    features = sample.feature_positions[incidence.indices.long()]
    forward = sample.keeps(scale_sums=True)[0][0]
    assert forward is not None
    ones = torch.ones(8, dtype=torch.float64)
    torch.testing.assert_close(mean_per_column(forward[own], features[own]), ones, **tolerance)

    sample = Sampler(graph, 2, nodes_per_feature=3, dtype=torch.float64).sample(receivers)
    back = sample.blocks[0].back_incidence
    assert back is not None
    weight = sample.keeps(scale_sums=True)[0][1]
    assert weight is not None
    common = sample.feature_positions_per_layer[1][back.rows.long()] >= 8
    nodes = sample.node_positions[0][back.indices.long()]
    torch.testing.assert_close(mean_per_column(weight[common], nodes[common]), ones, **tolerance)


def test_scaling_leaves_means_alone_and_happens_only_where_something_was_cut() -> None:
    graph = dense_graph()
    block = Sampler(graph, 1, neighbours=4).sample([20, 2]).blocks[0]
    weights = block.adjacency.edge_weights(torch.float32)
    assert weights is not None
    assert weights.tolist() == [5.0, 5.0, 5.0, 5.0, 1.0, 1.0]  # nodes 0 to 19, and 0 and 1
    mean = block.adjacency.mean_weights(torch.float32)
    torch.testing.assert_close(mean, torch.tensor([0.25] * 4 + [0.5] * 2))
    whole = Sampler(graph, 1, neighbours=29).sample([20, 2])
    assert whole.blocks[0].adjacency.weights is None
    assert whole.scales == [(None, None)]


def test_same_seed_same_samples_and_no_trace_of_earlier_ones() -> None:
    graph = random_graph()
    bounds: dict[str, Any] = {"neighbours": 1, "features_per_node": 1, "nodes_per_feature": 1}
    first, second = Sampler(graph, 2, **bounds, seed=5), Sampler(graph, 2, **bounds, seed=5)
    for _ in range(3):
        one, two = first.sample(SEEDS), second.sample(SEEDS)
        assert torch.equal(one.node_positions[0], two.node_positions[0])
        assert torch.equal(one.feature_positions, two.feature_positions)

    sampler = Sampler(graph, 2)
    alone = sampler.sample(SEEDS)
    sampler.sample([50, 60, 70], fixed_features=True)
    with pytest.raises(ParameterError, match="Seed 3 is given twice"):
        sampler.sample([3, 9, 3])
    again = sampler.sample(SEEDS)
    assert torch.equal(alone.node_positions[0], again.node_positions[0])
    assert torch.equal(alone.feature_positions, again.feature_positions)


def test_a_huge_row_costs_no_more_than_its_bound() -> None:
    size = 300_000
    graph = to_allotropic(
        FeatureGraph.from_arrays(size, 1, (np.arange(size), np.zeros(size, int), np.ones(size)))
    )
    sample = Sampler(graph, 2, nodes_per_feature=10).sample([5])
    assert len(sample.node_positions[0]) in (10, 11)
    assert sample.node_positions[0].max() < size


def test_wrong_arguments_are_named() -> None:
    graph = random_graph()
    with pytest.raises(ParameterError, match="neighbours must give one bound for each of the 2"):
        Sampler(graph, 2, neighbours=[1, 2, 3])
    for name in ("neighbours", "features_per_node", "nodes_per_feature"):
        with pytest.raises(ParameterError, match=f"{name} must be at least 1"):
            Sampler(graph, 2, **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="num_layers must be at least 1"):
        Sampler(graph, 0)
    with pytest.raises(ParameterError, match=r"dtype must be torch.float32 or torch.float64"):
        Sampler(graph, 2, dtype=torch.int32)
    sampler = Sampler(graph, 2)
    with pytest.raises(ParameterError, match="Seed 120 is no position among the 120 nodes"):
        sampler.sample([0, 120])
    with pytest.raises(ParameterError, match="Seed -1 "):
        sampler.sample([-1])
    with pytest.raises(ParameterError, match="float64"):
        sampler.sample([0.5])


def test_batches_hold_every_position_once() -> None:
    positions = np.arange(10, 33)
    batches = list(iterate_batches(positions, 10, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == [10, 10, 3]
    together = np.concatenate(batches)
    assert sorted(together.tolist()) == positions.tolist()
    assert together.tolist() != positions.tolist()
    plain = iterate_batches(torch.from_numpy(positions), 23, np.random.default_rng(0), False)
    assert next(plain).tolist() == positions.tolist()
    with pytest.raises(ParameterError, match="batch_size must be at least 1"):
        next(iterate_batches(positions, 0, np.random.default_rng(0)))


# ---- layer by layer --------------------------------------------------------------------------


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


def test_bounds_may_differ_from_layer_to_layer() -> None:
    graph = dense_graph()
    sampler = Sampler(graph, 2, features_per_node=[4, 1], nodes_per_feature=(2, 9))
    first, last = sampler.sample([28, 29, 24]).blocks
    assert int(first.incidence.counts.max()) == 4
    assert int(last.incidence.counts.max()) == 1
    assert first.back_incidence is not None
    assert int(first.back_incidence.counts.max()) == 2
    with pytest.raises(ParameterError, match="features_per_node must give one bound for each"):
        Sampler(graph, 2, features_per_node=[1])
    with pytest.raises(ParameterError, match="nodes_per_feature must be at least 1"):
        Sampler(graph, 2, nodes_per_feature=[1, 0])


def test_a_sample_may_have_a_generator_of_its_own() -> None:
    graph = dense_graph()
    sampler = Sampler(graph, 2, neighbours=3, seed=4)
    drawn = [
        sampler.sample([29, 20], generator=np.random.default_rng(seed)).node_positions[0].tolist()
        for seed in (1, 2, 1)
    ]
    assert drawn[0] == drawn[2]
    assert drawn[0] != drawn[1]


def test_ahead_makes_each_item_once_and_skips_for_free() -> None:
    made: list[int] = []

    def make(item: int) -> int:
        made.append(item)
        return item * item

    with Ahead(make, range(6)) as squares:
        assert [squares.take(number) for number in (2, 3, 5)] == [4, 9, 25]
    assert set(made) <= {2, 3, 4, 5}
    assert len(made) == len(set(made))


def test_ahead_passes_errors_on() -> None:
    def fail(item: int) -> int:
        raise ParameterError(f"item {item} is wrong")

    with Ahead(fail, range(3)) as nothing, pytest.raises(ParameterError, match="item 0 is wrong"):
        nothing.take(0)
