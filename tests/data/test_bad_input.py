"""Every kind of bad table gets one clear error that names the place; nothing is half-loaded."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph
from grafenne.errors import DataError

HEAD = "node,feature,value\n"


def read(folder: Path, **tables: str | bytes) -> FeatureGraph:
    for name, content in tables.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / f"{name}.csv").write_bytes(data)
    return FeatureGraph.read(folder)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"features": ""}, "features.csv is empty"),
        ({"features": "\n\n"}, "features.csv is empty"),
        ({"features": "node;feature;value\na;x;1\n"}, "separated by ';'.*asks for ','"),
        ({"features": "node,featrue,value\na,x,1\n"}, "no column 'feature' in .*mean 'featrue'"),
        ({"features": "node,node,feature\na,a,x\n"}, "2 columns 'node' in .*features.csv"),
        ({"features": "node,feature,values\na,x,3\n"}, "no column 'value' in .*mean 'values'"),
        ({"features": HEAD + "a,x,1\nb,x,tall\n"}, "value in line 3 of .*features.csv is 'tall'"),
        ({"features": HEAD + "a,x,1\nb,x\n"}, "Line 3 of .*features.csv has 2 cells"),
        ({"features": HEAD + "a,x,1\n,x,1\n"}, "no node in line 3 of .*features.csv"),
        ({"features": HEAD + "a,,1\n"}, "no feature in line 2 of .*features.csv"),
        ({"features": HEAD + "a,x,\n"}, "line 2 of .*features.csv: Node 'a'.*nan.*'x'"),
        ({"features": HEAD + "a,x,inf\n"}, "line 2 of .*: Node 'a' has the value inf.*'x'"),
        ({"features": HEAD + "a,x,1\n\na,x,1\n"}, "line 4 of .*: Node 'a' has feature 'x' twice"),
        ({"features": HEAD.encode() + b"a,x,1\n\xff,x,1\n"}, "Line 3 of .* is not UTF-8 text"),
        ({"features": "node,feature,value\na,x,1\n".encode("utf-16")}, "Line 1 of .* not UTF-8"),
        (
            {"features": HEAD + "a,x,1\n", "edges": "source,target\na,b\n"},
            "target of the edge in line 2 of .*edges.csv is 'b', which is not a node",
        ),
        (
            {"nodes": "node\nalice\n", "edges": "source,target\nalice,alcie\n"},
            "line 2 of .*edges.csv is 'alcie'.*Did you mean 'alice'",
        ),
        (
            {"edges": "source,target\na,b\na,b\n"},
            "line 3 of .*edges.csv: The edge from 'a' to 'b' is listed twice",
        ),
        (
            {"edges": "source,target,weight\na,b,1\nb,a,2\n"},
            "line 3 of .*edges.csv: The undirected edge .* two different weights",
        ),
        ({"edges": "source,target,weight\na,b,x\n"}, "weight in line 2 of .*edges.csv is 'x'"),
        ({"nodes": "node\na\na\n"}, "'a' is listed again in line 3 of .*nodes.csv"),
        (
            {"nodes": "node\na\n", "labels": "node,label\na,x\na,y\n"},
            "'a' is listed again in line 3 of .*labels.csv",
        ),
        ({"nodes": "node\na\n", "edge": "source,target\na,a\n"}, "Unknown table.*mean 'edges'"),
        (
            {"features": HEAD + "a,x,1\n", "feature_edges": "source,target\nx,y\n"},
            "line 2 of .*feature_edges.csv is 'y', which is not a feature",
        ),
        ({"labels": "node,label\na,x\n"}, "There is no graph in"),
    ],
)
def test_bad_text_tables(tmp_path: Path, tables: dict[str, str | bytes], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path, **tables)
    assert "\n" not in str(error.value)


def test_two_tables_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "features.tsv").write_text("node\tfeature\n")
    with pytest.raises(DataError, match=r"two tables of features.*features.csv.*features.tsv"):
        read(tmp_path, features=HEAD)


def test_a_file_or_nothing_in_place_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        FeatureGraph.read(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="it is a file"):
        FeatureGraph.read(tmp_path / "file")
    with pytest.raises(DataError, match=r"missing.csv: it does not exist"):
        FeatureGraph.from_frames(tmp_path / "missing.csv")
    with pytest.raises(DataError, match=r"name of a table ends in one of .csv"):
        FeatureGraph.from_frames(tmp_path / "table.xlsx")


@pytest.mark.parametrize("kept", [0, 3, 100, -10])
def test_truncated_parquet(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "features.parquet"
    pd.DataFrame({"node": ["a"] * 50, "feature": [f"f{i}" for i in range(50)]}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"features\.parquet") as error:
        FeatureGraph.read(tmp_path)
    assert "\n" not in str(error.value)


def test_parquet_with_damage_inside(tmp_path: Path) -> None:
    path = tmp_path / "features.parquet"
    frame = pd.DataFrame({"node": ["a"] * 500, "feature": [f"f{i}" for i in range(500)]})
    frame.to_parquet(path, compression="gzip")
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"Cannot read .*features\.parquet"):
        FeatureGraph.read(tmp_path)


def test_truncated_gzip(tmp_path: Path) -> None:
    data = gzip.compress(HEAD.encode() + b"".join(b"n%d,x,1\n" % i for i in range(5000)))
    (tmp_path / "features.csv.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"Cannot read .*features\.csv\.gz"):
        FeatureGraph.read(tmp_path)


def test_parquet_columns_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "features.parquet"
    pd.DataFrame({"node": ["a"], "feature": ["x"], "value": ["tall"]}).to_parquet(path)
    with pytest.raises(DataError, match=r"value in row 0 of .*features.parquet is 'tall'"):
        FeatureGraph.read(tmp_path)
    pd.DataFrame({"node": ["a", None], "feature": ["x", "y"]}).to_parquet(path)
    with pytest.raises(DataError, match=r"no node in row 1 of .*features.parquet"):
        FeatureGraph.read(tmp_path)
    pd.DataFrame({"node": ["a"], "name": ["x"]}).to_parquet(path)
    with pytest.raises(DataError, match=r"no column 'feature' in .*features.parquet, only 'node'"):
        FeatureGraph.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "as JSON"),
        ("[]", "does not describe a graph"),
        ('{"format": "grafenne graph", "version": 99}', "version 99"),
        ('{"format": "grafenne graph", "version": 1, "node_type": "date"}', "'node_type'.*'date'"),
        ('{"format": "grafenne graph", "version": 1, "directed": [1]}', "'directed'"),
        ('{"format": "grafenne graph", "version": 1, "classes": 3}', "'classes'"),
        ('{"format": "grafenne graph", "version": 1, "node_type": "int"}', "line 2 of.*'a'.*int"),
    ],
)
def test_bad_notes(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "graph.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read(tmp_path, features=HEAD + "a,x,1\n")


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"features": frame(node=["a", 1], feature=["x", "x"])}, "'node' mixes types.*row 1 .*1 "),
        ({"features": frame(node=[1, "1"], feature=["x", "x"])}, "mixes types.*row 1 .*'1'"),
        ({"features": frame(node=[1, True], feature=["x", "y"])}, "mixes types.*row 1 .*True"),
        ({"features": frame(node=["a", None], feature=["x", "x"])}, "no node in row 1"),
        ({"features": frame(node=[1, np.nan], feature=["x", "x"])}, "no node in row 1"),
        ({"features": frame(node=["a"], feature=[3])}, "Feature names must be text.*3"),
        ({"features": frame(node=["a"], feature=["x"], value=["1.5"])}, "row 0 .*'1.5', not a nu"),
        ({"features": frame(node=["a"], feature=["x"], value=[1j])}, "row 0 .*1j.*, not a number"),
        ({"features": frame(node=["a"], feature=["x"], value=[np.nan])}, "row 0.*'a'.*nan.*'x'"),
        ({"features": frame(node=["a"], feature=["x"], value=[None])}, "row 0.*'a'.*nan.*'x'"),
        ({"features": frame(node=[["a"]], feature=["x"])}, r"\['a'\], which cannot be a name"),
        ({"features": frame(node=["a"])}, "no column 'feature' in the features table, only 'node'"),
        (
            {"features": frame(node=[1], feature=["x"]), "edges": frame(source=["1"], target=[1])},
            "nodes are whole numbers in the column 'node' of the features table but text",
        ),
        (
            {"nodes": [1, 2], "edges": frame(source=[1], target=[2], weight=["heavy"])},
            "weight in row 0 of the edges table is 'heavy'",
        ),
        (
            {"nodes": [1, 2], "edges": frame(source=[1], target=[2], weight=[np.inf])},
            "row 0 of the edges table: The weight of an edge from 1 is inf",
        ),
        ({"nodes": [1], "labels": frame(node=[1], label=[np.inf])}, "label in row 0 .* is inf"),
        ({"nodes": [1, 2], "labels": {1: "a", 2: 3}}, "'label' mixes types.*row 1"),
        ({"nodes": ["a", "b", "a"]}, "'a' is listed again in row 2 of the nodes table"),
        ({"vocabulary": ["x", "x"], "nodes": [1]}, "'x' is listed again in row 1 of the vocabular"),
    ],
)
def test_bad_frames(tables: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        FeatureGraph.from_frames(**tables)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
