"""The rows of a change, stored by column and checked on the way in."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from grafenne.data.labels import as_float, is_missing, plain
from grafenne.errors import DataError, shown

PARTS: Mapping[str, tuple[str, ...]] = {
    "nodes_added": ("node",),
    "nodes_removed": ("node",),
    "edges_added": ("source", "target", "weight"),
    "edges_removed": ("source", "target"),
    "edges_changed": ("source", "target", "weight"),
    "triples_added": ("node", "feature", "value"),
    "triples_changed": ("node", "feature", "value"),
    "triples_removed": ("node", "feature"),
    "labels_set": ("node", "label"),
    "labels_removed": ("node",),
    "feature_edges_added": ("source", "target", "weight"),
    "feature_edges_removed": ("source", "target"),
    "feature_edges_changed": ("source", "target", "weight"),
}
"""The tables a delta consists of, and their columns."""

# Within each family a thing may be named once; the number says how many columns name it.
FAMILIES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (1, ("nodes_added", "nodes_removed")),
    (2, ("edges_added", "edges_removed", "edges_changed")),
    (2, ("triples_added", "triples_changed", "triples_removed")),
    (1, ("labels_set", "labels_removed")),
    (2, ("feature_edges_added", "feature_edges_removed", "feature_edges_changed")),
)

_NUMBERS = ("value", "weight")


class RowError(DataError):
    """A row of a delta breaks a rule; a file reader turns part and row into a line."""

    def __init__(self, message: str, part: str, row: int) -> None:
        super().__init__(message, row=row)
        self.part = part


class Rows(Sequence[Any]):
    """The rows of one part of a delta; each is a tuple, or a bare id where there is one column.

    Args:
        part: Which part of a delta this is, a key of :data:`PARTS`.
        columns: One sequence per column of that part, all of one length.
    """

    def __init__(self, part: str, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> None:
        self.part = part
        self.names = PARTS[part]
        lengths = {len(column) for column in columns}
        if len(columns) != len(self.names) or len(lengths) > 1:
            raise DataError(
                f"{part} needs the columns {', '.join(self.names)}, all of one length, got "
                f"{len(columns)} of length {', '.join(map(str, sorted(lengths)))}."
            )
        self._columns = {
            name: _checked(part, name, column)
            for name, column in zip(self.names, columns, strict=True)
        }
        self._length = lengths.pop()

    @classmethod
    def of(cls, part: str, rows: Iterable[Any]) -> Rows:
        """From tuples (from bare ids where there is one column); a weight may be left out."""
        if isinstance(rows, Rows):
            return rows if rows.part == part else cls(part, [rows.column(n) for n in rows.names])
        names = PARTS[part]
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise DataError(f"{part} must be a list of rows, got {shown(rows)}.")
        rows = list(rows)
        if len(names) == 1:
            return cls(part, [rows])
        for number, row in enumerate(rows):
            if not isinstance(row, tuple | list):
                raise RowError(f"A row of {part} must be a tuple, got {shown(row)}.", part, number)
            if names[-1] == "weight" and len(row) == 2:
                rows[number] = (*row, None)
            elif len(row) != len(names):
                raise RowError(
                    f"A row of {part} must be ({', '.join(names)}), got {row!r}.", part, number
                )
        return cls(part, list(zip(*rows, strict=True)) if rows else [()] * len(names))

    def column(self, name: str) -> tuple[Any, ...] | NDArray[np.float64]:
        """One column: ids and labels as a tuple, numbers as an array (NaN: no weight)."""
        return self._columns[name]

    def ids(self, name: str) -> tuple[Any, ...]:
        """A column of ids, feature names or labels."""
        column = self._columns[name]
        return column if isinstance(column, tuple) else tuple(column.tolist())

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of values or weights; NaN stands for an edge without weight."""
        return np.asarray(self._columns[name], dtype=np.float64)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return list(self)[row]
        cells = tuple(_cell(column[row]) for column in self._columns.values())
        return cells if len(cells) > 1 else cells[0]

    def __iter__(self) -> Iterator[Any]:
        columns = [
            [None if cell != cell else cell for cell in column.tolist()]
            if isinstance(column, np.ndarray)
            else column
            for column in self._columns.values()
        ]
        return iter(columns[0]) if len(columns) == 1 else zip(*columns, strict=True)

    def __repr__(self) -> str:
        return f"Rows({self.part}, {list(self)!r})"


def check_once(parts: Mapping[str, Rows]) -> None:
    """Raises when two rows speak of the same node, edge, triple or label."""
    for width, family in FAMILIES:
        keys = [
            key
            for part in family
            for key in zip(*(parts[part].ids(name) for name in PARTS[part][:width]), strict=True)
        ]
        if len(set(keys)) == len(keys):
            continue
        seen: dict[Any, str] = {}
        places = ((part, row) for part in family for row in range(len(parts[part])))
        for key, (part, row) in zip(keys, places, strict=True):
            if key in seen:
                where = "twice" if seen[key] == part else f"and so does {seen[key]}"
                raise RowError(f"{part} lists {thing(part, key)} {where}.", part, row)
            seen[key] = part


def check_removed(parts: Mapping[str, Rows]) -> None:
    """Raises when a row adds to or changes a node that the delta removes."""
    removed = set(parts["nodes_removed"].ids("node"))
    for part in ("edges_added", "edges_changed", "triples_added", "triples_changed", "labels_set"):
        for name in PARTS[part]:
            if name not in ("node", "source", "target") or not removed:
                continue
            column = parts[part].ids(name)
            if not removed.isdisjoint(column):
                row = next(row for row, node in enumerate(column) if node in removed)
                key = tuple(parts[part].ids(other)[row] for other in PARTS[part][:2])
                raise RowError(
                    f"{part} lists {thing(part, key)}, but node {column[row]!r} is removed.",
                    part,
                    row,
                )


def thing(part: str, key: Sequence[Hashable]) -> str:
    """What a row is about, for an error message."""
    if part.startswith("triples"):
        return f"feature {key[1]!r} of node {key[0]!r}"
    if part.startswith("labels"):
        return f"the label of node {key[0]!r}"
    if part.startswith("nodes"):
        return f"node {key[0]!r}"
    kind = "feature edge" if part.startswith("feature") else "edge"
    return f"the {kind} from {key[0]!r} to {key[1]!r}"


def _cell(value: Any) -> Any:
    value = plain(value)
    return None if isinstance(value, float) and value != value else value


def _checked(
    part: str, name: str, column: Sequence[Any] | NDArray[Any]
) -> tuple[Any, ...] | NDArray[np.float64]:
    if name in _NUMBERS:
        return _checked_numbers(part, name, column)
    names_features = name == "feature" or part.startswith("feature")
    types = set(map(type, column))
    if types <= ({str} if names_features else {str, int}):
        return tuple(column)  # the usual case, worth no look at each cell
    cells = tuple(plain(cell) for cell in column)
    for row, cell in enumerate(cells):
        if names_features and not isinstance(cell, str):
            raise RowError(f"{part} names the feature {cell!r}; names are text.", part, row)
        if is_missing(cell):
            raise RowError(f"Row {row} of {part} has no {name}.", part, row)
        try:
            hash(cell)
        except TypeError:
            raise RowError(
                f"{part} has the {name} {shown(cell)}, which is not hashable.", part, row
            ) from None
    return cells


def _checked_numbers(
    part: str, name: str, column: Sequence[Any] | NDArray[Any]
) -> NDArray[np.float64]:
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        numbers = column.astype(np.float64)
        wrong = np.isinf(numbers) if name == "weight" else ~np.isfinite(numbers)
    else:
        cells = [plain(cell) for cell in column]
        numbers = np.full(len(cells), np.nan)
        wrong = np.zeros(len(cells), dtype=bool)
        for row, cell in enumerate(cells):
            if cell is None and name == "weight":
                continue
            wrong[row] = not isinstance(cell, int | float) or not np.isfinite(as_float(cell))
            numbers[row] = np.nan if wrong[row] else float(cell)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise RowError(
            f"Row {row} of {part} has the {name} {shown(plain(column[row]))}; it must be a finite "
            "number.",
            part,
            row,
        )
    numbers.setflags(write=False)
    return numbers
