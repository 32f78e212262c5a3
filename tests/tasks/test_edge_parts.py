"""The division of edges by the ids of their ends: it holds in graphs that are not the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph, split_edges
from grafenne.data.vocabulary import Vocabulary
from grafenne.tasks.edge_parts import EDGES, NEGATIVES, EdgeParts
from grafenne.tasks.links import EdgeSplit, edge_pairs


def named_graph(edges: list[tuple[str, str]], directed: bool) -> FeatureGraph:
    return FeatureGraph.from_frames(
        edges=pd.DataFrame(edges, columns=["source", "target"]), directed=directed
    )


def by_name(pairs: np.ndarray, graph: FeatureGraph) -> set[frozenset[str] | tuple[str, str]]:
    """Pairs of positions as pairs of ids; without direction either way round is the same."""
    named = [(str(graph.nodes[int(a)]), str(graph.nodes[int(b)])) for a, b in pairs]
    return set(named) if graph.directed else set(map(frozenset, named))


def parts_of(split: EdgeSplit) -> dict[str, set[frozenset[str] | tuple[str, str]]]:
    return {name: by_name(getattr(split, name), split.graph) for name in EDGES + NEGATIVES}


def draw(seed: int, nodes: int = 14) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < 0.3, 1))
    return [(f"n{a}", f"n{b}") for a, b in rng.permutation(pairs)]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), directed=st.booleans())
def test_rows_in_another_order_are_divided_alike(seed: int, directed: bool) -> None:
    edges = draw(seed)
    graph = named_graph(edges, directed)
    split = split_edges(graph, seed)
    turned = edges[::-1] if directed else [(b, a) for a, b in edges[::-1]]
    again = EdgeParts.of(split).split(named_graph(turned, directed))
    assert parts_of(again) == parts_of(split)
    assert by_name(edge_pairs(again.graph), again.graph) == parts_of(split)["train"]


def test_a_graph_that_changed_keeps_what_is_left() -> None:
    edges = draw(3)
    graph = named_graph(edges, False)
    split = split_edges(graph, 0)
    parts = parts_of(split)
    gone = next(iter(parts["test"]))
    joined = next(iter(parts["test_negatives"]))
    now = [pair for pair in edges if frozenset(pair) != gone]
    now += [tuple(joined), ("n0", "new")]  # type: ignore[list-item]
    later = named_graph(now, False)
    again = EdgeParts.of(split).split(later)
    found = parts_of(again)
    assert found["test"] == parts["test"] - {gone}
    assert found["test_negatives"] == parts["test_negatives"] - {joined}
    assert found["validation"] == parts["validation"]
    # What is new may be seen, but is not asked for.
    seen = by_name(edge_pairs(again.graph), later)
    assert seen == parts["train"] | {joined, frozenset(("n0", "new"))}


@pytest.mark.parametrize("directed", [False, True])
def test_a_node_that_is_gone_does_not_stand_for_another_one(directed: bool) -> None:
    graph = named_graph(draw(5), directed)
    split = split_edges(graph, 0)
    parts = EdgeParts.of(split)
    for missing in graph.nodes:
        others = graph.subgraph([node for node in graph.nodes if node != missing])
        again = parts.split(others)
        for name, pairs in parts_of(split).items():
            assert parts_of(again)[name] == {pair for pair in pairs if missing not in pair}
        every = np.argwhere(~np.eye(others.num_nodes, dtype=bool))
        seen = len(again.train) * (1 if directed else 2)  # each pair is asked for both ways
        assert parts.count_trained(every, others) == seen


def test_edges_that_training_saw_are_counted() -> None:
    graph = named_graph(draw(1), False)
    split = split_edges(graph, 0)
    parts = EdgeParts.of(split)
    assert parts.count_trained(split.test, graph) == 0
    asked = np.concatenate((split.test, split.train[:3, ::-1]))
    assert parts.count_trained(asked, graph) == 3


def test_parts_survive_json_and_refuse_nonsense() -> None:
    split = split_edges(named_graph(draw(2), True), 0)
    told = EdgeParts.of(split).to_dict()
    again = EdgeParts.from_dict(split.graph.nodes, told)
    for name in EDGES + NEGATIVES:
        assert np.array_equal(again.pairs[name], getattr(split, name))
    few = Vocabulary(["n0", "n1"], kind="node")
    with pytest.raises(ValueError, match="do not exist"):
        EdgeParts.from_dict(few, told)
    with pytest.raises(ValueError, match="whole numbers"):
        EdgeParts.from_dict(split.graph.nodes, {**told, "test": [0.5, 1.5]})
    with pytest.raises(ValueError, match="reshape"):
        EdgeParts.from_dict(split.graph.nodes, {**told, "test": [1]})
