from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grafenne.datasets import actor_split, dataset_info, load
from grafenne.errors import DataError, ParameterError

NODES = "node_id\tfeatures\tlabel\n2\t0,3,0\t1\n0\t1\t4\n1\t3\t1\n"
EDGES = "node_id\tnode_id\n0\t1\n1\t0\n0\t1\n2\t2\n2\t0\n"


def root_with(folder: Path, nodes: str = NODES, edges: str = EDGES) -> Path:
    raw = folder / "Actor" / "raw"
    raw.mkdir(parents=True)
    (raw / "out1_node_feature_label.txt").write_text(nodes)
    (raw / "out1_graph_edges.txt").write_text(edges)
    return folder


def test_a_small_graph(tmp_path: Path) -> None:
    graph = load("actor", root=root_with(tmp_path))
    assert graph.features_of(2) == {"keyword_0": 1, "keyword_3": 1}
    assert graph.features_of(0) == {"keyword_1": 1}
    assert [graph.label_of(node) for node in range(3)] == [4, 1, 1]
    assert not graph.directed
    assert graph.edges.sources.tolist() == [0, 0]
    assert graph.edges.targets.tolist() == [1, 2]
    directed = load("actor", root=tmp_path, directed=True)
    pairs = zip(directed.edges.sources.tolist(), directed.edges.targets.tolist(), strict=True)
    assert list(pairs) == [(0, 1), (1, 0), (2, 0), (2, 2)]


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (NODES.replace("1\t3\t1", "1\t3"), EDGES, r"feature_label\.txt, line 4: .* 3 columns"),
        (NODES.replace("0,3,0", "0,x"), EDGES, r"feature_label\.txt has something .*'x'"),
        (NODES.replace("1\t3\t1", "7\t3\t1"), EDGES, "does not number its 3 nodes"),
        ("node_id\tfeatures\tlabel\n", EDGES, r"feature_label\.txt has no rows"),
        (NODES, EDGES.replace("2\t2", "2\t3"), r"graph_edges\.txt, line 5: .* 3 nodes"),
        (NODES, EDGES.replace("2\t2", "2 2"), r"graph_edges\.txt, line 5: .* 2 columns"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, nodes: str, edges: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("actor", root=root_with(tmp_path, nodes, edges))


def test_a_split_is_0_to_9(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="0 to 9, got 10"):
        actor_split(10, root=tmp_path)


def test_a_damaged_split_is_named(tmp_path: Path) -> None:
    raw = root_with(tmp_path) / "Actor" / "raw"
    np.savez(raw / "film_split_0.6_0.2_1.npz", train_mask=np.ones(3))
    with pytest.raises(DataError, match=r"film_split_0\.6_0\.2_1\.npz"):
        actor_split(1, root=tmp_path)


def test_the_counts_of_the_public_files(public_data: Path) -> None:
    graph = load("actor", root=public_data)
    paper = dataset_info("actor").paper
    assert graph.labels is not None
    assert graph.num_nodes == paper["nodes"]
    assert len(graph.labels.classes) == paper["classes"]
    # The paper prints 33,544 edges and 931 features; the public files give these:
    assert (graph.num_edges, graph.num_used_features) == (26_659, 932)
    assert load("actor", root=public_data, directed=True).num_edges == 30_019
    assert "33,544" in dataset_info("actor").notes


def test_the_public_splits_part_the_nodes(public_data: Path) -> None:
    seen = set()
    for number in range(10):
        split = actor_split(number, root=public_data)
        assert [len(split[part]) for part in ("train", "validation", "test")] == [3648, 2432, 1520]
        assert np.array_equal(np.sort(np.concatenate([*split.values()])), np.arange(7600))
        seen.add(split["test"].tobytes())
    assert len(seen) == 10
