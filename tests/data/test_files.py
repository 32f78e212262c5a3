"""Folders and files of tables, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.atomic import atomic_folder, atomic_write
from grafenne.data.tables import read_table, write_table
from grafenne.errors import DataError, ParameterError
from tests.data.identical import assert_identical
from tests.strategies import feature_graphs


def fill(folder: Path, **tables: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


# ---- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "csv", "tsv"])
@given(graph=feature_graphs())
@settings(max_examples=60, deadline=None)
def test_folder_round_trip_is_exact(format: str, graph: FeatureGraph) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "graph"
        graph.write(folder, format)
        assert_identical(FeatureGraph.read(folder), graph)
        assert [entry.name for entry in Path(name).iterdir()] == ["graph"]


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("labels", [[0.5, 1.0, None], ["a", "b", "a"], [True, None, False]])
def test_labels_keep_kind_type_and_unused_classes(
    tmp_path: Path, format: str, labels: list[object]
) -> None:
    kind = "class" if labels[0] != 0.5 else None
    graph = FeatureGraph.from_arrays(3, 1, labels=labels, label_kind=kind).subgraph([2, 0])
    graph.write(tmp_path / "graph", format)
    assert_identical(FeatureGraph.read(tmp_path / "graph"), graph)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, min_size=1))
@settings(max_examples=30, deadline=None)
def test_fractions_as_class_names_survive_csv(classes: list[float]) -> None:
    graph = FeatureGraph.from_arrays(len(classes), 0, labels=classes, label_kind="class")
    with tempfile.TemporaryDirectory() as name:
        graph.write(Path(name) / "graph", "csv")
        assert_identical(FeatureGraph.read(Path(name) / "graph"), graph)


def test_writing_again_replaces_the_older_graph(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    FeatureGraph.from_arrays(2, 1, labels=["a", "b"]).write(folder, "csv")
    graph = FeatureGraph.from_arrays(3, 2)
    graph.write(folder)
    assert_identical(FeatureGraph.read(folder), graph)
    assert not list(folder.glob("*.csv"))


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(DataError, match=r"holds 'thesis.txt'"):
        FeatureGraph.from_arrays(2, 1).write(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [(["a", 1], "these are int, str"), ([(1, 2)], "these are tuple"), ([1.5], "float")],
)
def test_ids_that_a_file_cannot_hold(tmp_path: Path, ids: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FeatureGraph.from_arrays(ids, 0).write(tmp_path / "graph")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_older_graph(tmp_path: Path) -> None:
    graph = FeatureGraph.from_arrays(["a"], 1)
    graph.write(tmp_path / "graph")
    with pytest.raises(DataError, match="Cannot write"):
        FeatureGraph.from_arrays([2**70], 1).write(tmp_path / "graph")
    assert_identical(FeatureGraph.read(tmp_path / "graph"), graph)
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph"]


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'xlsx'"):
        FeatureGraph.from_arrays(1, 1).write(tmp_path / "graph", "xlsx")


# ---- folders that a person made ------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
def test_classes_that_look_like_fractions_stay_as_written(tmp_path: Path, whole: bool) -> None:
    labels = "node,label\na,1.1\nb,1.10\nc,2.1\n"
    folder = fill(tmp_path, nodes="node\na\nb\nc\n", labels=labels)
    if whole:
        graph = FeatureGraph.read(folder, label_kind="class")
    else:
        features = pd.DataFrame({"node": list("abc"), "feature": "x"})
        graph = FeatureGraph.from_frames(features, labels=folder / "labels.csv", label_kind="class")
    assert graph.labels is not None
    assert graph.labels.classes == ("1.1", "1.10", "2.1")
    assert FeatureGraph.read(folder).label_of("b") == 1.1


def test_csv_ids_are_text_and_labels_are_guessed(tmp_path: Path) -> None:
    folder = fill(
        tmp_path,
        features="node,feature,value\n007,age,31\n08,age, 2.5\n",
        edges="source,target,kind\n007,08,likes\n",
        labels="node,label\n007,3\n08,\n",
    )
    graph = FeatureGraph.read(folder)
    assert list(graph.nodes) == ["007", "08"]
    assert graph.nodes_with("age") == {"007": 31.0, "08": 2.5}
    assert graph.label_of("007") == 3
    assert graph.label_of("08") is None
    assert not graph.directed
    assert FeatureGraph.read(folder, directed=True).directed


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2"], ["class", 1, 2]),
        (["1", "2.5"], ["number", 1.0, 2.5]),
        (["1.0", "2.0"], ["number", 1.0, 2.0]),
        (["1.0", ""], ["number", 1.0, None]),
        (["1", ""], ["class", 1, None]),
        (["007", "2"], ["class", "007", "2"]),
        (["2020_1", "2020_2"], ["class", "2020_1", "2020_2"]),
        (["1", "NaN"], ["class", 1, None]),
        (["1e3", "-.5"], ["number", 1000.0, -0.5]),
        (["1", "x"], ["class", "1", "x"]),
        (["NA", "x"], ["class", "NA", "x"]),
    ],
)
def test_labels_of_a_csv_file(tmp_path: Path, texts: list[str], expected: list[object]) -> None:
    labels = f"node,label\na,{texts[0]}\nb,{texts[1]}\n"
    graph = FeatureGraph.read(fill(tmp_path, nodes="node\na\nb\n", labels=labels))
    assert graph.labels is not None
    found = [graph.labels.kind, graph.label_of("a"), graph.label_of("b")]
    assert found == expected
    assert type(found[1]) is type(expected[1])


def test_parquet_keeps_types(tmp_path: Path) -> None:
    frame = pd.DataFrame({"node": [5, 3], "feature": ["x", "y"], "value": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "features.parquet")
    pd.DataFrame({"node": [3], "label": ["a"]}).set_index("node").to_parquet(
        tmp_path / "labels.parquet"
    )
    graph = FeatureGraph.read(tmp_path)
    assert list(graph.nodes) == [5, 3]
    assert graph.label_of(3) == "a"


def test_a_table_with_an_ending_that_is_not_read_is_told(tmp_path: Path) -> None:
    fill(tmp_path, nodes="node\na\n")
    (tmp_path / "features.xlsx").write_bytes(b"")
    with pytest.raises(DataError, match=r"features\.xlsx looks like .*\.csv"):
        FeatureGraph.read(tmp_path)


def test_endings_may_be_mixed(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "features.csv.gz", "wt") as file:
        file.write("node,feature\na,x\nb,y\n")
    (tmp_path / "edges.tsv").write_text("source\ttarget\tweight\na\tb\t0.5\n")
    (tmp_path / "README.md").write_text("notes")
    graph = FeatureGraph.read(tmp_path)
    assert graph.features_of("a") == {"x": 1.0}
    assert graph.edges.weights is not None
    assert graph.edges.weights.tolist() == [0.5]


def test_from_frames_takes_paths(tmp_path: Path) -> None:
    fill(tmp_path, people="node,feature,value\na,x,1\n", classes="node,label\na,4\n")
    graph = FeatureGraph.from_frames(tmp_path / "people.csv", labels=str(tmp_path / "classes.csv"))
    assert graph.features_of("a") == {"x": 1.0}
    assert graph.label_of("a") == 4


def test_byte_order_mark_blank_lines_and_windows_line_ends(tmp_path: Path) -> None:
    text = "\ufeffnode,feature,value\r\na,x,1\r\n\r\nb,x,2\r\n"
    graph = FeatureGraph.read(fill(tmp_path, features=text))
    assert graph.nodes_with("x") == {"a": 1.0, "b": 2.0}


# ---- single tables -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_write_table_and_read_table(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame(
        {"node": ["a", "", 'q"\n,\t'], "value": [0.1, -0.0, 5e-324], "extra": [1, 2, 3]}
    )
    path = tmp_path / f"table.{ending}"
    write_table(frame, path)
    table = read_table(path, ["node"], ["value", "weight"])
    assert table.frame["node"].tolist() == frame["node"].tolist()
    assert table.frame["value"].tolist() == frame["value"].tolist()
    assert list(table.frame.columns) == ["node", "value"]
    assert table.columns == ("node", "value", "extra")


def test_place_counts_blank_and_continued_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('node\n"a\nb"\n\nc\n')
    assert read_table(path, ["node"]).place(1) == f"line 5 of {path}"


# ---- whole or not at all -------------------------------------------------------------------------


def test_atomic_write_keeps_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "note.txt"
    with atomic_write(path) as beside:
        beside.write_text("old")

    def fail() -> None:
        with atomic_write(path) as beside:
            beside.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in path.parent.iterdir()] == ["note.txt"]


def test_atomic_folder_keeps_the_old_folder_until_the_new_one_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with atomic_folder(folder) as beside:
        (beside / "a.txt").write_text("old")

    def fail() -> None:
        with atomic_folder(folder, replaceable=bool) as beside:
            (beside / "b.txt").write_text("new")
            assert (folder / "a.txt").read_text() == "old"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [entry.name for entry in folder.iterdir()] == ["a.txt"]
    with atomic_folder(folder, replaceable=bool) as beside:
        (beside / "b.txt").write_text("new")
    assert [entry.name for entry in folder.iterdir()] == ["b.txt"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_atomic_folder_refuses_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "graph").write_text("x")
    with pytest.raises(DataError, match="a file of that name exists"):
        FeatureGraph.from_arrays(1, 1).write(tmp_path / "graph")
