"""Names of nodes and features in files: letters end to end, and where each name begins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError

NAMES_AT_ONCE = 1 << 16
"""How many names are looked at together."""

Load = Callable[[str, tuple[str, ...], int], NDArray[Any]]


def write_array(path: Path, array: NDArray[Any]) -> None:
    """What ``numpy.save`` does with a flat array, but a full disk is told as one."""
    with path.open("wb") as file:
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(file, header)
        file.write(np.ascontiguousarray(array).view(np.uint8).data)


def write_names(names: Vocabulary, folder: Path, what: str, kind: str) -> None:
    """Writes the names into files of a folder.

    Args:
        names: The names.
        folder: The folder.
        what: Begin of the files' names.
        kind: ``range`` writes nothing, ``int`` numbers, ``text`` letters.
    """
    if kind == "int":
        try:
            numbers = np.fromiter(names, dtype=np.int64, count=len(names))
        except OverflowError:
            raise DataError(f"Ids beyond 64 bits cannot be written ({what}).") from None
        write_array(folder / f"{what}-numbers.npy", numbers)
    elif kind == "text":
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        sizes = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        starts = np.concatenate(([0], np.cumsum(sizes)))
        write_array(folder / f"{what}-starts.npy", starts.astype(np.int64))
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        write_array(folder / f"{what}-letters.npy", letters)


def read_names(load: Load, what: str, kind: str, count: int, called: str) -> Vocabulary:
    """The names as a vocabulary that decodes them when they are asked for.

    Args:
        load: Maps a file of given name, types and length.
        what: Begin of the files' names.
        kind: As in :func:`write_names`.
        count: Number of names.
        called: What the names stand for, in messages.
    """
    if kind == "range":
        return Vocabulary(range(count), kind=called)
    if kind == "int":
        return MappedVocabulary(_Numbers(load(f"{what}-numbers", ("int64",), count)), called)
    starts = load(f"{what}-starts", ("int64",), count + 1)
    if starts[0] != 0 or starts[-1] < 0:
        raise DataError(f"The file {what}-starts.npy should begin with 0, found {starts[0]}.")
    letters = load(f"{what}-letters", ("uint8",), int(starts[-1]))
    return MappedVocabulary(_Texts(starts, letters, what), called)


def check_names(names: Vocabulary, folder: Path, what: str) -> None:
    """Raises unless stored names are text and no two of them the same.

    Args:
        names: The names, as opened.
        folder: Where they are, for messages.
        what: Begin of the files' names.
    """
    if not isinstance(names, MappedVocabulary):
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    stored: _Texts | _Numbers = names._names
    if isinstance(stored, _Numbers):
        array: Any = pa.array(stored.numbers)
    else:
        _check_letters(stored, folder / what)
        buffers = [None, pa.py_buffer(stored.starts), pa.py_buffer(stored.letters)]
        array = pa.Array.from_buffers(pa.large_binary(), len(stored), buffers)
    if pc.count_distinct(array).as_py() < len(stored):
        try:
            Vocabulary(stored, kind=names.kind)  # names the one that is there twice
        except DataError as error:
            raise DataError(f"In {folder}: {error}") from None


def _check_letters(stored: _Texts, path: Path) -> None:
    starts, letters = stored.starts, stored.letters
    if (np.diff(starts) < 0).any():
        raise DataError(f"{path}-starts.npy should never fall, but it does.")
    for first in range(0, len(stored), NAMES_AT_ONCE):
        begins = starts[first : first + NAMES_AT_ONCE + 1]
        try:
            bytes(letters[begins[0] : begins[-1]]).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DataError(f"{path}-letters.npy does not hold text: {error.reason}.") from None
        inner = begins[begins < len(letters)]
        if ((letters[inner] & 0xC0) == 0x80).any():  # the middle of a letter
            raise DataError(f"{path}-starts.npy has a name that begins within a letter.")


class _Stored(Sequence[Any]):
    """Names that stay in a file; what is asked for becomes a Python object."""

    def __getitem__(self, position: Any) -> Any:
        places = range(len(self))[position]
        if isinstance(places, range):
            return [self.one(place) for place in places]
        return self.one(places)

    def __iter__(self) -> Iterator[Any]:
        return map(self.one, range(len(self)))

    def one(self, place: int) -> Any:
        """The name at a place."""
        raise TypeError(f"{type(self).__name__} must define one")


class _Numbers(_Stored):
    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers.tolist())

    def one(self, place: int) -> int:
        return int(self.numbers[place])


class _Texts(_Stored):
    def __init__(self, starts: NDArray[np.int64], letters: NDArray[np.uint8], what: str) -> None:
        self.starts, self.letters, self.what = starts, letters, what

    def __len__(self) -> int:
        return len(self.starts) - 1

    def one(self, place: int) -> str:
        begin, end = int(self.starts[place]), int(self.starts[place + 1])
        try:
            return self.letters[begin:end].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Name {place} in {self.what}-letters.npy is not text: {error.reason}."
            ) from None


class MappedVocabulary(Vocabulary):
    """A vocabulary whose names stay in a file.

    Finding the position of a name makes a dictionary of all names at the first call, as every
    vocabulary has one; a graph that is used by position alone never pays for it.

    Args:
        names: The stored names.
        kind: What they stand for.
    """

    def __init__(self, names: Sequence[Any], kind: str) -> None:
        self.kind = kind
        self._names: Any = names
        self._length = len(names)

    @cached_property
    def _positions(self) -> dict[Any, int]:  # type: ignore[override]
        positions = {name: place for place, name in enumerate(self._names)}
        if len(positions) < self._length:
            return Vocabulary(self._names, kind=self.kind)._positions or {}  # names the repeated
        return positions

    def extended(self, names: Iterable[Hashable]) -> Vocabulary:
        """This vocabulary, in memory, followed by those of ``names`` that it does not have yet."""
        names = list(names)
        if all(self._find(name) >= 0 for name in names):
            return self
        return Vocabulary(self._names, kind=self.kind).extended(names)
