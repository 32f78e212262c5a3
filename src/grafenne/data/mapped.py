"""A graph as a folder of arrays that are mapped into memory rather than read.

Tables (:mod:`grafenne.data.folder`) are for people and other programs; this format is for size.
Every array is a NumPy file of its own. Opening a graph reads their headers only; the system
brings in the pages that are touched, drops them when memory is short, and keeps one copy for all
processes of a machine. What a training run would otherwise derive (the triples by feature, the
messages along the edges) is stored too. ``docs/scale.md`` describes the files.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.atomic import atomic_folder, read_whole
from grafenne.data.edges import EdgeList
from grafenne.data.labels import Labels
from grafenne.data.mapped_names import read_names, write_array, write_names
from grafenne.data.mapped_notes import (
    NOTES,
    MappedNotes,
    describe_graph,
    read_notes,
    write_notes,
)
from grafenne.data.values import FeatureValues
from grafenne.errors import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from grafenne.data.feature_graph import FeatureGraph

ENDING = ".npy"
PARTS = ("values-", "by-feature-", "edges-", "feature-edges-", "labels.", "nodes-", "features-")
"""How the names of the arrays begin."""
INTEGERS, FLOATS = ("int32", "int64"), ("float32", "float64")

Array = NDArray[Any]


# ---- writing ---------------------------------------------------------------------------------


def write_mapped(graph: FeatureGraph, folder: str | os.PathLike[str]) -> None:
    """Writes a graph as a folder of arrays that :func:`open_mapped` maps into memory.

    The folder appears whole or not at all; one that holds anything but an older graph is refused.

    Args:
        graph: The graph. Ids must be all text or all whole numbers.
        folder: The folder.
    """
    from grafenne.data.folder import is_graph_file

    notes = describe_graph(graph)
    with atomic_folder(folder, replaceable=is_graph_file) as beside:
        for name, array in _arrays_of(graph).items():
            write_array(beside / f"{name}{ENDING}", array)
        write_names(graph.nodes, beside, "nodes", notes.node_ids)
        write_names(graph.features, beside, "features", "text")
        write_notes(notes, beside)


def _arrays_of(graph: FeatureGraph) -> dict[str, Array]:
    values = graph.values
    index = _index_type(len(values), graph.num_nodes, graph.num_features)
    columns = values.by_feature
    arrays: dict[str, Array] = {
        "values-indptr": values.indptr,
        "values-indices": values.indices.astype(index, copy=False),
        "values-data": values.data,
        "by-feature-indptr": columns.indptr.astype(index, copy=False),
        "by-feature-indices": columns.indices.astype(index, copy=False),
        "by-feature-places": columns.data.astype(index, copy=False),
    }
    for name, edges in (("edges", graph.edges), ("feature-edges", graph.feature_edges)):
        arrays[f"{name}-sources"], arrays[f"{name}-targets"] = edges.sources, edges.targets
        if edges.weights is not None:
            arrays[f"{name}-weights"] = edges.weights
        for direction in _directions(edges.directed):
            reach = edges.incoming(direction)
            index = _index_type(reach.nnz, edges.size)
            arrays[f"{name}-{direction}-indptr"] = reach.indptr.astype(index, copy=False)
            arrays[f"{name}-{direction}-indices"] = reach.indices.astype(index, copy=False)
            if edges.weights is not None:
                arrays[f"{name}-{direction}-weights"] = reach.data
    if graph.labels is not None:
        arrays["labels"] = graph.labels.values
    return arrays


def _index_type(*sizes: int) -> Any:
    """Both index arrays of a matrix have one type: where they differ SciPy copies them."""
    return np.int64 if max(sizes) >= 2**31 else np.int32


def _directions(directed: bool) -> tuple[str, ...]:
    return ("in", "out", "both") if directed else ("both",)


# ---- reading ---------------------------------------------------------------------------------


def open_mapped(folder: str | os.PathLike[str], *, verify: bool = False) -> FeatureGraph:
    """The graph in a folder that :func:`write_mapped` wrote, mapped into memory.

    Sizes, number types and names of all files are checked, at no cost; their content is not
    looked at unless asked for.

    Args:
        folder: The folder.
        verify: Whether to read everything once, in blocks, and check that every position is
            within its range, every number finite and every name text, and that what is stored in
            two orders is the same in both. Do this for files of unknown origin.
    """
    folder = Path(folder)
    return read_whole(folder, lambda: _open(folder, verify))


def _open(folder: Path, verify: bool) -> FeatureGraph:
    from grafenne.data.feature_graph import FeatureGraph

    notes = read_notes(folder / NOTES)
    reader = _Reader(folder)
    graph = FeatureGraph(
        read_names(reader.load, "nodes", notes.node_ids, notes.nodes, "node"),
        read_names(reader.load, "features", "text", notes.features, "feature"),
        _open_values(reader, notes),
        _open_edges(
            reader, "edges", notes.edges, notes.nodes, notes.directed, weighted=notes.weighted
        ),
        _open_labels(reader, notes),
        _open_edges(
            reader,
            "feature-edges",
            notes.feature_edges,
            notes.features,
            False,
            weighted=notes.weighted_feature_edges,
        ),
    )
    if verify:
        from grafenne.data.mapped_checks import check_content

        check_content(graph, folder)
    return graph


class _Reader:
    """Maps the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, name: str, dtypes: tuple[str, ...], length: int) -> Array:
        """An array of one of these types and of this length."""
        path = self.folder / f"{name}{ENDING}"
        try:
            with path.open("rb") as file:
                shape, fortran, dtype = _header(file, path)
                begin = file.tell()
        except FileNotFoundError:
            raise DataError(f"The graph in {self.folder} has no file {path.name}.") from None
        except OSError as error:
            raise DataError(f"Cannot read {path}: {error.strerror or error}.") from None
        if dtype.name not in dtypes or not dtype.isnative or shape != (length,) or fortran:
            raise DataError(
                f"{path} should hold {length} numbers of type {' or '.join(dtypes)}, found "
                f"{dtype.name} of shape {list(shape)}."
            )
        size = path.stat().st_size
        if size != begin + length * dtype.itemsize:
            raise DataError(
                f"{path} should be {begin + length * dtype.itemsize} bytes long, found {size}."
            )
        if not length:
            return np.empty(0, dtype=dtype)
        try:
            mapped = np.memmap(path, dtype=dtype, mode="r", offset=begin, shape=(length,))
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot map {path} into memory: {error}.") from None
        return np.asarray(mapped)


def _header(file: IO[bytes], path: Path) -> tuple[Any, bool, np.dtype[Any]]:
    """Shape, order and number type, as the first bytes of a NumPy file tell them."""
    parse: Callable[..., Any] = np.lib.format.read_array_header_1_0
    try:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise DataError(
                f"Cannot read {path}: version {version} of the NumPy format is not read."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that needs mending is not one of ours
            shape, fortran, dtype = parse(file)
    except (DataError, OSError):
        raise
    except Exception:  # NumPy takes a header for Python, which fails in a dozen ways
        raise DataError(f"Cannot read {path}: it does not begin like a NumPy file.") from None
    return shape, fortran, dtype


def _open_values(reader: _Reader, notes: MappedNotes) -> FeatureValues:
    count = notes.values
    indptr = _starts(reader, "values-indptr", notes.nodes, count, ("int64",))
    indices = reader.load("values-indices", INTEGERS, count)
    values = FeatureValues(
        indptr, indices, reader.load("values-data", FLOATS, count), notes.features
    )
    starts = _starts(reader, "by-feature-indptr", notes.features, count)
    columns = sparse.csc_array(
        (
            reader.load("by-feature-places", INTEGERS, count),
            reader.load("by-feature-indices", INTEGERS, count),
            starts,
        ),
        shape=(notes.nodes, notes.features),
    )
    vars(values).update(
        by_feature=columns, feature_counts=np.diff(starts).astype(np.int64), is_binary=notes.binary
    )
    return values


def _open_edges(
    reader: _Reader, name: str, count: int, size: int, directed: bool, *, weighted: bool
) -> EdgeList:
    stray = reader.folder / f"{name}-weights{ENDING}"
    if not weighted and stray.exists():
        raise DataError(f"There is a file {stray}, but {NOTES} says that there are no weights.")
    reach: dict[str, sparse.csr_array] = {}
    for direction in _directions(directed):
        begin = f"{name}-{direction}"
        indptr = reader.load(f"{begin}-indptr", INTEGERS, size + 1)
        messages = _last(indptr)
        indices = reader.load(f"{begin}-indices", INTEGERS, messages)
        _check_starts(reader.folder / f"{begin}-indptr{ENDING}", indptr, messages)
        # Without weights a single number stands for all of them.
        data = (
            reader.load(f"{begin}-weights", ("float64",), messages)
            if weighted
            else np.broadcast_to(np.float64(1), (messages,))
        )
        reach[direction] = sparse.csr_array((data, indices, indptr), shape=(size, size))
    return EdgeList(
        reader.load(f"{name}-sources", ("int64",), count),
        reader.load(f"{name}-targets", ("int64",), count),
        reader.load(f"{name}-weights", ("float64",), count) if weighted else None,
        size,
        directed,
        reach,
    )


def _open_labels(reader: _Reader, notes: MappedNotes) -> Labels | None:
    if notes.label_kind is None:
        return None
    dtype = "int64" if notes.label_kind == "class" else "float64"
    values = reader.load("labels", (dtype,), notes.nodes)
    return Labels(notes.label_kind, values, notes.classes)  # type: ignore[arg-type]


def _starts(
    reader: _Reader, name: str, rows: int, entries: int, dtypes: tuple[str, ...] = INTEGERS
) -> Array:
    indptr = reader.load(name, dtypes, rows + 1)
    _check_starts(reader.folder / f"{name}{ENDING}", indptr, entries)
    return indptr


def _check_starts(path: Path, indptr: Array, entries: int) -> None:
    if indptr[0] != 0 or indptr[-1] != entries:
        raise DataError(
            f"{path} should run from 0 to {entries}, found {indptr[0]} to {indptr[-1]}."
        )


def _last(indptr: Array) -> int:
    return max(int(indptr[-1]), 0)
