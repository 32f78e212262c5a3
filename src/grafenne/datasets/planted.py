"""A world with planted classes that can be drawn as a graph and changed step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.labels import Labels
from grafenne.data.seeds import seeded
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError

Integers = NDArray[np.int64]
PART = 1 << 21  # values drawn at once; bounds the memory that is needed beyond the result


@dataclass(frozen=True)
class Recipe:
    """The parameters of :func:`grafenne.datasets.synthetic.synthetic`, checked."""

    num_nodes: int
    num_features: int
    num_classes: int
    values_per_node: float
    degree: float
    homophily: float
    signal: float
    continuous: bool
    noise: float
    observed: float
    feature_edges: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("num_nodes", 1), ("num_features", 1), ("num_classes", 1)):
            if getattr(self, name) < least:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("values_per_node", "degree", "noise", "feature_edges"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ParameterError(f"{name} must not be negative, got {getattr(self, name)}.")
        for name in ("homophily", "signal", "observed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(f"{name} must lie between 0 and 1: {getattr(self, name)}.")


class Groups:
    """Members by class, to draw from one class, from the others, or from all."""

    def __init__(self, members: Integers, classes: Integers, num_classes: int) -> None:
        self.members = members[np.argsort(classes, kind="stable")]
        self.size = np.bincount(classes, minlength=num_classes)
        self.start = np.cumsum(self.size) - self.size

    def draw(self, rng: np.random.Generator, count: int) -> Integers:
        """Any members."""
        drawn: Integers = self.members[rng.integers(len(self.members), size=count)]
        return drawn

    def draw_same(self, rng: np.random.Generator, classes: Integers) -> Integers:
        """A member of each class; any member where the class has none."""
        size, start = self.size[classes], self.start[classes]
        empty = size == 0
        size, start = np.where(empty, len(self.members), size), np.where(empty, 0, start)
        drawn: Integers = self.members[start + rng.integers(size)]
        return drawn

    def draw_other(self, rng: np.random.Generator, classes: Integers) -> Integers:
        """A member of another class; any member where there is no other class."""
        size, start = self.size[classes], self.start[classes]
        alone = size == len(self.members)
        size = np.where(alone, 0, size)
        place = rng.integers(len(self.members) - size)
        return self.members[np.where(place < start, place, place + size)]


class Planted:
    """Nodes and features with classes, values and edges drawn by a recipe.

    Args:
        recipe: How to draw.
        seed: The only source of randomness.
    """

    def __init__(self, recipe: Recipe, seed: int) -> None:
        self.recipe = recipe
        self.rng = seeded(seed)
        size, classes = recipe.num_nodes, recipe.num_classes
        self.next_node = size
        self.nodes: Integers | range = range(size)
        self.classes = self.rng.integers(classes, size=size)
        self.features = Vocabulary([f"f{i}" for i in range(recipe.num_features)], kind="feature")
        self.live = np.arange(recipe.num_features)
        self.effects = self._draw_effects(recipe.num_features)
        self.feature_edges = self._draw_feature_edges()
        self.rows, self.columns = self._draw_triples(np.arange(size), self.live)
        self.values = self._draw_values(self.rows, self.columns)
        self.sources, self.targets = self._draw_edges(round(size * recipe.degree / 2))

    def graph(self) -> FeatureGraph:
        """The world as it is now."""
        nodes = Vocabulary(
            self.nodes if isinstance(self.nodes, range) else self.nodes.tolist(), kind="node"
        )
        starts = np.concatenate(([0], np.cumsum(np.bincount(self.rows, minlength=len(nodes)))))
        width = len(str(self.recipe.num_classes - 1))
        names = tuple(f"class_{number:0{width}}" for number in range(self.recipe.num_classes))
        return FeatureGraph(
            nodes,
            self.features,
            FeatureValues(starts, self.columns, self.values, len(self.features)),
            EdgeList.build(self.sources, self.targets, names=nodes, duplicates="first"),
            Labels("class", self.classes.astype(np.int64), names),
            EdgeList.build(*self.feature_edges, names=self.features, duplicates="first"),
        )

    # ---- change ------------------------------------------------------------------------------

    def replace_features(self, share: float) -> None:
        """Features vanish; the nodes that had them get as many values of new ones."""
        count = round(share * len(self.live))
        gone = self.rng.permutation(self.live)[:count]
        first = len(self.features)
        new = np.arange(first, first + count)
        self.features = self.features.extended(f"f{number}" for number in new.tolist())
        self.effects = np.concatenate((self.effects, self._draw_effects(count)))
        vanished = np.zeros(len(self.features), dtype=bool)
        vanished[gone] = True
        self.live = np.concatenate((self.live[~vanished[self.live]], new))
        lost = vanished[self.columns]
        if lost.any():
            self._replace_triples(~lost, *self._choose_features(self.rows[lost], new))

    def replace_nodes(self, share: float) -> None:
        """Nodes leave with their values and edges; as many others arrive with theirs."""
        size = self.recipe.num_nodes
        count = round(share * size)
        stays = np.ones(size, dtype=bool)
        stays[self.rng.permutation(size)[:count]] = False
        place = np.where(stays, np.cumsum(stays) - 1, -1)
        arrived = np.arange(self.next_node, self.next_node + count)
        self.next_node += count
        self.nodes = np.concatenate((np.asarray(self.nodes)[stays], arrived))
        newcomers = self.rng.integers(self.recipe.num_classes, size=count)
        self.classes = np.concatenate((self.classes[stays], newcomers))
        kept = stays[self.rows]
        self.rows = place[self.rows].astype(np.int32)
        self._replace_triples(kept, *self._draw_triples(np.arange(size - count, size), self.live))

        kept = stays[self.sources] & stays[self.targets]
        self.sources, self.targets = place[self.sources[kept]], place[self.targets[kept]]
        self._add_edges(len(kept) - len(self.sources))

    def replace_edges(self, share: float) -> None:
        """Edges vanish and as many others appear."""
        kept = self.rng.random(len(self.sources)) >= share
        lost = len(kept) - int(kept.sum())
        self.sources, self.targets = self.sources[kept], self.targets[kept]
        self._add_edges(lost)

    def _replace_triples(
        self, kept: NDArray[np.bool_], rows: NDArray[np.int32], columns: NDArray[np.int32]
    ) -> None:
        rows = np.concatenate((self.rows[kept], rows))
        columns = np.concatenate((self.columns[kept], columns))
        values = np.concatenate((self.values[kept], self._draw_values(*_tail(rows, columns, kept))))
        order = np.lexsort((columns, rows))
        self.rows, self.columns, self.values = rows[order], columns[order], values[order]

    # ---- drawing -----------------------------------------------------------------------------

    def _draw_triples(
        self, places: Integers, pool: Integers
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows and columns of the values of the nodes at ``places``, sorted."""
        mean = self.recipe.values_per_node
        step = max(int(PART / max(mean, 1)), 1)
        parts = []
        for begin in range(0, len(places), step):
            part = places[begin : begin + step]
            counts = self.rng.poisson(mean, size=len(part))
            counts = np.minimum(np.maximum(counts, min(mean, 1)).astype(np.int64), len(pool))
            parts.append(self._choose_features(np.repeat(part, counts), pool))
        if not parts:
            nothing = np.empty(0, dtype=np.int32)
            return nothing, nothing
        rows, columns = (np.concatenate([part[end] for part in parts]) for end in (0, 1))
        if self.recipe.observed < 1:
            seen = self.rng.random(len(rows)) < self.recipe.observed
            rows, columns = rows[seen], columns[seen]
        return rows, columns

    def _choose_features(
        self, rows: NDArray[np.integer], pool: Integers
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """A feature of the pool for each row; repeated pairs are merged, the rest is sorted."""
        groups = Groups(pool, pool % self.recipe.num_classes, self.recipe.num_classes)
        columns = groups.draw(self.rng, len(rows))
        if not self.recipe.continuous:
            own = np.flatnonzero(self.rng.random(len(rows)) < self.recipe.signal)
            columns[own] = groups.draw_same(self.rng, self.classes[rows[own]])
        key = rows.astype(np.int64) * len(self.features) + columns
        key.sort()
        key = key[np.concatenate(([True], key[1:] != key[:-1]))] if len(key) else key
        row = key // len(self.features)
        return row.astype(np.int32), (key - row * len(self.features)).astype(np.int32)

    def _draw_values(
        self, rows: NDArray[np.int32], columns: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        values = np.ones(len(rows), dtype=np.float32)
        if self.recipe.continuous:
            for begin in range(0, len(rows), PART):
                part = slice(begin, begin + PART)
                row, column = rows[part], columns[part]
                values[part] = self.rng.standard_normal(len(row), dtype=np.float32)
                values[part] *= self.recipe.noise
                values[part] += self.effects[column, self.classes[row]]
        return values

    def _draw_effects(self, count: int) -> NDArray[np.float32]:
        """The mean value of each feature in each class; only continuous values need it."""
        if not self.recipe.continuous:
            return np.empty((count, 0), dtype=np.float32)
        shape = (count, self.recipe.num_classes)
        effects = self.rng.standard_normal(shape, dtype=np.float32)
        effects *= self.recipe.signal
        return effects

    def _draw_edges(self, count: int) -> tuple[Integers, Integers]:
        size = self.recipe.num_nodes
        groups = Groups(np.arange(size), self.classes, self.recipe.num_classes)
        sources = self.rng.integers(size, size=count)
        classes = self.classes[sources]
        same = self.rng.random(count) < self.recipe.homophily
        targets = np.empty(count, dtype=np.int64)
        targets[same] = groups.draw_same(self.rng, classes[same])
        targets[~same] = groups.draw_other(self.rng, classes[~same])
        kept = sources != targets
        return sources[kept], targets[kept]

    def _add_edges(self, count: int) -> None:
        sources, targets = self._draw_edges(count)
        self.sources = np.concatenate((self.sources, sources))
        self.targets = np.concatenate((self.targets, targets))

    def _draw_feature_edges(self) -> tuple[Integers, Integers]:
        count = round(self.recipe.num_features * self.recipe.feature_edges / 2)
        sources = self.rng.integers(self.recipe.num_features, size=count)
        classes = self.live % self.recipe.num_classes
        groups = Groups(self.live, classes, self.recipe.num_classes)
        targets = groups.draw_same(self.rng, classes[sources])
        kept = sources != targets
        return sources[kept], targets[kept]


def _tail(
    rows: NDArray[np.int32], columns: NDArray[np.int32], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    begin = int(kept.sum())
    return rows[begin:], columns[begin:]
