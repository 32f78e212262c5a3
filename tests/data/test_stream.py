from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.churn import PAPER_CHURN, churn
from grafenne.data.delta import GraphDelta
from grafenne.data.stream import GraphStream
from grafenne.errors import DataError, ParameterError
from tests.strategies import feature_graphs

DELTAS = [
    GraphDelta(nodes_added=["c"], edges_added=[("c", "a")]),
    GraphDelta(),
    GraphDelta(nodes_removed=["a"], triples_added=[("c", "new", 2.0)]),
]


@pytest.fixture
def first() -> FeatureGraph:
    return FeatureGraph.from_arrays(["a", "b"], ["x"], ([0], [0], [1.0]), ([0], [1]))


def random_graph(nodes: int, features: int, values: int, edges: int) -> FeatureGraph:
    generator = np.random.default_rng(0)
    return FeatureGraph.from_arrays(
        nodes,
        features,
        (
            generator.integers(0, nodes, values),
            generator.integers(0, features, values),
            np.ones(values),
        ),
        (generator.integers(0, nodes, edges), generator.integers(0, nodes, edges)),
        duplicates="first",
    )


def test_snapshots_follow_from_deltas(first: FeatureGraph) -> None:
    stream = GraphStream.from_deltas(first, DELTAS)
    snapshots = list(stream)
    assert len(stream) == len(snapshots) == 4
    assert [list(graph.nodes) for graph in snapshots] == [
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "b", "c"],
        ["b", "c"],
    ]
    assert list(stream.deltas()) == DELTAS
    assert [graph for _, graph in stream.steps()] == snapshots[1:]
    assert stream.last() == snapshots[-1]
    assert list(stream) == snapshots  # a second time too
    assert "4 snapshots" in repr(stream)


@settings(deadline=None)
@given(st.lists(feature_graphs(directed=False), min_size=1, max_size=4))
def test_snapshots_come_back_with_positions_that_never_change(graphs: list[FeatureGraph]) -> None:
    graphs = [graph.with_labels(None) for graph in graphs]
    kinds = [{type(name) for name in graph.nodes} for graph in graphs]  # no delta changes those
    graphs = [graph for graph, kind in zip(graphs, kinds, strict=True) if kind == kinds[0]]
    snapshots = list(GraphStream.from_snapshots(graphs))
    assert snapshots == graphs
    for before, after in pairwise(snapshots):
        assert list(after.features)[: before.num_features] == list(before.features)


def test_a_delta_that_does_not_fit_names_its_step(first: FeatureGraph) -> None:
    stream = GraphStream.from_deltas(first, [GraphDelta(), GraphDelta(nodes_removed=["z"])])
    with pytest.raises(DataError, match="Step 2 of the stream does not fit: Unknown node 'z'"):
        list(stream)


def test_impossible_streams(first: FeatureGraph) -> None:
    with pytest.raises(DataError, match="at least one snapshot"):
        GraphStream.from_snapshots([])
    with pytest.raises(ParameterError, match="-1 steps"):
        GraphStream(first, lambda step, graph: GraphDelta(), -1)


def test_streams_round_trip_through_a_folder(first: FeatureGraph, tmp_path: Path) -> None:
    stream = GraphStream.from_deltas(first, DELTAS)
    stream.write(tmp_path / "stream")
    names = sorted(entry.name for entry in (tmp_path / "stream").iterdir())
    assert names == ["000", "001.jsonl", "002.jsonl", "003.jsonl"]
    back = GraphStream.read(tmp_path / "stream")
    assert list(back) == list(stream)
    assert list(back.deltas()) == DELTAS


def test_a_folder_is_checked_at_once_but_not_held(
    first: FeatureGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        first.write(tmp_path / "s" / str(number))
    alive: weakref.WeakSet[FeatureGraph] = weakref.WeakSet()
    read = FeatureGraph.read

    def watched(*arguments: Any, **options: Any) -> FeatureGraph:
        graph = read(*arguments, **options)
        alive.add(graph)
        return graph

    monkeypatch.setattr(FeatureGraph, "read", watched)
    stream = GraphStream.read(tmp_path / "s")
    gc.collect()
    assert list(alive) == [stream.first]
    assert [graph == first for graph in stream] == [True] * 4
    (tmp_path / "s" / "2" / "edges.csv").write_text("source,target\nann\n")
    with pytest.raises(DataError, match=r"edges\.csv"):
        GraphStream.read(tmp_path / "s")


def test_a_folder_may_mix_deltas_and_snapshots(first: FeatureGraph, tmp_path: Path) -> None:
    snapshots = list(GraphStream.from_deltas(first, DELTAS))
    snapshots[0].write(tmp_path / "2021")
    DELTAS[0].write(tmp_path / "2022")
    DELTAS[1].write(tmp_path / "2023.jsonl")
    snapshots[3].write(tmp_path / "2024")
    assert list(GraphStream.read(tmp_path)) == snapshots


def test_entries_are_counted_and_named_in_errors(first: FeatureGraph, tmp_path: Path) -> None:
    first.write(tmp_path / "s" / "0")
    for step in (1, 2, 10):
        GraphDelta(nodes_added=[f"step {step}"]).write(tmp_path / "s" / f"{step}.jsonl")
    stream = GraphStream.read(tmp_path / "s")
    assert list(stream.last().nodes) == ["a", "b", "step 1", "step 2", "step 10"]
    GraphDelta(nodes_added=["step 2"]).write(tmp_path / "s" / "11.jsonl")
    with pytest.raises(DataError, match=r"Step 4 .*11\.jsonl\) does not fit: .*'step 2'"):
        GraphStream.read(tmp_path / "s").last()
    (tmp_path / "s" / "11.jsonl").unlink()
    first.replace(nodes=first.nodes.take(np.arange(2))).write(tmp_path / "s" / "11")
    numbered = FeatureGraph.from_arrays([1, 2], ["x"], ([0], [0], [1.0]))
    numbered.write(tmp_path / "s" / "12")
    with pytest.raises(DataError, match=r"Step 5 .*12\) does not fit"):
        GraphStream.read(tmp_path / "s").last()


def test_a_snapshot_without_labels_leaves_them_as_they_were(
    first: FeatureGraph, tmp_path: Path
) -> None:
    first.with_labels({"a": "one", "b": "two"}).write(tmp_path / "s" / "0")
    later = first.apply(GraphDelta(nodes_added=["c"], nodes_removed=["a"]))
    later.write(tmp_path / "s" / "1")
    later.with_labels({"c": "one"}).write(tmp_path / "s" / "2")
    told = [graph.labels for graph in GraphStream.read(tmp_path / "s")]
    assert told[1] is not None
    assert [told[1].label(place) for place in range(2)] == ["two", None]
    assert told[2] is not None
    assert [told[2].label(place) for place in range(2)] == [None, "one"]


def test_graphs_of_a_stream_are_read_as_one_says(first: FeatureGraph, tmp_path: Path) -> None:
    for step, edges in enumerate(("a,b", "a,b\nb,a\na,b")):
        folder = tmp_path / "s" / str(step)
        folder.mkdir(parents=True)
        (folder / "edges.csv").write_text(f"source,target\n{edges}\n")
        (folder / "nodes.csv").write_text("node\na\nb\n")
    how: dict[str, Any] = {"duplicates": "first"}
    assert GraphStream.read(tmp_path / "s", directed=True, **how).last().num_edges == 2
    assert GraphStream.read(tmp_path / "s", **how).last().num_edges == 1
    with pytest.raises(DataError, match=r"edges\.csv"):
        GraphStream.read(tmp_path / "s")


def test_folders_that_are_no_stream(first: FeatureGraph, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a folder"):
        GraphStream.read(tmp_path / "nothing")
    with pytest.raises(DataError, match="must begin with a folder that holds a graph"):
        GraphStream.read(tmp_path)
    DELTAS[0].write(tmp_path / "001.jsonl")
    with pytest.raises(DataError, match="must begin with a folder that holds a graph"):
        GraphStream.read(tmp_path)
    first.write(tmp_path / "000")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match=r"notes\.txt is neither"):
        GraphStream.read(tmp_path)


# ---- churn -----------------------------------------------------------------------------------


def test_churn_is_the_same_for_the_same_seed() -> None:
    graph = random_graph(60, 30, 300, 100)
    settings = {**PAPER_CHURN["cora"], "edge_add_probability": 0.1, "node_probability": 0.3}
    one = churn(graph, seed=3, **settings)  # type: ignore[arg-type]
    assert len(one) == 10
    first, second = list(one.deltas()), list(one.deltas())
    assert first == second
    assert len(set(first)) == 9  # each step is another draw
    assert list(churn(graph, seed=4, **settings).deltas()) != first  # type: ignore[arg-type]


def test_churn_draws_as_often_as_it_says() -> None:
    graph = random_graph(4000, 200, 40_000, 20_000)
    stream = churn(
        graph,
        1,
        node_probability=0.25,
        add_probability=0.02,
        delete_probability=0.4,
        edge_add_probability=0.1,
        edge_delete_probability=0.2,
        seed=0,
    )
    (delta,) = stream.deltas()
    absent = graph.num_nodes * graph.num_features - graph.num_values

    def close(found: int, cells: int, share: float) -> None:
        # A node is sampled as a whole, so counts spread more than binomial ones: 10 % is ample.
        assert found == pytest.approx(cells * share, rel=0.1)

    close(len(delta.triples_removed), graph.num_values, 0.25 * 0.4)
    close(len(delta.triples_added), absent, 0.25 * 0.02)
    close(len(delta.edges_removed), graph.num_edges, 0.2)
    close(len(delta.edges_added), graph.num_edges, 0.1)
    touched = {row[0] for row in delta.triples_added} | {row[0] for row in delta.triples_removed}
    close(len(touched), graph.num_nodes, 0.25)
    assert {row[2] for row in delta.triples_added} == {1.0}


def test_churn_can_give_a_node_a_feature_it_never_had() -> None:
    graph = FeatureGraph.from_arrays(2, ["x", "y", "never"], ([0, 1], [0, 1], [5.0, 7.0]))
    stream = churn(graph, 1, node_probability=1, add_probability=1, delete_probability=0, seed=0)
    (delta,) = stream.deltas()
    assert set(delta.triples_added) == {
        (0, "y", 7.0),
        (0, "never", 1.0),
        (1, "x", 5.0),
        (1, "never", 1.0),
    }


def test_churn_takes_values_from_the_full_graph_where_it_has_them() -> None:
    graph = FeatureGraph.from_arrays(["a", "b"], ["x", "y"], ([0], [0], [5.0]))
    full = FeatureGraph.from_arrays(["b", "a"], ["y", "x"], ([0, 1], [0, 0], [8.0, 9.0]))
    stream = churn(
        graph,
        1,
        node_probability=1,
        add_probability=1,
        delete_probability=0,
        seed=0,
        full_graph=full,
    )
    (delta,) = stream.deltas()
    assert set(delta.triples_added) == {("a", "y", 9.0), ("b", "y", 8.0), ("b", "x", 5.0)}


def test_churn_replaces_everything_at_probability_one() -> None:
    graph = random_graph(20, 10, 60, 30)
    stream = churn(graph, 2, node_probability=1, add_probability=1, delete_probability=1, seed=0)
    _, once, twice = list(stream)
    assert once.num_values == 200 - graph.num_values
    assert twice == graph


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("present", [3, 5])
def test_new_edges_join_unlinked_nodes_until_none_are_left(directed: bool, present: int) -> None:
    graph = FeatureGraph.from_arrays(
        4,
        0,
        edges=([0, 0, 0, 1, 1][:present], [1, 2, 3, 2, 3][:present], [2.0] * present),
        directed=directed,
    )
    stream = churn(
        graph,
        1,
        node_probability=0,
        add_probability=0,
        delete_probability=0,
        edge_add_probability=1,
        seed=0,
    )
    after = stream.last()
    possible = 12 if directed else 6
    assert after.num_edges == min(2 * present, possible)
    assert (after.edges.sources != after.edges.targets).all()
    assert after.edges.weights is not None
    assert set(after.edges.weights.tolist()) == {2.0}


def test_churn_of_degenerate_graphs() -> None:
    for graph in (FeatureGraph.from_arrays(0, 0), FeatureGraph.from_arrays(3, 0)):
        stream = churn(
            graph, 2, seed=0, node_probability=1, add_probability=1, delete_probability=1
        )
        assert all(delta.is_empty for delta in stream.deltas())


def test_probabilities_are_checked(first: FeatureGraph) -> None:
    with pytest.raises(ParameterError, match=r"add_probability must be from 0 to 1, got 1\.5"):
        churn(first, seed=0, node_probability=0, add_probability=1.5, delete_probability=0)


def test_the_settings_of_the_paper() -> None:
    assert PAPER_CHURN["citeseer"]["delete_probability"] == 0.4
    assert PAPER_CHURN["physics"]["add_probability"] == 0.0001
    assert PAPER_CHURN["physics"]["edge_add_probability"] == 0.00005
    assert PAPER_CHURN["dblp"]["edge_delete_probability"] == 0.0
