"""The data that the benchmarks run on, prepared once and seen by every variant alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from grafenne import datasets
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.missing import drop_features
from grafenne.data.scaling import FeatureScaler
from grafenne.data.split import Split, random_split
from grafenne.data.values import FeatureValues
from grafenne.datasets.synthetic import synthetic
from grafenne.errors import ParameterError, unknown_name
from grafenne.tasks.classification import NodeClassification

VALUES_PER_NODE = 100  # of the synthetic graphs
DATASETS = {
    "cora": "Cora, p = 0, all values 1",
    "citeseer": "CiteSeer, p = 0, all values 1",
    "physics": "Physics, p = 0, all values 1",
    "physics-valued": "Physics, p = 0, with a number of its own on each value",
    "physics-0.99": "Physics, p = 0.99 with observed zeros",
    "debian": "Debian trixie, all packages",
    "synthetic-1e6": "planted classes, about that many values (any number)",
    "tiny": "60 nodes, for trying out",
    "tiny-valued": "the same with numbers as values",
}


@dataclass(frozen=True)
class Case:
    """What is measured on.

    Attributes:
        dataset: One of :data:`DATASETS`.
        width: Width of the hidden states.
        heads: Number of attention heads.
        feature_dropout: Share of the values hidden in a training step; ``None`` for the
            classifier's own choice, which hides so many that four per node stay.
    """

    dataset: str
    width: int = 64
    heads: int = 1
    feature_dropout: float | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A classification task on one graph.

    Attributes:
        raw: The graph as loaded, which the plain PyG networks read.
        graph: The allotropic graph of the scaled values, as the classifier prepares it.
        task: Loss and metric.
        targets: Class of each node.
        split: 60/20/20 of the labelled nodes.
    """

    raw: FeatureGraph
    graph: AllotropicGraph
    task: NodeClassification
    targets: Tensor
    split: Split


def load_problem(dataset: str) -> Problem:
    """The graph of that name, split, scaled and transformed."""
    raw = load_graph(dataset)
    split = random_split(raw, seed=0)
    if raw.labels is None:
        raise ParameterError(f"The dataset {dataset!r} has no labels.")
    task = NodeClassification(raw.labels.classes)
    scaled = FeatureScaler("standard").fit(raw, split.train).transform(raw)
    return Problem(raw, to_allotropic(scaled), task, task.targets(raw), split)


def load_graph(dataset: str) -> FeatureGraph:
    """The graph of that name."""
    if dataset in ("cora", "citeseer", "physics"):
        return datasets.load(dataset)
    if dataset == "debian":
        return datasets.load("debian", release="trixie")
    if dataset == "physics-0.99":
        return drop_features(datasets.load("physics"), 0.99, seed=0, observed_zeros=True)
    if dataset == "physics-valued":
        return _with_numbers(datasets.load("physics"))
    if dataset == "tiny":
        return synthetic(60, 30, 3, values_per_node=8.0)
    if dataset == "tiny-valued":
        return synthetic(60, 30, 3, values_per_node=8.0, continuous=True)
    kind, _, size = dataset.partition("-")
    if kind == "synthetic" and size:
        return _synthetic_of_size(size)
    raise unknown_name("dataset", dataset, DATASETS)


def _synthetic_of_size(size: str) -> FeatureGraph:
    try:
        nodes = round(float(size) / VALUES_PER_NODE)
    except ValueError:
        raise ParameterError(f"synthetic-<number of values> is needed, got {size!r}.") from None
    # Nodes, edges and features all grow in step with the values: one graph, seen larger.
    return synthetic(
        nodes, max(nodes // 10, 10 * VALUES_PER_NODE), 5, values_per_node=VALUES_PER_NODE, degree=10
    )


def _with_numbers(graph: FeatureGraph) -> FeatureGraph:
    values = graph.values
    drawn = np.random.default_rng(0).uniform(0.5, 1.5, len(values)).astype(values.data.dtype)
    return graph.replace(
        values=FeatureValues(values.indptr, values.indices, drawn, values.num_features)
    )
