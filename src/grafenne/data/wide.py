"""Graphs from frames with a row per node and a column per attribute."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.assemble import graph_from_tables
from grafenne.data.columns import Table, as_numbers, encode
from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.frames import as_table
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.data.wide_files import read_wide
from grafenne.errors import DataError, ParameterError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.labels import LabelKind

KINDS = ("number", "category", "text", "ignore")

# Of one column: the rows that have a value, the feature of each, its value, the feature names.
Part = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], list[str]]


def graph_from_wide(
    frame: pd.DataFrame | str | os.PathLike[str],
    edges: Any,
    labels: Any,
    *,
    node: Hashable | None,
    label: Hashable | None,
    columns: Mapping[Any, str],
    directed: bool,
    label_kind: LabelKind | None,
    duplicates: str,
) -> FeatureGraph:
    """What :meth:`FeatureGraph.from_wide` does."""
    import pandas as pd

    if isinstance(frame, str | os.PathLike):
        table, node = read_wide(frame, node, label, columns, label_kind)
        frame = table.frame
    else:
        table = Table(frame, "wide")
    _check_arguments(frame, labels, node, label, columns)
    ids = frame.index if node is None else frame[node]
    path = table.path  # where rows are
    tables = {"nodes": Table(pd.DataFrame({"node": ids.to_numpy()}), "nodes", path)}
    if label is not None:
        both = pd.DataFrame({"node": ids.to_numpy(), "label": frame[label].array})
        tables["labels"] = Table(both, "labels", path)
    for name, part in (("labels", labels), ("edges", edges)):
        if part is not None:
            tables[name] = as_table(part, name, label_kind)
    bare = graph_from_tables(
        tables, directed=directed, label_kind=label_kind, duplicates=duplicates
    )

    used = [column for column in frame.columns if column not in (node, label)]
    parts = [
        _part(table, column, columns.get(column))
        for column in used
        if columns.get(column) != "ignore"
    ]
    features = Vocabulary([name for part in parts for name in part[3]], kind="feature")
    offsets = np.cumsum([0] + [len(part[3]) for part in parts])
    values = FeatureValues.build(
        _joined([part[0] for part in parts], np.int64),
        _joined([part[1] + offset for part, offset in zip(parts, offsets, strict=False)], np.int64),
        _joined([part[2] for part in parts], np.float64),
        nodes=bare.nodes,
        features=features,
    )
    return bare.replace(
        features=features, values=values, feature_edges=EdgeList.empty(len(features))
    )


def _check_arguments(
    frame: Any, labels: Any, node: Any, label: Any, columns: Mapping[Any, str]
) -> None:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise ParameterError(f"frame must be a pandas DataFrame, got a {type(frame).__name__}.")
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"There are two columns {repeated!r} in the wide table.")
    for column in (node, label, *columns):
        if column is not None and column not in frame.columns:
            raise unknown_name("column", column, frame.columns)
    for column, kind in columns.items():
        if kind not in KINDS:
            raise ParameterError(
                f"The column {column!r} must be one of {', '.join(KINDS)}, got {kind!r}."
            )
    if label is not None and labels is not None:
        raise ParameterError("Give either labels or the column of the labels, not both.")


def _part(table: Table, column: Any, kind: str | None) -> Part:
    series = table.frame[column]
    present = np.flatnonzero(series.notna().to_numpy(dtype=bool))
    kind = kind or _kind_of(table, column)
    if kind == "number":
        values = as_numbers(table, column)[present]
        return present, np.zeros(len(present), dtype=np.int64), values, [str(column)]
    if kind == "category":
        encoded = encode(table, column, allow_missing=True)
        names = encoded.names
        if encoded.family == "fractions" and all(name.is_integer() for name in names):
            names = [int(name) for name in names]  # whole numbers that pandas widened for gaps
        labels = [f"{column}={name}" for name in names]
        return present, encoded.codes[present], np.ones(len(present)), labels
    return _words(series, column)


def _words(series: pd.Series[Any], column: Any) -> Part:
    import pandas as pd

    words = series[series.notna()].astype(str).str.lower().str.findall(r"\w+")
    rows = np.flatnonzero(series.notna().to_numpy(dtype=bool))
    row = np.repeat(rows, np.array([len(text) for text in words], dtype=np.int64))
    codes, names = pd.factorize(np.array([word for text in words for word in text], dtype=object))
    _, first = np.unique(row * max(len(names), 1) + codes, return_index=True)
    labels = [f"{column}:{name}" for name in names]
    return row[first], codes[first], np.ones(len(first)), labels


def _kind_of(table: Table, column: Any) -> str:
    import pandas as pd

    series = table.frame[column]
    inferred = pd.api.types.infer_dtype(series, skipna=True)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return "number"
    if inferred in ("string", "boolean", "categorical", "empty"):
        return "category"
    if inferred in ("mixed", "mixed-integer"):
        encode(table, column, allow_missing=True)  # names the row where the type changes
    raise DataError(
        f"The column {column!r} of the wide table holds {inferred}; say what it is with "
        f"columns={{{column!r}: 'category'}} (or 'text', 'ignore')."
    )


def _joined(arrays: list[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
