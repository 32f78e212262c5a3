"""Reads a mapped graph once, in blocks, and checks what a header cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.mapped_names import check_names
from grafenne.errors import DataError

if TYPE_CHECKING:
    from grafenne.data.edges import EdgeList
    from grafenne.data.feature_graph import FeatureGraph

BLOCK = 1 << 22
"""Entries that are looked at together."""

Array = NDArray[Any]


def check_content(graph: FeatureGraph, folder: Path) -> None:
    """Raises an error that names the file, unless everything is in range and fits together.

    A position out of range would make a product read memory that is not its own. Triples and
    edges are stored in more than one order; were the orders of different graphs, some results
    would be of one and some of the other.

    Args:
        graph: The graph, as opened.
        folder: Where it is, for messages.
    """
    values, columns = graph.values, graph.values.by_feature
    check_names(graph.nodes, folder, "nodes")
    check_names(graph.features, folder, "features")
    _check_rows(folder / "values", values.indptr, values.indices, graph.num_features)
    _check_finite(folder / "values-data.npy", values.data)
    for start, stop in _blocks(len(values)) if values.is_binary else ():
        if not (values.data[start:stop] == 1).all():
            raise DataError(f"{folder / 'values-data.npy'} holds a value that is not 1.")
    _check_rows(folder / "by-feature", columns.indptr, columns.indices, graph.num_nodes)
    _check_range(folder / "by-feature-places.npy", columns.data, len(values))
    _check_by_feature(graph, folder)
    _check_edges(folder / "edges", graph.edges)
    _check_edges(folder / "feature-edges", graph.feature_edges)
    labels = graph.labels
    if labels is not None and labels.kind == "class":
        _check_range(folder / "labels.npy", labels.values, len(labels.classes), least=-1)
    elif labels is not None:
        _check_finite(folder / "labels.npy", labels.values, or_nan=True)


def _check_by_feature(graph: FeatureGraph, folder: Path) -> None:
    """The triples by feature are those by node: each place is of that node and that feature.

    With the nodes of a feature rising and as many entries as triples, no triple is left out.
    """
    values, columns = graph.values, graph.values.by_feature
    for start, stop in _blocks(len(values)):
        place, node = columns.data[start:stop], columns.indices[start:stop]
        feature = np.searchsorted(columns.indptr, np.arange(start, stop), side="right") - 1
        fits = values.indices[place] == feature
        fits &= (values.indptr[node] <= place) & (place < values.indptr[node + 1])
        if not fits.all():
            entry = start + int(np.argmin(fits))
            raise DataError(
                f"Entry {entry} of {folder / 'by-feature-places.npy'} is not the triple that "
                "the values by node have there."
            )


# ---- edges -----------------------------------------------------------------------------------


def _check_edges(path: Path, edges: EdgeList) -> None:
    for end in ("sources", "targets"):
        _check_range(path.with_name(f"{path.name}-{end}.npy"), getattr(edges, end), edges.size)
    if edges.weights is not None:
        _check_finite(path.with_name(f"{path.name}-weights.npy"), edges.weights)
    for direction in ("in", "out", "both") if edges.directed else ("both",):
        reach = edges.incoming(direction)
        begin = path.with_name(f"{path.name}-{direction}")
        _check_rows(begin, reach.indptr, reach.indices, edges.size)
        stored = sum(
            _digest(
                np.searchsorted(reach.indptr, np.arange(start, stop), side="right") - 1,
                reach.indices[start:stop],
                edges.size,
                None if edges.weights is None else reach.data[start:stop],
            )
            for start, stop in _blocks(reach.nnz)
        )
        if stored % 2**64 != _expected_digest(edges, direction):
            raise DataError(f"{begin}-indices.npy does not hold the edges of {path}-sources.npy.")


def _expected_digest(edges: EdgeList, direction: str) -> int:
    """The digest of the messages that the list of edges stands for."""
    total = 0
    for start, stop in _blocks(len(edges)):
        source, target = edges.sources[start:stop], edges.targets[start:stop]
        weight = None if edges.weights is None else edges.weights[start:stop]
        if direction != "out":
            total += _digest(target, source, edges.size, weight)
        if direction == "in":
            continue
        back = np.ones(len(source), dtype=bool)
        if direction == "both":
            back = source != target
            if edges.directed:  # a -> b and b -> a are two edges but one neighbour
                back &= ~_has(edges.incoming("in"), source, target)
        total += _digest(
            source[back], target[back], edges.size, None if weight is None else weight[back]
        )
    return total % 2**64


def _digest(row: Array, column: Array, size: int, weight: Array | None) -> int:
    """A sum over messages that does not depend on their order, and hardly fits two sets."""
    mixed = row.astype(np.uint64) * np.uint64(size) + column.astype(np.uint64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(factor)
        if weight is not None:
            mixed += np.ascontiguousarray(weight, dtype=np.float64).view(np.uint64)
    return int(np.sum(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64))


def _has(reach: Any, row: Array, column: Array) -> NDArray[np.bool_]:
    """Whether a matrix with sorted rows has these entries; all searches go on side by side."""
    low, end = reach.indptr[row].astype(np.int64), reach.indptr[row + 1].astype(np.int64)
    high = end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        below = reach.indices[np.minimum(middle, reach.nnz - 1)] < column
        open_still = low < high
        low = np.where(open_still & below, middle + 1, low)
        high = np.where(open_still & ~below, middle, high)
    found: NDArray[np.bool_] = low < end
    if reach.nnz:
        found &= reach.indices[np.minimum(low, reach.nnz - 1)] == column
    return found


# ---- single arrays ---------------------------------------------------------------------------


def _check_rows(path: Path, indptr: Array, indices: Array, columns: int) -> None:
    name = path.with_name(f"{path.name}-indptr.npy")
    for start, stop in _blocks(len(indptr)):
        if (np.diff(indptr[start : stop + 1]) < 0).any():
            raise DataError(f"{name} should never fall, but it does.")
    name = path.with_name(f"{path.name}-indices.npy")
    _check_range(name, indices, columns)
    for start, stop in _blocks(len(indices)):
        rises = np.diff(indices[start : stop + 1]) > 0
        first, last = np.searchsorted(indptr, (start + 1, start + len(rises) + 1))
        rises[indptr[first:last] - start - 1] = True  # where another row begins
        if not rises.all():
            place = start + int(np.argmin(rises)) + 1
            raise DataError(f"Entry {place} of {name} is not above the one before it in its row.")


def _check_range(path: Path, array: Array, size: int, least: int = 0) -> None:
    for start, stop in _blocks(len(array)):
        part = array[start:stop]
        low, high = int(part.min()), int(part.max())
        if low < least or high >= size:
            place = start + int(np.argmax((part < least) | (part >= size)))
            raise DataError(
                f"Entry {place} of {path} is {array[place]}, outside {least} to {size - 1}."
            )


def _check_finite(path: Path, array: Array, or_nan: bool = False) -> None:
    for start, stop in _blocks(len(array)):
        finite = ~np.isinf(array[start:stop]) if or_nan else np.isfinite(array[start:stop])
        if not finite.all():
            place = start + int(np.argmin(finite))
            raise DataError(f"Entry {place} of {path} is {array[place]}; it must be finite.")


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + BLOCK, length)) for start in range(0, length, BLOCK))
