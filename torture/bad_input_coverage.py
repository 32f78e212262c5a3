"""Which lines of the library an input reaches, and the search for inputs that reach new ones."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import grafenne

_HOME = str(Path(grafenne.__file__).parent)
Result = TypeVar("Result")

_NUMBER = re.compile(rb"-?\d+(\.\d+)?")

TOKENS: tuple[bytes, ...] = (
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n", b",", b"\t", b'"', b"'", b" ", b"null",
    b"true", b"NaN", b"nan", b"inf", b"-Infinity", b"1e999", b"-1", b"0", b"1", b"0.5",
    b"2147483648", b"9223372036854775808", b"9" * 400, b"[]", b"{}", b"[", b"{", b'""', b'"x"',
    b"\\ud800", b"\xed\xa0\x80", "é".encode(), "١".encode(), b"\x80" * 8, b"\x7f\xff\xff\xff",
    b"\0" * 8,
    b"\xff" * 8,
)  # fmt: skip


@dataclass
class Coverage:
    """Pairs of successive lines within the library's own functions."""

    seen: set[tuple[CodeType, int, int]] = field(default_factory=set)

    def of(self, call: Callable[[], Result]) -> tuple[bool, Result]:
        """Runs ``call``; whether it took a step that no call took before, and what it returned."""
        before = len(self.seen)
        last: dict[FrameType, int] = {}

        def local(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                self.seen.add((frame.f_code, last.get(frame, 0), frame.f_lineno))
                last[frame] = frame.f_lineno
            elif event == "return":
                last.pop(frame, None)
            return local

        def entered(frame: FrameType, event: str, _: Any) -> Any:
            return local if frame.f_code.co_filename.startswith(_HOME) else None

        tracing = sys.gettrace()
        sys.settrace(entered)
        try:
            result = call()
        finally:
            sys.settrace(tracing)
        return len(self.seen) > before, result

    @property
    def lines(self) -> int:
        """How many lines were reached."""
        return len({(code, line) for code, _, line in self.seen})


def mutated(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    """The data after one to four random damages."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        data = draw.choice(MUTATIONS)(data, others, draw)
    return data


def _place(data: bytes, draw: random.Random) -> int:
    return draw.randrange(len(data) + 1)


def _span(data: bytes, draw: random.Random) -> tuple[int, int]:
    begin = _place(data, draw)
    return begin, min(len(data), begin + draw.choice((1, 2, 4, 8, 40, 400)))


def _flip(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _byte(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    begin = _place(data, draw)
    return data[:begin] + bytes([draw.randrange(256)]) + data[begin + 1 :]


def _insert(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    begin = _place(data, draw)
    return data[:begin] + draw.choice(TOKENS) + data[begin:]


def _overwrite(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    begin, token = _place(data, draw), draw.choice(TOKENS)
    return data[:begin] + token + data[begin + len(token) :]


def _delete(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    begin, end = _span(data, draw)
    return data[:begin] + data[end:]


def _repeat(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    begin, end = _span(data, draw)
    return data[:end] + data[begin:end] + data[end:]


def _cut(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    return data[: _place(data, draw)]


def _number(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    match = draw.choice(found)
    return data[: match.start()] + draw.choice(TOKENS) + data[match.end() :]


def _line(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[draw.choice((one, other))]
    return b"\n".join(lines)


def _splice(data: bytes, others: list[bytes], draw: random.Random) -> bytes:
    other = draw.choice(others)
    return data[: _place(data, draw)] + other[_place(other, draw) :]


MUTATIONS = (
    _flip, _byte, _insert, _overwrite, _delete, _repeat, _cut, _number, _number, _line, _splice,
)  # fmt: skip
