"""A small sound world on disk: graphs in every format, changes, a stream, models, results."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class World:
    """Where the sound things are.

    Attributes:
        folder: All of them; nothing in it may ever change.
    """

    folder: Path

    def __getattr__(self, name: str) -> Path:
        if name not in NAMES:
            raise AttributeError(name)
        return self.folder / NAMES[name]

    def places(self) -> dict[str, str]:
        """The paths by name, to be filled into command lines."""
        return {name: str(self.folder / place) for name, place in NAMES.items()}

    def copy(self, name: str, to: Path) -> Path:
        """A copy of one of the things, to be damaged."""
        source = self.folder / NAMES[name]
        if source.is_dir():
            shutil.copytree(source, to, dirs_exist_ok=True)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to)
        return to


NAMES = {
    "tables": "tables",
    "parquet": "parquet",
    "mapped": "mapped",
    "directed": "directed",
    "numbers": "numbers",
    "changed": "changed",
    "events": "events.jsonl",
    "delta": "delta",
    "stream": "stream",
    "model": "model",
    "regression": "regression",
    "links": "links",
    "updated": "updated",
    "settings": "settings.json",
    "results": "results",
    "planetoid": "Cora/raw",
    "physics": "Physics/raw/ms_academic_phy.npz",
    "actor": "Actor/raw",
    "debian": "debian",
    "dblp": "dblp",
    "root": ".",
}


def make_world(folder: Path) -> World:
    """Writes everything; takes a few seconds, mostly for training three tiny models."""
    from grafenne import GraphDelta, GraphStream

    world = World(folder)
    graph = shop_graph(24)
    graph.write(world.tables, format="csv")
    graph.write(world.parquet, format="parquet")
    graph.write(world.mapped, format="mapped")
    shop_graph(12, directed=True).write(world.directed, format="mapped")
    numbers = {node: float(place) for place, node in enumerate(graph.nodes)}
    with_numbers = graph.with_labels(numbers)
    with_numbers.write(world.numbers, format="csv")
    changed = shop_graph(30)
    changed.write(world.changed, format="csv")
    delta = GraphDelta(
        nodes_added=["new"],
        edges_added=[("new", "i0", 1.0)],
        triples_added=[("new", "pages", 2.0), ("i0", "isbn", 1.0)],
        labels_set=[("new", "book")],
    )
    delta.write(world.events)
    delta.write(world.delta)
    GraphStream.from_deltas(graph, [delta]).write(world.stream)
    _train(world, graph, with_numbers, delta)
    world.settings.write_text(json.dumps({"settings": {"width": 8, "epochs": 2}}))
    _results(world.results)
    _datasets(world)
    return world


def shop_graph(count: int, directed: bool = False) -> Any:
    """Items of two kinds with weighted edges, edges among features, and labels."""
    from grafenne import FeatureGraph

    node, feature, value = [], [], []
    for number in range(count):
        for place in (number % 2, 2 + number % 2, 4):
            node.append(number)
            feature.append(place)
            value.append(1.0 + number / 7)
    ends = np.arange(count - 2)
    return FeatureGraph.from_arrays(
        [f"i{number}" for number in range(count)],
        ["watts", "pages", "colour=white", "language=en", "weight", "unused"],
        (node, feature, value),
        (ends, ends + 2, 1.0 + ends % 3),
        directed=directed,
        labels={f"i{number}": ("lamp", "book")[number % 2] for number in range(count - 2)},
        feature_edges=([0, 1], [2, 3]),
    )


def _train(world: World, graph: Any, with_numbers: Any, delta: Any) -> None:
    from grafenne import (
        GrafenneClassifier,
        GrafenneLinkPredictor,
        GrafenneRegressor,
        random_split,
        split_edges,
    )

    small: dict[str, Any] = {"width": 8, "epochs": 3, "random_state": 0}
    model = GrafenneClassifier(**small, labels_as_features=True)
    model.fit(graph, random_split(graph, seed=0)).save(world.model)
    model.update(graph, delta).save(world.updated)
    regressor = GrafenneRegressor(**small)
    regressor.fit(with_numbers, random_split(with_numbers, seed=0)).save(world.regression)
    GrafenneLinkPredictor(**small).fit(graph, split_edges(graph, seed=0)).save(world.links)


def _results(folder: Path) -> None:
    row = {
        "experiment": "node-classification",
        "dataset": "cora",
        "method": "grafenne",
        "p": 0.5,
        "seed": 0,
        "value": 0.8,
        "metric": "accuracy",
        "seconds": 1.0,
    }
    folder.mkdir()
    (folder / "node-classification.jsonl").write_text(json.dumps(row) + "\n")


def _datasets(world: World) -> None:
    """The public datasets' files in small: the same layout, the same kinds of content."""
    import pandas as pd
    from scipy import sparse

    from grafenne.datasets.debian_packages import DEPENDENCY_COLUMNS, PACKAGE_COLUMNS

    world.planetoid.mkdir(parents=True)
    words = sparse.csr_matrix(np.eye(4, 3))
    parts: dict[str, Any] = {
        "allx": words,
        "ally": np.eye(4, 2),
        "tx": words[:2],
        "ty": np.eye(2, 2),
        "graph": {0: [1, 2], 1: [0], 2: [0, 5], 5: [2]},
    }
    for part, content in parts.items():
        with (world.planetoid / f"ind.cora.{part}").open("wb") as file:
            pickle.dump(content, file, protocol=2)
    (world.planetoid / "ind.cora.test.index").write_text("5\n4\n")
    world.physics.parent.mkdir(parents=True)
    arrays: dict[str, Any] = coauthor_arrays()
    np.savez(world.physics, **arrays)
    world.actor.mkdir(parents=True)
    (world.actor / "out1_node_feature_label.txt").write_text(
        "node_id\tfeature\tlabel\n0\t1,2\t0\n1\t2\t1\n2\t0\t0\n"
    )
    (world.actor / "out1_graph_edges.txt").write_text("node_id\tnode_id\n0\t1\n1\t2\n")
    world.debian.mkdir()
    filled: dict[str, Any] = {name: ["x", "y"] for name in PACKAGE_COLUMNS}
    filled.update(package=["vim", "emacs"], section=["editors", "editors"])
    filled.update(installed_size=[10, 20], size=[5, 6])
    packages = pd.DataFrame(filled)
    packages.to_parquet(world.debian / "bookworm-packages.parquet")
    depends = pd.DataFrame({name: ["vim"] for name in DEPENDENCY_COLUMNS})
    depends.assign(on="emacs").to_parquet(world.debian / "bookworm-depends.parquet")
    world.dblp.mkdir()
    (world.dblp / "papers.txt").write_text("#*Graphs\n#t1995\n#cICML\n#index1\n\n")


def coauthor_arrays() -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a tiny co-authorship file."""
    return {
        "adj_data": np.ones(2, dtype=np.float32),
        "adj_indices": np.array([1, 0], dtype=np.int32),
        "adj_indptr": np.array([0, 1, 2], dtype=np.int32),
        "adj_shape": np.array([2, 2]),
        "attr_data": np.ones(3, dtype=np.float32),
        "attr_indices": np.array([0, 1, 2], dtype=np.int32),
        "attr_indptr": np.array([0, 2, 3], dtype=np.int32),
        "attr_shape": np.array([2, 3]),
        "labels": np.array([0, 1]),
    }
