"""Broken files of the public datasets: pickles, archives, text, Parquet, and downloads."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torture.bad_input_cases import Case
from torture.bad_input_models import Malicious
from torture.bad_input_world import World, coauthor_arrays

Damage = Callable[[Path], object]
PLANETOID = "Cora/raw/ind.cora."
PHYSICS = "Physics/raw/ms_academic_phy.npz"
NODES, EDGES = "Actor/raw/out1_node_feature_label.txt", "Actor/raw/out1_graph_edges.txt"
PACKAGES, DEPENDS = "debian/bookworm-packages.parquet", "debian/bookworm-depends.parquet"
PAPERS = "dblp/papers.txt"
HEAD = b"node_id\tfeature\tlabel\n"


def cases() -> Iterator[Case]:
    """All broken datasets."""
    for part in ("allx", "ally", "tx", "ty", "graph"):
        for name, content in _pickles().items():
            yield _case("cora", f"{part}-{name}", f"{PLANETOID}{part}", content)
    for name, text in {
        "empty": b"",
        "text": b"one\ntwo\n",
        "twice": b"5\n5\n",
        "below": b"1\n2\n",
        "far-beyond": b"5\n999999999999\n",
        "many-digits": b"5\n" + b"9" * 5000 + b"\n",
        "nul": b"\0\0",
        "latin-1": b"5\n\xe9\n",
        "short": b"5\n",
    }.items():
        yield _case("cora", f"test-index-{name}", f"{PLANETOID}test.index", text)
    for name, arrays in _archives().items():
        yield _case("physics", name, PHYSICS, _npz(arrays))
    for name, damage in _zip_damages().items():
        yield _case("physics", name, PHYSICS, damage)
    for name, content in {
        "empty": b"",
        "header-only-nodes": HEAD,
        "ragged": HEAD + b"0\t1\n",
        "text-id": HEAD + b"zero\t1\t0\n",
        "negative-id": HEAD + b"-1\t1\t0\n",
        "huge-id": HEAD + b"99999999999999999999\t1\t0\n",
        "id-gap": HEAD + b"0\t1\t0\n7\t1\t0\n",
        "id-twice": HEAD + b"0\t1\t0\n0\t1\t0\n",
        "feature-text": HEAD + b"0\tx\t0\n",
        "feature-negative": HEAD + b"0\t-3\t0\n",
        "feature-terabytes": HEAD + b"0\t999999999999\t0\n1\t1\t0\n2\t1\t0\n",
        "latin-1": HEAD + b"0\t\xe9\t0\n",
        "nul": b"\0" * 10,
    }.items():
        yield _case("actor", f"nodes-{name}", NODES, content)
    for name, content in {
        "beyond": b"node_id\tnode_id\n0\t9\n",
        "negative": b"node_id\tnode_id\n0\t-1\n",
        "text": b"node_id\tnode_id\na\tb\n",
        "ragged": b"node_id\tnode_id\n0\n",
        "huge": b"node_id\tnode_id\n0\t99999999999999999999\n",
        "latin-1": b"node_id\tnode_id\n\xe9\t1\n",
    }.items():
        yield _case("actor", f"edges-{name}", EDGES, content)
    for path, name in ((PACKAGES, "packages"), (DEPENDS, "depends")):
        yield _case("debian", f"{name}-empty", path, b"")
        yield _case("debian", f"{name}-garbage", path, b"PAR1 nothing PAR1")
        yield _case("debian", f"{name}-cut", path, lambda file: _cut(file, -20))
        yield _case("debian", f"{name}-missing", path, lambda file: file.unlink())
        yield _case("debian", f"{name}-folder", path, _as_folder)
        yield _case("debian", f"{name}-columns", path, _other_columns)
        yield _case("debian", f"{name}-numbers", path, _all_numbers)
        yield _case("debian", f"{name}-gaps", path, _gaps)
    for name, content in {
        "empty": b"",
        "no-mark": b"hello\n",
        "no-index": b"#*Graphs\n#t1995\n#cICML\n\n",
        "year-text": b"#*Graphs\n#tnow\n#index1\n",
        "year-other-digits": "#*Graphs\n#t١٩٩٥\n#cICML\n#index1\n".encode(),
        "no-venue": b"#*Graphs\n#t1995\n#index1\n",
        "twice": b"#*A\n#t1995\n#cICML\n#index1\n\n#*B\n#t1995\n#cICML\n#index1\n",
        "nul": b"\0\0\0",
    }.items():
        yield _case("dblp", name, PAPERS, content)
    yield _case("dblp", "missing", PAPERS, lambda file: file.unlink())
    yield _case("dblp", "two-files", PAPERS, lambda file: _second(file))


def _case(dataset: str, name: str, path: str, damage: bytes | Damage) -> Case:
    def build(world: World, folder: Path) -> None:
        top = path.split("/")[0]
        import shutil

        shutil.copytree(world.folder / top, folder / top)
        if callable(damage):
            damage(folder / path)
        else:
            (folder / path).write_bytes(damage)

    def read(world: World, folder: Path) -> Any:
        from grafenne import datasets

        return datasets.load(dataset, root=folder)

    return Case(f"dataset-{dataset}/{name}", read, build)


def _pickles() -> dict[str, bytes]:
    from scipy import sparse

    def stored(content: Any, protocol: int = 2) -> bytes:
        return pickle.dumps(content, protocol=protocol)

    return {
        "malicious": stored(Malicious()),
        "malicious-newest": stored(Malicious(), 5),
        "malicious-in-list": stored([1, Malicious()]),
        "empty": b"",
        "text": b"hello",
        "number": stored(3),
        "none": stored(None),
        "objects": stored(np.array([None, {}], dtype=object)),
        "strings": stored(np.array(["a", "b"])),
        "one-dimension": stored(np.ones(4)),
        "other-sparse": stored(sparse.coo_matrix(np.eye(4))),
        "columns-terabytes": stored(sparse.csr_matrix((4, 2**50))),
        "other-size": stored(sparse.csr_matrix(np.eye(9))),
        "cut": stored(sparse.csr_matrix(np.eye(4)))[:-20],
        "terabytes": b"\x8e" + (10**13).to_bytes(8, "little"),
        "deep": b"(" * 100_000 + b".",
        "persistent": b"Q.",
        "function-as-type": b"cnumpy\ndtype\n(c_codecs\nencode\ntR.",
        "long-integer": b"\x8b" + (2**31 - 1).to_bytes(4, "little") + b"1.",
        "dict-of-text": stored({"a": ["b"]}),
        "dict-beyond": stored({0: [99]}),
        "dict-huge": stored({0: [10**40]}),
        "dict-of-numbers": stored({0: 1}),
    }


def _archives() -> dict[str, dict[str, Any]]:
    sound = coauthor_arrays()
    changes: dict[str, dict[str, Any]] = {
        "indices-beyond": {"attr_indices": np.array([0, 9, 2])},
        "indices-negative": {"attr_indices": np.array([0, -1, 2])},
        "indptr-falling": {"attr_indptr": np.array([0, 5, 3])},
        "indptr-text": {"attr_indptr": np.array(["a", "b", "c"])},
        "shape-lies": {"attr_shape": np.array([2, 10**12])},
        "shape-huge": {"attr_shape": np.array([10**12, 3])},
        "shape-one": {"attr_shape": np.array([2])},
        "shape-text": {"attr_shape": np.array(["2", "3"])},
        "shape-number": {"attr_shape": np.array(2)},
        "data-nan": {"attr_data": np.array([1.0, np.nan, 1.0])},
        "data-text": {"attr_data": np.array(["a", "b", "c"])},
        "data-complex": {"attr_data": np.array([1j, 1j, 1j])},
        "data-short": {"attr_data": np.ones(1)},
        "data-objects": {"attr_data": np.array([None, {}, []], dtype=object)},
        "adjacency-size": {"adj_shape": np.array([3, 3]), "adj_indptr": np.array([0, 1, 2, 2])},
        "labels-short": {"labels": np.array([0])},
        "labels-table": {"labels": np.zeros((2, 2))},
        "labels-number": {"labels": np.array(3)},
        "labels-inf": {"labels": np.array([0.5, np.inf])},
        "labels-objects": {"labels": np.array([Malicious(), 1], dtype=object)},
    }
    archives = {name: {**sound, **change} for name, change in changes.items()}
    for gone in ("labels", "attr_shape", "adj_data"):
        archives[f"without-{gone}"] = {key: sound[key] for key in sound if key != gone}
    return archives


def _npz(arrays: dict[str, Any]) -> Damage:
    return lambda path: np.savez(path, **arrays)


def _zip_damages() -> dict[str, Damage]:
    def member(name: str, content: bytes) -> Damage:
        def damage(path: Path) -> None:
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr(name, content)

        return damage

    def replaced(name: str, content: bytes) -> Damage:
        def damage(path: Path) -> None:
            arrays = {key: array for key, array in coauthor_arrays().items() if key != name}
            _npz(arrays)(path)
            member(f"{name}.npy", content)(path)

        return damage

    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
    return {
        "empty": lambda path: path.write_bytes(b""),
        "text": lambda path: path.write_bytes(b"hello"),
        "cut": lambda path: _cut(path, -30),
        "cut-short": lambda path: _cut(path, 100),
        "a-folder": _as_folder,
        "a-pickle": lambda path: path.write_bytes(pickle.dumps(Malicious())),
        "an-npy": lambda path: np.save(path.open("wb"), np.ones(3)),
        "zip-version": lambda path: _in_directory(path, 6, 255),  # the version that it needs
        "encrypted": lambda path: _in_directory(path, 8, 1),  # the first bit of its flags
        "labels-garbage": replaced("labels", b"not an array"),
        "labels-terabytes": replaced("labels", (header % 10**12).ljust(128) + b"\n"),
        "labels-shape-overflows": replaced("labels", (header % 10**30).ljust(128) + b"\n"),
    }


def _in_directory(path: Path, offset: int, byte: int) -> None:
    """Changes a byte of every entry in the directory of a zip file."""
    content = bytearray(path.read_bytes())
    start = content.find(b"PK\x01\x02")
    while start >= 0:
        content[start + offset] = byte
        start = content.find(b"PK\x01\x02", start + 4)
    path.write_bytes(content)


def _cut(path: Path, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _second(path: Path) -> None:
    path.with_name("more.txt").write_bytes(path.read_bytes())


def _frame(path: Path) -> Any:
    import pandas as pd

    return pd.read_parquet(path)


def _other_columns(path: Path) -> None:
    _frame(path).rename(columns=lambda name: f"{name}_").to_parquet(path)


def _all_numbers(path: Path) -> None:
    frame = _frame(path)
    for column in frame:
        frame[column] = 1.5
    frame.to_parquet(path)


def _gaps(path: Path) -> None:
    frame = _frame(path)
    frame.loc[0, "package"] = None
    frame.to_parquet(path)
