"""What the arrays of a mapped graph alone cannot say: the content of its ``graph.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.data.json_files import read_description, read_json
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, shown

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph

NOTES = "graph.json"
FORMAT = "grafenne mapped graph"
VERSION = 1
CLASS_TYPES: dict[str, type] = {"text": str, "int": int, "bool": bool, "float": float}


@dataclass(frozen=True)
class MappedNotes:
    """The content of ``graph.json``.

    Attributes:
        nodes: Number of nodes.
        features: Number of features.
        values: Number of triples.
        edges: Number of edges; an undirected one counts once.
        feature_edges: Number of edges among features.
        directed: Whether the edges have a direction.
        weighted: Whether the edges have weights.
        weighted_feature_edges: Whether the edges among features have weights.
        binary: Whether all values are 1.
        node_ids: ``range`` (0, 1, 2, …), ``int`` or ``text``.
        label_kind: ``class``, ``number``, or ``None`` without labels.
        class_type: ``text``, ``int``, ``bool`` or ``float``.
        classes: The class names.
    """

    nodes: int
    features: int
    values: int
    edges: int
    feature_edges: int
    directed: bool
    weighted: bool
    weighted_feature_edges: bool
    binary: bool
    node_ids: str
    label_kind: str | None
    class_type: str
    classes: tuple[Any, ...]


def is_mapped(folder: Path) -> bool:
    """Whether a folder says that it is in this format."""
    try:
        content = read_json(folder / NOTES)
    except DataError:
        return False
    return isinstance(content, Mapping) and content.get("format") == FORMAT


def describe_graph(graph: FeatureGraph) -> MappedNotes:
    """The notes of a graph; ids and class names that cannot be written are refused."""
    labels, class_type = graph.labels, "text"
    if labels is not None and labels.classes:
        kinds = {type(name) for name in labels.classes}
        names = {kind: name for name, kind in CLASS_TYPES.items()}
        if len(kinds) > 1 or not kinds <= names.keys():
            shown = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise DataError(f"Class names of the types {shown} cannot be written.")
        class_type = names[kinds.pop()]
    return MappedNotes(
        nodes=graph.num_nodes,
        features=graph.num_features,
        values=graph.num_values,
        edges=graph.num_edges,
        feature_edges=len(graph.feature_edges),
        directed=graph.directed,
        weighted=graph.edges.weights is not None,
        weighted_feature_edges=graph.feature_edges.weights is not None,
        binary=graph.values.is_binary,
        node_ids=_kind_of_ids(graph.nodes),
        label_kind=None if labels is None else labels.kind,
        class_type=class_type,
        classes=() if labels is None else labels.classes,
    )


def _kind_of_ids(nodes: Vocabulary) -> str:
    if nodes.is_range:
        return "range"
    kinds = {type(name) for name in nodes}
    if kinds - {str} and kinds - {int}:
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(
            f"Only ids that are all text or all whole numbers can be written, these are {shown}."
        )
    return "int" if kinds == {int} else "text"


def write_notes(notes: MappedNotes, folder: Path) -> None:
    """Writes the notes into a folder."""
    content = {"format": FORMAT, "version": VERSION, **asdict(notes)}
    (folder / NOTES).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read_notes(path: Path) -> MappedNotes:
    """The notes in a file, every entry checked."""
    if not path.exists():
        raise DataError(f"There is no mapped graph in {path.parent}: it has no {NOTES}.")
    content = read_description(path, FORMAT, VERSION, "a mapped graph")
    found: dict[str, Any] = {}
    for field in fields(MappedNotes):
        if field.name not in content or not _fits(field.name, content[field.name]):
            found_there = shown(content.get(field.name))
            raise DataError(f"The entry {field.name!r} of {path} is {found_there}.")
        found[field.name] = content[field.name]
    kind = CLASS_TYPES[found["class_type"]]
    if any(type(name) is not kind for name in found["classes"]):
        raise DataError(
            f"The entry 'classes' of {path} should hold names of type {found['class_type']}."
        )
    if len(set(found["classes"])) < len(found["classes"]):
        raise DataError(f"The entry 'classes' of {path} holds a name twice.")
    return MappedNotes(**{**found, "classes": tuple(found["classes"])})


def _fits(name: str, value: object) -> bool:
    choices: dict[str, tuple[object, ...]] = {
        "node_ids": ("range", "int", "text"),
        "label_kind": (None, "class", "number"),
        "class_type": tuple(CLASS_TYPES),
    }
    if name in choices:
        return value in choices[name]
    if name == "classes":
        return isinstance(value, list)
    if name in ("nodes", "features", "values", "edges", "feature_edges"):
        return type(value) is int and 0 <= value < 2**62
    return isinstance(value, bool)
