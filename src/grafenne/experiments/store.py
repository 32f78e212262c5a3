"""Results in JSON lines: a file that survives a kill, and that two processes may append to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from grafenne.errors import DataError

try:
    import fcntl
except ImportError:  # Windows has no such locks; there one process at a time should write
    fcntl = None  # type: ignore[assignment]


class ResultFile:
    """A file with one JSON object per line.

    A line is written in one piece, under a lock. A process that is killed in the middle leaves a
    torn last line: readers leave it out, and the next writer removes it.

    Args:
        path: The file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """All whole lines."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise DataError(f"Cannot read {self.path}: {error.strerror}.") from None
        *lines, last = data.split(b"\n")
        rows = [self._row(line, number) for number, line in enumerate(lines, 1) if line.strip()]
        if is_object(last):  # whole but for its end of line
            rows.append(json.loads(last))
        return rows

    def check_place(self) -> None:
        """Raises where a line could not be written: better before the work than after it."""
        place = self.path
        while not place.exists() and place != place.parent:
            place = place.parent
        reason = None
        if place != self.path and not place.is_dir():
            reason = f"{place} is no folder"
        elif not os.access(place, os.W_OK):
            reason = f"{place} may not be written to"
        if reason is not None:
            raise DataError(f"Cannot write {self.path}: {reason}.")

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds a line, after removing a torn one."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b", buffering=0) as file, locked(file):
                self._repair(file)
                _write_whole(file, line)
        except OSError as error:
            raise DataError(f"Cannot write {self.path}: {error.strerror}.") from None

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        if not is_object(line):
            raise DataError(f"{self.path}, line {number} is not a JSON object.")
        row: dict[str, Any] = json.loads(line)
        return row

    def _repair(self, file: Any) -> None:
        """Every writer holds the lock while it writes, so an unfinished line is a dead one's."""
        size = file.seek(0, os.SEEK_END)
        if not size:
            return
        file.seek(size - 1)
        if file.read(1) == b"\n":
            return
        file.seek(0)
        data = file.read()
        last = data[data.rfind(b"\n") + 1 :]
        if is_object(last):
            file.write(b"\n")
        else:
            file.truncate(size - len(last))


def _write_whole(file: Any, line: bytes) -> None:
    """Adds a line and brings it to the disk; the file is as it was if that does not succeed."""
    size = file.seek(0, os.SEEK_END)
    try:
        left = memoryview(line)
        while left:  # a disk that gets full takes a part and says so only by the count
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(size)
        raise


def is_object(line: bytes) -> bool:
    """Whether a line is a whole JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Holds the only lock on a folder, where the system has such locks."""
    if fcntl is None:
        yield
        return
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


@contextmanager
def locked(file: Any) -> Iterator[None]:
    """Holds the only lock on an open file, where the system has such locks."""
    if fcntl is None:
        yield
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
