"""What a node's neighbours have of each feature, at a cost that grows with the values they have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.values import FeatureValues
from grafenne.impute.base import Neighbours, column_blocks, live_columns

PRODUCTS = 10_000_000
"""Pairs of an edge and a value that are multiplied at a time."""

DENSE = 0.05
"""Share of observed cells from which on whole blocks of columns are faster than pairs."""


class Gathered(NamedTuple):
    """Cells that a neighbour has, in no order.

    Attributes:
        nodes: Receiving nodes.
        features: Features.
        totals: Sums of the neighbours' values, times the weights of the edges.
        weights: Sums of the weights themselves.
    """

    nodes: NDArray[np.int64]
    features: NDArray[np.int64]
    totals: NDArray[np.float64]
    weights: NDArray[np.float64]


def gather(matrix: sparse.csr_array, values: FeatureValues) -> Iterator[Gathered]:
    """Every cell once, some at a time; features whose values are all zero are left out.

    Args:
        matrix: Weights of edges, row = receiver, column = sender. Cells whose weights cancel each
            other out are left out too.
        values: The observed cells.
    """
    live = live_columns(values)
    wanted = np.zeros(values.num_features, dtype=bool)
    wanted[live] = True
    told = values if wanted.all() else values.take(wanted[values.indices])
    if len(told.data) > DENSE * values.num_nodes * max(len(live), 1):
        return _by_columns(matrix, told, live)
    return _by_rows(matrix, told)


def _by_rows(matrix: sparse.csr_array, values: FeatureValues) -> Iterator[Gathered]:
    # One product for both sums: the weights are its real part, so no cell is lost where values
    # cancel each other out.
    cells = sparse.csr_array(
        (1 + 1j * values.data.astype(np.float64), values.indices, values.indptr),
        shape=(values.num_nodes, values.num_features),
    )
    held = np.diff(values.indptr)
    pairs = np.concatenate(([0], np.cumsum(held[matrix.indices])))[matrix.indptr]
    start = 0
    while start < values.num_nodes:
        reached = np.searchsorted(pairs, pairs[start] + PRODUCTS, side="right") - 1
        end = min(max(int(reached), start + 1), values.num_nodes)
        product = (matrix[start:end] @ cells).tocoo()
        here = product.data.real != 0
        nodes, features = (ends[here].astype(np.int64) for ends in product.coords)
        found = product.data[here]
        yield Gathered(nodes + start, features, found.imag, found.real)
        start = end


def _by_columns(
    matrix: sparse.csr_array, values: FeatureValues, columns: NDArray[np.int64]
) -> Iterator[Gathered]:
    neighbours = Neighbours(matrix)
    for chosen, cells, observed in column_blocks(values, columns):
        weights = neighbours @ observed.astype(np.float32)
        totals = neighbours @ cells
        nodes, places = np.nonzero(weights)
        yield Gathered(
            nodes,
            chosen[places],
            totals[nodes, places].astype(np.float64),
            weights[nodes, places].astype(np.float64),
        )
