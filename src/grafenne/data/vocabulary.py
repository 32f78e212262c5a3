"""An append-only list of distinct names, each with a position that never changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from threading import Lock
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from grafenne.errors import DataError, shown, unknown_name

_GROWING = Lock()


class Vocabulary(Sequence[Any]):
    """Distinct names (strings, numbers, any hashable) in a fixed order.

    The features of a graph live in a vocabulary, so that a feature added later never renumbers
    an old one: :meth:`extended` returns a longer vocabulary that begins with this one. The two
    share their storage, which makes growing by a few names cost only those names.

    A ``range`` is kept as it is: a graph of a million numbered nodes stores no names at all.

    Args:
        names: The names, each of them once.
        kind: What the names stand for; used in error messages.
    """

    def __init__(self, names: Iterable[Hashable] = (), *, kind: str = "name") -> None:
        self.kind = kind
        self._names: list[Any] | range
        self._positions: dict[Any, int] | None
        if isinstance(names, range) and names.start == 0 and names.step == 1:
            self._names, self._positions = names, None
        else:
            self._names = list(names)
            self._positions = _positions_of(self._names, kind)
        self._length = len(self._names)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: int | slice) -> Any:
        if isinstance(position, slice):
            return list(self._names[: self._length])[position]
        if not -self._length <= position < self._length:
            raise IndexError(f"{self.kind} position {position} is out of range")
        return self._names[position % self._length]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names if len(self._names) == self._length else self[:])

    def __contains__(self, name: object) -> bool:
        return self._find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        if self is other or (len(self) == len(other) and self._names is other._names):
            return True
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else None))

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:3]) + (", …" if len(self) > 3 else "")
        return f"Vocabulary({len(self)} {self.kind}s: {shown})" if len(self) else "Vocabulary()"

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self  # names never change; copying them took longer than a small update's training

    @property
    def is_range(self) -> bool:
        """Whether the names are just 0, 1, 2, …"""
        return isinstance(self._names, range)

    def position(self, name: Hashable) -> int:
        """The position of ``name``; an unknown one raises an error with a suggestion."""
        try:
            found = self._find(name)
        except TypeError:
            raise DataError(f"A single {self.kind} is needed, got {shown(name)}.") from None
        if found < 0:
            raise unknown_name(self.kind, name, self)
        return found

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of ``value``, as :meth:`list.index` has it."""
        found = self._find(value)
        if found < start or (stop is not None and found >= stop):
            raise ValueError(f"{value!r} is not in the vocabulary")
        return found

    def find(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        """The position of each name, -1 for names that are unknown."""
        if isinstance(names, Vocabulary) and (
            names._names is self._names or (names.is_range and self.is_range)
        ):
            found = np.arange(len(names), dtype=np.int64)
        elif self._positions is None:
            return np.fromiter(map(self._find, names), dtype=np.int64)
        else:
            found = np.fromiter(map(self._positions.get, names, repeat(-1)), dtype=np.int64)
        found[found >= self._length] = -1  # what lies beyond belongs to a longer vocabulary
        return found

    def positions(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        """The position of each name; the first unknown one raises an error."""
        if isinstance(names, str | bytes):
            raise DataError(f"A list of {self.kind}s is needed, got {shown(names)} alone.")
        names = names if isinstance(names, Sequence) else list(names)
        try:
            found = self.find(names)
        except TypeError as error:
            raise DataError(f"Each {self.kind} must be hashable: {error}.") from None
        if len(found) and found.min() < 0:
            raise unknown_name(self.kind, names[int(np.argmin(found >= 0))], self)
        return found

    def take(self, positions: Iterable[int] | NDArray[np.integer]) -> list[Any]:
        """The names at ``positions``."""
        names, places = self._names, np.asarray(positions, dtype=np.int64)
        if len(places) and not 0 <= places.min() <= places.max() < self._length:
            raise IndexError(f"a {self.kind} position is out of range")
        return [names[position] for position in places.tolist()]

    def extended(self, names: Iterable[Hashable]) -> Vocabulary:
        """This vocabulary followed by those of ``names`` that it does not have yet."""
        new = [name for name in dict.fromkeys(names) if self._find(name) < 0]
        if not new:
            return self
        if self.is_range and new == list(range(self._length, self._length + len(new))):
            return Vocabulary(range(self._length + len(new)), kind=self.kind)
        storage, positions = self._names, self._positions
        with _GROWING:  # two threads may grow from here at once
            if isinstance(storage, range) or positions is None or len(storage) > self._length:
                # Somebody already grew from here (or there is no list yet): take a copy.
                storage = self[:]
                positions = {name: place for place, name in enumerate(storage)}
            for name in new:
                positions[name] = len(storage)
                storage.append(name)
        grown = Vocabulary(kind=self.kind)
        grown._names, grown._positions, grown._length = storage, positions, self._length + len(new)
        return grown

    def _find(self, name: object) -> int:
        if self._positions is None:
            if isinstance(name, float | np.floating) and name.is_integer():
                name = int(name)  # 2.0 is the name 2 here too, as it would be in a dictionary
            if isinstance(name, int | np.integer) and 0 <= name < self._length:
                return int(name)
            return -1
        position = self._positions.get(name, -1)
        # The storage may be shared with a longer vocabulary: what lies beyond is not ours.
        return position if position < self._length else -1


def _positions_of(names: Sequence[Any], kind: str) -> dict[Any, int]:
    try:
        positions = {name: position for position, name in enumerate(names)}
    except TypeError as error:
        raise DataError(f"Each {kind} must be hashable: {error}.") from None
    if len(positions) < len(names):
        seen = set()
        for row, name in enumerate(names):
            if name in seen:
                raise DataError(f"The {kind} {name!r} is listed twice.", row=row)
            seen.add(name)
    return positions
