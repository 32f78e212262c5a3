from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.delta import GraphDelta
from grafenne.errors import DataError
from tests.strategies import finite, names, whole_numbers


@st.composite
def deltas(draw: st.DrawFn) -> GraphDelta:
    """Deltas whose ids are all text or all whole numbers."""
    ids = draw(st.sampled_from([names, whole_numbers]))
    label = draw(st.sampled_from([names, whole_numbers, finite, st.booleans()]))
    weight = draw(st.sampled_from([finite, st.none()]))

    def rows(cells: st.SearchStrategy[Any], once: Any = None) -> list[Any]:
        return draw(st.lists(cells, max_size=3, unique_by=once or (lambda row: row)))

    def pair(row: Any) -> Any:
        return row[:2]

    def first(row: Any) -> Any:
        return row[0]

    nodes = rows(ids)
    half = len(nodes) // 2
    edges = [e for e in rows(st.tuples(ids, ids, weight), pair) if not {*e[:2]} & {*nodes[:half]}]
    triples = [t for t in rows(st.tuples(ids, names, finite), pair) if t[0] not in nodes[:half]]
    labels = [t for t in rows(st.tuples(ids, label), first) if t[0] not in nodes[:half]]
    feature_edges = rows(st.tuples(names, names, weight), pair)
    return GraphDelta(
        nodes_removed=nodes[:half],
        nodes_added=nodes[half:],
        edges_added=edges[:1],
        edges_changed=edges[1:2],
        edges_removed=[edge[:2] for edge in edges[2:]],
        triples_added=triples[:1],
        triples_changed=triples[1:2],
        triples_removed=[triple[:2] for triple in triples[2:]],
        labels_set=labels[:2],
        labels_removed=[row[0] for row in labels[2:]],
        feature_edges_added=feature_edges[:1],
        feature_edges_changed=feature_edges[1:2],
        feature_edges_removed=[edge[:2] for edge in feature_edges[2:]],
        label_kind=draw(st.sampled_from([None, "class", "number"])) if labels[:2] else None,
    )


def identical(one: GraphDelta, other: GraphDelta) -> bool:
    """Equal down to the types of ids and labels."""

    def cells(delta: GraphDelta) -> Any:
        return {part: [repr(row) for row in rows] for part, rows in delta.parts.items()}

    return cells(one) == cells(other) and one.label_kind == other.label_kind


@settings(deadline=None)
@given(deltas())
def test_events_round_trip_exactly(delta: GraphDelta) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "delta.jsonl"
        delta.write(path)
        assert identical(GraphDelta.read(path), delta)


@settings(deadline=None)
@given(deltas())
def test_folders_round_trip_exactly(delta: GraphDelta) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "delta"
        delta.write(path)
        back = GraphDelta.read(path)
        assert back == delta
        assert identical(back, delta)


def test_the_events_are_what_the_documentation_says(tmp_path: Path) -> None:
    events = [
        {"event": "add_node", "node": "d"},
        {"event": "remove_node", "node": 7},
        {"event": "add_edge", "source": "d", "target": "a"},
        {"event": "add_edge", "source": "d", "target": "b", "weight": 2},
        {"event": "remove_edge", "source": "a", "target": "b"},
        {"event": "change_edge", "source": "a", "target": "c", "weight": None},
        {"event": "add_value", "node": "d", "feature": "größe", "value": 1.5},
        {"event": "change_value", "node": "a", "feature": "x", "value": 0},
        {"event": "remove_value", "node": "a", "feature": "y"},
        {"event": "set_label", "node": "d", "label": "red", "kind": "class"},
        {"event": "remove_label", "node": "a"},
        {"event": "add_feature_edge", "source": "x", "target": "y"},
        {"event": "remove_feature_edge", "source": "x", "target": "z"},
        {"event": "change_feature_edge", "source": "y", "target": "z", "weight": 3},
    ]
    path = tmp_path / "delta.jsonl"
    path.write_text("\n\n".join(json.dumps(event) for event in events), encoding="utf-8")
    assert GraphDelta.read(path) == GraphDelta(
        nodes_added=["d"],
        nodes_removed=[7],
        edges_added=[("d", "a"), ("d", "b", 2)],
        edges_removed=[("a", "b")],
        edges_changed=[("a", "c", None)],
        triples_added=[("d", "größe", 1.5)],
        triples_changed=[("a", "x", 0)],
        triples_removed=[("a", "y")],
        labels_set=[("d", "red")],
        labels_removed=["a"],
        feature_edges_added=[("x", "y")],
        feature_edges_removed=[("x", "z")],
        feature_edges_changed=[("y", "z", 3)],
        label_kind="class",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"event": "add_nod", "node": 1}', "unknown event 'add_nod'. Did you mean 'add_node'"),
        ('{"event": 5}', "unknown event 5"),
        ('{"node": 1}', "there is no key 'event', only 'node'"),
        ('{"event": "add_node", "nodes": 1}', "needs the key 'node'. Did you mean 'nodes'"),
        ('{"event": "add_node", "node": 1, "x": 2}', "unknown key 'x'"),
        ('{"event": "add_node", "node": null}', "has no node"),
        ('{"event": "add_node", "node": [1]}', "not hashable"),
        ('{"event": "add_node", "node"', "not a JSON object"),
        ("[1, 2]", "an event is a JSON object"),
        ('{"event": "add_value", "node": 1, "feature": "x", "value": NaN}', "NaN is not a number"),
        ('{"event": "add_value", "node": 1, "feature": "x", "value": 1e999}', "finite number"),
        ('{"event": "add_value", "node": 1, "feature": "x", "value": "1"}', "value '1'"),
        ('{"event": "add_value", "node": 1, "feature": 2, "value": 1}', "names are text"),
        ('{"event": "remove_node", "node": "first"}', "node 'first' and so does nodes_added"),
        ('{"event": "change_edge", "source": 1, "target": 2}', "needs the key 'weight'"),
        ('{"event": "set_label", "node": 1, "label": 2, "kind": "text"}', "kind of labels"),
    ],
)
def test_a_bad_event_is_named_by_its_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "delta.jsonl"
    path.write_text('{"event": "add_node", "node": "first"}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        GraphDelta.read(path)
    assert f"Line 3 of {path}" in str(caught.value)


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        GraphDelta.read(tmp_path / "nothing.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b'{"event": "add_node", "node": "\xff"}')
    with pytest.raises(DataError, match="not UTF-8"):
        GraphDelta.read(tmp_path / "bytes.jsonl")


def test_text_tables_are_read_with_text_ids(tmp_path: Path) -> None:
    (tmp_path / "nodes_added.csv").write_text("node\n007\n")
    (tmp_path / "edges_added.tsv").write_text("source\ttarget\n007\ta\n")
    (tmp_path / "edges_changed.csv").write_text("source,target,weight\na,b,\n")
    (tmp_path / "triples_added.csv").write_text("node,feature,value\n007,x,1.5\n")
    assert GraphDelta.read(tmp_path) == GraphDelta(
        nodes_added=["007"],
        edges_added=[("007", "a")],
        edges_changed=[("a", "b", None)],
        triples_added=[("007", "x", 1.5)],
    )


def test_labels_of_text_tables_fit_a_graph_with_numbers(tmp_path: Path) -> None:
    (tmp_path / "labels_set.csv").write_text("node,label\nb,2.5\n")
    graph = FeatureGraph.from_arrays(["a", "b"], [], labels={"a": 1.0})
    assert graph.apply(GraphDelta.read(tmp_path)).label_of("b") == 2.5


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"node_added.csv": "node\na\n"}, "no part of a delta. Did you mean 'nodes_added'"),
        ({"nodes_added.csv": "id\na\n"}, "no column 'node'"),
        ({"nodes_added.csv": "node\na\nb\na\n"}, r"In line 4 of .*nodes_added.csv: .*'a' twice"),
        (
            {"triples_added.csv": "node,feature,value\na,x,1\nb,x,\n"},
            r"In line 3 of .*triples_added.csv: .*finite",
        ),
        ({"nodes_added.csv": "node\na\n", "nodes_added.tsv": "node\nb\n"}, "nodes_added twice"),
        ({"labels_set.csv": "node,label,kind\na,1,text\n"}, "column 'kind'"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        GraphDelta.read(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "delta.jsonl"
    GraphDelta(nodes_added=["a"]).write(path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="neither text nor a number"):
        GraphDelta(nodes_added=["b", ("a", "tuple")]).write(path)
    with pytest.raises(DataError, match="not valid text"):
        GraphDelta(nodes_added=["\ud800"]).write(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["delta.jsonl"]


def test_a_folder_is_replaced_only_where_it_holds_a_delta(tmp_path: Path) -> None:
    path = tmp_path / "delta"
    GraphDelta(nodes_added=["a"], labels_set=[("a", "red")]).write(path)
    GraphDelta(nodes_removed=["b"]).write(path)
    assert [entry.name for entry in path.iterdir()] == ["nodes_removed.parquet"]
    (path / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.txt"):
        GraphDelta().write(path)
    with pytest.raises(DataError, match="Cannot write"):
        GraphDelta(nodes_added=["a", 1]).write(tmp_path / "mixed")
    assert not (tmp_path / "mixed").exists()
