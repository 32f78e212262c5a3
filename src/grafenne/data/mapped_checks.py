"""Reads a mapped graph once, in blocks, and checks what a header cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.errors import DataError

if TYPE_CHECKING:
    from grafenne.data.edges import EdgeList
    from grafenne.data.feature_graph import FeatureGraph

BLOCK = 1 << 22
"""Entries that are looked at together."""


def check_content(graph: FeatureGraph, folder: Path) -> None:
    """Raises an error that names the file, unless every position is in range.

    A position out of range would make a product read memory that is not its own.

    Args:
        graph: The graph, as opened.
        folder: Where it is, for messages.
    """
    values, columns = graph.values, graph.values.by_feature
    _check_rows(folder / "values", values.indptr, values.indices, graph.num_features)
    _check_finite(folder / "values-data.npy", values.data)
    for part in _blocks(values.data) if values.is_binary else ():
        if not (part == 1).all():
            raise DataError(f"{folder / 'values-data.npy'} holds a value that is not 1.")
    _check_rows(folder / "by-feature", columns.indptr, columns.indices, graph.num_nodes)
    _check_range(folder / "by-feature-places.npy", columns.data, len(values))
    _check_edges(folder / "edges", graph.edges)
    _check_edges(folder / "feature-edges", graph.feature_edges)
    labels = graph.labels
    if labels is not None and labels.kind == "class":
        _check_range(folder / "labels.npy", labels.values, len(labels.classes), least=-1)


def _check_edges(path: Path, edges: EdgeList) -> None:
    for end in ("sources", "targets"):
        _check_range(path.with_name(f"{path.name}-{end}.npy"), getattr(edges, end), edges.size)
    if edges.weights is not None:
        _check_finite(path.with_name(f"{path.name}-weights.npy"), edges.weights)
    for direction in ("in", "out", "both") if edges.directed else ("both",):
        reach = edges.incoming(direction)
        _check_rows(
            path.with_name(f"{path.name}-{direction}"), reach.indptr, reach.indices, edges.size
        )


def _check_rows(path: Path, indptr: NDArray[Any], indices: NDArray[Any], columns: int) -> None:
    name = path.with_name(f"{path.name}-indptr.npy")
    for start in range(0, len(indptr), BLOCK):
        if (np.diff(indptr[start : start + BLOCK + 1]) < 0).any():
            raise DataError(f"{name} should never fall, but it does.")
    _check_range(path.with_name(f"{path.name}-indices.npy"), indices, columns)


def _check_range(path: Path, array: NDArray[Any], size: int, least: int = 0) -> None:
    for number, part in enumerate(_blocks(array)):
        low, high = int(part.min()), int(part.max())
        if low < least or high >= size:
            place = number * BLOCK + int(np.argmax((part < least) | (part >= size)))
            raise DataError(
                f"Entry {place} of {path} is {array[place]}, outside {least} to {size - 1}."
            )


def _check_finite(path: Path, array: NDArray[Any]) -> None:
    for number, part in enumerate(_blocks(array)):
        finite = np.isfinite(part)
        if not finite.all():
            place = number * BLOCK + int(np.argmin(finite))
            raise DataError(f"Entry {place} of {path} is {array[place]}; it must be finite.")


def _blocks(array: NDArray[Any]) -> list[NDArray[Any]]:
    return [array[start : start + BLOCK] for start in range(0, len(array), BLOCK)]
