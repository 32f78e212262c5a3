"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grafenne.errors import DataError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path beside ``path`` that takes its name when the block ends well.

    The temporary name ends like the real one, so that writers which look at the ending do the
    same. When the block raises, nothing is left behind and an older file stays as it was.

    Args:
        path: The file to write; missing parent folders are made.
    """
    final = Path(path)
    beside = _beside(final)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        os.replace(beside, final)
    except OSError as error:
        raise _cannot_write(final, error) from None
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, replaceable: Callable[[str], bool] | None = None
) -> Iterator[Path]:
    """Yields a temporary folder that replaces the folder ``path`` when the block ends well.

    An older folder of that name is kept until the new one is complete, then removed whole.

    Args:
        path: The folder to write; missing parent folders are made.
        replaceable: Tells by name which files of an older folder may be lost. A folder that
            holds any other file is refused, so that a wrong path never wipes out other work.
            By default only an empty folder is replaced.
    """
    final = Path(path).resolve()  # a link to a folder stays a link
    _check_replaceable(final, replaceable)
    beside = _beside(final)
    old = _beside(final)
    try:
        beside.mkdir(parents=True)
        yield beside
        if not final.exists():
            os.replace(beside, final)
        elif not _exchange(beside, final):
            os.replace(final, old)
            try:
                os.replace(beside, final)
            except OSError:
                os.replace(old, final)
                raise
    except OSError as error:
        raise _cannot_write(final, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two folders in one step, where the system can; else nothing happens.

    Renaming the old folder away and the new one in takes two steps, and a process killed between
    them would leave neither. Linux can do both in one.
    """
    here, swap = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0)


def _beside(final: Path) -> Path:
    return final.with_name(f".{uuid.uuid4().hex[:12]}-{final.name}")


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


def _cannot_write(path: Path, error: OSError) -> DataError:
    return DataError(f"Cannot write {path}: {error.strerror or error}.")
