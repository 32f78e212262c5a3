"""Actor, a graph whose neighbours mislead, from Geom-GCN's raw text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph
from grafenne.datasets.archives import read_arrays
from grafenne.datasets.download import RemoteFile, fetch
from grafenne.datasets.registry import Dataset, check_features, data_root, register
from grafenne.errors import DataError, ParameterError

URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
NODES = RemoteFile(
    "Actor/raw/out1_node_feature_label.txt",
    f"{URL}/new_data/film/out1_node_feature_label.txt",
    "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8",
)
EDGES = RemoteFile(
    "Actor/raw/out1_graph_edges.txt",
    f"{URL}/new_data/film/out1_graph_edges.txt",
    "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e",
)
SPLIT_CHECKSUMS = (
    "4505a41d4e90abd94d1ec22571ce528b09ad7cf20d87f764aebd4177590767f5",
    "1871b0d24e3977c41e378fd24acc8025b63f86b77739be77a5b558d1287f207d",
    "d26680e911ef3ecc9fc2a26d90c9d35028c63aadd7a5aea774649d1496c282cb",
    "6755ad5f6a0be8594b344af3d2261eed935b83b73c4d70136e1a7beea7f78cb0",
    "328fdca62b25074f21f2922518e042f24b3b8a1fc378f9dfb2cae36439aed902",
    "5b3161a8dc8de4b2e651ebd56d68e768d1377044895b325566117fe26ab81cb7",
    "e251b38abd4d7931b5e9ae5aba99dcdf87f0be283bdf6e65421274a1c9ef1df6",
    "12164ef9f5620a2f12a387f4f2b8636859d42201101d6d32829ade62d5a98326",
    "405cd1f7f631f678119f8bf2405809e86614d532985beb59566fcf95abd35b3f",
    "505691c5d41bb37b20d085415dcdde2e8e68b5bc4e1feb2c0e361308002012bb",
)
COUNTS = (
    "The paper's 33,544 edges and 931 features do not follow from these files. The public "
    "files hold 932 features (numbered 0 to 931) and 33,391 lines of edges: 30,019 different "
    "directed edges, 93 of them self-loops, or 26,659 undirected edges without self-loops."
)


def load_actor(root: Path, *, directed: bool = False) -> FeatureGraph:
    """Actors joined when they occur on one page; features are keywords of their own pages.

    The edge file lists 33,391 pairs with repetitions. By default an edge has no direction, and
    self-loops are dropped: 26,659 edges. The paper's 33,544 edges and 931 features cannot be
    obtained from the public files (they hold 932 features); see ``dataset_info("actor").notes``.

    Args:
        root: The data root.
        directed: Keep each pair's direction and the self-loops: the 30,019 different pairs of
            the file, which is how other libraries read it.
    """
    return read_actor(fetch(NODES, root), fetch(EDGES, root), directed=directed)


def actor_split(number: int, *, root: str | Path | None = None) -> dict[str, NDArray[np.int64]]:
    """One of the ten public splits: positions of the ``train``, ``validation``, ``test`` nodes.

    Args:
        number: 0 to 9.
        root: The data root.
    """
    if number not in range(len(SPLIT_CHECKSUMS)):
        raise ParameterError(f"The public splits of actor are 0 to 9, got {number!r}.")
    name = f"film_split_0.6_0.2_{number}.npz"
    file = RemoteFile(f"Actor/raw/{name}", f"{URL}/splits/{name}", SPLIT_CHECKSUMS[number])
    path = fetch(file, data_root(root))
    keys = {"train": "train_mask", "validation": "val_mask", "test": "test_mask"}
    arrays = read_arrays(path, keys.values())
    return {part: np.flatnonzero(arrays[key]) for part, key in keys.items()}


def read_actor(nodes: Path, edges: Path, *, directed: bool = False) -> FeatureGraph:
    """The graph in a node file ``number, features, label`` and an edge file ``number, number``."""
    rows = _table(nodes, 3)
    order = _whole_numbers([row[0] for row in rows], nodes)
    if not np.array_equal(np.sort(order), np.arange(len(rows))):
        raise DataError(f"{nodes.name} does not number its {len(rows)} nodes 0, 1, 2, … once each.")
    labels = np.empty(len(rows), dtype=np.int64)
    labels[order] = _whole_numbers([row[2] for row in rows], nodes)
    lists = [row[1].split(",") for row in rows]
    feature = _whole_numbers([number for numbers in lists for number in numbers], nodes)
    node = np.repeat(order, [len(numbers) for numbers in lists])
    num_features = int(feature.max(initial=-1)) + 1
    check_features(num_features, nodes.name)

    pairs = _whole_numbers([number for row in _table(edges, 2) for number in row], edges)
    source, target = pairs[0::2], pairs[1::2]
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(rows)):
        line = int(np.argmax((pairs < 0) | (pairs >= len(rows)))) // 2 + 2
        raise DataError(f"{edges.name}, line {line}: an edge goes beyond the {len(rows)} nodes.")
    kept = np.ones(len(source), dtype=bool) if directed else source != target
    digits = len(str(max(num_features - 1, 0)))
    return FeatureGraph.from_arrays(
        len(rows),
        [f"keyword_{number:0{digits}}" for number in range(num_features)],
        (node, feature, np.ones(len(node), dtype=np.float32)),
        (source[kept], target[kept]),
        directed=directed,
        labels=labels,
        duplicates="first",  # a keyword may be listed twice, and so may an edge
    )


def _table(path: Path, columns: int) -> list[list[str]]:
    """The cells of a tab-separated file with one heading line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from None
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, start=2):
        if len(row) != columns:
            raise DataError(
                f"{path.name}, line {number}: there must be {columns} columns, got {len(row)}."
            )
    if not rows:
        raise DataError(f"{path.name} has no rows.")
    return rows


def _whole_numbers(texts: list[str], path: Path) -> NDArray[np.int64]:
    try:
        return np.array([int(text) for text in texts], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path.name} has something that is not a whole number: {error}.") from None


register(
    Dataset(
        name="actor",
        title="Actor: actors, joint pages and keywords",
        description="Actors joined when they occur on one page; features are keywords.",
        task="The kind of actor (5 classes); neighbours are mostly of other classes.",
        source=URL,
        loader=load_actor,
        paper={"nodes": 7600, "edges": 33544, "features": 931, "classes": 5},
        notes=COUNTS,
    )
)
