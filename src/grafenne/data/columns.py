"""One column of a table at a time: names as codes, numbers as an array, and where a row is."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.labels import as_float, plain
from grafenne.errors import DataError, did_you_mean, shown

if TYPE_CHECKING:
    import pandas as pd


MOST_LISTED = 12
"""How many columns a message lists."""


@dataclass(frozen=True)
class Table:
    """A frame, and how to say where one of its rows is.

    Attributes:
        frame: The rows.
        name: What the table is, such as ``features``.
        path: The file it was read from, if any.
        columns: Every column of the source, those that ``frame`` leaves out included.
    """

    frame: pd.DataFrame
    name: str
    path: Path | None = None
    columns: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        return f"the {self.name} table" if self.path is None else str(self.path)

    def place(self, row: int) -> str:
        """``row 3 of the features table`` (counted from 0), ``line 5 of features.csv``."""
        if self.path is None:
            return f"row {row} of {self}"
        from grafenne.data.tables import place_in

        return place_in(self.path, row)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Adds the place to errors that know the row."""
        try:
            yield
        except DataError as error:
            if error.row is None:
                raise
            place = self.place(error.row)
            if place in str(error):
                raise
            raise type(error)(f"In {place}: {error}", row=error.row) from None


@dataclass(frozen=True)
class Encoded:
    """A column of names, each distinct one stored once.

    Attributes:
        codes: For each row the place of its name in ``names``, -1 where there is none.
        names: The distinct names in order of first appearance.
        family: What the names are, such as ``text``; ``None`` when there are none.
    """

    codes: NDArray[np.int64]
    names: list[Any]
    family: str | None


def check_columns(
    found: Iterable[Hashable], required: Sequence[str], where: str, index: Collection[Any] = ()
) -> None:
    """Raises unless every required column is there once.

    Args:
        found: The columns there are.
        required: The columns there must be.
        where: The table or the file.
        index: Names of the frame's index, to notice columns that hide there.
    """
    columns = list(found)
    for name in required:
        if columns.count(name) > 1:
            raise DataError(f"There are {columns.count(name)} columns {name!r} in {where}.")
        if name in columns:
            continue
        if name in index:
            hint = f" {name!r} is its index: call reset_index() first."
        else:
            hint = did_you_mean(name, columns)
        listed = ", ".join(shown(column) for column in columns[:MOST_LISTED]) or "none"
        more = f" and {len(columns) - MOST_LISTED} more" if len(columns) > MOST_LISTED else ""
        raise DataError(f"There is no column {name!r} in {where}, only {listed}{more}.{hint}")


def encode(table: Table, column: str, *, allow_missing: bool = False) -> Encoded:
    """A column of names as codes; missing or mixed ones raise an error that names the row."""
    import pandas as pd

    series = table.frame[column]
    missing = series.isna().to_numpy(dtype=bool)
    if not allow_missing and missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"There is no {column} in {table.place(row)}.", row=row)
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, used = pd.factorize(series.cat.codes.to_numpy()[~missing])
        names = series.cat.categories.take(used).tolist()
    elif series.dtype == object:
        codes, names = _encode_objects(table, column, series.to_numpy()[~missing])
    else:
        codes, uniques = pd.factorize(series[~missing])
        names = pd.Index(uniques).tolist()
    types = set(map(type, names))
    if any(issubclass(kind, np.generic) for kind in types):
        names = [plain(name) for name in names]
    families = {family_of(kind) for kind in types}
    if len(families) > 1:
        first = family_of(type(names[0]))
        other = next(place for place, name in enumerate(names) if family_of(type(name)) != first)
        row = int(np.flatnonzero(~missing)[np.argmax(codes == other)])
        raise _mixed(table, column, row, names[other], first)
    if missing.any():
        every = np.full(len(series), -1, dtype=np.int64)
        every[~missing] = codes
        codes = every
    return Encoded(codes.astype(np.int64, copy=False), names, families.pop() if families else None)


def _encode_objects(
    table: Table, column: str, values: NDArray[Any]
) -> tuple[NDArray[np.int64], list[Any]]:
    import pandas as pd

    types = set(map(type, values))
    if len({family_of(kind) for kind in types}) > 1:
        # Equal names of different types, such as 1 and True, would become one.
        first = family_of(type(values[0]))
        kept = int(np.argmax([family_of(type(value)) != first for value in values]))
        row = int(np.flatnonzero(~table.frame[column].isna().to_numpy(dtype=bool))[kept])
        raise _mixed(table, column, row, values[kept], first)
    try:
        codes, uniques = pd.factorize(values)
    except TypeError:
        kept = next(place for place, value in enumerate(values) if not _is_hashable(value))
        raise DataError(
            f"The column {column!r} of {table} holds {shown(values[kept])}, which cannot be a name."
        ) from None
    return codes, list(uniques)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _mixed(table: Table, column: str, row: int, value: object, family: str) -> DataError:
    return DataError(
        f"The column {column!r} mixes types: it begins with {family}, but in {table.place(row)} "
        f"there is {shown(value)} ({family_of(type(value))}).",
        row=row,
    )


def family_of(kind: type) -> str:
    """The kind of names a type stands for; NumPy's and Python's numbers are one family."""
    if issubclass(kind, bool | np.bool_):
        return "true or false"
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, int | np.integer):
        return "whole numbers"
    if issubclass(kind, float | np.floating):
        return "fractions"
    return f"values of type {kind.__name__}"


def family_of_names(names: Sequence[Hashable]) -> str | None:
    """What names are that are text or whole numbers; ``None`` if that is not sure.

    The first and the last must do: a change must not cost a look at every node.
    """
    families = {family_of(type(name)) for name in (names[0], names[-1])} if len(names) else set()
    sure = len(families) == 1 and families <= {"text", "whole numbers"}
    return families.pop() if sure else None


def same_family(parts: Sequence[tuple[Table, str, Encoded]], kind: str) -> None:
    """Raises when the names of one kind are, say, text in one table and numbers in another."""
    named = [part for part in parts if part[2].family is not None]
    for table, column, encoded in named[1:]:
        first_table, first_column, first = named[0]
        if encoded.family != first.family:
            raise DataError(
                f"The {kind}s are {first.family} in the column {first_column!r} of {first_table} "
                f"but {encoded.family} in the column {column!r} of {table}."
            )


def as_numbers(table: Table, column: str) -> NDArray[Any]:
    """A column of numbers; a missing one is NaN, text raises an error that names the row."""
    import pandas as pd

    series = table.frame[column]
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return series.to_numpy()
    missing = series.isna().to_numpy(dtype=bool)
    if pd.api.types.is_bool_dtype(dtype) or (
        pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    ):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    values = series.to_numpy(dtype=object)
    good = {kind for kind in set(map(type, values)) if _is_number(kind)}
    wrong = np.fromiter((type(value) not in good for value in values), bool, len(values)) & ~missing
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"The {column} in {table.place(row)} is {shown(values[row])}, not a number.", row=row
        )
    try:
        return np.where(missing, np.nan, values).astype(np.float64)
    except OverflowError:  # whole numbers beyond all fractions
        each = (
            np.nan if gap else as_float(value) for value, gap in zip(values, missing, strict=True)
        )
        return np.fromiter(each, np.float64, len(values))


def _is_number(kind: type) -> bool:
    return issubclass(kind, numbers.Real | Decimal | np.bool_)


def names_column(names: Sequence[Any]) -> pd.Series[Any]:
    """Names as a pandas column that keeps the type of each of them."""
    import pandas as pd

    values: Any = object_column(names)
    kinds = {type(name) for name in names}
    if kinds == {int} and min(names) >= -(2**63) and max(names) < 2**63:
        values = values.astype(np.int64)
    column: pd.Series[Any] = pd.Series(values, dtype="str" if kinds == {str} else values.dtype)
    return column


def object_column(values: Iterable[Any]) -> NDArray[Any]:
    """Values as an array of objects; a tuple stays one value."""
    given = list(values)
    column = np.empty(len(given), dtype=object)
    for place, value in enumerate(given):
        column[place] = value
    return column
