"""Edges between nodes (or between features), stored once, sorted and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError

DUPLICATE_RULES = ("error", "first", "last", "sum")


@dataclass(frozen=True, eq=False)
class EdgeList:
    """A set of edges over ``size`` nodes.

    An undirected edge is stored once, from the smaller to the larger position. Edges are sorted
    by source and then by target, so two lists with the same edges have the same arrays.

    Attributes:
        sources: Position of the source of each edge, ``int64``.
        targets: Position of the target of each edge, ``int64``.
        weights: One weight per edge, or ``None`` when the edges have none.
        size: Number of nodes the positions refer to.
        directed: Whether the direction means something.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    size: int
    directed: bool = False
    _cache: dict[str, sparse.csr_array] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, size: int, *, directed: bool = False) -> EdgeList:
        """No edges at all."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, None, size, directed)

    @classmethod
    def build(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        names: Vocabulary,
        directed: bool = False,
        duplicates: str = "error",
    ) -> EdgeList:
        """Checks, orders and stores edges given by position.

        Args:
            sources: Positions of the sources.
            targets: Positions of the targets.
            weights: Optional weights; they must be finite.
            names: The nodes, for the number of them and for error messages.
            directed: Without it, an edge and its reverse are one edge; a table that lists both
                is welcome as long as the two weights agree.
            duplicates: What an edge listed twice means: ``error``, ``first``, ``last``, ``sum``.
        """
        check_duplicate_rule(duplicates)
        source = _as_positions(sources, names, "source")
        target = _as_positions(targets, names, "target")
        if len(source) != len(target):
            raise DataError(f"There are {len(source)} edge sources but {len(target)} targets.")
        weight = None if weights is None else _as_weights(weights, len(source), names, source)
        if not len(source):
            return cls(source, target, weight, len(names), directed)

        flipped = np.zeros(len(source), dtype=bool) if directed else source > target
        low, high = np.where(flipped, target, source), np.where(flipped, source, target)
        key = low * len(names) + high
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        if len(first) < len(key):
            order, weight = _merge(
                order, first, flipped, weight, names, low, high, duplicates, directed
            )
        elif weight is not None:
            weight = weight[order]
        return cls(low[order], high[order], weight, len(names), directed)

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Edges at each node, in and out together; a self-loop counts once."""
        ends = np.bincount(self.sources, minlength=self.size)
        other = self.targets[self.targets != self.sources]
        degrees: NDArray[np.int64] = ends + np.bincount(other, minlength=self.size)
        return degrees

    def incoming(self, direction: str = "in") -> sparse.csr_array:
        """Sparse matrix whose row ``v`` holds the weights of the messages that reach ``v``.

        Args:
            direction: ``in`` sends messages along directed edges (the paper's
                N_v = {u | (u, v) ∈ E}), ``out`` against them, ``both`` either way. Undirected
                edges always carry messages both ways.
        """
        direction = direction if self.directed else "both"
        if direction not in ("in", "out", "both"):
            raise ParameterError(f"direction must be 'in', 'out' or 'both', got {direction!r}.")
        if direction not in self._cache:
            self._cache[direction] = self._incoming(direction)
        return self._cache[direction]

    def _incoming(self, direction: str) -> sparse.csr_array:
        rows, columns, weights = self.targets, self.sources, self.weights
        data = np.ones(len(self)) if weights is None else weights
        if direction == "out":
            rows, columns = columns, rows
        elif direction == "both":
            back = rows != columns
            rows, columns, data = (
                np.concatenate((rows, columns[back])),
                np.concatenate((columns, rows[back])),
                np.concatenate((data, data[back])),
            )
            if self.directed:  # a -> b and b -> a are two edges but one neighbour
                key = rows * self.size + columns
                _, first = np.unique(key, return_index=True)
                rows, columns, data = rows[first], columns[first], data[first]
        return sparse.csr_array((data, (rows, columns)), shape=(self.size, self.size))

    def take(self, kept: NDArray[np.bool_]) -> EdgeList:
        """Only the edges where ``kept`` is true."""
        weights = None if self.weights is None else self.weights[kept]
        return EdgeList(self.sources[kept], self.targets[kept], weights, self.size, self.directed)

    def renumbered(self, new_position: NDArray[np.int64], names: Vocabulary) -> EdgeList:
        """The edges among nodes that keep a place: ``new_position[old]``, -1 for the others."""
        source, target = new_position[self.sources], new_position[self.targets]
        kept = (source >= 0) & (target >= 0)
        weights = None if self.weights is None else self.weights[kept]
        return EdgeList.build(
            source[kept], target[kept], weights, names=names, directed=self.directed
        )

    def resized(self, size: int) -> EdgeList:
        """The same edges over more nodes, the new ones without any."""
        return EdgeList(self.sources, self.targets, self.weights, size, self.directed)


def check_duplicate_rule(duplicates: str) -> None:
    """Raises unless ``duplicates`` is one of the rules."""
    if duplicates not in DUPLICATE_RULES:
        raise ParameterError(
            f"duplicates must be one of {', '.join(DUPLICATE_RULES)}, got {duplicates!r}."
        )


def is_symmetric(
    source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[Any] | None, size: int
) -> bool:
    """Whether every edge has its reverse, with the same weight."""
    there, back = source * size + target, target * size + source
    there_order, back_order = np.argsort(there, kind="stable"), np.argsort(back, kind="stable")
    if not np.array_equal(there[there_order], back[back_order]):
        return False
    return weight is None or np.array_equal(weight[there_order], weight[back_order])


def one_way(
    source: NDArray[np.int64], target: NDArray[np.int64], weight: NDArray[Any] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
    """Undirected edges that are listed both ways, listed once: else ``sum`` would double them."""
    kept = source <= target
    return source[kept], target[kept], None if weight is None else weight[kept]


def _as_positions(values: ArrayLike, names: Vocabulary, end: str) -> NDArray[np.int64]:
    positions = np.asarray(values)
    if positions.size and positions.dtype.kind not in "iu":
        raise DataError(f"Edge {end}s must be whole numbers, got {positions.dtype}.")
    positions = positions.astype(np.int64).reshape(-1)
    wrong = (positions < 0) | (positions >= len(names))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"Edge {row} has {end} position {positions[row]}, but there are {len(names)} "
            f"{names.kind}s.",
            row=row,
        )
    return positions


def _as_weights(
    values: ArrayLike, count: int, names: Vocabulary, sources: NDArray[np.int64]
) -> NDArray[np.float64]:
    try:
        weights = np.asarray(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"Edge weights must be numbers: {error}.") from None
    if len(weights) != count:
        raise DataError(f"There are {count} edges but {len(weights)} weights.")
    wrong = ~np.isfinite(weights)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"The weight of an edge from {names[int(sources[row])]!r} is {weights[row]}; "
            "weights must be finite.",
            row=row,
        )
    return weights


def _merge(
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    flipped: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    names: Vocabulary,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    duplicates: str,
    directed: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Turns runs of equal edges (``first`` marks where each begins) into one edge each."""
    last = np.concatenate((first[1:], [len(order)])) - 1
    if duplicates == "error":
        # Within a run, an edge and its reverse may appear once each, with the same weight.
        group = np.repeat(np.arange(len(first)), last - first + 1)
        signature = group * 2 + flipped[order]
        _, where, counts = np.unique(signature, return_index=True, return_counts=True)
        if counts.max() > 1:
            row = int(order[where[np.argmax(counts > 1)] + 1])
            a, b = (high, low) if flipped[row] else (low, high)
            raise DataError(
                f"The edge from {names[int(a[row])]!r} to {names[int(b[row])]!r} is listed twice; "
                "pass duplicates='first', 'last' or 'sum' to merge such edges.",
                row=row,
            )
        if weight is not None:
            differs = weight[order[first]] != weight[order[last]]
            if differs.any():
                row = int(order[last[np.argmax(differs)]])
                raise DataError(
                    f"The undirected edge between {names[int(low[row])]!r} and "
                    f"{names[int(high[row])]!r} has two different weights; "
                    "pass duplicates='first', 'last' or 'sum' to merge them.",
                    row=row,
                )
    chosen = order[last] if duplicates == "last" else order[first]
    if weight is None:
        return chosen, None
    if duplicates == "sum":
        with np.errstate(over="ignore"):
            total = np.add.reduceat(weight[order], first)
        if not np.isfinite(total).all():
            row = int(chosen[np.argmin(np.isfinite(total))])
            raise DataError(
                f"The weights of the edge between {names[int(low[row])]!r} and "
                f"{names[int(high[row])]!r} have no finite sum.",
                row=row,
            )
        return chosen, total
    return chosen, weight[chosen]
