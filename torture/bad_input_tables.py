"""Broken tables: text files, Parquet files, notes, and folders of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture.bad_input_cases import Case
from torture.bad_input_world import World

FEATURES = "node,feature,value\n"
EDGES = "source,target\n"
NODES = "node\na\nb\n"

# Name of the case, and the files of the folder; text is written as UTF-8.
Files = dict[str, str | bytes]
TEXT: dict[str, Files] = {
    "empty": {"features.csv": ""},
    "blank-lines": {"features.csv": "\n\n\n"},
    "spaces-only": {"features.csv": "   \n  "},
    "one-nul": {"features.csv": b"\0"},
    "nuls-only": {"features.csv": b"\0" * 500},
    "random-bytes": {"features.csv": bytes(range(256)) * 4},
    "utf-16": {"features.csv": (FEATURES + "a,x,1\n").encode("utf-16")},
    "utf-32": {"features.csv": (FEATURES + "a,x,1\n").encode("utf-32")},
    "latin-1": {"features.csv": (FEATURES + "é,x,1\n").encode("latin-1")},
    "half-a-letter": {"features.csv": FEATURES.encode() + b"\xc3,x,1\n"},
    "surrogate-bytes": {"features.csv": FEATURES.encode() + b"\xed\xa0\x80,x,1\n"},
    "two-boms": {"features.csv": "\ufeff\ufeff" + FEATURES + "a,x,1\n"},
    "semicolons": {"features.csv": "node;feature;value\na;x;1\n"},
    "tabs-in-csv": {"features.csv": "node\tfeature\tvalue\na\tx\t1\n"},
    "commas-in-tsv": {"features.tsv": FEATURES + "a,x,1\n"},
    "pipes": {"features.csv": "node|feature|value\na|x|1\n"},
    "no-header": {"features.csv": "a,x,1\nb,x,1\n"},
    "capital-header": {"features.csv": "Node,Feature,Value\na,x,1\n"},
    "spaces-in-header": {"features.csv": "node, feature, value\na,x,1\n"},
    "quoted-header-open": {"features.csv": '"node,feature,value\na,x,1\n'},
    "missing-feature-column": {"features.csv": "node,value\na,1\n"},
    "missing-node-column": {"features.csv": "feature,value\nx,1\n"},
    "column-twice": {"features.csv": "node,feature,feature\na,x,y\n"},
    "value-column-twice": {"features.csv": "node,feature,value,value\na,x,1,2\n"},
    "ragged-short": {"features.csv": FEATURES + "a,x,1\nb,x\n"},
    "ragged-long": {"features.csv": FEATURES + "a,x,1\nb,x,1,9\n"},
    "ragged-comma-at-end": {"features.csv": FEATURES + "a,x,1,\n"},
    "open-quote": {"features.csv": FEATURES + 'a,"x,1\nb,y,1\n'},
    "quote-inside": {"features.csv": FEATURES + 'a,x"y"z",1\nb\n'},
    "empty-node": {"features.csv": FEATURES + ",x,1\n"},
    "empty-feature": {"features.csv": FEATURES + "a,,1\n"},
    "empty-value": {"features.csv": FEATURES + "a,x,\n"},
    "value-nan": {"features.csv": FEATURES + "a,x,nan\n"},
    "value-inf": {"features.csv": FEATURES + "a,x,inf\n"},
    "value-minus-inf": {"features.csv": FEATURES + "a,x,-Infinity\n"},
    "value-huge": {"features.csv": FEATURES + "a,x,1e400\n"},
    "value-many-digits": {"features.csv": FEATURES + f"a,x,{'9' * 5000}\n"},
    "value-text": {"features.csv": FEATURES + "a,x,tall\n"},
    "value-none": {"features.csv": FEATURES + "a,x,None\n"},
    "value-hex": {"features.csv": FEATURES + "a,x,0x10\n"},
    "value-comma-decimal": {"features.csv": FEATURES + 'a,x,"1,5"\n'},
    "value-underscore": {"features.csv": FEATURES + "a,x,1_000\n"},
    "value-fullwidth-digits": {"features.csv": FEATURES + "a,x,１２\n"},
    "value-nul": {"features.csv": FEATURES + "a,x,1\0\n"},
    "value-true": {"features.csv": FEATURES + "a,x,true\n"},
    "value-complex": {"features.csv": FEATURES + "a,x,1+2j\n"},
    "triple-twice": {"features.csv": FEATURES + "a,x,1\na,x,2\n"},
    "triple-twice-same": {"features.csv": FEATURES + "a,x,1\na,x,1\n"},
    "value-column-misspelt": {"features.csv": "node,feature,vlaue\na,x,3\n"},
    "edge-to-nowhere": {"features.csv": FEATURES + "a,x,1\n", "edges.csv": EDGES + "a,b\n"},
    "edge-from-nowhere": {"nodes.csv": NODES, "edges.csv": EDGES + "z,a\n"},
    "edge-without-target": {"nodes.csv": NODES, "edges.csv": EDGES + "a,\n"},
    "edge-without-source": {"nodes.csv": NODES, "edges.csv": EDGES + ",a\n"},
    "edge-twice": {"nodes.csv": NODES, "edges.csv": EDGES + "a,b\na,b\n"},
    "edge-two-weights": {
        "nodes.csv": NODES,
        "edges.csv": "source,target,weight\na,b,1\nb,a,2\n",
    },
    "weight-nan": {"nodes.csv": NODES, "edges.csv": "source,target,weight\na,b,nan\n"},
    "weight-inf": {"nodes.csv": NODES, "edges.csv": "source,target,weight\na,b,inf\n"},
    "weight-empty": {"nodes.csv": NODES, "edges.csv": "source,target,weight\na,b,\n"},
    "weight-text": {"nodes.csv": NODES, "edges.csv": "source,target,weight\na,b,x\n"},
    "edges-header-only-source": {"nodes.csv": NODES, "edges.csv": "source\na\n"},
    "edges-from-to": {"nodes.csv": NODES, "edges.csv": "from,to\na,b\n"},
    "nodes-twice": {"nodes.csv": "node\na\na\n"},
    "nodes-blank-quoted-twice": {"nodes.csv": 'node\n""\n""\n'},
    "nodes-ragged": {"nodes.csv": "node\na,b\n"},
    "nodes-without-column": {"nodes.csv": "id\na\n"},
    "labels-twice": {"nodes.csv": NODES, "labels.csv": "node,label\na,x\na,y\n"},
    "labels-of-nobody": {
        "features.csv": FEATURES + "a,x,1\n",
        "labels.csv": "label\nx\n",
    },
    "labels-alone": {"labels.csv": "node,label\na,x\n"},
    "labels-infinite": {"nodes.csv": NODES, "labels.csv": "node,label\na,1.5\nb,inf\n"},
    "labels-huge": {"nodes.csv": NODES, "labels.csv": "node,label\na,1.5\nb,1e999\n"},
    "labels-without-node": {"nodes.csv": NODES, "labels.csv": "node,label\n,x\n"},
    "feature-edge-unknown": {
        "features.csv": FEATURES + "a,x,1\n",
        "feature_edges.csv": EDGES + "x,q\n",
    },
    "feature-edge-ragged": {
        "features.csv": FEATURES + "a,x,1\n",
        "feature_edges.csv": EDGES + "x\n",
    },
    "vocabulary-twice": {
        "features.csv": FEATURES + "a,x,1\n",
        "vocabulary.csv": "feature\nx\nx\n",
    },
    "vocabulary-of-nothing": {
        "features.csv": FEATURES + "a,x,1\n",
        "vocabulary.csv": "name\nx\n",
    },
    "two-formats": {"features.csv": FEATURES, "features.tsv": "node\tfeature\n"},
    "csv-and-gz": {"nodes.csv": NODES, "nodes.csv.gz": gzip.compress(NODES.encode())},
    "misspelt-table": {"nodes.csv": NODES, "egdes.csv": EDGES + "a,b\n"},
    "nothing": {},
    "only-a-readme": {"README.txt": "hello"},
    "only-excel": {"features.xlsx": b"PK\x03\x04"},
    "gz-garbage": {"features.csv.gz": b"\x1f\x8b" + b"\x07" * 40},
    "gz-not-gz": {"features.csv.gz": FEATURES + "a,x,1\n"},
    "gz-cut": {"features.csv.gz": gzip.compress((FEATURES + "a,x,1\n" * 90).encode())[:-9]},
    "gz-of-nothing": {"features.csv.gz": gzip.compress(b"")},
    "gz-tail": {"features.csv.gz": gzip.compress((FEATURES + "a,x,1\n").encode()) + b"junk"},
    "gz-bomb-line": {"features.csv.gz": gzip.compress(b"n" * 30_000_000)},
    "parquet-is-text": {"features.parquet": FEATURES + "a,x,1\n"},
    "parquet-magic-only": {"features.parquet": b"PAR1PAR1"},
    "parquet-empty": {"features.parquet": b""},
    "parquet-lying-footer": {"features.parquet": b"PAR1" + b"\xff" * 40 + b"\xff\xff\xff\x7fPAR1"},
    "one-long-line": {"features.csv": "x" * 3_000_000},
    "many-columns": {"features.csv": ",".join(f"c{place}" for place in range(20_000))},
    "many-nodes-named-alike": {"nodes.csv": "node\n" + "same\n" * 30_000},
}

NOTES: dict[str, str | bytes] = {
    "not-json": "{",
    "empty": "",
    "nul": b"\0\0",
    "list": "[]",
    "number": "3",
    "null": "null",
    "latin-1": b'{"format": "\xe9"}',
    "other-format": '{"format": "something else"}',
    "future": '{"format": "grafenne graph", "version": 2}',
    "version-text": '{"format": "grafenne graph", "version": "1"}',
    "node-type": '{"format": "grafenne graph", "version": 1, "node_type": "date"}',
    "node-type-list": '{"format": "grafenne graph", "version": 1, "node_type": []}',
    "node-type-int": '{"format": "grafenne graph", "version": 1, "node_type": "int"}',
    "value-type": '{"format": "grafenne graph", "version": 1, "value_type": "object"}',
    "label-kind": '{"format": "grafenne graph", "version": 1, "label_kind": {}}',
    "label-type": '{"format": "grafenne graph", "version": 1, "label_type": "bool"}',
    "directed": '{"format": "grafenne graph", "version": 1, "directed": "yes"}',
    "classes": '{"format": "grafenne graph", "version": 1, "classes": [[1]]}',
    "classes-number": '{"format": "grafenne graph", "version": 1, "classes": 3}',
    "deep": "[" * 200_000,
    "deep-object": '{"a":' * 200_000,
    "many-digits": '{"format": "grafenne graph", "version": ' + "9" * 5000 + "}",
}


def cases() -> Iterator[Case]:
    """All broken tables."""
    for name, files in TEXT.items():
        yield Case(f"tables/{name}", read_graph, _writer(files))
    for name, content in NOTES.items():
        yield Case(f"notes/{name}", read_graph, _notes_writer(content))
    for name, frame in _parquet_frames().items():
        yield Case(f"parquet/{name}", read_graph, _parquet_writer(frame))
    yield Case("parquet/not-utf-8", read_graph, _not_utf_8)
    yield Case("parquet/metadata-not-json", read_graph, _metadata, may_pass=True)
    for kept in (1, 4, 8, 60, 200, -1, -4, -8, -30):
        yield Case(f"parquet/cut-{kept}", read_graph, _cutter(kept))
    yield Case("folder/missing", lambda world, folder: _read(folder / "nowhere"))
    yield Case("folder/a-file", lambda world, folder: _read(world.events))
    yield Case("folder/name-too-long", lambda world, folder: _read(folder / ("x" * 400)))
    yield Case("folder/name-with-nul", lambda world, folder: _read(f"{folder}\0x"))
    yield Case("folder/empty-name", lambda world, folder: _read(""))
    yield Case("table/is-a-folder", read_graph, lambda world, here: (here / "nodes.csv").mkdir())
    yield Case(
        "table/parquet-is-a-folder",
        read_graph,
        lambda world, here: (here / "features.parquet").mkdir(),
    )
    yield Case("notes/a-folder", read_graph, _folder_of_notes)
    yield Case("table/broken-link", read_graph, _broken_link)
    yield Case("table/link-to-itself", read_graph, _link_to_itself)


def read_graph(world: World, folder: Path) -> Any:
    """The graph in a case's folder."""
    return _read(folder)


def _read(folder: Path | str) -> Any:
    from grafenne import FeatureGraph

    return FeatureGraph.read(folder)


def _writer(files: Files) -> Callable[[World, Path], None]:
    def write(world: World, folder: Path) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return write


def _notes_writer(content: str | bytes) -> Callable[[World, Path], None]:
    return _writer(
        {
            "features.csv": FEATURES + "a,x,1\n",
            "labels.csv": "node,label\na,maybe\n",
            "graph.json": content,
        }
    )


def _parquet_frames() -> dict[str, dict[str, Any]]:
    import datetime
    import decimal

    moment = datetime.datetime(2020, 1, 1)
    good = {"node": ["a", "b"], "feature": ["x", "x"]}
    return {
        "value-text": {**good, "value": ["tall", "low"]},
        "value-gap": {**good, "value": [1.0, None]},
        "value-nan": {**good, "value": [1.0, float("nan")]},
        "value-inf": {**good, "value": [1.0, float("inf")]},
        "value-list": {**good, "value": [[1.0], [2.0]]},
        "value-struct": {**good, "value": [{"a": 1}, {"a": 2}]},
        "value-date": {**good, "value": [moment, moment]},
        "value-bytes": {**good, "value": [b"1", b"2"]},
        "value-huge-decimal": {**good, "value": [decimal.Decimal("NaN"), decimal.Decimal(1)]},
        "node-gap": {"node": ["a", None], "feature": ["x", "y"]},
        "node-list": {"node": [["a"], ["b"]], "feature": ["x", "y"]},
        "node-struct": {"node": [{"a": 1}, {"a": 2}], "feature": ["x", "y"]},
        "node-nan": {"node": [1.0, float("nan")], "feature": ["x", "y"]},
        "feature-number": {"node": ["a", "b"], "feature": [1, 2]},
        "feature-bytes": {"node": ["a", "b"], "feature": [b"x", b"y"]},
        "feature-gap": {"node": ["a", "b"], "feature": ["x", None]},
        "feature-date": {"node": ["a", "b"], "feature": [moment, moment]},
        "feature-list": {"node": ["a", "b"], "feature": [["x"], ["y"]]},
        "no-columns": {"other": [1]},
        "twice": {"node": ["a", "a"], "feature": ["x", "x"]},
    }


def _parquet_writer(columns: dict[str, Any]) -> Callable[[World, Path], None]:
    def write(world: World, folder: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = pa.table(columns)
        except pa.ArrowInvalid:  # Arrow has no such number; a file has it as text
            table = pa.table({name: list(map(str, cells)) for name, cells in columns.items()})
        parquet.write_table(table, folder / "features.parquet")

    return write


def _not_utf_8(world: World, folder: Path) -> None:
    """Arrow writes what it is told is text, whatever the bytes are."""
    import pyarrow as pa
    from pyarrow import parquet

    words = pa.array([b"a\xff", b"b"])
    text = pa.Array.from_buffers(pa.string(), 2, words.buffers())
    table = pa.table({"node": text, "feature": pa.array(["x", "y"])})
    parquet.write_table(table, folder / "features.parquet")


def _metadata(world: World, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"node": ["a"], "feature": ["x"]}).replace_schema_metadata({"pandas": "{"})
    parquet.write_table(table, folder / "features.parquet")


def _cutter(kept: int) -> Callable[[World, Path], None]:
    def write(world: World, folder: Path) -> None:
        whole = (world.parquet / "features.parquet").read_bytes()
        (folder / "features.parquet").write_bytes(whole[:kept])

    return write


def _folder_of_notes(world: World, folder: Path) -> None:
    (folder / "nodes.csv").write_text(NODES)
    (folder / "graph.json").mkdir()


def _broken_link(world: World, folder: Path) -> None:
    (folder / "nodes.csv").symlink_to(folder / "nowhere.csv")


def _link_to_itself(world: World, folder: Path) -> None:
    (folder / "nodes.csv").symlink_to(folder / "nodes.csv")
