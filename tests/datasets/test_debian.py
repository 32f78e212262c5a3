from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grafenne.data.feature_kinds import feature_kind, feature_kinds
from grafenne.datasets import load, load_stream
from grafenne.errors import DataError, ParameterError, UnknownNameError

PACKAGES = pd.DataFrame(
    {
        "package": ["editor", "libc6", "viewer"],
        "version": ["1", "2", "3"],
        "section": ["text", "libs", "text"],
        "priority": ["optional", "required", "optional"],
        "architecture": ["all", "amd64", "all"],
        "source": ["editor", "glibc", "viewer"],
        "installed_size": [99, 0, 7],
        "size": [9, 8, 7],
        "multi_arch": ["", "same", ""],
        "tags": ["role::program use::editing", "", "role::program"],
        "fields": ["Homepage", "", "Homepage Suggests"],
        "words": ["editor c++", "gnu", "editor"],
    }
)
DEPENDS = pd.DataFrame(
    {
        "package": ["editor", "editor", "viewer", "viewer"],
        "on": ["libc6", "libc6", "editor", "gone"],
        "kind": ["Depends", "Pre-Depends", "Suggests", "Depends"],
    }
)


def write(root: Path, release: str, packages: pd.DataFrame = PACKAGES) -> None:
    (root / "debian").mkdir(parents=True, exist_ok=True)
    packages.to_parquet(root / "debian" / f"{release}-packages.parquet", index=False)
    DEPENDS.to_parquet(root / "debian" / f"{release}-depends.parquet", index=False)


def test_a_small_release(tmp_path: Path) -> None:
    write(tmp_path, "bookworm")
    graph = load("debian", root=tmp_path)
    assert list(graph.nodes) == ["editor", "libc6", "viewer"]
    assert graph.features_of("editor") == {
        "installed_size": pytest.approx(math.log(100)),
        "size": pytest.approx(math.log(10)),
        "priority=optional": 1,
        "architecture=all": 1,
        "field:Homepage": 1,
        "tag:role::program": 1,
        "tag:use::editing": 1,
        "word:editor": 1,
        "word:c++": 1,
    }
    assert graph.features_of("libc6") == {  # an unknown installed size is absent, not zero
        "size": pytest.approx(math.log(9)),
        "priority=required": 1,
        "architecture=amd64": 1,
        "multi_arch=same": 1,
        "word:gnu": 1,
    }
    assert graph.directed
    assert graph.edges.weights is None
    assert graph.neighbors("editor", "out") == ["libc6"]
    assert graph.neighbors("viewer", "out") == ["editor"]
    assert graph.num_edges == 2
    assert graph.labels is not None
    assert graph.labels.classes == ("libs", "text")
    assert [graph.label_of(node) for node in graph.nodes] == ["text", "libs", "text"]


def test_the_kind_of_a_feature() -> None:
    names = ["tag:devel::lang:perl", "priority=optional", "size", "word:c=c", "tag:a"]
    assert [feature_kind(name) for name in names] == ["tag", "priority", "size", "word", "tag"]
    kinds, codes = feature_kinds(names)
    assert kinds == ["tag", "priority", "size", "word"]
    assert codes.tolist() == [0, 1, 2, 3, 0]


def test_features_keep_their_positions_from_release_to_release(tmp_path: Path) -> None:
    later = PACKAGES.assign(words=["rust", "gnu", "editor"], package=["new", "libc6", "viewer"])
    write(tmp_path, "bookworm")
    write(tmp_path, "trixie", later)
    stream = load_stream("debian", root=tmp_path, releases=["bookworm", "trixie"])
    first, second = stream
    assert list(second.features)[: first.num_features] == list(first.features)
    assert set(second.features) - set(first.features) == {"word:rust"}
    assert second == load("debian", root=tmp_path, release="trixie")


def test_wrong_releases_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'bookworm'"):
        load("debian", root=tmp_path, release="bookwrom")
    with pytest.raises(ParameterError, match="different names"):
        load_stream("debian", root=tmp_path, releases=["sid", "sid"])


def test_a_missing_release_tells_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("debian", root=tmp_path)
    message = str(caught.value)
    assert "bookworm-packages.parquet" in message
    assert "scripts/build_debian.py bookworm" in message
    assert str(tmp_path / "debian") in message


@pytest.mark.parametrize(
    ("packages", "message"),
    [
        (PACKAGES.drop(columns="tags"), r"bookworm-packages\.parquet has no column 'tags'"),
        (PACKAGES.assign(size="big"), "'size' of bookworm-packages.* must hold whole numbers"),
        (PACKAGES.assign(words=7), "'words' of bookworm-packages.* must hold text"),
        (PACKAGES.assign(section=["a", None, "b"]), "'section' of bookworm-.* empty cell"),
        (PACKAGES.assign(package="x"), r"bookworm-packages\.parquet: .*'x' is listed twice"),
        (PACKAGES.assign(words="a a"), "bookworm-packages.*'editor' has feature 'word:a' twice"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, packages: pd.DataFrame, message: str) -> None:
    write(tmp_path, "bookworm", packages)
    with pytest.raises(DataError, match=message):
        load("debian", root=tmp_path)


def test_a_truncated_table_is_named(tmp_path: Path) -> None:
    write(tmp_path, "bookworm")
    path = tmp_path / "debian" / "bookworm-depends.parquet"
    for length in (path.stat().st_size // 2, 0):
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(DataError, match=r"bookworm-depends\.parquet is not a whole Parquet"):
            load("debian", root=tmp_path)


def test_the_counts_of_two_releases(public_data: Path) -> None:
    bookworm, trixie = load_stream("debian", root=public_data, releases=["bookworm", "trixie"])
    assert (bookworm.num_nodes, trixie.num_nodes) == (63_436, 68_820)
    assert bookworm.num_edges == 293_802 - 122  # pairs that are joined in two ways count once
    assert int((bookworm.nodes.find(trixie.nodes) < 0).sum()) == 13_996
    for graph in (bookworm, trixie):
        assert graph.labels is not None
        assert len(graph.labels.classes) == 58
        assert graph.labels.known.all()
    kinds, codes = feature_kinds(bookworm.features)
    assert set(kinds) == {
        *("installed_size", "size", "priority", "architecture", "multi_arch"),
        *("field", "tag", "word"),
    }
    tagged = np.unique(bookworm.values.rows[codes[bookworm.values.indices] == kinds.index("tag")])
    assert len(tagged) == 30_300
