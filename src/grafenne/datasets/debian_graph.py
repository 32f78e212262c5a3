"""From the tables of a Debian release to a feature graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph, feature_vocabulary
from grafenne.data.labels import Labels
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("installed_size", "size")
CATEGORIES = ("priority", "architecture", "multi_arch")
LISTS = {"fields": "field", "tags": "tag", "words": "word"}

# Triples of one kind of feature: rows, codes into the names, values, names.
_Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], list[str]]


def graph_from_tables(
    packages: pa.Table, depends: pa.Table, features: Vocabulary | None = None
) -> FeatureGraph:
    """Packages as nodes, dependencies as directed edges, sections as labels.

    The features, by the first part of their names: ``tag:role::program`` and ``word:editor``
    and ``field:Homepage`` for each entry of a list, ``priority=optional``, ``architecture=all``
    and ``multi_arch=same`` for each category, and the numbers ``installed_size`` and ``size`` as
    log(1 + x). A category that is empty and an installed size of 0 (the index does not tell it)
    are absent. The names of a package and of its source are no features: they would give the
    section away.

    Args:
        packages: The table of packages, one row each.
        depends: ``package, on, kind``; the kinds of one pair are merged into one edge, and an
            edge to a package that is not in the table is left out.
        features: The features of an earlier release, which keep their positions.
    """
    import pyarrow.compute as pc

    names = Vocabulary(packages["package"].to_pylist(), kind="node")
    parts = list(_feature_parts(packages))
    vocabulary = feature_vocabulary((name for part in parts for name in part[3]), features)
    values = FeatureValues.build(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([vocabulary.positions(part[3])[part[1]] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        nodes=names,
        features=vocabulary,
    )
    sections, classes = _codes(packages["section"])
    order = np.argsort(np.array(classes, dtype=object))
    rank = np.empty(len(classes), dtype=np.int64)
    rank[order] = np.arange(len(classes))
    labels = Labels("class", rank[sections], tuple(classes[place] for place in order.tolist()))

    ends = [
        pc.index_in(depends[column], packages["package"]).to_numpy() for column in ("package", "on")
    ]
    known = ~(np.isnan(ends[0]) | np.isnan(ends[1]))
    source, target = (end[known].astype(np.int64) for end in ends)
    edges = EdgeList.build(source, target, names=names, directed=True, duplicates="first")
    return FeatureGraph(names, vocabulary, values, edges, labels)


def check_columns(table: pa.Table, columns: tuple[str, ...], file: str) -> pa.Table:
    """The table with just these columns; one that is missing or wrong is named with the file."""
    import pyarrow as pa

    for column in columns:
        if column not in table.column_names:
            raise DataError(f"{file} has no column {column!r}.")
        kind = table[column].type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if column in NUMBERS:
            expected, right = "whole numbers", pa.types.is_integer(kind)
        else:
            expected = "text"
            right = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not right:
            raise DataError(f"The column {column!r} of {file} must hold {expected}, not {kind}.")
        if table[column].null_count:
            raise DataError(f"The column {column!r} of {file} has an empty cell.")
    return table.select(list(columns))


def _feature_parts(packages: pa.Table) -> Iterator[_Part]:
    for column in NUMBERS:
        numbers = packages[column].to_numpy().astype(np.float64)
        rows = np.flatnonzero(numbers > 0)
        yield rows, np.zeros(len(rows), dtype=np.int64), np.log1p(numbers[rows]), [column]
    for column in CATEGORIES:
        codes, categories = _codes(packages[column])
        rows = np.arange(len(codes))
        yield _without_empty(rows, codes, categories, f"{column}=")
    for column, kind in LISTS.items():
        yield _list_part(packages[column], kind)


def _list_part(column: pa.ChunkedArray, kind: str) -> _Part:
    """The entries of a column of texts separated by spaces."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = column.combine_chunks().cast(pa.large_string())
    lists = pc.split_pattern(texts, " ")
    codes, entries = _codes(pc.list_flatten(lists))
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    return _without_empty(rows, codes, entries, f"{kind}:")


def _codes(column: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Each text as a position in the list of different texts, in order of appearance."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()


def _without_empty(
    rows: NDArray[np.int64], codes: NDArray[np.int64], entries: list[str], prefix: str
) -> _Part:
    if "" in entries:
        empty = entries.index("")
        kept = codes != empty
        rows, codes = rows[kept], codes[kept]
        codes = codes - (codes > empty)
        entries = [entry for entry in entries if entry]
    return rows, codes, np.ones(len(rows)), [prefix + entry for entry in entries]
