"""Graphs from SciPy matrices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.edges import is_symmetric, one_way
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.labels import LabelKind
from grafenne.errors import DataError, ParameterError


def graph_from_scipy(
    matrix: Any,
    *,
    nodes: Iterable[Hashable] | None,
    features: Iterable[str] | None,
    edges: Any,
    labels: Mapping[Hashable, Any] | Sequence[Any] | NDArray[Any] | None,
    directed: bool,
    label_kind: LabelKind | None,
    duplicates: str,
) -> FeatureGraph:
    """What :meth:`FeatureGraph.from_scipy` does."""
    is_sparse: bool = sparse.issparse(matrix)
    if not is_sparse:
        raise ParameterError(
            f"matrix must be a SciPy sparse matrix, got a {type(matrix).__name__}; which zeros of "
            "a dense array are observed is for you to say."
        )
    cells = sparse.coo_array(matrix)
    ids = cells.shape[0] if nodes is None else _counted(nodes, cells.shape[0], "node", "rows")
    names = (
        cells.shape[1]
        if features is None
        else _counted(features, cells.shape[1], "feature", "columns")
    )
    if sparse.issparse(edges):
        edges = _adjacency(edges, cells.shape[0], directed)
    return FeatureGraph.from_arrays(
        ids,
        names,
        (cells.row, cells.col, cells.data),
        edges,
        directed=directed,
        labels=labels,
        label_kind=label_kind,
        duplicates=duplicates,
    )


def _counted(names: Iterable[Any], expected: int, kind: str, side: str) -> list[Any]:
    given = list(names)
    if len(given) != expected:
        raise DataError(f"There are {len(given)} {kind} names but {expected} {side}.")
    return given


def _adjacency(edges: Any, size: int, directed: bool) -> tuple[Any, ...]:
    if edges.shape != (size, size):
        raise DataError(
            f"The adjacency matrix of {size} nodes must be {size} x {size}, got "
            f"{edges.shape[0]} x {edges.shape[1]}."
        )
    cells = edges.tocoo()
    source, target = cells.row.astype(np.int64), cells.col.astype(np.int64)
    weight = None if bool(np.all(cells.data == 1)) else cells.data
    if not directed and is_symmetric(source, target, weight, size):
        source, target, weight = one_way(source, target, weight)
    return (source, target) if weight is None else (source, target, weight)
