"""Files and folders that appear whole or not at all.

What is written is prepared in a workplace beside its path, brought to the disk, and put in its
place in one step. One process at a time writes a path; readers are not stopped.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from grafenne.data.workplace import (
    Workplace,
    cannot_write,
    is_prepared,
    remove_leftovers,
    reserved,
    workplace,
)
from grafenne.errors import DataError, GrafenneError

__all__ = ["atomic_folder", "atomic_write", "read_whole", "remove_leftovers", "reserved"]

LONGEST_WAIT = 10.0
"""Seconds that a writer of a file, or a reader of a folder, waits for other writers to end."""

FEWEST_READINGS = 20
"""How often a folder is read at least before it counts as unreadable."""

Result = TypeVar("Result")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path that takes the name ``path`` when the block ends well.

    The temporary name is the real one in a folder beside it, so that writers which look at the
    ending do the same. When the block raises, nothing is left behind and an older file stays as
    it was. Of several writers the last one wins.

    Args:
        path: The file to write; missing parent folders are made.
    """
    final = Path(path).resolve()
    if is_prepared(final):
        yield final  # it appears with the folder around it
        return
    try:
        if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
            yield Path(path)  # a pipe or a device, which must not be replaced
            return
        with workplace(final, wait=LONGEST_WAIT) as place:
            yield place.new
            _flush(place.new)
            os.replace(place.new, final)
            _flush(final.parent)
    except OSError as error:
        raise cannot_write(Path(path), error) from None


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, replaceable: Callable[[str], bool] | None = None
) -> Iterator[Path]:
    """Yields a temporary folder that replaces the folder ``path`` when the block ends well.

    An older folder of that name is kept until the new one is complete, then removed whole. A
    second process that writes the same folder meanwhile gets an error.

    Args:
        path: The folder to write; missing parent folders are made.
        replaceable: Tells by name which files of an older folder may be lost. A folder that
            holds any other file is refused, so that a wrong path never wipes out other work.
            By default only an empty folder is replaced.
    """
    final = Path(path).resolve()  # a link to a folder stays a link
    if is_prepared(final):
        final.mkdir(parents=True)
        yield final
        return
    try:
        _check_replaceable(final, replaceable)
        with workplace(final) as place:
            place.new.mkdir()
            yield place.new
            for entry in (*place.new.rglob("*"), place.new):
                _flush(entry)
            _check_replaceable(final, replaceable)  # somebody may have put a file there meanwhile
            _put_in_place(place)
            _flush(final.parent)
    except OSError as error:
        raise cannot_write(final, error) from None


def read_whole(folder: Path, read: Callable[[], Result]) -> Result:
    """What ``read`` finds in a folder that may be replaced while it reads.

    Files of the old folder and of the new one together would be neither; then the folder is read
    again.

    Args:
        folder: The folder.
        read: Reads it.
    """
    end, readings = time.monotonic() + LONGEST_WAIT, 0
    while readings < FEWEST_READINGS or time.monotonic() < end:
        readings += 1
        version = _version(folder)
        try:
            found = read()
        except GrafenneError:
            if _version(folder) == version:
                raise
        else:
            if _version(folder) == version:
                return found
    raise DataError(f"Cannot read {folder}: it is written again all the time.")


def _version(folder: Path) -> tuple[int, ...]:
    try:
        state = folder.stat()
    except (OSError, ValueError):  # a name that no system has
        return ()
    return state.st_dev, state.st_ino, state.st_mtime_ns


def _put_in_place(place: Workplace) -> None:
    if not place.final.exists():
        os.replace(place.new, place.final)
    elif not _exchange(place.new, place.final):
        # A process killed in between leaves neither here; the next writer puts the old one back.
        os.replace(place.final, place.old)
        os.replace(place.new, place.final)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders in one step, where the system can; else nothing happens.

    Renaming the old folder away and the new one in takes two steps, and a process killed between
    them would leave neither. Linux and macOS can do both in one.
    """
    here, swap = -100, 2  # AT_FDCWD, and RENAME_EXCHANGE or RENAME_SWAP
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if hasattr(library, "renameat2"):
            return bool(library.renameat2(here, first, here, second, swap) == 0)
        return bool(library.renamex_np(first, second, swap) == 0)
    except (AttributeError, OSError, TypeError):
        return False


def _flush(path: Path) -> None:
    """Brings a file, or the names in a folder, to the disk.

    Otherwise a machine that stops may keep the new name without the content. It also brings out
    the errors of drives that accept more than they can hold.
    """
    is_folder = path.is_dir()
    try:
        handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        if not is_folder:  # not every system can do that with folders
            raise


def _check_replaceable(folder: Path, replaceable: Callable[[str], bool] | None) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"Cannot write the folder {folder}: a file of that name exists.")
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() or replaceable is None or not replaceable(entry.name):
            raise DataError(
                f"Cannot write the folder {folder}: it exists and holds {entry.name!r}, which "
                "would be lost."
            )
