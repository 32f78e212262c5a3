from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from grafenne.datasets import dataset_info, load
from grafenne.errors import DataError


def arrays() -> dict[str, Any]:
    joint = sparse.csr_matrix(np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=np.float32))
    words = sparse.csr_matrix(np.array([[3, 0], [0, 1], [0, 0]], dtype=np.float32))
    return {
        "adj_data": joint.data,
        "adj_indices": joint.indices,
        "adj_indptr": joint.indptr,
        "adj_shape": np.array(joint.shape),
        "attr_data": words.data,
        "attr_indices": words.indices,
        "attr_indptr": words.indptr,
        "attr_shape": np.array(words.shape),
        "labels": np.array([1, 0, 1]),
    }


def root_with(folder: Path, **changes: Any) -> Path:
    raw = folder / "Physics" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    content = {name: array for name, array in (arrays() | changes).items() if array is not None}
    np.savez(raw / "ms_academic_phy.npz", **content)
    return folder


def test_a_small_graph(tmp_path: Path) -> None:
    graph = load("physics", root=root_with(tmp_path))
    assert graph.features_of(0) == {"keyword_0": 1}
    assert graph.features_of(1) == {"keyword_1": 1}
    assert graph.features_of(2) == {}
    assert graph.edges.sources.tolist() == [0, 1]
    assert graph.edges.targets.tolist() == [1, 2]
    assert [graph.label_of(node) for node in range(3)] == [1, 0, 1]
    counted = load("physics", root=tmp_path, binary=False)
    assert counted.features_of(0) == {"keyword_0": 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": None}, "lacks an array: .*labels"),
        ({"labels": np.array([1, 0])}, "3 rows of features, 2 labels"),
        ({"attr_indices": np.array([0, 9], dtype=np.int32)}, "matrix 'attr' in ms_academic_phy"),
        ({"adj_shape": np.array([2, 3])}, r"ms_academic_phy\.npz"),
        ({"labels": np.array([{}, None, 1], dtype=object)}, r"ms_academic_phy\.npz is damaged"),
    ],
)
def test_wrong_content_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("physics", root=root_with(tmp_path, **changes))


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = root_with(tmp_path) / "Physics" / "raw" / "ms_academic_phy.npz"
    for length in (0, 100, path.stat().st_size - 30):
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(DataError, match=r"ms_academic_phy\.npz is damaged"):
            load("physics", root=tmp_path)


def test_the_counts_are_the_papers(public_data: Path) -> None:
    graph = load("physics", root=public_data)
    assert graph.labels is not None
    assert {
        "nodes": graph.num_nodes,
        "edges": int(graph.edges.incoming("both").nnz),
        "features": graph.num_features,
        "classes": len(graph.labels.classes),
    } == dict(dataset_info("physics").paper)
    assert graph.num_values == 1_137_311
    assert graph.num_used_features == 8180
    assert graph.values.is_binary
