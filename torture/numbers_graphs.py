"""Graphs with extreme but legal values and shapes: by name, and drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from grafenne import FeatureGraph

NODES, FEATURES = 12, 5
MANY_FEATURES = 100_000
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
SIZES = (0.0, 1.0, -1.0, 1e30, -1e30, 1e-30, -1e-30, 1e-42, 1e38, 1e300, -1e300, SMALLEST, LARGEST)
"""Numbers that a value, a weight or a target may be."""

Array = NDArray[Any]


def make_graph(
    task: str,
    *,
    nodes: int = NODES,
    values: Array | None = None,
    cells: Array | None = None,
    features: int = FEATURES,
    pairs: Array | None = None,
    weights: Array | None = None,
    labels: Array | None = None,
    directed: bool = False,
    duplicates: str = "error",
) -> FeatureGraph:
    """A small graph that is ordinary in everything that is not said otherwise.

    Args:
        task: Decides what the labels are.
        nodes: Number of nodes.
        values: Value of each cell, repeated as often as needed.
        cells: Node and feature of each value; a fixed pattern by default.
        features: Number of feature names.
        pairs: The edges; a ring with a few chords by default.
        weights: Their weights, repeated as often as needed.
        labels: Classes or numbers.
        directed: Whether direction means something.
        duplicates: What repeated edges mean.
    """
    if cells is None:
        every = np.argwhere(np.ones((nodes, features), dtype=bool))
        cells = every[(every[:, 0] + every[:, 1]) % 3 != 0]
    if values is None:
        values = np.linspace(-1.5, 2.0, max(len(cells), 1))
    if pairs is None:
        ring = np.stack((np.arange(nodes - 1), np.arange(1, nodes)), axis=1)
        chords = np.array([(0, 5), (2, 9), (3, 7)])
        pairs = np.concatenate((ring, chords[chords.max(axis=1) < nodes]))
    if labels is None:
        labels = np.sin(np.arange(nodes) * 1.0)
        if task != "regression":
            labels = np.array(["left", "right"])[np.arange(nodes) % 2]
    edges: tuple[Any, ...] = (pairs[:, 0], pairs[:, 1])
    if weights is not None:
        edges += (np.resize(weights, len(pairs)),)
    return FeatureGraph.from_arrays(
        [f"n{number}" for number in range(nodes)],
        [f"f{number}" for number in range(features)],
        (cells[:, 0], cells[:, 1], np.resize(values, len(cells))),
        edges,
        directed=directed,
        labels=labels,
        label_kind="number" if task == "regression" else "class",
        duplicates=duplicates,
    )


def _values(*numbers: float, single: bool = False) -> Callable[[str], FeatureGraph]:
    array = np.array(numbers, dtype=np.float32 if single else np.float64)
    return lambda task: make_graph(task, values=array)


def _weights(*numbers: float) -> Callable[[str], FeatureGraph]:
    return lambda task: make_graph(task, weights=np.array(numbers))


def _pairs(*pairs: tuple[int, int], **more: Any) -> Callable[[str], FeatureGraph]:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return lambda task: make_graph(task, pairs=array, **more)


def _cells(*cells: tuple[int, int], features: int = FEATURES) -> Callable[[str], FeatureGraph]:
    array = np.array(cells, dtype=np.int64).reshape(-1, 2)
    return lambda task: make_graph(task, cells=array, features=features)


def _targets(*numbers: float) -> Callable[[str], FeatureGraph]:
    array = np.array(numbers)

    def make(task: str) -> FeatureGraph:
        return make_graph(task, labels=np.resize(array, NODES) if task == "regression" else None)

    return make


def _many_features(task: str) -> FeatureGraph:
    wide = np.stack((np.zeros(MANY_FEATURES, np.int64), np.arange(MANY_FEATURES)), axis=1)
    more = np.array([(1, 0), (2, 1), (3, 7)])
    return make_graph(task, cells=np.concatenate((wide, more)), features=MANY_FEATURES)


def _one_class(task: str) -> FeatureGraph:
    return make_graph(task, labels=None if task == "regression" else np.array(["only"] * NODES))


def _lone_class(task: str) -> FeatureGraph:
    names = np.array(["many"] * NODES)
    names[3] = "few"
    return make_graph(task, labels=None if task == "regression" else names)


def _complete(task: str) -> FeatureGraph:
    return make_graph(task, nodes=6, pairs=np.argwhere(np.triu(np.ones((6, 6)), 1)))


def _repeated(task: str) -> FeatureGraph:
    pairs = np.array([(0, 1), (0, 1), (1, 0), (2, 3), (2, 3), (4, 5), (6, 7), (8, 9)])
    return make_graph(task, pairs=pairs, weights=np.array([1e30]), duplicates="sum")


NAMED: dict[str, Callable[[str], FeatureGraph]] = {
    "huge values": _values(1e30, -1e30),
    "tiny values": _values(1e-30, -1e-30, 2e-30),
    "denormal values": _values(1e-45, 1e-40, -1e-42, single=True),
    "smallest values": _values(SMALLEST, -SMALLEST, 0.0),
    "mixed values": _values(1e30, 1.0, 1e-30, -1e30, 0.0, 3.0, -2.0),
    "values at the end of 32 bits": _values(3.4e38, -3.4e38, 1.0, single=True),
    "values beyond 32 bits": _values(1e300, -1e300, 1.0, 1e39),
    "largest values": _values(LARGEST, -LARGEST, 1.0),
    "one huge value": _values(*([1.0, 2.0, -1.0] * 10), 1e30),
    "zeros only": _values(0.0),
    "many features on one node": _many_features,
    "isolated nodes": _pairs((0, 1), (1, 2), (2, 0), (3, 4)),
    "no edges": _pairs(),
    "no features at all": _cells(features=0),
    "no values": _cells(),
    "a feature on every node": lambda task: make_graph(
        task, cells=np.argwhere(np.ones((NODES, 1), dtype=bool)), features=1, values=np.ones(1)
    ),
    "one cell": _cells((3, 0), features=1),
    "one class": _one_class,
    "a class of one": _lone_class,
    "one node": lambda task: make_graph(task, nodes=1, pairs=np.empty((0, 2), np.int64)),
    "one node with a loop": lambda task: make_graph(task, nodes=1, pairs=np.array([(0, 0)])),
    "two nodes": lambda task: make_graph(task, nodes=2),
    "loops only": _pairs(*((place, place) for place in range(NODES))),
    "loops too": _pairs((0, 0), (0, 1), (1, 1), (1, 2), (3, 4), (4, 5), (6, 7), (8, 9)),
    "repeated edges": _repeated,
    "one edge": _pairs((0, 1)),
    "two edges": _pairs((0, 1), (1, 2)),
    "three edges": _pairs((0, 1), (1, 2), (4, 5)),
    "complete": _complete,
    "directed": lambda task: make_graph(task, directed=True, values=np.array([1e30, 1.0])),
    "huge weights": _weights(1e30),
    "weights beyond 32 bits": _weights(1e300, 1.0),
    "largest weights": _weights(LARGEST),
    "tiny weights": _weights(1e-30),
    "smallest weights": _weights(SMALLEST, 1e-45),
    "negative weights": _weights(-1.0, 1.0),
    "huge negative weights": _weights(-1e30, 1e30),
    "mixed weights": _weights(1e30, 1e-30, -1e30, 0.0, 1.0),
    "zero weights": _weights(0.0),
    "constant target": _targets(3.0),
    "huge targets": _targets(1e30, -1e30, 2e30),
    "targets beyond 32 bits": _targets(1e300, -1e300, 0.0),
    "largest targets": _targets(LARGEST, -LARGEST, 1.0),
    "tiny targets": _targets(1e-300, 2e-300, SMALLEST),
    "close targets": _targets(1e16, 1e16 + 2),
}
"""Graphs by what is special about them."""


@st.composite
def extreme_graphs(draw: st.DrawFn, task: str) -> FeatureGraph:
    """Small graphs whose values, weights and targets are of any size a number can have."""
    number = st.one_of(
        st.sampled_from(SIZES), st.floats(allow_nan=False, allow_infinity=False), st.floats(-3, 3)
    )
    some = st.lists(number, min_size=1, max_size=8).map(np.array)
    nodes = draw(st.integers(1, NODES))
    features = draw(st.integers(0, FEATURES))
    places = [(node, feature) for node in range(nodes) for feature in range(features)]
    cells = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    directed = draw(st.booleans())
    ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    tidy = ends if directed else ends.map(lambda pair: (min(pair), max(pair)))
    pairs = draw(st.lists(tidy, unique=True, max_size=14))
    values = draw(some)
    if draw(st.booleans()):
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        values = np.where(np.isfinite(single), single, np.float32(1e38))
    labels = np.resize(draw(some), nodes)
    if task != "regression":
        classes = st.sampled_from(["a", "b", "c"])
        labels = np.array(draw(st.lists(classes, min_size=nodes, max_size=nodes)))
    return make_graph(
        task,
        nodes=nodes,
        features=features,
        cells=np.array(cells, dtype=np.int64).reshape(-1, 2),
        values=values,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        weights=draw(st.one_of(st.none(), some)),
        labels=labels,
        directed=directed,
    )
