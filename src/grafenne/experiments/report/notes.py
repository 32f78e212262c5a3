"""Free text that a folder of results may hold: why we lose, what was tried."""

from __future__ import annotations

import json
from pathlib import Path

from grafenne.errors import DataError


def read_notes(folder: Path) -> dict[str, str]:
    """Notes by experiment from ``notes.md`` and ``notes.json``.

    In ``notes.md`` a heading names the experiment, such as ``## physics``; what stands before the
    first heading belongs to no experiment and is kept under the empty name. ``notes.json`` is an
    object with a text, or a list of texts, per experiment.

    Args:
        folder: The folder of results.
    """
    notes: dict[str, list[str]] = {}
    written, listed = folder / "notes.md", folder / "notes.json"
    if written.is_file():
        heading = ""
        for line in _text(written).splitlines():
            if line.startswith("#"):
                heading = line.lstrip("#").strip()
            else:
                notes.setdefault(heading, []).append(line)
    if listed.is_file():
        try:
            found = json.loads(_text(listed))
        except json.JSONDecodeError as error:
            raise DataError(f"{listed} is not JSON: {error}.") from None
        if not isinstance(found, dict):
            raise DataError(f"{listed} is an object of texts by experiment.")
        for name, given in found.items():
            texts = given if isinstance(given, list) else [given]
            if not all(isinstance(text, str) for text in texts):
                raise DataError(f"{listed}: the note on {name!r} is no text and no list of texts.")
            notes.setdefault(str(name), []).extend(["", "\n\n".join(texts)])
    joined = {name: "\n".join(lines).strip() for name, lines in notes.items()}
    return {name: text for name, text in joined.items() if text}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from None
