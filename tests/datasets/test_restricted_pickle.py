from __future__ import annotations

import os
import pickle
import struct
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from grafenne.data.restricted_pickle import read_restricted_pickle
from grafenne.errors import DataError


def written(folder: Path, content: object, protocol: int = 2) -> Path:
    path = folder / "raw.pickle"
    path.write_bytes(pickle.dumps(content, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_arrays_and_containers_come_back(tmp_path: Path, protocol: int) -> None:
    array = np.array([[1.5, 0.0], [2.0, -3.0]])
    assert np.array_equal(read_restricted_pickle(written(tmp_path, array, protocol)), array)
    neighbors = defaultdict(list, {0: [1, 2], 2: [0]})
    assert read_restricted_pickle(written(tmp_path, neighbors, protocol)) == neighbors
    number = np.float32(2.5)
    assert read_restricted_pickle(written(tmp_path, number, protocol)) == number


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_a_sparse_matrix_comes_back_as_a_checked_one(tmp_path: Path, kind: type) -> None:
    matrix = kind(np.array([[0, 2, 0], [1, 0, 3]], dtype=np.float32))
    found = read_restricted_pickle(written(tmp_path, matrix))
    assert found.shape == (2, 3)
    assert found.indptr.tolist() == [0, 1, 3]
    assert found.indices.tolist() == [1, 0, 2]
    assert found.data.tolist() == [2, 1, 3]


def test_the_old_path_of_scipy_and_numpy_is_known(tmp_path: Path) -> None:
    content = pickle.dumps(sparse.csr_matrix(np.eye(2)), protocol=2)
    old = content.replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
    old = old.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    path = tmp_path / "old.pickle"
    path.write_bytes(old)
    assert read_restricted_pickle(path).indices.tolist() == [0, 1]


class Malicious:
    """Runs a command when it is read by an ordinary unpickler."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_malicious_pickle_runs_nothing(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "victim"
    path = written(tmp_path, [1, Malicious(f"touch {victim}")], protocol)
    with pytest.raises(DataError, match=r"raw\.pickle asks for (posix|nt)\.system"):
        read_restricted_pickle(path)
    assert not victim.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c__builtin__\ngetattr\n(tR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cscipy.sparse\nload_npz\n(S'x'\ntR.",
        b"cnumpy.testing._private.utils\nrunstring\n(S'1'\n}tR.",
    ],
)
def test_other_functions_of_allowed_modules_are_refused(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "raw.pickle"
    path.write_bytes(program)
    with pytest.raises(DataError, match="not allowed"):
        read_restricted_pickle(path)


def test_an_array_of_objects_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, np.array([{"a": 1}, None], dtype=object))
    with pytest.raises(DataError, match=r"raw\.pickle"):
        read_restricted_pickle(path)


def test_every_truncation_is_a_data_error(tmp_path: Path) -> None:
    content = pickle.dumps(sparse.csr_matrix(np.eye(3)), protocol=2)
    path = tmp_path / "raw.pickle"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"raw\.pickle"):
            read_restricted_pickle(path)


def test_indices_beyond_the_matrix_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, sparse.csr_matrix(np.array([[1, 0, 1], [0, 1, 0]])))
    good, bad = struct.pack("<3i", 0, 2, 1), struct.pack("<3i", 0, 99, 1)
    content = path.read_bytes()
    assert content.count(good) == 1
    path.write_bytes(content.replace(good, bad))
    with pytest.raises(DataError, match="sparse matrix in raw"):
        read_restricted_pickle(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.pickle does not exist"):
        read_restricted_pickle(tmp_path / "nowhere.pickle")
