"""What all imputations share: which cells are observed, and work in blocks of columns.

A stored triple is observed, a stored zero too; every other cell counts as missing. So a graph
made by ``drop_features(..., observed_zeros=True)`` tells known zeros from missing cells, and in
one that holds values alone every absent cell is missing.

No array of nodes x features is ever made: imputations fill a few columns at a time and keep, of
what they filled in, the cells that are not zero, or only the largest of each node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.errors import DataError, ParameterError
from grafenne.impute.largest import LargestCells

BLOCK_CELLS = 8_000_000
"""Cells of a block of columns; each array of a block takes four bytes for each of them."""

LARGEST_VALUE = 1e30
"""Largest size of an observed value: sums over many nodes and features stay within 32 bits."""

Block = NDArray[np.float32]


@dataclass(kw_only=True, eq=False, repr=False)
class Imputer(BaseEstimator):  # type: ignore[misc]
    """Base of the imputations; parameters are stored as given and checked in ``transform``."""

    name: ClassVar[str]
    along_edges: ClassVar[bool] = True
    """Whether what is filled in depends on the edges, and so tells of them."""

    def transform(
        self, graph: FeatureGraph, adjacency_graph: FeatureGraph | None = None
    ) -> FeatureGraph:
        """The graph with its missing cells filled in; observed ones keep their value.

        Args:
            graph: The graph. For link prediction this is the split's training graph: what is
                filled in along an edge tells of the edge.
            adjacency_graph: A graph of the same nodes whose edges are used instead.
        """
        if not isinstance(graph, FeatureGraph):
            raise DataError(f"A FeatureGraph is needed, got {type(graph).__name__}.")
        edges = graph if adjacency_graph is None else adjacency_graph
        if edges.nodes != graph.nodes:
            raise DataError("The graph of the edges must have the nodes of the graph to fill.")
        self._check()
        return self._transform(graph, edges)

    def remembered(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a later ``transform`` needs to know of earlier ones, as plain data and arrays."""
        return {}, {}

    def remember(self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes up what :meth:`remembered` told."""

    def _check(self) -> None:
        """Raises for settings that are not what they may be."""

    def _transform(self, graph: FeatureGraph, edges: FeatureGraph) -> FeatureGraph:
        raise TypeError(f"{type(self).__name__} must define _transform")


@dataclass(kw_only=True, eq=False, repr=False)
class BlockImputer(Imputer):
    """Base of the imputations that fill columns.

    Args:
        keep: How many filled cells of each node to keep, the largest in size; ``None`` for all.
            Observed cells are always kept.
        observed_zeros: Whether observed zeros stay in the result as triples, as all that is
            observed does. A network that reads absent cells as zero has no use for them, and
            where most cells are known zeros the result is much smaller without.

    Attributes:
        dropped_share_: Share of the filled cells' sum of squares that ``keep`` left out in the
            last ``transform``.
    """

    keep: int | None = None
    observed_zeros: bool = True

    def _check(self) -> None:
        if self.keep is not None and not (isinstance(self.keep, int) and self.keep >= 0):
            raise ParameterError(f"keep must be None or a whole number from 0, got {self.keep!r}.")

    def _transform(self, graph: FeatureGraph, edges: FeatureGraph) -> FeatureGraph:
        check_sizes(graph)
        filled = LargestCells(graph.num_nodes, self.keep)
        for columns, cells in self._filled_blocks(graph, edges):
            filled.add(columns, cells)
        self.dropped_share_ = filled.dropped_share
        return self._join(graph, *filled.triples())

    def _filled_blocks(
        self, graph: FeatureGraph, edges: FeatureGraph
    ) -> Iterator[tuple[NDArray[np.int64], Block]]:
        """Positions of columns, and their filled cells with zeros where cells are observed."""
        raise TypeError(f"{type(self).__name__} must define _filled_blocks")

    def _join(
        self,
        graph: FeatureGraph,
        node: NDArray[np.int64],
        feature: NDArray[np.int64],
        value: NDArray[np.floating],
    ) -> FeatureGraph:
        """The graph with cells that were filled in beside those that are observed."""
        values = graph.values
        if not self.observed_zeros:
            values = values.take(values.data != 0)
        # Observed and filled cells are disjoint, so nothing can occur twice.
        return graph.replace(
            values=FeatureValues.build(
                np.concatenate((values.rows, node)),
                np.concatenate((values.indices, feature)),
                np.concatenate((values.data, value.astype(values.data.dtype))),
                nodes=graph.nodes,
                features=graph.features,
            )
        )


def check_sizes(graph: FeatureGraph) -> None:
    """Raises for values whose sums 32-bit numbers cannot hold."""
    values = graph.values
    far = np.flatnonzero(np.abs(values.data) > LARGEST_VALUE)
    if len(far):
        place = int(far[0])
        raise DataError(
            f"Node {graph.nodes[int(values.rows[place])]!r} has the value {values.data[place]} for "
            f"feature {graph.features[int(values.indices[place])]!r}; values to fill others from "
            f"are at most {LARGEST_VALUE:g} in size."
        )


def live_columns(values: FeatureValues) -> NDArray[np.int64]:
    """Features with an observed value other than zero; all others can only be filled with zero."""
    told = np.bincount(values.indices[values.data != 0], minlength=values.num_features)
    return np.flatnonzero(told)


def column_blocks(
    values: FeatureValues, columns: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], Block, NDArray[np.bool_]]]:
    """A few columns at a time: their positions, values (0 where absent) and observed cells."""
    width = max(1, BLOCK_CELLS // max(values.num_nodes, 1))
    by_feature = values.by_feature
    for start in range(0, len(columns), width):
        chosen = columns[start : start + width]
        begin, end = by_feature.indptr[chosen], by_feature.indptr[chosen + 1]
        counts = (end - begin).astype(np.int64)
        first = np.concatenate(([0], np.cumsum(counts)[:-1]))
        places = np.arange(int(counts.sum())) + np.repeat(begin - first, counts)
        rows, column = by_feature.indices[places], np.repeat(np.arange(len(chosen)), counts)
        cells = np.zeros((values.num_nodes, len(chosen)), dtype=np.float32)
        observed = np.zeros(cells.shape, dtype=bool)
        cells[rows, column] = values.data[by_feature.data[places]]
        observed[rows, column] = True
        yield chosen, cells, observed


class Neighbours:
    """Sparse products with the edges of a graph, by the fastest kernel there is.

    Args:
        matrix: Row = receiver, column = sender.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        import torch

        from grafenne.ops import SparsePattern

        self.pattern = SparsePattern.from_scipy(matrix)
        self.weights = torch.from_numpy(matrix.data.astype(np.float32))

    def __matmul__(self, block: Block) -> Block:
        import torch

        from grafenne.ops import kernels

        product = kernels.product(self.pattern, self.weights, torch.from_numpy(block))
        result: Block = product.numpy()
        return result


def neighbour_matrix(
    graph: FeatureGraph, *, weighted: bool, direction: str = "both"
) -> sparse.csr_array:
    """Edges as a matrix of messages, which run both ways by default; ones unless ``weighted``."""
    matrix = graph.edges.incoming(direction)
    data = matrix.data if weighted else np.ones_like(matrix.data)
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
