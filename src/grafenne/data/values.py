"""The triples (node, feature, value), stored sparsely both ways."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from grafenne.data.edges import check_duplicate_rule
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """Observed values by node and feature, in compressed rows with sorted columns.

    A cell that is not stored is *absent*; a stored zero is an observed value like any other.

    Attributes:
        indptr: Where each node's triples begin, ``[num_nodes + 1]``.
        indices: Feature position of each triple, ``[num_values]``, rising within a node.
        data: Value of each triple, ``[num_values]``, finite.
        num_features: Number of features the positions refer to.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.floating]
    num_features: int

    @classmethod
    def build(
        cls,
        node_positions: ArrayLike,
        feature_positions: ArrayLike,
        values: ArrayLike,
        *,
        nodes: Vocabulary,
        features: Vocabulary,
        duplicates: str = "error",
    ) -> FeatureValues:
        """Checks, orders and stores triples given by position, in any order."""
        check_duplicate_rule(duplicates)
        node = _as_positions(node_positions, len(nodes), "node")
        feature = _as_positions(feature_positions, len(features), "feature")
        value = as_values(values)
        if not len(node) == len(feature) == len(value):
            raise DataError(
                f"A triple needs a node, a feature and a value, but there are {len(node)} nodes, "
                f"{len(feature)} features and {len(value)} values."
            )
        finite = np.isfinite(value)
        if not finite.all():
            row = int(np.argmin(finite))
            raise DataError(
                f"Node {nodes[int(node[row])]!r} has the value {value[row]} for feature "
                f"{features[int(feature[row])]!r}; values must be finite (leave the triple out "
                "when the value is absent).",
                row=row,
            )
        shape = (len(nodes), len(features))
        matrix = sparse.coo_array((value, (node, feature)), shape=shape).tocsr()
        if matrix.nnz < len(value):
            matrix = _merge(node, feature, value, nodes, features, duplicates)
        matrix.sort_indices()
        return cls.from_scipy(matrix)

    @classmethod
    def from_scipy(cls, matrix: sparse.csr_array) -> FeatureValues:
        """Takes a canonical CSR matrix as it is; the caller vouches for it."""
        return cls(
            matrix.indptr.astype(np.int64, copy=False),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data,
            matrix.shape[1],
        )

    @classmethod
    def empty(cls, num_nodes: int, num_features: int) -> FeatureValues:
        """No triples at all."""
        return cls(
            np.zeros(num_nodes + 1, dtype=np.int64),
            np.empty(0, dtype=np.int32),
            np.empty(0, dtype=np.float64),
            num_features,
        )

    def __len__(self) -> int:
        return len(self.data)

    @property
    def num_nodes(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of features of each node."""
        return np.diff(self.indptr)

    @cached_property
    def feature_counts(self) -> NDArray[np.int64]:
        """Number of nodes that have each feature."""
        counts: NDArray[np.int64] = np.bincount(self.indices, minlength=self.num_features)
        return counts

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """Node position of each triple, in storage order."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), self.counts)

    @cached_property
    def by_feature(self) -> sparse.csc_array:
        """The same triples in compressed columns; ``data`` holds places in storage order."""
        places = np.arange(len(self), dtype=np.int64)
        return self.to_scipy(places).tocsc()

    @cached_property
    def is_binary(self) -> bool:
        """Whether every observed value is 1, so that only presence carries information."""
        return bool((self.data == 1).all())

    def to_scipy(self, data: NDArray[np.generic] | None = None) -> sparse.csr_array:
        """A SciPy CSR view; stored zeros are observed zeros."""
        data = self.data if data is None else data
        return sparse.csr_array(
            (data, self.indices, self.indptr), shape=(self.num_nodes, self.num_features)
        )

    def take(self, kept: NDArray[np.bool_]) -> FeatureValues:
        """Only the triples where ``kept`` (in storage order) is true."""
        before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
        return FeatureValues(
            before[self.indptr], self.indices[kept], self.data[kept], self.num_features
        )

    def with_data(self, data: NDArray[np.floating]) -> FeatureValues:
        """Other values in the same cells; what is known about the cells is kept."""
        changed = FeatureValues(self.indptr, self.indices, data, self.num_features)
        of_cells = ("by_feature", "feature_counts", "rows")
        vars(changed).update({name: vars(self)[name] for name in of_cells if name in vars(self)})
        return changed

    def resized(self, num_features: int) -> FeatureValues:
        """The same triples in a longer vocabulary."""
        return FeatureValues(self.indptr, self.indices, self.data, num_features)


def as_values(values: ArrayLike) -> NDArray[np.floating]:
    """Numbers as floats: ``float32`` stays as it is, everything else becomes ``float64``."""
    try:
        array = np.asarray(values).reshape(-1)
    except ValueError as error:  # rows of different lengths
        raise DataError(f"Values must be numbers: {str(error).rstrip('.')}.") from None
    if array.dtype.kind not in "fiub" and array.size:
        raise DataError(f"Values must be numbers, got {array.dtype}.")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _as_positions(values: ArrayLike, count: int, kind: str) -> NDArray[np.int32]:
    positions = np.asarray(values).reshape(-1)
    if positions.size:
        if positions.dtype.kind not in "iu":
            raise DataError(f"The {kind} positions must be whole numbers, got {positions.dtype}.")
        low, high = int(positions.min()), int(positions.max())
        if low < 0 or high >= count:
            wrong = (positions < 0) | (positions >= count)
            row = int(np.argmax(wrong))
            raise DataError(
                f"Triple {row} has {kind} position {positions[row]}, but there are {count} "
                f"{kind}s.",
                row=row,
            )
    return positions.astype(np.int32, copy=False)


def _merge(
    node: NDArray[np.int32],
    feature: NDArray[np.int32],
    value: NDArray[np.floating],
    nodes: Vocabulary,
    features: Vocabulary,
    duplicates: str,
) -> sparse.csr_array:
    key = node.astype(np.int64) * max(len(features), 1) + feature
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.concatenate(([True], np.diff(key[order]) != 0)))
    last = np.concatenate((first[1:], [len(order)])) - 1
    if duplicates == "error":
        row = int(order[first[np.argmax(last > first)] + 1])
        raise DataError(
            f"Node {nodes[int(node[row])]!r} has feature {features[int(feature[row])]!r} twice; "
            "pass duplicates='first', 'last' or 'sum' to merge such triples.",
            row=row,
        )
    chosen = order[last] if duplicates == "last" else order[first]
    with np.errstate(over="ignore"):
        merged = np.add.reduceat(value[order], first) if duplicates == "sum" else value[chosen]
    if not np.isfinite(merged).all():
        row = int(chosen[np.argmin(np.isfinite(merged))])
        raise DataError(
            f"The values of node {nodes[int(node[row])]!r} for feature "
            f"{features[int(feature[row])]!r} have no finite sum.",
            row=row,
        )
    shape = (len(nodes), len(features))
    return sparse.coo_array((merged, (node[chosen], feature[chosen])), shape=shape).tocsr()
