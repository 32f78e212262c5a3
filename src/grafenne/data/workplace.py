"""The hidden folder beside a path in which its one writer prepares what will stand there.

``model`` is prepared in ``.model.writing``. Whoever writes holds a lock on a file in it, which the
system takes back when the process ends, in whatever way. So a second writer knows whether the
first one lives, and what a dead one left is cleared away by the next. Where there are no such
locks (Windows, some network drives) each writer has a folder of its own, and nothing is cleared.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from grafenne.errors import DataError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

ENDING = ".writing"
PAUSE = 0.02
"""Seconds between two looks at a lock that somebody else holds."""
NOTE = 100
"""Bytes in a lock file, which tell who holds it."""

_reserved: dict[Path, tuple[tuple[int, int], Workplace]] = {}
"""Paths that are held for longer than one writing, and by which process and thread."""


@contextmanager
def reserved(*paths: str | os.PathLike[str] | None) -> Iterator[None]:
    """Nobody else can write these files or folders inside the block; this thread can, repeatedly.

    Held over a long computation, so that another one for the same place is told at its beginning
    and not when it has done all its work. What a killed writer left beside them is removed.

    Args:
        paths: What will be written; nothing need exist, and ``None`` is skipped.

    Raises:
        DataError: If somebody else is writing there, or nobody can.
    """
    with ExitStack() as stack:
        for path in dict.fromkeys(Path(one).resolve() for one in paths if one is not None):
            try:
                place = _take(path, wait=0.0)
            except OSError as error:
                raise cannot_write(path, error) from None
            stack.callback(place.leave)
            _reserved[path] = (_me(), place)
            stack.callback(_reserved.pop, path)
        yield


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Clears away what a killed writer left beside ``path``; a living one is not disturbed."""
    if _folder_of(Path(path).resolve()).exists():
        with suppress(DataError), reserved(path):
            pass


@contextmanager
def workplace(final: Path, *, wait: float = 0.0) -> Iterator[Workplace]:
    """The workplace of a path, empty, for this block alone.

    Args:
        final: The path, without links in it.
        wait: Seconds to wait for another writer before an error tells of it.
    """
    holder, place = _reserved.get(final, (None, None))
    if place is not None and holder == _me():
        try:
            yield place
        finally:
            place.clear()
        return
    place = _take(final, wait)
    try:
        yield place
    finally:
        place.leave()


class Workplace:
    """Where a path's writer works.

    Args:
        final: The path.
        folder: The hidden folder.
        above: Folders that were made for it, the deepest first.
        lock: The open lock file, where there are locks.
    """

    def __init__(
        self, final: Path, folder: Path, above: Sequence[Path] = (), lock: int | None = None
    ) -> None:
        self.final, self.folder, self.above, self.lock = final, folder, above, lock
        self.new = folder / final.name
        self.old = folder / f"{final.name}.old"
        self.lock_file = _lock_file(folder, final)

    def clear(self) -> None:
        """Removes all but the lock; what was about to be replaced goes back first."""
        if self.old.exists() and not self.final.exists():
            os.replace(self.old, self.final)
        for entry in self.folder.iterdir() if self.folder.is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry != self.lock_file:
                entry.unlink(missing_ok=True)

    def leave(self) -> None:
        """Removes the workplace and gives the path free, the lock last."""
        with suppress(OSError):
            self.clear()
        with suppress(OSError):
            self.lock_file.unlink()
        with suppress(OSError):  # the next writer may be in it already
            self.folder.rmdir()
            for made in self.above:  # those that hold nothing now
                made.rmdir()
        if self.lock is not None:
            with suppress(OSError):  # a forked process may have the file open, too
                fcntl.flock(self.lock, fcntl.LOCK_UN)
            os.close(self.lock)


def is_prepared(final: Path) -> bool:
    """Whether a path is inside a folder that is being prepared, and goes with it in the end."""
    return any(above.parent.name == f".{above.name}{ENDING}" for above in final.parents)


def cannot_write(path: Path, error: OSError) -> DataError:
    """The one sentence about a failed writing."""
    # The texts of libraries hold more than the reason, and not each error has a number.
    return DataError(f"Cannot write {path}: {os.strerror(error.errno) if error.errno else error}.")


def _take(final: Path, wait: float) -> Workplace:
    if not final.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    above = [one for one in final.parents if not one.exists()]
    final.parent.mkdir(parents=True, exist_ok=True)
    folder, end = _folder_of(final), time.monotonic() + wait
    while fcntl is not None:
        with suppress(FileExistsError):
            folder.mkdir()
        path = _lock_file(folder, final)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the last holder removed the folder just now
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, NOTE, 0).decode("utf-8", "replace").strip()
            os.close(lock)
            if time.monotonic() >= end:
                told = f" ({holder})" if holder else ""
                raise DataError(
                    f"Cannot write {final}: another writer{told} is at work there."
                ) from None
            time.sleep(PAUSE)
            continue
        except OSError:  # no locks on this drive
            os.close(lock)
            Workplace(final, folder, above).leave()
            break
        if not _is_at(lock, path):  # locked after its last holder had removed it
            os.close(lock)
            continue
        place = Workplace(final, folder, above, lock)
        try:
            place.clear()
            # Only for the message to others. Padded, because truncating makes the closing slow.
            with suppress(OSError):
                note = f"process {os.getpid()} on {platform.node()}".encode()
                os.pwrite(lock, note[:NOTE].ljust(NOTE), 0)
        except BaseException:
            place.leave()
            raise
        return place
    own = final.with_name(f".{final.name}.{uuid.uuid4().hex[:12]}")
    own.mkdir(parents=True)
    return Workplace(final, own, above)


def _folder_of(final: Path) -> Path:
    return final.with_name(f".{final.name}{ENDING}")


def _lock_file(folder: Path, final: Path) -> Path:
    return folder / f"{final.name}.lock"


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _me() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()
