"""Phase 1 against the printed equations, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph
from grafenne.allotrope import to_allotropic
from grafenne.errors import ParameterError, UnknownNameError
from grafenne.nn import FeatureToNode
from grafenne.ops import SparsePattern
from tests.reference import PHASES, assert_same, draw, edges_of, printed_message, randomised
from tests.small_graphs import DEGENERATE, VALUE_KINDS, random_graph

MODES = ("paper", "value")
AGGREGATIONS = ("attention", "mean", "sum")


def parts(graph: FeatureGraph) -> tuple[SparsePattern, Tensor | None]:
    allotropic = to_allotropic(graph)
    return allotropic.incidence, allotropic.edge_values(torch.double)


def check(
    graph: FeatureGraph,
    options: dict[str, Any],
    *,
    first: bool = False,
    keep: Tensor | None = None,
) -> None:
    """Phase 1 of ``graph`` equals the loops, in values and gradients."""
    incidence, values = parts(graph)
    features, nodes = draw(graph.num_features, 3, seed=1), draw(graph.num_nodes, 5, seed=2)
    phase = randomised(FeatureToNode(3, 0 if first else 5, 6, **options))
    states = None if first else nodes
    inputs = [features, *([] if first else [nodes]), *phase.parameters()]
    edges = edges_of(incidence, values, keep)
    slow = PHASES[options["mode"]]
    assert_same(
        lambda: phase(incidence, values, features, states, keep),
        lambda: slow(phase, edges, features, states, graph.num_nodes),
        inputs,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("values", VALUE_KINDS)
def test_equals_the_loops(mode: str, heads: int, values: str) -> None:
    graph = random_graph(3, values=values)
    check(graph, {"mode": mode, "heads": heads})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("values", ["binary", "zeros"])
def test_first_layer_aggregations_and_hidden_edges(
    mode: str, aggregation: str, values: str
) -> None:
    graph = random_graph(5, values=values)
    keep = (torch.arange(graph.num_values) % 3 > 0).double()
    keep[: graph.values.indptr[1]] = 0  # the first node loses all its features
    options = {"mode": mode, "heads": 2, "aggregation": aggregation}
    check(graph, options, first=True, keep=keep)
    check(graph, options, first=True)
    check(graph, options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_graphs(mode: str, name: str) -> None:
    for aggregation in AGGREGATIONS:
        check(DEGENERATE[name], {"mode": mode, "heads": 2, "aggregation": aggregation})


def test_the_score_is_a_sum_of_three_scalars() -> None:
    attention = randomised(FeatureToNode(3, 5, 4, mode="paper")).attention
    nodes, features = draw(6, 5, seed=1), draw(4, 3, seed=2)
    zero_node, zero_feature = torch.zeros(5).double(), torch.zeros(3).double()

    def score(node: Tensor, feature: Tensor, value: float) -> Tensor:
        return attention.score @ printed_message(attention, node, feature, value)

    def of_value(value: float) -> Tensor:
        return score(zero_node, zero_feature, value)

    for node in nodes:
        for feature in features:
            for value in (-1.5, 0.0, 0.25, 3.0):
                parts = score(node, zero_feature, 0) + score(zero_node, feature, 0)
                torch.testing.assert_close(score(node, feature, value), parts + of_value(value))
    # r(e) has one slope above zero and another below.
    for value in (0.5, 2.0, 7.0):
        torch.testing.assert_close(of_value(value), value * of_value(1.0))
        torch.testing.assert_close(of_value(-value), value * of_value(-1.0))
    assert not torch.isclose(of_value(-1.0), -of_value(1.0))


def test_the_receivers_scalar_cancels_in_the_softmax() -> None:
    attention = randomised(FeatureToNode(3, 5, 4, mode="paper")).attention
    features, values = draw(4, 3), [0.5, -1.0, 0.0, 2.0]
    weights = []
    for node in draw(3, 5, seed=8):
        messages = [
            printed_message(attention, node, feature, value)
            for feature, value in zip(features, values, strict=True)
        ]
        weights.append(torch.stack([attention.score @ message for message in messages]).softmax(0))
    torch.testing.assert_close(weights[0], weights[1])
    torch.testing.assert_close(weights[0], weights[2])


def test_receiver_never_changes_a_result() -> None:
    graph = random_graph(2)
    incidence, values = parts(graph)
    phase = randomised(FeatureToNode(3, 5, 4, mode="paper", heads=2))
    features, nodes = draw(graph.num_features, 3), draw(graph.num_nodes, 5, seed=1)
    before = phase(incidence, values, features, nodes)
    with torch.no_grad():
        phase.attention.receiver.weight.mul_(-50).add_(3)
    assert torch.equal(before, phase(incidence, values, features, nodes))
    # The printed equations agree: in the loops, too, only the rounding moves.
    slow = PHASES["paper"](phase, edges_of(incidence, values), features, nodes, graph.num_nodes)
    torch.testing.assert_close(before, slow)


def test_the_value_of_an_only_feature_is_seen_in_value_mode_alone() -> None:
    graph = FeatureGraph.from_arrays(2, 1, ([0, 1], [0, 0], [0.25, 4.0]))
    incidence, values = parts(graph)
    features = draw(1, 3)
    printed = randomised(FeatureToNode(3, 0, 4, mode="paper"))(incidence, values, features)
    aware = randomised(FeatureToNode(3, 0, 4, mode="value"))(incidence, values, features)
    torch.testing.assert_close(printed[0], printed[1])
    assert (aware[0] - aware[1]).abs().max() > 0.1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_ones_written_out_mean_the_same_as_none(mode: str, aggregation: str) -> None:
    incidence, values = parts(random_graph(4, values="binary"))
    assert values is None
    ones = torch.ones(incidence.num_entries).double()
    phase = randomised(FeatureToNode(3, 0, 4, mode=mode, heads=2, aggregation=aggregation))
    features = draw(incidence.num_columns, 3)
    torch.testing.assert_close(phase(incidence, None, features), phase(incidence, ones, features))


def test_value_attention_starts_as_a_mean() -> None:
    incidence, values = parts(random_graph(4))
    torch.manual_seed(0)
    phase = FeatureToNode(3, 0, 4, heads=2).double()
    mean = FeatureToNode(3, 0, 4, aggregation="mean").double()
    mean.load_state_dict(phase.state_dict(), strict=False)
    features = draw(incidence.num_columns, 3)
    torch.testing.assert_close(
        phase(incidence, values, features), mean(incidence, values, features)
    )


@pytest.mark.parametrize("mode", MODES)
def test_scores_reach_the_weights_through_the_edges(mode: str) -> None:
    """All parameters but W1 get a gradient, so no weight of the equations is left unused."""
    graph = random_graph(6)
    incidence, values = parts(graph)
    phase = randomised(FeatureToNode(3, 5, 4, mode=mode))
    phase(incidence, values, draw(graph.num_features, 3), draw(graph.num_nodes, 5)).sum().backward()
    silent = {name for name, weight in phase.named_parameters() if weight.grad is None}
    assert silent == ({"attention.receiver.weight"} if mode == "paper" else set())
    score = phase.attention.score if mode == "paper" else phase.attention.score.weight
    assert score.grad.abs().max() > 0


def test_wrong_options_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"mode 'papre'.+mean 'paper'"):
        FeatureToNode(3, 0, 4, mode="papre")
    with pytest.raises(UnknownNameError, match=r"aggregation 'maen'.+mean 'mean'"):
        FeatureToNode(3, 0, 4, aggregation="maen")
    with pytest.raises(ParameterError, match="multiple of the 3 heads"):
        FeatureToNode(3, 0, 4, heads=3)
    with pytest.raises(ParameterError, match="0 heads"):
        FeatureToNode(3, 0, 4, mode="paper", heads=0)


@pytest.mark.parametrize("mode", MODES)
def test_reset_parameters_draws_anew(mode: str) -> None:
    torch.manual_seed(1)
    phase = FeatureToNode(3, 5, 4, mode=mode)
    before = phase.attention.message.weight.clone()
    phase.reset_parameters()
    assert not torch.equal(before, phase.attention.message.weight)
    assert "heads=1" in repr(phase)
