"""CSV, TSV and Parquet files as frames, with errors that name the file and the line."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from grafenne.data.atomic import atomic_write
from grafenne.data.columns import Table, check_columns
from grafenne.errors import DataError, shown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TEXT_ENDINGS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
ENDINGS = (*TEXT_ENDINGS, ".parquet")


def ending_of(path: Path) -> str | None:
    """The ending of a table's file name, ``None`` if it is not one that can be read."""
    name = path.name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def is_text_table(path: Path | None) -> bool:
    """Whether a table comes from a file in which everything is text."""
    return path is not None and ending_of(path) in TEXT_ENDINGS


def read_table(
    path: str | os.PathLike[str],
    required: Sequence[str],
    optional: Sequence[str] = (),
    *,
    numeric: Sequence[str] = ("value", "weight"),
    encoded: bool = False,
) -> Table:
    """The named columns of a CSV, TSV or Parquet file.

    Parquet keeps the types of the file. In a CSV or TSV file everything is text, so that the id
    ``007`` stays ``007``, except the ``numeric`` columns; an empty cell is missing, a quoted
    empty cell is empty text.

    Args:
        path: The file; its ending says what it is (``.csv``, ``.tsv``, ``.parquet``, and
            ``.csv.gz``, ``.tsv.gz``).
        required: Columns that must be there.
        optional: Columns to read if they are there.
        numeric: Columns of numbers.
        encoded: Keep columns of text as pandas categories, which is far smaller and faster for
            columns that repeat few names.

    Returns:
        A table whose ``frame`` holds the columns, and which knows where each row is.
    """
    path = Path(path)
    ending = _readable_ending(path)
    wanted = (*required, *optional)
    try:
        if ending == ".parquet":
            columns = _parquet_columns(path)
            check_columns(columns, _needed(columns, required, optional), str(path))
            table = _read_parquet(path, [name for name in wanted if name in columns])
        else:
            columns = _header(path, TEXT_ENDINGS[ending])
            _check_delimiter(columns, required, path, TEXT_ENDINGS[ending])
            check_columns(columns, _needed(columns, required, optional), str(path))
            table = _read_text(path, columns, wanted, TEXT_ENDINGS[ending])
            table = _with_numbers(table, path, numeric)
        if encoded:
            table = _with_dictionaries(table)
        # Whole numbers with gaps would turn into fractions without integer_object_nulls.
        frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    except DataError:
        raise
    except (OSError, EOFError, ValueError, MemoryError, zlib.error, csv.Error) as error:
        # pyarrow's own errors are ValueErrors or OSErrors; a header may claim any size.
        raise _unreadable(path, ending, error) from None
    return Table(frame, path.name, path, tuple(columns))


def column_names(path: Path) -> list[str]:
    """The columns of a table in a file."""
    ending = _readable_ending(path)
    try:
        if ending == ".parquet":
            return _parquet_columns(path)
        columns = _header(path, TEXT_ENDINGS[ending])
        _check_delimiter(columns, (), path, TEXT_ENDINGS[ending])
        return columns
    except DataError:
        raise
    except (OSError, EOFError, ValueError, MemoryError, zlib.error, csv.Error) as error:
        raise _unreadable(path, ending, error) from None


def _readable_ending(path: Path) -> str:
    ending = ending_of(path)
    if ending is None:
        raise DataError(
            f"Cannot read {path}: the name of a table ends in one of {', '.join(ENDINGS)}."
        )
    if not os.path.isfile(path):  # unlike Path.is_file it takes names that no system has
        what = "is a folder" if os.path.isdir(path) else "does not exist"
        raise DataError(f"Cannot read {path}: it {what}.")
    return ending


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Writes a frame without its index, as the ending of ``path`` says, whole or not at all."""
    import pyarrow as pa

    path = Path(path)
    ending = ending_of(path)
    if ending is None:
        raise DataError(
            f"Cannot write {path}: the name of a table ends in one of {', '.join(ENDINGS)}."
        )
    with atomic_write(path) as beside:
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if ending == ".parquet":
                from pyarrow import parquet

                parquet.write_table(table, beside)
            else:
                _write_text(table, beside, TEXT_ENDINGS[ending])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise DataError(f"Cannot write {path}: {_one_line(error)}.") from None


def place_in(path: Path, row: int) -> str:
    """``line 5 of features.csv`` or ``row 3 of features.parquet``, rows counted from 0."""
    ending = ending_of(path)
    if ending not in TEXT_ENDINGS:
        return f"row {row} of {path}"
    return f"line {_line_of(path, row, TEXT_ENDINGS[ending])} of {path}"


def _line_of(path: Path, row: int, delimiter: str) -> int:
    """The line on which a row begins, blank and continued lines counted."""
    try:
        with _open_text(path) as lines:
            reader = csv.reader(lines, delimiter=delimiter)
            seen, before = -2, 0
            for cells in reader:
                seen += bool(cells)
                if seen == row:
                    return before + 1
                before = reader.line_num
    except (OSError, EOFError, UnicodeError, csv.Error):
        pass
    return row + 2


def _needed(columns: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> list[str]:
    """The columns that must be there once: an optional one that is there is not there twice."""
    return [*required, *(name for name in optional if name in columns)]


def _parquet_columns(path: Path) -> list[str]:
    from pyarrow import parquet

    return list(parquet.read_schema(path).names)


def _read_parquet(path: Path, kept: Sequence[str]) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        table = file.read(kept).replace_schema_metadata(None)
    table.validate(full=True)  # Parquet promises that text is UTF-8, and nobody has looked yet
    return table


def _read_text(
    path: Path, header: Sequence[str], wanted: Sequence[str], delimiter: str
) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    kept = [name for name in wanted if name in header]
    try:
        return arrow_csv.read_csv(
            path,
            arrow_csv.ReadOptions(block_size=1 << 23),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(kept, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        _raise_for_bytes(path)
        _raise_for_ragged(path, len(header), delimiter)
        raise


def _header(path: Path, delimiter: str) -> list[str]:
    try:
        with _open_text(path) as lines:
            header = next(
                (cells for cells in csv.reader(lines, delimiter=delimiter) if cells), None
            )
    except UnicodeDecodeError:
        _raise_for_bytes(path)
        raise
    if header is None:
        raise DataError(f"The file {path} is empty.")
    return header


def _open_text(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_delimiter(
    header: Sequence[str], required: Sequence[str], path: Path, delimiter: str
) -> None:
    if len(header) != 1 or header[0] in required:
        return
    for other in ",;\t|":
        if other != delimiter and other in header[0]:
            raise DataError(
                f"The first line of {path} is {shown(header[0])}: it seems to be separated by "
                f"{other!r}, but the ending of the name asks for {delimiter!r}."
            )


def _with_numbers(table: pa.Table, path: Path, numeric: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import compute

    for name in numeric:
        if name not in table.column_names:
            continue
        column = compute.utf8_trim_whitespace(table[name])
        try:
            parsed = compute.cast(column, pa.float64())
        except pa.ArrowInvalid:
            for row, text in enumerate(column.to_pylist()):
                if text is not None and not _is_float(text):
                    raise DataError(
                        f"The {name} in {place_in(path, row)} is {shown(text)}, not a number.",
                        row=row,
                    ) from None
            raise
        table = table.set_column(table.column_names.index(name), name, parsed)
    return table


def _is_float(text: str) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _with_dictionaries(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    for place, name in enumerate(table.column_names):
        kind = table[name].type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table.unify_dictionaries()


def _write_text(table: pa.Table, path: Path, delimiter: str) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = table[field.name].cast(field.type.value_type)
            table = table.set_column(place, field.name, plain)
        elif pa.types.is_float32(field.type):  # written as the exact 64-bit number
            table = table.set_column(place, field.name, table[field.name].cast(pa.float64()))
    options = arrow_csv.WriteOptions(delimiter=delimiter)
    if path.name.endswith(".gz"):
        with pa.CompressedOutputStream(str(path), "gzip") as stream:
            arrow_csv.write_csv(table, stream, options)
    else:
        arrow_csv.write_csv(table, path, options)


def _raise_for_bytes(path: Path) -> None:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                raise DataError(f"Line {number} of {path} is not UTF-8 text.") from None


def _raise_for_ragged(path: Path, width: int, delimiter: str) -> None:
    with _open_text(path) as lines:
        before = 0
        reader = csv.reader(lines, delimiter=delimiter)
        for cells in reader:
            if cells and len(cells) != width:
                raise DataError(
                    f"Line {before + 1} of {path} has {len(cells)} cells, but there are {width} "
                    "columns."
                )
            before = reader.line_num


def _unreadable(path: Path, ending: str, error: Exception) -> DataError:
    if isinstance(error, PermissionError):
        return DataError(f"Cannot read {path}: {error.strerror or error}.")
    if path.stat().st_size == 0:
        return DataError(f"The file {path} is empty.")
    kind = {".parquet": "a Parquet file"}.get(ending, "a text table")
    return DataError(
        f"Cannot read {path} as {kind}, it may be damaged or cut off: {_one_line(error)}."
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
