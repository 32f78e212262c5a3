"""Wide tables in files: what a column of text holds, and which one names the nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from grafenne.data.columns import Table
from grafenne.data.label_column import typed_labels
from grafenne.data.labels import LabelKind
from grafenne.data.tables import column_names, is_text_table, read_table
from grafenne.errors import DataError, unknown_name


def read_wide(
    path: str | os.PathLike[str],
    node: Any,
    label: Any,
    columns: Mapping[Any, str],
    label_kind: LabelKind | None,
) -> tuple[Table, str]:
    """A wide table from a file, and the column with its ids: ``node`` unless another is named.

    In a text file ids are text; a column whose cells are all numbers holds numbers, and codes with
    leading zeros are text.

    Args:
        path: The file, as for :func:`~grafenne.data.tables.read_table`.
        node: Column with the ids.
        label: Column with the labels.
        columns: What a column is, where it is not what it seems.
        label_kind: What the labels are, where that is known.
    """
    path = Path(path)
    names = column_names(path)
    if node is None and "node" not in names:
        raise DataError(
            f"Which column of {path} holds the ids of the nodes must be said (node=…); it has "
            f"{', '.join(map(repr, names))}."
        )
    node = "node" if node is None else node
    for column in (node, label, *columns):
        if column is not None and column not in names:
            raise unknown_name(f"column of {path}", column, names)
    numbers = [column for column, kind in columns.items() if kind == "number"]
    table = read_table(path, names, numeric=numbers)
    if not is_text_table(path):
        return table, node
    typed = {}
    for column in names:
        if column == label:
            typed[column] = typed_labels(table.frame[column], label_kind)
        elif column != node and column not in columns:
            typed[column] = typed_labels(table.frame[column])
    return replace(table, frame=table.frame.assign(**typed)), node
