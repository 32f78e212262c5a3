"""What is in a folder, without the times: so that two folders can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIMES = frozenset(
    {"seconds", "seconds_per_epoch", "time of oracle's", "made", "time", "peak_mb", "peak_memory",
     "peak memory"}
)  # fmt: skip
"""Entries that differ between two runs of the same thing."""


class BrokenPromiseError(AssertionError):
    """Something that was promised does not hold."""


def contents(folder: Path) -> dict[str, Any]:
    """All files below a folder by their path: JSON without times, of the others a checksum.

    What is hidden is not looked at; see :func:`leftovers`.
    """
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        str(name): _content(path)
        for name, path in found.items()
        if not any(one.startswith(".") for one in name.parts)
    }


def part(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The files of :func:`contents` that belong to one entry of the folder."""
    return {path: kept for path, kept in state.items() if Path(path).parts[0] == name}


def without_times(value: Any) -> Any:
    """Plain data without the entries that tell how long something took."""
    if isinstance(value, Mapping):
        return {name: without_times(one) for name, one in value.items() if name not in TIMES}
    if isinstance(value, list | tuple):
        return [without_times(one) for one in value]
    return value


def leftovers(folder: Path) -> list[str]:
    """Hidden files and folders, none of which a finished command may leave."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.name.startswith(".")
    )


def check(holds: bool, told: str) -> None:
    """Raises unless something holds that must."""
    if not holds:
        raise BrokenPromiseError(told)


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Where two contents differ first."""
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            return f"{name}: {str(found.get(name))[:300]} instead of {str(wanted.get(name))[:300]}"
    return "nowhere"


def _content(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".json":
        return without_times(_line(data))
    if path.suffix == ".jsonl":
        return [without_times(_line(line)) for line in data.split(b"\n") if line]
    return hashlib.sha256(data).hexdigest()


def _line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return {"torn": line.decode("utf-8", "replace")}
