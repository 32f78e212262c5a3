"""The settings that searches chose, kept in one file that ships with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grafenne.data.atomic import atomic_write
from grafenne.errors import DataError
from grafenne.experiments.cells import Cell, value_text
from grafenne.experiments.store import locked_folder

PACKAGED = Path(__file__).with_name("settings.json")
"""Settings by what is searched for, dataset, missing rate and method."""


class ChosenSettings:
    """Settings by search, dataset, missing rate and method.

    Args:
        path: The file; it need not exist yet.
    """

    def __init__(self, path: Path = PACKAGED) -> None:
        self.path = path
        self._kept = self._read()

    def of(self, cell: Cell) -> dict[str, Any] | None:
        """What was chosen for a cell, or ``None``."""
        entry = self.entry(cell)
        return None if entry is None else dict(entry["settings"])

    def entry(self, cell: Cell) -> dict[str, Any] | None:
        """What was chosen for a cell and why, or ``None``."""
        found: Any = self._kept
        for name in _path(cell):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, dict) else None

    def put(self, cell: Cell, entry: Mapping[str, Any]) -> None:
        """Keeps what was chosen for a cell; another process may do the same meanwhile."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked_folder(self.path.parent):
                self._kept = self._read()
                place = self._kept
                *above, last = _path(cell)
                for name in above:
                    place = place.setdefault(name, {})
                place[last] = dict(entry)
                text = json.dumps(self._kept, indent=1, sort_keys=True)
                with atomic_write(self.path) as beside:
                    beside.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise DataError(
                f"Cannot write {self.path}: {error.strerror}; name another file by --settings."
            ) from None

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise DataError(f"Cannot read the settings in {self.path}: {error}.") from None
        if not isinstance(kept, dict):
            raise DataError(f"{self.path} holds no JSON object of settings.")
        return kept


def _path(cell: Cell) -> tuple[str, ...]:
    return (cell.search or "", cell.dataset, value_text(cell.p), cell.method)
