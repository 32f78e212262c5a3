"""Graphs as folders of mapped arrays: exact, shared, checked before anything is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from grafenne import FeatureGraph, GrafenneClassifier, random_split, to_allotropic
from grafenne.data.mapped import open_mapped, write_mapped
from grafenne.datasets.synthetic import synthetic
from grafenne.errors import DataError, ParameterError, UnknownNameError
from tests.data.identical import assert_identical
from tests.strategies import feature_graphs


def small(**more: Any) -> FeatureGraph:
    return FeatureGraph.from_arrays(
        ["ann", "bob", "cïd"],
        ["age", "höhe", "x"],
        ([0, 0, 2], [0, 1, 1], [1.5, -2.0, 0.0]),
        ([0, 2], [1, 0]),
        labels={"ann": "yes", "cïd": "no"},
        **more,
    )


@settings(max_examples=40, deadline=None)
@given(graph=feature_graphs())
def test_what_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, graph: FeatureGraph
) -> None:
    folder = tmp_path_factory.mktemp("mapped") / "graph"
    write_mapped(graph, folder)
    assert_identical(open_mapped(folder, verify=True), graph)


@pytest.mark.parametrize("directed", [False, True])
def test_messages_and_transpose_are_those_of_the_graph_in_memory(
    tmp_path: Path, directed: bool
) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.integers(30, size=(2, 60))
    cells = rng.choice(30 * 12, 90, replace=False)
    graph = FeatureGraph.from_arrays(
        30,
        12,
        (cells // 12, cells % 12, rng.normal(size=90)),
        (*pairs, rng.normal(size=60)),
        directed=directed,
        feature_edges=([0, 1], [3, 4]),
        duplicates="first",
    )
    graph.write(tmp_path / "g", format="mapped")
    mapped = FeatureGraph.read(tmp_path / "g")
    for direction in ("in", "out", "both"):
        one, two = (
            to_allotropic(graph, direction=direction),
            to_allotropic(mapped, direction=direction),
        )
        for part in ("adjacency", "feature_adjacency"):
            first, second = getattr(one, part), getattr(two, part)
            assert torch.equal(first.pattern.indptr, second.pattern.indptr)
            assert torch.equal(first.pattern.indices, second.pattern.indices)
            assert (first.weights is None) == (second.weights is None)
            assert first.weights is None or torch.equal(first.weights, second.weights)
        assert torch.equal(one.values, two.values)
        there, back = one.incidence, two.incidence
        for _ in range(2):  # the pattern, then its transpose
            assert torch.equal(there.indices, back.indices)
            assert torch.equal(there.permutation, back.permutation)
            there, back = there.transpose, back.transpose


def test_arrays_stay_in_their_files(tmp_path: Path) -> None:
    synthetic(50, 10, seed=1).write(tmp_path / "g", format="mapped")
    graph = open_mapped(tmp_path / "g")
    prepared = to_allotropic(graph)
    for array in (graph.values.indices, graph.values.data, graph.edges.sources):
        assert not array.flags.owndata
        assert not array.flags.writeable
    # What the network reads is the same memory, not a copy of it.
    assert prepared.values.data_ptr() == graph.values.data.ctypes.data
    assert prepared.incidence.indices.data_ptr() == graph.values.indices.ctypes.data
    columns = graph.values.by_feature
    assert prepared.incidence.transpose.indices.data_ptr() == columns.indices.ctypes.data
    assert prepared.incidence.permutation.data_ptr() == columns.data.ctypes.data
    for array in (columns.indices, columns.data, graph.edges.incoming("both").indices):
        assert not array.flags.writeable


def test_names_are_found_and_grown(tmp_path: Path) -> None:
    small().write(tmp_path / "g", format="mapped")
    graph = open_mapped(tmp_path / "g")
    assert list(graph.nodes) == ["ann", "bob", "cïd"]
    assert graph.features_of("cïd") == {"höhe": 0.0}
    assert graph.nodes[1:] == ["bob", "cïd"]
    with pytest.raises(UnknownNameError, match="Did you mean 'ann'"):
        graph.nodes.position("anna")
    grown = graph.with_features({"bob": {"new": 2.0, "age": 3.0}})
    assert grown.features_of("bob") == {"age": 3.0, "new": 2.0}
    assert list(graph.features) == ["age", "höhe", "x"]
    assert graph.features.extended(["x"]) is graph.features

    numbers = FeatureGraph.from_arrays([7, -3, 2**40], 1)
    numbers.write(tmp_path / "n", format="mapped")
    read = open_mapped(tmp_path / "n")
    assert list(read.nodes) == [7, -3, 2**40]
    assert read.nodes.position(-3) == 1


def test_training_from_a_folder_equals_training_from_memory(tmp_path: Path) -> None:
    graph = synthetic(120, 30, 3, continuous=True, seed=2)
    graph.write(tmp_path / "g", format="mapped")
    mapped = open_mapped(tmp_path / "g")
    split = random_split(graph, 0)
    answers = []
    for one in (graph, mapped):
        for batch_size in (None, 40):
            model = GrafenneClassifier(width=8, epochs=3, batch_size=batch_size, neighbours=3)
            answers.append(model.fit(one, split).predict_proba(one))
    assert np.array_equal(answers[0], answers[2])
    assert np.array_equal(answers[1], answers[3])


def rewrite(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    np.save(path, change(np.load(path)))


def note(folder: Path, **entries: Any) -> None:
    path = folder / "graph.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def put(place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change


DAMAGE: dict[str, Callable[[Path], object]] = {
    "values-indices.npy": lambda folder: (folder / "values-indices.npy").unlink(),
    "values-data.npy": lambda folder: cut(folder / "values-data.npy"),
    "edges-sources.npy": lambda folder: (folder / "edges-sources.npy").write_bytes(b"no array"),
    "labels.npy": lambda folder: rewrite(folder / "labels.npy", lambda a: a.astype(np.int32)),
    "values-indptr.npy": lambda folder: rewrite(folder / "values-indptr.npy", put(-1, 2)),
    "edges-both-indptr.npy": lambda folder: rewrite(folder / "edges-both-indptr.npy", put(0, 1)),
    "by-feature-places.npy": lambda folder: rewrite(
        folder / "by-feature-places.npy", lambda a: a.reshape(1, -1)
    ),
    "nodes-letters.npy": lambda folder: rewrite(folder / "nodes-letters.npy", lambda a: a[:-1]),
    "'nodes'": lambda folder: note(folder, nodes=-1),
    "'values'": lambda folder: note(folder, values="3"),
    "'node_ids'": lambda folder: note(folder, node_ids="names"),
    "'classes'": lambda folder: note(folder, classes=["yes", 3]),
    "version 9": lambda folder: note(folder, version=9),
    "to 3000000000": lambda folder: note(folder, values=3_000_000_000),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_opening_checks_sizes_types_and_names(tmp_path: Path, message: str) -> None:
    folder = tmp_path / "g"
    small().write(folder, format="mapped")
    DAMAGE[message](folder)
    with pytest.raises(DataError, match=message) as caught:
        open_mapped(folder)
    assert "\n" not in str(caught.value)


CONTENT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "values-indices.npy": put(1, 3),
    "values-data.npy": put(2, np.nan),
    "by-feature-indices.npy": put(0, -1),
    "by-feature-places.npy": put(0, 99),
    "edges-targets.npy": put(0, 3),
    "edges-both-indices.npy": put(0, 7),
    "values-indptr.npy": put(1, 3),
    "labels.npy": put(0, 2),
}


@pytest.mark.parametrize("name", CONTENT)
def test_reading_checks_the_content_too(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "g"
    small().write(folder, format="mapped")
    rewrite(folder / name, CONTENT[name])
    open_mapped(folder)
    with pytest.raises(DataError, match=name):
        FeatureGraph.read(folder)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        small().write(tmp_path, format="mapped")
    small().write(tmp_path / "g", format="csv")
    small().write(tmp_path / "g", format="mapped")  # a graph takes the place of a graph
    assert FeatureGraph.read(tmp_path / "g") == small()
    assert not list((tmp_path / "g").glob("*.csv"))


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="int, str"):
        FeatureGraph.from_arrays([1, "a"], 1).write(tmp_path / "g", format="mapped")
    with pytest.raises(ParameterError, match="mapped"):
        small().write(tmp_path / "g", format="numpy")
    assert not (tmp_path / "g").exists()
    small().write(tmp_path / "g", format="mapped")
    with pytest.raises(ParameterError, match="says itself"):
        FeatureGraph.read(tmp_path / "g", directed=True)
    with pytest.raises(DataError, match=r"no graph\.json"):
        open_mapped(tmp_path)
