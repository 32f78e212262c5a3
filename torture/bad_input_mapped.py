"""Broken folders of mapped arrays: truncated, of another type, lying, out of range."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torture.bad_input_cases import Case
from torture.bad_input_tables import read_graph
from torture.bad_input_world import World

Damage = Callable[[Path], object]

# Entries of graph.json and values they must not have.
NOTES: dict[str, tuple[Any, ...]] = {
    "version": (0, 2, "1", None),
    "nodes": (-1, 0, 25, 2**61, 2**70, 1.5, "24", None, True),
    "features": (-1, 7, 2**61, None),
    "values": (-1, 0, 71, 73, 2**61),
    "edges": (-1, 0, 23, 2**61),
    "feature_edges": (-1, 3, 2**50),
    "directed": (True, 1, "no", None),
    "weighted": (False, None, 0),
    "weighted_feature_edges": (True, None),
    "binary": (True, None, 0),
    "node_ids": ("int", "words", None, []),
    "label_kind": ("number", "colour", [], {}),
    "class_type": ("int", "date", None, []),
    "classes": ([], ["lamp"], ["lamp", 3], ["lamp", "lamp"], None, "lamp", [[], []], {}),
}

ARRAYS = (
    "values-indptr", "values-indices", "values-data", "by-feature-indptr", "by-feature-indices",
    "by-feature-places", "edges-sources", "edges-targets", "edges-weights", "edges-both-indptr",
    "edges-both-indices", "edges-both-weights", "feature-edges-sources", "labels",
    "nodes-starts", "nodes-letters", "features-starts",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """All broken mapped graphs."""
    for entry, values in NOTES.items():
        for value in values:
            yield _case(f"notes-{entry}-{value!r}", _note(entry, value))
        yield _case(f"notes-without-{entry}", _note(entry, _note))
    for name in ARRAYS:
        yield _case(f"{name}/missing", lambda path: path.unlink(), name)
        yield _case(f"{name}/empty", lambda path: path.write_bytes(b""), name)
        yield _case(f"{name}/cut", lambda path: path.write_bytes(path.read_bytes()[:-1]), name)
        yield _case(f"{name}/longer", lambda path: path.write_bytes(path.read_bytes() + b"x"), name)
        yield _case(f"{name}/other-type", _altered(lambda array: array.astype(np.complex64)), name)
        yield _case(f"{name}/two-dimensions", _altered(lambda array: array[None]), name)
        yield _case(f"{name}/objects", _objects, name)
        yield _case(f"{name}/a-folder", _as_folder, name)
        yield _case(f"{name}/lying-header", _lying_header, name)
        yield _case(f"{name}/broken-header", _broken_header, name)
    for name in (
        *("values-indices", "by-feature-indices", "by-feature-places", "edges-sources"),
        *("edges-targets", "edges-both-indices", "labels", "feature-edges-sources"),
    ):
        yield _case(f"{name}/negative", _entry(-5), name)
        yield _case(f"{name}/beyond", _entry(10**6), name)
    for name in ("values-data", "edges-weights", "edges-both-weights"):
        yield _case(f"{name}/nan", _entry(np.nan), name)
        yield _case(f"{name}/inf", _entry(np.inf), name)
    for name in ("values-indptr", "by-feature-indptr", "edges-both-indptr", "nodes-starts"):
        yield _case(f"{name}/falling", _entry(10**6, place=1), name)
        yield _case(f"{name}/not-from-zero", _entry(1, place=0), name)
        yield _case(f"{name}/negative-end", _entry(-1, place=-1), name)
    # Every position is in range, but the parts tell different stories.
    yield _case("values-indices/repeated", _copy_entry(0, 1), "values-indices")
    yield _case("values-indices/swapped", _swapped, "values-indices")
    yield _case("by-feature-places/swapped", _swapped, "by-feature-places")
    yield _case("by-feature-places/repeated", _copy_entry(0, 1), "by-feature-places")
    yield _case("by-feature-indices/other", _entry(5, place=0), "by-feature-indices")
    yield _case("edges-both-indices/other", _entry(7, place=0), "edges-both-indices")
    yield _case("edges-both-weights/other", _entry(55.0, place=0), "edges-both-weights")
    yield _case("edges-sources/other", _entry(7, place=0), "edges-sources")
    yield _case("edges-weights/other", _entry(55.0, place=0), "edges-weights")
    yield _case("nodes-letters/not-text", _entry(255, place=0), "nodes-letters")
    yield _case("nodes-letters/same-name-twice", _entry(ord("1"), place=1), "nodes-letters")
    yield _case("features-letters/not-text", _entry(255, place=0), "features-letters")
    yield _case("values-data/infinite-label", _number_label, None)


def _case(name: str, damage: Damage, array: str | None = None) -> Case:
    def build(world: World, folder: Path) -> None:
        world.copy("mapped", folder)
        damage(folder if array is None else folder / f"{array}.npy")

    return Case(f"mapped/{name}", read_graph, build)


def _note(entry: str, value: Any) -> Damage:
    def damage(folder: Path) -> None:
        notes = json.loads((folder / "graph.json").read_text())
        if value is _note:
            del notes[entry]
        else:
            notes[entry] = value
        (folder / "graph.json").write_text(json.dumps(notes))

    return damage


def _altered(change: Callable[[Any], Any]) -> Damage:
    return lambda path: np.save(path, change(np.load(path)))


def _entry(value: Any, place: int = -1) -> Damage:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return _altered(change)


def _copy_entry(source: int, target: int) -> Damage:
    def change(array: Any) -> Any:
        array[target] = array[source]
        return array

    return _altered(change)


def _swapped(path: Path) -> None:
    array = np.load(path)
    array[[0, 1]] = array[[1, 0]]
    np.save(path, array)


def _objects(path: Path) -> None:
    np.save(path, np.array(np.load(path).tolist(), dtype=object), allow_pickle=True)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _lying_header(path: Path) -> None:
    """A header that claims 8 TB of the right numbers."""
    array = np.load(path)
    with path.open("wb") as file:
        header = {"descr": array.dtype.str, "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(array.tobytes())


def _broken_header(path: Path) -> None:
    """A header that is Python no more; NumPy's parser fails on it in a way of its own."""
    path.write_bytes(path.read_bytes().replace(b"'shape': (", b"'shape': [("))


def _number_label(folder: Path) -> None:
    _note("label_kind", "number")(folder)
    _note("classes", [])(folder)
    labels = np.full(24, np.nan)
    labels[3] = np.inf
    np.save(folder / "labels.npy", labels)
