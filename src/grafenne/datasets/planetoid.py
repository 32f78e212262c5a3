"""Cora and CiteSeer from the raw Planetoid files, read sparsely."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.restricted_pickle import read_restricted_pickle
from grafenne.datasets.download import RemoteFile, fetch_all
from grafenne.datasets.registry import Dataset, check_features, register
from grafenne.errors import DataError

URL = "https://github.com/kimiyoung/planetoid/raw/master/data"

CHECKSUMS = {
    "cora": {
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
}
FOLDERS = {"cora": "Cora/raw", "citeseer": "CiteSeer/raw"}


def load_planetoid(root: Path, name: str) -> FeatureGraph:
    """A citation graph: papers, citations, and the words that each paper contains.

    Edges are undirected, without self-loops and repetitions; the features are ``word_0000``,
    ``word_0001``, … as the files do not tell the words. Classes are numbers for the same reason.

    The files tell only the citations of fifteen papers of CiteSeer. As everybody who uses this
    dataset does, we keep them as nodes without features, and their label is 0, which is what the
    largest entry of an empty row comes to. They are part of the usual 3,327 nodes.

    Args:
        root: The data root.
        name: ``cora`` or ``citeseer``.
    """
    folder = FOLDERS[name]
    fetch_all(
        (
            RemoteFile(f"{folder}/ind.{name}.{part}", f"{URL}/ind.{name}.{part}", checksum)
            for part, checksum in CHECKSUMS[name].items()
        ),
        root,
    )
    return read_planetoid(root / folder, name)


def load_cora(root: Path) -> FeatureGraph:
    """Cora: 2,708 papers on machine learning, see :func:`load_planetoid`."""
    return load_planetoid(root, "cora")


def load_citeseer(root: Path) -> FeatureGraph:
    """CiteSeer: 3,327 papers on computer science, see :func:`load_planetoid`."""
    return load_planetoid(root, "citeseer")


def read_planetoid(folder: Path, name: str) -> FeatureGraph:
    """The graph in the files ``ind.<name>.*`` of a folder."""
    known, known_labels = _features_and_labels(folder, name, "allx", "ally")
    test, test_labels = _features_and_labels(folder, name, "tx", "ty")
    place = _test_index(folder / f"ind.{name}.test.index", len(test_labels), known.shape[0])
    if known.shape[1] != test.shape[1] or known_labels.shape[1] != test_labels.shape[1]:
        raise DataError(
            f"ind.{name}.allx and ind.{name}.tx, or their labels, differ in the number of columns."
        )
    check_features(known.shape[1], f"ind.{name}.allx")
    num_nodes = max(int(place.max(initial=-1)) + 1, known.shape[0])
    classes = np.zeros(num_nodes, dtype=np.int64)
    classes[: known.shape[0]] = known_labels.argmax(axis=1)
    classes[place] = test_labels.argmax(axis=1)

    above, below = known.tocoo(), test.tocoo()
    digits = len(str(known.shape[1] - 1))
    return FeatureGraph.from_arrays(
        num_nodes,
        [f"word_{number:0{digits}}" for number in range(known.shape[1])],
        (
            np.concatenate((above.row, place[below.row])),
            np.concatenate((above.col, below.col)),
            np.concatenate((above.data, below.data)),
        ),
        _edges(folder / f"ind.{name}.graph", num_nodes),
        labels=classes,
        duplicates="first",
    )


def _features_and_labels(
    folder: Path, name: str, features: str, labels: str
) -> tuple[sparse.csr_array, NDArray[Any]]:
    matrix = read_restricted_pickle(folder / f"ind.{name}.{features}")
    one_hot = read_restricted_pickle(folder / f"ind.{name}.{labels}")
    if not isinstance(matrix, sparse.csr_array):
        raise DataError(f"ind.{name}.{features} holds no sparse matrix.")
    if not isinstance(one_hot, np.ndarray) or one_hot.ndim != 2 or one_hot.shape[1] == 0:
        raise DataError(f"ind.{name}.{labels} holds no table of one-hot labels.")
    if len(one_hot) != matrix.shape[0]:
        raise DataError(
            f"ind.{name}.{features} has {matrix.shape[0]} rows but ind.{name}.{labels} has "
            f"{len(one_hot)}."
        )
    matrix.eliminate_zeros()  # a word that is not in the paper
    return matrix, one_hot


def _test_index(path: Path, count: int, first: int) -> NDArray[np.int64]:
    try:
        place = np.array(path.read_text().split(), dtype=np.int64)
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} does not hold one node number per line: {error}.") from None
    if len(place) != count:
        raise DataError(f"{path.name} has {len(place)} node numbers but there are {count} rows.")
    wrong = np.ones(count, dtype=bool)
    wrong[np.unique(place, return_index=True)[1]] = False  # all but the first of each number
    wrong |= (place < first) | (place >= first + 10 * count + 1)
    if wrong.any():
        line = int(np.argmax(wrong)) + 1
        raise DataError(
            f"{path.name}, line {line}: the node number {place[line - 1]} is repeated or wrong."
        )
    return place


def _edges(path: Path, num_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    neighbors = read_restricted_pickle(path)
    if not isinstance(neighbors, dict):
        raise DataError(f"{path.name} holds no dictionary of neighbours.")
    try:
        counts = [len(others) for others in neighbors.values()]
        source = np.repeat(np.array([*neighbors], dtype=np.int64), counts)
        target = np.array([*chain.from_iterable(neighbors.values())], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{path.name} does not map node numbers to lists of them.") from None
    if (
        len(source)
        and not 0 <= min(source.min(), target.min()) <= max(source.max(), target.max()) < num_nodes
    ):
        raise DataError(f"{path.name} has an edge beyond the {num_nodes} nodes.")
    kept = source != target
    return source[kept], target[kept]


register(
    Dataset(
        name="cora",
        title="Cora: papers, citations and words",
        description="Papers joined by citations; features are the words of the paper.",
        task="The research area of a paper (7 classes).",
        source=URL,
        loader=load_cora,
        paper={"nodes": 2708, "edges": 10556, "features": 1433, "classes": 7},
        notes="The paper counts every undirected edge twice; one of the words is never used.",
    )
)
register(
    Dataset(
        name="citeseer",
        title="CiteSeer: papers, citations and words",
        description="Papers joined by citations; features are the words of the paper.",
        task="The research area of a paper (6 classes).",
        source=URL,
        loader=load_citeseer,
        paper={"nodes": 3327, "edges": 9104, "features": 3703, "classes": 6},
        notes="The paper counts every undirected edge twice; 15 papers have no words, "
        "and their label is 0 by convention.",
    )
)
