"""Files from strangers run nothing, take no memory by a claim, and reach no page unescaped."""

from __future__ import annotations

import ast
import json
import pickle
import re
import resource
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grafenne
from grafenne import FeatureGraph, datasets
from grafenne.data.restricted_pickle import read_restricted_pickle
from grafenne.datasets import actor, coauthor, planetoid
from grafenne.datasets.download import RemoteFile
from grafenne.errors import DataError, GrafenneError, ModelFileError
from grafenne.estimators.persistence import load_estimator
from torture.bad_input_models import Malicious
from torture.bad_input_world import World, coauthor_arrays

HOME = Path(grafenne.__file__).parent
RUNS_PICKLES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "yaml"}
UNPACKS = {"tarfile", "extractall", "extract", "unpack_archive"}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A malicious pickle would leave its mark in the folder that a test works in."""
    monkeypatch.chdir(tmp_path)


def nothing_ran(folder: Path) -> bool:
    return not list(folder.rglob("unpickled"))


# ---- pickles ---------------------------------------------------------------------------------


def names_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every imported, called or looked up name of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((part, node.lineno) for alias in node.names for part in [alias.name])
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module), node.lineno
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno


@cache
def sources() -> list[tuple[Path, ast.Module]]:
    paths = [path for path in HOME.rglob("*.py") if path.name != "restricted_pickle.py"]
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def test_only_the_restricted_reader_knows_pickles() -> None:
    found = [
        f"{path.name}:{line} {name}"
        for path, tree in sources()
        for name, line in names_in(tree)
        if name.split(".")[0] in RUNS_PICKLES | UNPACKS or name in ("system", "popen")
    ]
    assert found == []


def test_nothing_from_a_file_is_evaluated_or_loaded_with_pickles() -> None:
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in ("eval", "exec", "compile", "__import__", "torch.load", "pd.read_pickle"):
                found.append(f"{path.name}:{node.lineno} {called}")
            if called in ("np.load", "numpy.load"):
                options = {word.arg: ast.unparse(word.value) for word in node.keywords}
                if options.get("allow_pickle") != "False":
                    found.append(f"{path.name}:{node.lineno} {called}")
    assert found == []


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("part", ["allx", "graph"])
def test_a_malicious_dataset_runs_nothing(
    part: str, protocol: int, sound_world: World, tmp_path: Path
) -> None:
    folder = sound_world.copy("planetoid", tmp_path / "Cora" / "raw")
    (folder / f"ind.cora.{part}").write_bytes(pickle.dumps([Malicious()], protocol=protocol))
    with pytest.raises(DataError, match="not allowed"):
        datasets.load("cora", root=tmp_path)
    assert nothing_ran(tmp_path)


def test_the_mark_is_left_where_pickles_are_run(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Malicious()))  # or else the other tests show nothing
    assert not nothing_ran(tmp_path)


def test_arrays_of_objects_run_nothing(sound_world: World, tmp_path: Path) -> None:
    evil = np.array([Malicious(), Malicious()], dtype=object)
    np.savez(tmp_path / "p.npz", **{**coauthor_arrays(), "labels": evil})
    with pytest.raises(DataError, match="damaged"):
        coauthor.read_coauthor(tmp_path / "p.npz")
    mapped = sound_world.copy("mapped", tmp_path / "mapped")
    np.save(mapped / "labels.npy", evil, allow_pickle=True)
    with pytest.raises(DataError, match="labels"):
        FeatureGraph.read(mapped)
    assert nothing_ran(tmp_path)


@pytest.mark.parametrize("file", ["model.json", "model.safetensors", "memory.json"])
def test_a_model_with_a_pickle_inside_runs_nothing(
    file: str, sound_world: World, tmp_path: Path
) -> None:
    folder = sound_world.copy("model", tmp_path / "model")
    (folder / file).write_bytes(pickle.dumps(Malicious()))
    with pytest.raises(ModelFileError):
        load_estimator(folder)
    (folder / "extra.pkl").write_bytes(pickle.dumps(Malicious()))
    with pytest.raises(ModelFileError):
        load_estimator(folder)
    assert nothing_ran(tmp_path)


def test_a_model_names_no_code(sound_world: World, tmp_path: Path) -> None:
    folder = sound_world.copy("model", tmp_path / "model")
    sound = json.loads((folder / "model.json").read_text())
    for name in ("pyg:os.system", "pyg:../x", "pyg:__builtins__", "pyg:Data", "pyg:Sequential"):
        about = {**sound, "settings": {**sound["settings"], "backbone": name}}
        (folder / "model.json").write_text(json.dumps(about))
        with pytest.raises(ModelFileError, match="no message passing layer"):
            load_estimator(folder)
    for name in ("os.system", "Malicious", "torture.bad_input_models.Malicious"):
        (folder / "model.json").write_text(json.dumps({**sound, "estimator": name}))
        with pytest.raises(ModelFileError, match="unknown estimator"):
            load_estimator(folder)


# ---- claims ----------------------------------------------------------------------------------


def claimed_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    name = next(name for name in header if name.startswith("network."))
    header[name] = {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 4 * 10**12]}
    text = json.dumps({name: header[name]}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)


def claimed_width(folder: Path) -> None:
    about = json.loads((folder / "model.json").read_text())
    about["settings"]["width"] = 10**9
    (folder / "model.json").write_text(json.dumps(about))


def claimed_nodes(folder: Path) -> None:
    notes = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**notes, "nodes": 10**12}))


def claimed_array(folder: Path) -> None:
    with (folder / "values-data.npy").open("wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(file, header)


def claimed_pickle(folder: Path) -> None:
    size = (10**13).to_bytes(8, "little")
    (folder / "ind.cora.allx").write_bytes(b"\x80\x04\x8e" + size + b"x.")


@pytest.mark.parametrize(
    ("thing", "claim", "read"),
    [
        ("model", claimed_weights, load_estimator),
        ("model", claimed_width, load_estimator),
        ("mapped", claimed_nodes, FeatureGraph.read),
        ("mapped", claimed_array, FeatureGraph.read),
        ("planetoid", claimed_pickle, lambda path: read_restricted_pickle(path / "ind.cora.allx")),
    ],
)
def test_a_claim_of_terabytes_takes_no_memory(
    thing: str,
    claim: Callable[[Path], None],
    read: Callable[[Path], Any],
    sound_world: World,
    tmp_path: Path,
) -> None:
    folder = sound_world.copy(thing, tmp_path / "claimed")
    claim(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(GrafenneError):
        read(folder)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000 * (1024 if sys.platform == "darwin" else 1)


# ---- archives and downloads ------------------------------------------------------------------


def test_an_archive_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "inside" / "p.npz"
    path.parent.mkdir()
    np.savez(path, **coauthor_arrays())
    with zipfile.ZipFile(path, "a") as archive:
        for name in ("../evil.npy", "/tmp/grafenne-evil.npy", "labels/../../evil.npy"):
            archive.writestr(name, b"evil")
    assert coauthor.read_coauthor(path).num_nodes == 2
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == ["p.npz"]
    assert not Path("/tmp/grafenne-evil.npy").exists()


def remote_files() -> list[RemoteFile]:
    """All files that the package would ever download."""
    files = [coauthor.PHYSICS, actor.NODES, actor.EDGES]
    for name, parts in planetoid.CHECKSUMS.items():
        folder, url = planetoid.FOLDERS[name], planetoid.URL
        files += [
            RemoteFile(f"{folder}/ind.{name}.{part}", f"{url}/ind.{name}.{part}", checksum)
            for part, checksum in parts.items()
        ]
    return files


def test_every_download_has_a_checksum_and_stays_in_its_folder() -> None:
    files = remote_files()
    assert len(files) == 15
    for file in files:
        assert file.url.startswith("https://")
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts
    assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in actor.SPLIT_CHECKSUMS)
