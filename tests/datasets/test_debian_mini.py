from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from grafenne.data.feature_graph import FeatureGraph
from grafenne.datasets import load, load_stream
from grafenne.datasets.debian import RELEASES


@pytest.fixture(scope="module")
def releases() -> dict[str, FeatureGraph]:
    return dict(zip(RELEASES, load_stream("debian-mini"), strict=True))


def test_it_travels_with_the_package_in_less_than_a_megabyte() -> None:
    folder = files("grafenne.datasets") / "embedded"
    sizes = {entry.name: len(entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()}
    assert set(sizes) == {"debian-mini-packages.parquet", "debian-mini-depends.parquet"}
    assert sum(sizes.values()) < 1_000_000


def test_it_needs_no_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAFENNE_DATA", str(tmp_path / "nothing"))
    graph = load("debian-mini")
    assert repr(graph) == (
        "FeatureGraph(3,892 nodes, 11,059 directed edges, 4,924 features, 53,903 values, "
        "20 classes)"
    )


def test_every_release_is_large_and_labelled(releases: dict[str, FeatureGraph]) -> None:
    for graph in releases.values():
        assert 3500 < graph.num_nodes < 4500
        assert graph.labels is not None
        assert graph.labels.known.all()
        assert len(graph.labels.classes) == 20
        assert np.bincount(graph.labels.values).min() >= 60
        assert (graph.edges.degrees > 0).mean() > 0.85


def test_packages_and_features_come_and_go(releases: dict[str, FeatureGraph]) -> None:
    bookworm, trixie = releases["bookworm"], releases["trixie"]
    new = set(trixie.nodes) - set(bookworm.nodes)
    gone = set(bookworm.nodes) - set(trixie.nodes)
    assert len(new) > 300
    assert len(gone) > 200
    used = [
        {graph.features[place] for place in np.flatnonzero(graph.values.feature_counts)}
        for graph in (bookworm, trixie)
    ]
    assert len(used[1] - used[0]) > 200
    tagged = [
        any(name.startswith("tag:") for name in trixie.features_of(node)) for node in sorted(new)
    ]
    assert np.mean(tagged) < 0.05  # what makes new packages hard: almost none has tags


def test_one_release_is_the_snapshot_of_the_stream(releases: dict[str, FeatureGraph]) -> None:
    assert load("debian-mini", release="forky") == releases["forky"]


@pytest.mark.parametrize("release", ["bullseye", "sid"])
def test_it_is_a_part_of_the_full_set(public_data: Path, release: str) -> None:
    small = load("debian-mini", release=release)
    full = load("debian", root=public_data, release=release)
    assert full.subgraph(list(small.nodes)) == small
