"""The baselines' networks against loop versions of their equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch.nn.functional import relu

from grafenne import FeatureGraph, drop_features, to_allotropic
from grafenne.baselines.allotropic_gnn import AllotropicGnn
from grafenne.baselines.expected_relu import expected_relu
from grafenne.baselines.fate import Fate
from grafenne.baselines.gcnmf import Gcnmf
from grafenne.baselines.graph_network import KINDS, GraphNetwork
from grafenne.baselines.pagnn import partial_aggregation
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import UnknownNameError
from grafenne.impute import gathering
from grafenne.nn import LearnedFeatures
from grafenne.training.node_objective import NodeNetwork
from tests import reference
from tests.baselines import loops
from tests.impute.graphs import partly_observed, tables
from tests.small_graphs import DEGENERATE, random_graph

WIDTH = 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", ["binary", "continuous", "zeros"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_network_is_the_dense_one(kind: str, values: str, weighted: bool) -> None:
    graph = to_allotropic(random_graph(1, values=values, weighted=weighted))
    encoder = GraphNetwork(graph.num_features, kind=kind, width=WIDTH, heads=2)
    network = reference.randomised(NodeNetwork(encoder, 3)).eval()
    reference.assert_same(
        lambda: network(graph),
        lambda: loops.graph_network(kind, encoder, network.head, graph),
        network.parameters(),
    )


def test_the_observed_mask_is_an_input_of_its_own() -> None:
    graph = to_allotropic(random_graph(1, values="zeros"))
    encoder = reference.randomised(
        GraphNetwork(graph.num_features, kind="mlp", width=WIDTH, num_layers=1, observed_mask=True)
    ).eval()
    values, observed = loops.dense_values(graph)
    share = observed.double() / observed.sum(dim=1, keepdim=True).clamp(min=1)
    expected = (
        values @ encoder.input.weight
        + share @ encoder.input.mask_weight
        + encoder.layers[0].linear.bias
    )
    torch.testing.assert_close(encoder(graph).nodes, expected)


def test_skips_join_the_states_of_all_layers() -> None:
    graph = to_allotropic(random_graph(1))
    plain = GraphNetwork(graph.num_features, kind="gcn", width=WIDTH).eval()
    joined = GraphNetwork(graph.num_features, kind="gcn", width=WIDTH, skip=True).eval()
    joined.load_state_dict(plain.state_dict())
    assert joined.output_width == 2 * WIDTH
    assert torch.equal(joined(graph).nodes[:, WIDTH:], plain(graph).nodes)
    with pytest.raises(UnknownNameError, match="Did you mean 'sage'"):
        GraphNetwork(3, kind="sagee")


# ---- GCNMF -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "deviation"), [(0.0, 1.0), (0.7, 0.5), (-1.2, 2.0), (3.0, 0.1), (-3.0, 0.1)]
)
def test_the_expected_relu_is_the_integral(mean: float, deviation: float) -> None:
    expected, _ = integrate.quad(
        lambda z: z * stats.norm.pdf(z, mean, deviation), 0, mean + 12 * deviation
    )
    result = expected_relu(torch.tensor(mean).double(), torch.tensor(deviation**2).double())
    assert float(result) == pytest.approx(expected, abs=1e-7)


def test_the_expected_relu_of_a_certain_value_is_the_relu_and_has_a_gradient() -> None:
    mean = torch.tensor([-1.0, 0.5], dtype=torch.double, requires_grad=True)
    variance = torch.zeros(2, dtype=torch.double, requires_grad=True)
    result = expected_relu(mean, variance)
    assert torch.equal(result, relu(mean))
    result.sum().backward()
    assert mean.grad is not None
    assert mean.grad.tolist() == [0.0, 1.0]
    assert variance.grad is not None
    assert variance.grad.tolist() == [0.0, 0.0]


def test_the_expected_relu_has_the_derivatives_of_its_formula(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grafenne.baselines.expected_relu.BLOCK", 4)
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(5, 3, dtype=torch.double, generator=generator).requires_grad_()
    variance = torch.rand(5, 3, dtype=torch.double, generator=generator).add(0.1).requires_grad_()
    assert torch.autograd.gradcheck(expected_relu, (mean, variance))
    one_by_one = [expected_relu(*pair) for pair in zip(mean.T, variance.T, strict=True)]
    torch.testing.assert_close(expected_relu(mean, variance), torch.stack(one_by_one, dim=1))


@pytest.mark.parametrize("rate", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_mixture_layer_is_the_one_written_out(rate: float, seed: int) -> None:
    """Below a rate of one half the missing cells are listed, above it the observed ones."""
    whole = random_graph(seed, nodes=9, features=6)
    graph = to_allotropic(drop_features(whole, rate, seed=seed, observed_zeros=True))
    encoder = reference.randomised(Gcnmf(6, width=WIDTH, components=3), scale=0.5).eval()
    layer = encoder.layers[0]
    torch.testing.assert_close(
        layer(graph, None), loops.mixture_input(layer, graph), rtol=1e-8, atol=1e-9
    )


def test_gcnmf_without_missing_cells_is_a_gcn() -> None:
    graph = to_allotropic(drop_features(random_graph(0), 0.0, seed=0, observed_zeros=True))
    encoder = reference.randomised(Gcnmf(graph.num_features, width=WIDTH)).eval()
    plain = GraphNetwork(graph.num_features, kind="gcn", width=WIDTH).double().eval()
    with torch.no_grad():
        plain.input.weight.copy_(encoder.layers[0].weight)
        plain.layers[0].linear.bias.copy_(encoder.layers[0].bias)
    torch.testing.assert_close(encoder(graph).nodes, plain(graph).nodes)


def test_the_mixture_starts_from_clusters_of_the_observed_cells() -> None:
    group = np.repeat([0, 1], 10)
    cells = np.argwhere(np.ones((20, 2), dtype=bool))
    value = np.where(group[cells[:, 0]] == cells[:, 1], 5.0, 1.0)
    graph = to_allotropic(FeatureGraph.from_arrays(20, 2, (cells[:, 0], cells[:, 1], value)))
    layer = Gcnmf(2, width=WIDTH, components=2).layers[0]
    layer.start(graph, 0)  # type: ignore[operator]
    means = layer.means.detach()  # type: ignore[union-attr]
    # ten cells of the cluster and one of the overall kind, whose mean is 3
    high, low = (10 * 5 + 3) / 11, (10 * 1 + 3) / 11
    assert sorted(means[:, 0].tolist()) == pytest.approx([low, high])
    assert layer.mixture.exp().tolist() == pytest.approx([0.5, 0.5])  # type: ignore[union-attr, operator]


# ---- PaGNN -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["mean", "rescaled"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dense", [0.0, 2.0], ids=["by columns", "by rows"])
def test_partial_aggregation_is_the_loop(
    variant: str, seed: int, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "DENSE", dense)
    graph = partly_observed(seed)
    values, observed, _ = tables(graph)
    share = loops.normalised_adjacency(to_allotropic(graph)).numpy()
    expected = loops.partial_aggregation(values, observed, share, variant)
    result, stored, _ = tables(partial_aggregation(graph, variant))
    np.testing.assert_allclose(result, expected, atol=1e-5)
    assert (result[stored] != 0).all()


def test_rescaled_partial_aggregation_of_a_complete_graph_is_that_of_a_gcn() -> None:
    graph = drop_features(random_graph(2), 0.0, seed=0, observed_zeros=True)
    values, _, _ = tables(graph)
    share = loops.normalised_adjacency(to_allotropic(graph)).numpy()
    result, _, _ = tables(partial_aggregation(graph, "rescaled"))
    np.testing.assert_allclose(result, share @ values, atol=1e-5)
    with pytest.raises(UnknownNameError, match="'rescaled'"):
        partial_aggregation(graph, "rescale")


@pytest.mark.parametrize("variant", ["mean", "rescaled"])
def test_absent_cells_of_a_complete_graph_need_not_be_stored(variant: str) -> None:
    graph = random_graph(2)
    listed = drop_features(graph, 0.0, seed=0, observed_zeros=True)
    expected, _, _ = tables(partial_aggregation(listed, variant))
    result, _, _ = tables(partial_aggregation(graph, variant, complete=True))
    np.testing.assert_allclose(result, expected, atol=1e-6)
    incomplete, _, _ = tables(partial_aggregation(graph, variant))
    assert not np.allclose(incomplete, expected)


# ---- FATE ------------------------------------------------------------------------------------


@pytest.mark.parametrize("node_edges", [True, False])
def test_fate_is_the_loop(node_edges: bool) -> None:
    graph = to_allotropic(random_graph(3))
    encoder = reference.randomised(Fate(graph.features, width=WIDTH, node_edges=node_edges)).eval()
    reference.assert_same(
        lambda: encoder(graph).nodes,
        lambda: loops.fate(encoder, graph, encoder.weight),
        [encoder.weight, encoder.bias, *encoder.layers.parameters()],
    )


def test_fate_infers_features_it_never_saw_from_the_nodes_that_have_them() -> None:
    graph = to_allotropic(random_graph(3))
    known = Vocabulary(graph.features[1:], kind="feature")
    encoder = reference.randomised(Fate(known, width=WIDTH)).eval()
    start = torch.cat((torch.zeros(1, WIDTH, dtype=torch.double), encoder.weight))
    result = encoder(graph)
    torch.testing.assert_close(result.nodes, loops.fate(encoder, graph, start))
    assert not result.feature_states[0][0].any()
    assert result.feature_states[-1][0].any()


def test_fate_takes_a_share_of_the_embeddings_away_in_training_only() -> None:
    graph = to_allotropic(random_graph(3, nodes=30, features=200))
    encoder = Fate(graph.features, width=WIDTH, folds=4, feature_dropout=0.0)
    gone = (encoder.train().start(graph) == 0).all(dim=1)
    assert 20 < int(gone.sum()) < 80
    assert torch.equal(encoder.eval().start(graph), encoder.weight)
    never = Fate(graph.features, width=WIDTH, folds=1).train()
    assert torch.equal(never.start(graph), never.weight)


# ---- traditional -----------------------------------------------------------------------------


@pytest.mark.parametrize("values", ["binary", "continuous"])
def test_the_allotropic_gnn_is_sage_on_one_joint_graph(values: str) -> None:
    graph = to_allotropic(random_graph(5, values=values, weighted=True))
    features = LearnedFeatures(graph.features, WIDTH)
    encoder = reference.randomised(
        AllotropicGnn(features, width=WIDTH, normalisation="none", skip=False)
    ).eval()
    count = graph.num_nodes
    triples = reference.edges_of(graph.incidence, graph.values)
    edges = (
        reference.adjacency_edges(graph.adjacency)
        + [(v, count + f, x) for v, f, x in triples]
        + [(count + f, v, x) for v, f, x in triples]
    )

    def slow() -> torch.Tensor:
        state = torch.cat((encoder.first.expand(count, -1), features.weight))
        for layer in encoder.layers:
            state = relu(reference.sage(layer, edges, state))
        return state[:count]

    reference.assert_same(
        lambda: encoder(graph).nodes, slow, [features.weight, *encoder.layers.parameters()]
    )


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_graphs(case: str) -> None:
    graph = DEGENERATE[case]
    seen = to_allotropic(graph)
    encoders = [
        *(GraphNetwork(graph.num_features, kind=kind, width=WIDTH) for kind in KINDS),
        Gcnmf(graph.num_features, width=WIDTH),
        Fate(graph.features, width=WIDTH),
        AllotropicGnn(LearnedFeatures(graph.features, WIDTH), width=WIDTH),
    ]
    for encoder in encoders:
        nodes = encoder.eval()(seen).nodes
        assert nodes.shape == (graph.num_nodes, encoder.output_width)
        assert torch.isfinite(nodes).all()
    assert partial_aggregation(graph).num_nodes == graph.num_nodes
