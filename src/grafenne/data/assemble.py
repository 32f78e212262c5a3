"""A graph from long tables, wherever they came from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.columns import Encoded, Table, as_numbers, encode, same_family
from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.label_column import labels_from
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    from grafenne.data.labels import LabelKind

REQUIRED = {
    "features": ("node", "feature"),
    "edges": ("source", "target"),
    "labels": ("node", "label"),
    "nodes": ("node",),
    "feature_edges": ("source", "target"),
    "vocabulary": ("feature",),
}
OPTIONAL = {"features": ("value",), "edges": ("weight",), "feature_edges": ("weight",)}

Column = tuple[str, str]  # a table and one of its columns
NODE_COLUMNS: tuple[Column, ...] = (("nodes", "node"), ("features", "node"), ("labels", "node"))
EDGE_ENDS: tuple[Column, ...] = (("edges", "source"), ("edges", "target"))
FEATURE_COLUMNS: tuple[Column, ...] = (("vocabulary", "feature"), ("features", "feature"))
FEATURE_ENDS: tuple[Column, ...] = (("feature_edges", "source"), ("feature_edges", "target"))
DISTINCT: tuple[Column, ...] = (("nodes", "node"), ("labels", "node"), ("vocabulary", "feature"))


def graph_from_tables(
    tables: Mapping[str, Table],
    *,
    directed: bool = False,
    label_kind: LabelKind | None = None,
    classes: Iterable[Hashable] = (),
    duplicates: str = "error",
) -> FeatureGraph:
    """A graph from tables by name; errors name the table or file, and the row or line.

    Args:
        tables: Some of ``features``, ``edges``, ``labels``, ``nodes``, ``feature_edges`` and
            ``vocabulary``, with the columns they must have.
        directed: Whether the edges have a direction.
        label_kind: ``class`` or ``number``, where the labels leave a doubt.
        classes: Class names besides those that the labels hold.
        duplicates: What a repeated triple or edge means.
    """
    columns = encode_names(tables)
    sources = NODE_COLUMNS
    if "nodes" in tables:
        sources = tuple(column for column in sources if column[0] != "labels")
    elif "features" not in tables:
        sources += EDGE_ENDS  # nothing else says which nodes there are
    nodes = _vocabulary(columns, sources, "node")
    features = _vocabulary(columns, FEATURE_COLUMNS, "feature")

    labels = None
    if "labels" in tables:
        where = _known_positions(tables["labels"], ("labels", "node"), columns, nodes)
        labels = labels_from(tables["labels"], where, nodes, label_kind, classes)
    values = FeatureValues.empty(len(nodes), len(features))
    if "features" in tables:
        with tables["features"].located():
            values = FeatureValues.build(
                _positions(columns["features", "node"], nodes),
                _positions(columns["features", "feature"], features),
                value_column(tables["features"]),
                nodes=nodes,
                features=features,
                duplicates=duplicates,
            )
    return FeatureGraph(
        nodes,
        features,
        values,
        _edges(tables.get("edges"), columns, EDGE_ENDS, nodes, directed, duplicates),
        labels,
        _edges(tables.get("feature_edges"), columns, FEATURE_ENDS, features, False, duplicates),
    )


def encode_names(tables: Mapping[str, Table]) -> dict[Column, Encoded]:
    """Every column of node or feature names as codes, after the checks that need no graph."""
    columns: dict[Column, Encoded] = {}
    for name, table in tables.items():
        _check_optional(table, name)
        for column in REQUIRED[name]:
            if column != "label":
                columns[name, column] = encode(table, column)
    for name, column in DISTINCT:
        if (name, column) in columns:
            _check_distinct(tables[name], column, columns[name, column])
    for name, column in FEATURE_COLUMNS + FEATURE_ENDS:
        encoded = columns.get((name, column))
        if encoded is not None and encoded.family not in (None, "text"):
            raise DataError(
                f"Feature names must be text, but the column {column!r} of {tables[name]} holds "
                f"{encoded.family}, {encoded.names[0]!r} for instance."
            )
    same_family(
        [
            (tables[name], column, columns[name, column])
            for name, column in NODE_COLUMNS + EDGE_ENDS
            if (name, column) in columns
        ],
        "node",
    )
    return columns


def value_column(table: Table) -> NDArray[Any]:
    """The values of a features table; without that column every value is 1."""
    if "value" in table.frame:
        return as_numbers(table, "value")
    return np.ones(len(table.frame))


def _check_optional(table: Table, name: str) -> None:
    """A misspelt optional column must not be passed over in silence."""
    known = {*REQUIRED[name], *OPTIONAL.get(name, ())}
    others = [column for column in table.columns if column not in known]
    for column in OPTIONAL.get(name, ()):
        if column in table.columns:
            continue
        hint = did_you_mean(column, others)
        if hint or (column == "value" and others):
            raise DataError(
                f"There is no column {column!r} in {table}, but there is {others[0]!r}; rename it "
                f"or leave it out.{hint}"
            )


def _check_distinct(table: Table, column: str, encoded: Encoded) -> None:
    if len(encoded.names) == len(encoded.codes):
        return
    _, first = np.unique(encoded.codes, return_index=True)
    repeated = np.ones(len(encoded.codes), dtype=bool)
    repeated[first] = False
    row = int(np.argmax(repeated))
    name = encoded.names[encoded.codes[row]]
    raise DataError(f"The {column} {name!r} is listed again in {table.place(row)}.", row=row)


def _vocabulary(
    columns: Mapping[Column, Encoded], sources: Iterable[Column], kind: str
) -> Vocabulary:
    lists = (columns[source].names for source in sources if source in columns)
    names = list(dict.fromkeys(chain.from_iterable(lists)))
    if names and type(names[0]) is int and names == list(range(len(names))):
        return Vocabulary(range(len(names)), kind=kind)  # stores no names at all
    return Vocabulary(names, kind=kind)


def _positions(encoded: Encoded, names: Vocabulary) -> NDArray[np.int64]:
    found: NDArray[np.int64] = names.find(encoded.names)[encoded.codes]
    return found


def _known_positions(
    table: Table, column: Column, columns: Mapping[Column, Encoded], names: Vocabulary
) -> NDArray[np.int64]:
    """As :func:`_positions`; an unknown name raises an error that names its row."""
    found = _positions(columns[column], names)
    if len(found) and found.min() < 0:
        row = int(np.argmin(found >= 0))
        raise _unknown_name(table, column, row, columns[column], names)
    return found


def _edges(
    table: Table | None,
    columns: Mapping[Column, Encoded],
    ends: Iterable[Column],
    names: Vocabulary,
    directed: bool,
    duplicates: str,
) -> EdgeList:
    if table is None:
        return EdgeList.empty(len(names), directed=directed)
    positions = [_known_positions(table, end, columns, names) for end in ends]
    weights = as_numbers(table, "weight") if "weight" in table.frame else None
    with table.located():
        return EdgeList.build(
            positions[0],
            positions[1],
            weights,
            names=names,
            directed=directed,
            duplicates=duplicates,
        )


def _unknown_name(
    table: Table, column: Column, row: int, encoded: Encoded, names: Vocabulary
) -> UnknownNameError:
    name = encoded.names[encoded.codes[row]]
    thing = "label" if column[0] == "labels" else "edge"
    sources = "features, labels or nodes" if names.kind == "node" else "features or vocabulary"
    if thing == "label":
        sources = "nodes"
    return UnknownNameError(
        f"The {column[1]} of the {thing} in {table.place(row)} is {name!r}, which is not a "
        f"{names.kind} of the graph: list it in the {sources} table.{did_you_mean(name, names)}",
        row=row,
    )
