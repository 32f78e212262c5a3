"""Deltas in files: one JSON-lines file of events, or a folder with a table per part.

**Events**, one JSON object per line, in any order; ``.jsonl`` is the ending of the file:

| event | keys |
|---|---|
| ``add_node``, ``remove_node`` | ``node`` |
| ``add_edge`` | ``source``, ``target``, optionally ``weight`` |
| ``remove_edge`` | ``source``, ``target`` |
| ``change_edge`` | ``source``, ``target``, ``weight`` (``null`` takes the weight away) |
| ``add_value``, ``change_value`` | ``node``, ``feature``, ``value`` |
| ``remove_value`` | ``node``, ``feature`` |
| ``set_label`` | ``node``, ``label``, optionally ``kind`` (``class`` or ``number``) |
| ``remove_label`` | ``node`` |
| ``add_feature_edge`` | ``source``, ``target``, optionally ``weight`` |
| ``remove_feature_edge`` | ``source``, ``target`` |
| ``change_feature_edge`` | ``source``, ``target``, ``weight`` |

A line that is blank is passed over. Ids and labels are text, numbers, or true and false, and
come back as what they were.

**A folder** holds a table for each part that is not empty, called like the part, such as
``edges_added.parquet``, with the columns listed in :data:`grafenne.data.delta_rows.PARTS`; an
optional column ``kind`` of ``labels_set`` says ``class`` or ``number``. Parquet keeps the types
of ids. CSV and TSV tables are read too; their ids are text. An empty delta is an empty folder.
"""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grafenne.data.delta_rows import PARTS, RowError, Rows
from grafenne.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.labels import LabelKind

EVENTS: dict[str, str] = {
    "add_node": "nodes_added",
    "remove_node": "nodes_removed",
    "add_edge": "edges_added",
    "remove_edge": "edges_removed",
    "change_edge": "edges_changed",
    "add_value": "triples_added",
    "change_value": "triples_changed",
    "remove_value": "triples_removed",
    "set_label": "labels_set",
    "remove_label": "labels_removed",
    "add_feature_edge": "feature_edges_added",
    "remove_feature_edge": "feature_edges_removed",
    "change_feature_edge": "feature_edges_changed",
}
"""The part of a delta that each event belongs to."""

_EVENT_OF = {part: event for event, part in EVENTS.items()}


def read_delta(path: str | PathLike[str]) -> GraphDelta:
    """Reads a ``.jsonl`` file of events or a folder of tables."""
    path = Path(path)
    if os.path.isdir(path):  # unlike Path.is_dir it takes names that no system has
        return _read_folder(path)
    if os.path.isfile(path):
        return _read_events(path)
    raise DataError(f"Cannot read the delta {path}: it does not exist.")


def write_delta(delta: GraphDelta, path: str | PathLike[str]) -> None:
    """Writes a ``.jsonl`` file of events, or a folder of Parquet tables, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() == ".jsonl":
        _write_events(delta, path)
    else:
        _write_folder(delta, path)


# ---- events ----------------------------------------------------------------------------------


def _write_events(delta: GraphDelta, path: Path) -> None:
    from grafenne.data.atomic import atomic_write

    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    with atomic_write(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        for part, rows in delta.parts.items():
            _check_storable(rows, path)
            event, names = {"event": _EVENT_OF[part]}, PARTS[part]
            if part == "labels_set" and delta.label_kind:
                event["kind"] = delta.label_kind
            may_lack_weight = part.endswith("edges_added")
            for row in rows:
                line = {**event, **dict(zip(names, row if len(names) > 1 else (row,), strict=True))}
                if may_lack_weight and line["weight"] is None:
                    del line["weight"]
                try:
                    file.write(encode(line) + "\n")
                except UnicodeEncodeError:
                    raise DataError(f"Cannot write {path}: {line!r} is not valid text.") from None


def _check_storable(rows: Rows, path: Path) -> None:
    for name in rows.names:
        column = rows.column(name)
        kinds = set(map(type, column)) if isinstance(column, tuple) else set()
        strange = tuple(kind for kind in kinds if not issubclass(kind, str | int | float))
        if strange:
            cell = next(cell for cell in column if isinstance(cell, strange))
            raise DataError(
                f"Cannot write {path}: the {name} {cell!r} is neither text nor a number."
            )


def _read_events(path: Path) -> GraphDelta:
    rows: dict[str, list[tuple[Any, ...]]] = {part: [] for part in PARTS}
    lines: dict[str, list[int]] = {part: [] for part in PARTS}
    kind: LabelKind | None = None
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                try:
                    part, row, kind = _parse_event(text, kind)
                except DataError as error:
                    raise DataError(f"Line {number} of {path}: {error}", row=number - 1) from None
                rows[part].append(row)
                lines[part].append(number)
    except UnicodeDecodeError:
        raise DataError(f"The file {path} is not UTF-8 text.") from None
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from None
    try:
        return _delta_of({part: _columns(part, found) for part, found in rows.items()}, kind)
    except RowError as error:
        number = lines[error.part][error.row or 0]
        raise DataError(f"Line {number} of {path}: {error}", row=number - 1) from None


def _parse_event(text: str, kind: LabelKind | None) -> tuple[str, tuple[Any, ...], Any]:
    """The part, the row, and the kind of labels known so far."""
    try:
        event = _DECODER.decode(text)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        raise DataError(f"this is not a JSON object: {str(error).rstrip('.')}.") from None
    if not isinstance(event, dict):
        raise DataError(f"an event is a JSON object, got {text.strip()[:60]}.")
    name = event.pop("event", None)
    if name is None:
        raise DataError(f"there is no key 'event', only {', '.join(map(repr, event)) or 'none'}.")
    if not isinstance(name, str) or name not in EVENTS:
        raise DataError(f"unknown event {name!r}.{did_you_mean(str(name), EVENTS)}")
    part = EVENTS[name]
    if part.endswith("edges_added"):
        event.setdefault("weight", None)
    if part == "labels_set" and "kind" in event:
        given = event.pop("kind")
        if given not in ("class", "number") or kind not in (None, given):
            raise DataError(
                f"the kind of labels is 'class' or 'number', one for all, got {given!r}."
            )
        kind = given
    keys = PARTS[part]
    try:
        row = tuple([event[key] for key in keys])
    except KeyError:
        key = next(key for key in keys if key not in event)
        hint = did_you_mean(key, event)
        raise DataError(f"the event {name!r} needs the key {key!r}.{hint}") from None
    if len(event) > len(keys):
        key, known = next(key for key in event if key not in keys), ", ".join(keys)
        raise DataError(f"the event {name!r} has the unknown key {key!r}; it takes {known}.")
    return part, row, kind


def _reject_constant(name: str) -> NoReturn:
    raise DataError(f"{name} is not a number that a graph can hold.")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _columns(part: str, rows: list[tuple[Any, ...]]) -> list[Any]:
    return list(zip(*rows, strict=True)) if rows else [()] * len(PARTS[part])


def _delta_of(columns: dict[str, list[Any]], kind: LabelKind | None) -> GraphDelta:
    from grafenne.data.delta import GraphDelta

    parts = {part: Rows(part, cells) for part, cells in columns.items()}
    return GraphDelta(**parts, label_kind=kind)


# ---- folders ---------------------------------------------------------------------------------


def _part_of(name: str) -> str | None:
    """The part that a file holds, ``None`` for files that are no part of a delta."""
    part, _, _ = name.partition(".")
    return part if part in PARTS else None


def _write_folder(delta: GraphDelta, path: Path) -> None:
    import pandas as pd

    from grafenne.data.atomic import atomic_folder
    from grafenne.data.tables import write_table

    with atomic_folder(path, replaceable=lambda name: _part_of(name) is not None) as beside:
        for part, rows in delta.parts.items():
            if not len(rows):
                continue
            frame = pd.DataFrame({name: rows.column(name) for name in PARTS[part]})
            if part == "labels_set" and delta.label_kind:
                frame["kind"] = delta.label_kind
            write_table(frame, beside / f"{part}.parquet")


def _read_folder(path: Path) -> GraphDelta:
    from grafenne.data.tables import place_in, read_table

    columns: dict[str, list[Any]] = {part: [()] * len(names) for part, names in PARTS.items()}
    files: dict[str, Path] = {}
    kind: LabelKind | None = None
    for file in sorted(path.iterdir()):
        if file.name.startswith("."):
            continue
        part = _part_of(file.name)
        if part is None or file.is_dir():
            hint = did_you_mean(file.name.partition(".")[0], PARTS)
            raise DataError(f"The file {file} is no part of a delta.{hint}")
        if part in files:
            raise DataError(f"The folder {path} holds {part} twice: {files[part].name} and {file}.")
        files[part] = file
        names = PARTS[part]
        needed = [name for name in names if not (name == "weight" and part.endswith("_added"))]
        optional = [name for name in ("weight", "kind") if name not in needed]
        frame = read_table(file, needed, optional).frame
        cells: dict[str, Any] = {name: frame[name].tolist() for name in names if name in frame}
        if "weight" in names:
            weights = cells.get("weight", [None] * len(frame))
            cells["weight"] = [None if weight != weight else weight for weight in weights]
        if part == "labels_set" and "kind" in frame:
            kind = _kind_of(frame["kind"].tolist(), file)
        columns[part] = [cells[name] for name in names]
    try:
        return _delta_of(columns, kind)
    except RowError as error:
        row = error.row or 0
        raise DataError(f"In {place_in(files[error.part], row)}: {error}", row=row) from None


def _kind_of(column: list[Any], file: Path) -> LabelKind | None:
    kinds = set(column)
    if not kinds:
        return None
    if kinds in ({"class"}, {"number"}):
        kind: LabelKind = kinds.pop()
        return kind
    raise DataError(f"The column 'kind' of {file} must say 'class' or 'number' all the way down.")
