"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import typer

from grafenne.errors import DataError

USAGE = 2
STOPPED = 130


def say(text: str) -> None:
    """Tells what is going on, on standard error."""
    with suppress(OSError):  # nobody listens; that must not stop the work
        typer.echo(text, err=True)


def complain(sentence: str) -> None:
    """Tells what is wrong, on standard error."""
    say(f"Error: {sentence}")


def answer(human: str, data: Mapping[str, Any], as_json: bool) -> None:
    """The result of a command, on standard output: text, or exactly one JSON object."""
    emit(f"{to_json(data) if as_json else human}\n")


def emit(text: str) -> None:
    """Writes on standard output; a disk that is full is told, a reader that has gone is not."""
    try:
        stream = getattr(sys.stdout, "buffer", None)
        if isinstance(stream, io.RawIOBase):  # with PYTHONUNBUFFERED a full disk just takes less
            left = memoryview(text.encode(sys.stdout.encoding, sys.stdout.errors or "strict"))
            while left:
                left = left[stream.write(left) or 0 :]
        else:
            typer.echo(text, nl=False)
    except OSError as error:
        # What is still to be written would raise the same when the process ends.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(STOPPED) from None
        raise DataError(f"Cannot write to standard output: {error.strerror}.") from None


def to_json(data: Mapping[str, Any]) -> str:
    """JSON that any reader takes: numbers that are not finite become null."""
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def pairs_text(rows: Iterable[tuple[str, Any]]) -> str:
    """Two aligned columns."""
    told = [(name, number_text(value)) for name, value in rows]
    width = max((len(name) for name, _ in told), default=0)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in told)


def table_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An aligned table; columns of numbers are flush right."""
    given = list(rows)
    cells = [[number_text(value) for value in row] for row in given]
    lines = [list(columns), *cells]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    right = [
        bool(given) and all(isinstance(row[place], int | float | None) for row in given)
        for place in range(len(columns))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def number_text(value: Any) -> str:
    """A value for a person: thousands with commas, fractions with few digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value != value:
            return "-"
        if value.is_integer() and abs(value) < 1e15:
            return f"{value:,.0f}" if abs(value) >= 2 else f"{value:.4f}"
        return f"{value:,.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def peak_megabytes() -> float | None:
    """Most memory that this process held so far; ``None`` where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
