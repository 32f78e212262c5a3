from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from grafenne.datasets import dataset_info, load
from grafenne.errors import DataError


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Three known papers, papers 3 and 5 to test on, and paper 4 missing."""
    folder = tmp_path / "CiteSeer" / "raw"
    folder.mkdir(parents=True)
    contents: dict[str, Any] = {
        "allx": sparse.csr_matrix(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=np.float32)),
        "ally": np.array([[0, 1], [1, 0], [0, 1]]),
        "tx": sparse.csr_matrix(np.array([[1, 1, 0], [0, 0, 1]], dtype=np.float32)),
        "ty": np.array([[0, 1], [1, 0]]),
        "graph": {0: [1, 1, 5], 1: [0, 0], 2: [2, 3], 3: [2], 4: [], 5: [0]},
    }
    for part, content in contents.items():
        (folder / f"ind.citeseer.{part}").write_bytes(pickle.dumps(content, protocol=2))
    (folder / "ind.citeseer.test.index").write_text("5\n3\n")
    return folder


def test_a_small_graph(raw: Path) -> None:
    graph = load("citeseer", root=raw.parents[1])
    assert list(graph.nodes) == [0, 1, 2, 3, 4, 5]
    assert list(graph.features) == ["word_0", "word_1", "word_2"]
    assert graph.features_of(0) == {"word_0": 1, "word_2": 1}
    assert graph.features_of(5) == {"word_0": 1, "word_1": 1}  # the first row of tx
    assert graph.features_of(3) == {"word_2": 1}
    assert graph.features_of(2) == graph.features_of(4) == {}
    assert [graph.label_of(node) for node in range(6)] == [1, 0, 1, 0, 0, 1]
    edges = zip(graph.edges.sources.tolist(), graph.edges.targets.tolist(), strict=True)
    assert list(edges) == [(0, 1), (0, 5), (2, 3)]


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("allx", np.eye(3), r"ind\.citeseer\.allx holds no sparse matrix"),
        ("ally", np.eye(4), r"allx has 3 rows but ind\.citeseer\.ally has 4"),
        ("ally", np.ones(3), r"ally holds no table of one-hot labels"),
        ("tx", sparse.csr_matrix(np.eye(2)), "differ in the number of columns"),
        ("graph", [1, 2], r"ind\.citeseer\.graph holds no dictionary"),
        ("graph", {0: ["a"]}, r"ind\.citeseer\.graph does not map"),
        ("graph", {0: [6]}, r"ind\.citeseer\.graph has an edge beyond the 6 nodes"),
    ],
)
def test_wrong_content_is_named(raw: Path, part: str, content: object, message: str) -> None:
    (raw / f"ind.citeseer.{part}").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(DataError, match=message):
        load("citeseer", root=raw.parents[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5\nx\n", "one node number per line"),
        ("5\n", "has 1 node numbers but there are 2 rows"),
        ("5\n5\n", "line 2: the node number 5"),
        ("1\n5\n", "line 1: the node number 1"),
        ("5\n99999999\n", "line 2: the node number 99999999"),
    ],
)
def test_a_wrong_test_index_is_named(raw: Path, text: str, message: str) -> None:
    (raw / "ind.citeseer.test.index").write_text(text)
    with pytest.raises(DataError, match=rf"ind\.citeseer\.test\.index.*{message}"):
        load("citeseer", root=raw.parents[1])


def test_a_truncated_file_is_named(raw: Path) -> None:
    path = raw / "ind.citeseer.tx"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match=r"ind\.citeseer\.tx is damaged"):
        load("citeseer", root=raw.parents[1])


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_the_counts_are_the_papers(public_data: Path, name: str) -> None:
    graph = load(name, root=public_data)
    assert graph.labels is not None
    assert {
        "nodes": graph.num_nodes,
        "edges": int(graph.edges.incoming("both").nnz),
        "features": graph.num_features,
        "classes": len(graph.labels.classes),
    } == dict(dataset_info(name).paper)
    assert graph.values.is_binary
    assert not graph.directed


def test_papers_of_citeseer_without_words(public_data: Path) -> None:
    graph = load("citeseer", root=public_data)
    empty = np.flatnonzero(graph.values.counts == 0)
    assert len(empty) == 15
    assert graph.edges.degrees[empty].tolist() == [1] * 8 + [2] + [1] * 6
    assert all(graph.label_of(int(node)) == 0 for node in empty)


@pytest.mark.parametrize(("name", "folder"), [("cora", "Cora"), ("citeseer", "CiteSeer")])
def test_the_graph_is_what_pytorch_geometric_reads(
    public_data: Path, name: str, folder: str
) -> None:
    io = pytest.importorskip("torch_geometric.io")
    expected = io.read_planetoid_data(str(public_data / folder / "raw"), name)
    graph = load(name, root=public_data)
    row, column = expected.x.nonzero(as_tuple=True)
    assert np.array_equal(graph.values.rows, row.numpy())
    assert np.array_equal(graph.values.indices, column.numpy())
    assert graph.labels is not None
    assert np.array_equal(graph.labels.values, expected.y.numpy())
    both = graph.edges.incoming("both").tocoo()
    key = np.sort(both.row.astype(np.int64) * graph.num_nodes + both.col)
    source, target = expected.edge_index.numpy()
    assert np.array_equal(key, np.sort(source * graph.num_nodes + target))
