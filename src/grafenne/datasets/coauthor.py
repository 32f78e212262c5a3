"""The Physics co-authorship graph, read sparsely from its ``.npz`` file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from grafenne.data.feature_graph import FeatureGraph
from grafenne.datasets.archives import read_arrays
from grafenne.datasets.download import RemoteFile, fetch
from grafenne.datasets.registry import Dataset, check_features, register
from grafenne.errors import DataError

PHYSICS = RemoteFile(
    "Physics/raw/ms_academic_phy.npz",
    "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/ms_academic_phy.npz",
    "3da759527a8d4f316f24edf55c4f998850b1b10d53f06cb817e9278593395916",
)


PARTS = ("data", "indices", "indptr", "shape")
ARRAYS = (*(f"{name}_{part}" for name in ("adj", "attr") for part in PARTS), "labels")


def load_physics(root: Path, *, binary: bool = True) -> FeatureGraph:
    """Authors joined by joint papers; features are the keywords of their papers.

    Args:
        root: The data root.
        binary: Whether a keyword counts as 1 however often it occurs, as everybody who uses
            this dataset does; otherwise the value is the count in the file.
    """
    return read_coauthor(fetch(PHYSICS, root), binary=binary)


def read_coauthor(path: Path, *, binary: bool = True) -> FeatureGraph:
    """The graph in an ``.npz`` file with the arrays ``adj_*``, ``attr_*`` and ``labels``."""
    arrays = read_arrays(path, ARRAYS)
    adjacency, attributes = (_matrix(arrays, name, path.name) for name in ("adj", "attr"))
    labels = arrays["labels"]
    num_nodes, num_features = attributes.shape
    if adjacency.shape != (num_nodes, num_nodes) or labels.shape != (num_nodes,):
        raise DataError(
            f"{path.name} has {num_nodes} rows of features, {labels.size} labels and an "
            f"adjacency of {adjacency.shape[0]} x {adjacency.shape[1]}."
        )
    check_features(num_features, path.name)
    if not np.isfinite(attributes.data).all():
        raise DataError(f"{path.name} has a value that is not finite.")
    edges, values = adjacency.tocoo(), attributes.tocoo()
    kept = edges.row != edges.col
    digits = len(str(num_features - 1))
    return FeatureGraph.from_arrays(
        num_nodes,
        [f"keyword_{number:0{digits}}" for number in range(num_features)],
        (values.row, values.col, np.ones_like(values.data) if binary else values.data),
        (edges.row[kept], edges.col[kept]),
        labels=labels,
    )


def _matrix(arrays: Any, name: str, file: str) -> sparse.csr_array:
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in PARTS)
    try:
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
        if matrix.data.dtype.kind not in "biuf":
            raise ValueError(f"it holds {matrix.data.dtype}, not numbers")
    except (TypeError, ValueError) as error:
        raise DataError(f"The matrix {name!r} in {file} is damaged: {error}.") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


register(
    Dataset(
        name="physics",
        title="Physics: authors, joint papers and keywords",
        description="Authors joined by joint papers; features are keywords of their papers.",
        task="The field of research of an author (5 classes).",
        source=PHYSICS.url,
        loader=load_physics,
        paper={"nodes": 34493, "edges": 495924, "features": 8415, "classes": 5},
        notes="The paper counts every undirected edge twice; 235 of the keywords are never used.",
    )
)
