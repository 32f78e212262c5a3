"""A graph as a folder of tables: ``features.*``, ``edges.*``, ``labels.*``, ``nodes.*``, …"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grafenne.data.assemble import REQUIRED, graph_from_tables
from grafenne.data.atomic import atomic_folder
from grafenne.data.columns import Table, names_column, object_column
from grafenne.data.frames import graph_to_frames, read_part
from grafenne.data.json_files import read_description
from grafenne.data.label_column import typed_labels
from grafenne.data.mapped import ENDING, PARTS, open_mapped, write_mapped
from grafenne.data.mapped_notes import is_mapped
from grafenne.data.tables import ENDINGS, ending_of, is_text_table, write_table
from grafenne.errors import DataError, ParameterError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.labels import LabelKind

NOTES = "graph.json"
FORMAT = "grafenne graph"
FORMATS = ("parquet", "csv", "tsv", "mapped")
VERSION = 1
TRUTH = {"true": True, "false": False}
TYPES: dict[str, Any] = {"text": str, "int": int, "bool": bool, "float": float}


@dataclass(frozen=True)
class Notes:
    """What the tables alone cannot say; the content of ``graph.json``.

    Attributes:
        directed: Whether the edges have a direction.
        node_type: ``text`` or ``int``.
        value_type: ``float64`` or ``float32``.
        label_kind: ``class``, ``number``, or ``None`` without labels.
        label_type: ``text``, ``int``, ``bool`` or ``float``.
        classes: The class names, those that no node has included.
    """

    directed: bool = False
    node_type: Literal["text", "int"] | None = None
    value_type: Literal["float64", "float32"] | None = None
    label_kind: LabelKind | None = None
    label_type: Literal["text", "int", "bool", "float"] | None = None
    classes: tuple[Hashable, ...] = ()


def read_folder(
    folder: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    label_kind: LabelKind | None = None,
    duplicates: str = "error",
) -> FeatureGraph:
    """What :meth:`FeatureGraph.read` does."""
    folder = Path(folder)
    if not os.path.isdir(folder):  # unlike Path.is_dir it takes names that no system has
        what = "it is a file, not a folder" if os.path.exists(folder) else "there is no such folder"
        raise DataError(f"Cannot read a graph from {folder}: {what}.")
    if is_mapped(folder):
        if directed is not None or label_kind is not None:
            raise ParameterError(
                f"{folder} holds a mapped graph, which says itself whether it is directed and of "
                "which kind its labels are."
            )
        return open_mapped(folder, verify=True)
    paths = _find_tables(folder)
    notes = _read_notes(folder / NOTES)
    if label_kind is not None:
        notes = replace(notes, label_kind=label_kind)
    tables = {name: _typed(read_part(path, name), name, notes) for name, path in paths.items()}
    return graph_from_tables(
        tables,
        directed=notes.directed if directed is None else directed,
        label_kind=notes.label_kind,
        classes=notes.classes,
        duplicates=duplicates,
    )


def write_folder(
    graph: FeatureGraph, folder: str | os.PathLike[str], format: str = "parquet"
) -> None:
    """What :meth:`FeatureGraph.write` does."""
    import pandas as pd

    if format == "mapped":
        write_mapped(graph, folder)
        return
    if format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    notes = _notes_of(graph)
    frames = graph_to_frames(graph)
    if frames.labels is not None:  # the categories are in the notes
        names = pd.Series(object_column(frames.labels["label"]), dtype=object)
        frames = frames._replace(labels=frames.labels.assign(label=names))
    with atomic_folder(folder, replaceable=is_graph_file) as beside:
        for name, frame in frames._asdict().items():
            if frame is not None:
                write_table(frame, beside / f"{name}.{format}")
        content = {"format": FORMAT, "version": VERSION, **vars(notes)}
        text = json.dumps(content, indent=2)
        (beside / NOTES).write_text(text + "\n", encoding="utf-8")


def _find_tables(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        ending = ending_of(path)
        if path.name.startswith("."):
            continue
        if ending is None:
            if path.stem in REQUIRED:
                raise DataError(
                    f"{path} looks like the table {path.stem}, but its ending is none of "
                    f"{', '.join(ENDINGS)}."
                )
            continue
        name = path.name[: -len(ending)]
        if name not in REQUIRED:
            hint = did_you_mean(name, REQUIRED)
            if hint:
                raise DataError(f"Unknown table {path}.{hint}")
            continue
        if name in found:
            raise DataError(f"There are two tables of {name}: {found[name]} and {path.name}.")
        found[name] = path
    if not found.keys() & {"features", "edges", "nodes"}:
        raise DataError(
            f"There is no graph in {folder}: it has no table features, edges or nodes (with one "
            f"of the endings {', '.join(ENDINGS)})."
        )
    return found


def is_graph_file(name: str) -> bool:
    """Whether a file of that name belongs to a graph that this package wrote."""
    ending = ending_of(Path(name))
    table = ending is not None and name[: -len(ending)] in REQUIRED
    return name == NOTES or table or (name.endswith(ENDING) and name.startswith(PARTS))


def _notes_of(graph: FeatureGraph) -> Notes:
    kinds = {type(name) for name in graph.nodes}
    if kinds - {str} and kinds - {int}:
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(
            f"Only ids that are all text or all whole numbers can be written, these are {shown}."
        )
    labels, label_type = graph.labels, None
    if labels is not None:
        of_classes = {type(name) for name in labels.classes} or {str}
        names = {kind: name for name, kind in TYPES.items()}
        if len(of_classes) > 1 or not of_classes <= names.keys():
            shown = ", ".join(sorted(kind.__name__ for kind in of_classes))
            raise DataError(f"Class names of the types {shown} cannot be written.")
        label_type = "float" if labels.kind == "number" else names[of_classes.pop()]
    return Notes(
        directed=graph.directed,
        node_type="int" if kinds == {int} else "text",
        value_type=str(graph.values.data.dtype),  # type: ignore[arg-type]
        label_kind=None if labels is None else labels.kind,
        label_type=label_type,  # type: ignore[arg-type]
        classes=() if labels is None else labels.classes,
    )


def _read_notes(path: Path) -> Notes:
    if not path.exists():
        return Notes()
    content = read_description(path, FORMAT, VERSION, "a graph")
    allowed: dict[str, tuple[Any, ...]] = {
        "directed": (False, True),
        "node_type": (None, "text", "int"),
        "value_type": (None, "float64", "float32"),
        "label_kind": (None, "class", "number"),
        "label_type": (None, *TYPES),
    }
    for key, choices in allowed.items():
        if key in content and content[key] not in choices:
            raise DataError(f"The entry {key!r} of {path} is {content[key]!r}.")
    classes = content.get("classes", [])
    if not isinstance(classes, list) or any(isinstance(name, list | dict) for name in classes):
        raise DataError(f"The entry 'classes' of {path} is not a list of names.")
    given = {key: content[key] for key in allowed if key in content}
    return Notes(**given, classes=tuple(classes))


def _typed(table: Table, name: str, notes: Notes) -> Table:
    """Gives the columns of a text file the types that the notes speak of."""
    if not is_text_table(table.path):
        return table
    frame = table.frame
    if notes.node_type == "int" and name != "feature_edges":
        for column in ("node", "source", "target"):
            if column in frame:
                frame = frame.assign(**{column: _parsed(table, column, "int")})
    if name == "labels" and notes.label_type is None:
        frame = frame.assign(label=typed_labels(frame["label"], notes.label_kind))
    elif name == "labels":
        frame = frame.assign(label=_parsed(table, "label", str(notes.label_type)))
    if name == "features" and "value" in frame and notes.value_type is not None:
        frame = frame.assign(value=frame["value"].astype(notes.value_type))
    return replace(table, frame=frame)


def _parsed(table: Table, column: str, kind: str) -> pd.Series[Any]:
    """A column of text as names of another type."""
    import pandas as pd

    codes, texts = pd.factorize(table.frame[column])
    parsed = []
    for place, text in enumerate(texts):
        try:
            parsed.append(TRUTH[text] if kind == "bool" else TYPES[kind](text))
        except (KeyError, ValueError):
            row = int(np.argmax(codes == place))
            raise DataError(
                f"The {column} in {table.place(row)} is {text!r}, but {NOTES} says that it is of "
                f"type {kind}.",
                row=row,
            ) from None
    missing = [None] if (codes < 0).any() else []
    typed: pd.Series[Any] = names_column([*parsed, *missing]).take(codes).reset_index(drop=True)
    return typed
