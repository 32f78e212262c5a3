"""Broken changes: event files, folders of tables, streams, and changes that do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture.bad_input_cases import Case
from torture.bad_input_world import World

EVENTS: dict[str, str | bytes] = {
    "empty-object": "{}",
    "not-json": "{",
    "list": "[1]",
    "number": "7",
    "null": "null",
    "text": '"add_node"',
    "two-objects": '{"event": "add_node", "node": "a"} {"event": "add_node", "node": "b"}',
    "nul": b"\0",
    "latin-1": b'{"event": "add_node", "node": "\xe9"}',
    "utf-16": '{"event": "add_node", "node": "a"}'.encode("utf-16"),
    "unknown-event": '{"event": "add_nod", "node": "a"}',
    "event-number": '{"event": 3, "node": "a"}',
    "event-list": '{"event": [], "node": "a"}',
    "no-event": '{"node": "a"}',
    "no-node": '{"event": "add_node"}',
    "unknown-key": '{"event": "add_node", "node": "a", "colour": 1}',
    "node-list": '{"event": "add_node", "node": ["a"]}',
    "node-object": '{"event": "add_node", "node": {}}',
    "node-null": '{"event": "add_node", "node": null}',
    "value-nan": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": NaN}',
    "value-infinite": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": Infinity}',
    "value-1e999": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": 1e999}',
    "value-text": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": "1"}',
    "value-null": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": null}',
    "value-list": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": [1]}',
    "value-400-digits": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": '
    + "9" * 400
    + "}",
    "value-5000-digits": '{"event": "add_value", "node": "i0", "feature": "isbn", "value": '
    + "9" * 5000
    + "}",
    "feature-number": '{"event": "add_value", "node": "i0", "feature": 3, "value": 1}',
    "weight-text": '{"event": "add_edge", "source": "i0", "target": "i1", "weight": "x"}',
    "weight-400-digits": '{"event": "add_edge", "source": "i0", "target": "i1", "weight": '
    + "9" * 400
    + "}",
    "label-kind": '{"event": "set_label", "node": "i0", "label": "x", "kind": "colour"}',
    "label-kind-list": '{"event": "set_label", "node": "i0", "label": "x", "kind": []}',
    "label-list": '{"event": "set_label", "node": "i0", "label": ["x"]}',
    "node-twice": '{"event": "add_node", "node": "a"}\n{"event": "add_node", "node": "a"}',
    "added-and-removed": '{"event": "add_node", "node": "a"}\n'
    '{"event": "remove_node", "node": "a"}',
    "value-of-removed": '{"event": "remove_node", "node": "i0"}\n'
    '{"event": "change_value", "node": "i0", "feature": "watts", "value": 1}',
    "deep": "[" * 100_000,
    "key-twice-wrong": '{"event": "add_node", "node": "a", "node": null}',
    # Well formed, but they do not fit the graph.
    "node-that-exists": '{"event": "add_node", "node": "i0"}',
    "remove-nobody": '{"event": "remove_node", "node": "nobody"}',
    "edge-to-nobody": '{"event": "add_edge", "source": "i0", "target": "nobody", "weight": 1}',
    "edge-that-exists": '{"event": "add_edge", "source": "i0", "target": "i2", "weight": 1}',
    "edge-without-weight": '{"event": "add_edge", "source": "i0", "target": "i1"}',
    "remove-no-edge": '{"event": "remove_edge", "source": "i0", "target": "i1"}',
    "change-no-edge": '{"event": "change_edge", "source": "i0", "target": "i1", "weight": 2}',
    "value-that-exists": '{"event": "add_value", "node": "i0", "feature": "watts", "value": 1}',
    "change-no-value": '{"event": "change_value", "node": "i0", "feature": "pages", "value": 1}',
    "remove-no-value": '{"event": "remove_value", "node": "i0", "feature": "pages"}',
    "value-of-nobody": '{"event": "add_value", "node": "nobody", "feature": "x", "value": 1}',
    "label-of-nobody": '{"event": "set_label", "node": "nobody", "label": "lamp"}',
    "remove-no-label": '{"event": "remove_label", "node": "i23"}',
    "label-of-other-kind": '{"event": "set_label", "node": "i0", "label": 1.5, "kind": "number"}',
    "feature-edge-unknown": '{"event": "remove_feature_edge", "source": "a", "target": "b"}',
    "node-of-other-family": '{"event": "remove_node", "node": 0}',
}

TABLES: dict[str, dict[str, str | bytes]] = {
    "unknown-file": {"nodes_add.csv": "node\na\n"},
    "not-a-table": {"nodes_added.txt": "a"},
    "no-column": {"nodes_added.csv": "id\na\n"},
    "ragged": {"edges_added.csv": "source,target\na\n"},
    "value-text": {"triples_added.csv": "node,feature,value\ni0,isbn,x\n"},
    "value-gap": {"triples_added.csv": "node,feature,value\ni0,isbn,\n"},
    "value-inf": {"triples_added.csv": "node,feature,value\ni0,isbn,inf\n"},
    "node-gap": {"triples_added.csv": "node,feature,value\n,isbn,1\n"},
    "parquet-garbage": {"nodes_added.parquet": b"PAR1 no PAR1"},
    "kind-mixed": {"labels_set.csv": "node,label,kind\ni0,x,class\ni1,1,number\n"},
    "kind-unknown": {"labels_set.csv": "node,label,kind\ni0,x,colour\n"},
    "twice": {"nodes_added.csv": "node\na\n", "nodes_added.tsv": "node\na\n"},
    "changed-without-weight": {"edges_changed.csv": "source,target\ni0,i2\n"},
    "does-not-fit": {"nodes_added.csv": "node\ni0\n"},
}


def cases() -> Iterator[Case]:
    """All broken changes."""
    for name, content in EVENTS.items():
        yield Case(f"events/{name}", _apply("change.jsonl"), _file("change.jsonl", content))
    for name, files in TABLES.items():
        yield Case(f"delta/{name}", _apply("delta"), _folder("delta", files))
    yield Case("delta/missing", _apply("nowhere"))
    yield Case("delta/subfolder", _apply("delta"), _subfolder)
    yield Case("delta/name-with-nul", lambda world, here: _delta(f"{here}/a\0b"))
    yield Case("delta/name-too-long", lambda world, here: _delta(here / ("x" * 300)))
    yield from _streams()


def _streams() -> Iterator[Case]:
    def damaged(damage: Callable[[World, Path], object]) -> Callable[[World, Path], None]:
        def build(world: World, folder: Path) -> None:
            world.copy("stream", folder / "stream")
            damage(world, folder / "stream")

        return build

    def remove_first(world: World, folder: Path) -> None:
        (folder / "000").rename(folder / "002")

    changes: dict[str, Callable[[World, Path], object]] = {
        "first-missing": remove_first,
        "first-is-a-file": lambda world, here: _write(here / "0", b""),
        "first-is-a-delta": _delta_first,
        "strange-file": lambda world, here: _write(here / "002.txt", b"x"),
        "step-not-json": lambda world, here: _write(here / "001.jsonl", b"{"),
        "step-does-not-fit": lambda world, here: _write(
            here / "002.jsonl", b'{"event": "remove_node", "node": "nobody"}\n'
        ),
        "same-step-twice": lambda world, here: _write(
            here / "002.jsonl", (here / "001.jsonl").read_bytes()
        ),
        "snapshot-broken": lambda world, here: _write(here / "002" / "nodes.csv", b"id\n1\n"),
        "snapshot-directed": lambda world, here: _copy_mapped(world, here / "002"),
    }
    for name, damage in changes.items():
        yield Case(f"stream/{name}", _read_stream, damaged(damage))
    yield Case("stream/missing", _read_stream)
    yield Case("stream/empty", _read_stream, lambda world, here: (here / "stream").mkdir())
    yield Case("stream/a-file", _read_stream, _file("stream", "x"))


def _delta_first(world: World, folder: Path) -> None:
    (folder / "000").rename(folder / "zzz")
    _write(folder / "000" / "nodes_added.csv", b"node\na\n")


def _read_stream(world: World, folder: Path) -> Any:
    from grafenne import GraphStream

    return list(GraphStream.read(folder / "stream"))


def _copy_mapped(world: World, to: Path) -> None:
    world.copy("directed", to)


def _apply(name: str) -> Callable[[World, Path], Any]:
    def read(world: World, folder: Path) -> Any:
        from grafenne import FeatureGraph

        return FeatureGraph.read(world.tables).apply(_delta(folder / name))

    return read


def _delta(path: Path | str) -> Any:
    from grafenne import GraphDelta

    return GraphDelta.read(path)


def _file(name: str, content: str | bytes) -> Callable[[World, Path], None]:
    data = content.encode() if isinstance(content, str) else content
    return lambda world, folder: _write(folder / name, data)


def _folder(name: str, files: dict[str, str | bytes]) -> Callable[[World, Path], None]:
    def build(world: World, folder: Path) -> None:
        for file, content in files.items():
            _file(f"{name}/{file}", content)(world, folder)

    return build


def _subfolder(world: World, folder: Path) -> None:
    (folder / "delta" / "nodes_added.csv").mkdir(parents=True)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def event_lines() -> list[str]:
    """Sound events, for generators to damage."""
    events: list[dict[str, Any]] = [
        {"event": "add_node", "node": "new"},
        {"event": "add_edge", "source": "new", "target": "i0", "weight": 1.0},
        {"event": "add_value", "node": "new", "feature": "pages", "value": 2.5},
        {"event": "change_value", "node": "i0", "feature": "watts", "value": -1},
        {"event": "remove_value", "node": "i2", "feature": "watts"},
        {"event": "set_label", "node": "new", "label": "book", "kind": "class"},
        {"event": "remove_label", "node": "i4"},
        {"event": "remove_node", "node": "i5"},
        {"event": "remove_edge", "source": "i0", "target": "i2"},
        {"event": "add_feature_edge", "source": "pages", "target": "watts", "weight": 1.0},
    ]
    return [json.dumps(event) for event in events]
