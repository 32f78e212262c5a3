"""Feature propagation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import ParameterError
from grafenne.impute.base import (
    Block,
    BlockImputer,
    Neighbours,
    column_blocks,
    live_columns,
    neighbour_matrix,
)

LARGEST_WEIGHT = 1e290
"""Above this, weights are brought to at most 1 first; only their ratios matter."""


@dataclass(kw_only=True, eq=False, repr=False)
class FeaturePropagation(BlockImputer):
    r"""Diffusion of the observed values (FP; Rossi et al., Learning on Graphs 2022).

    .. math:: x \leftarrow D^{-1/2} A D^{-1/2} x, \qquad
        x_{vf} \leftarrow \text{its observed value where there is one}

    in turn, starting from zero in the missing cells ("On the Unreasonable Effectiveness of
    Feature Propagation in Learning on Graphs with Missing Node Features").

    Every cell of a connected part is filled in the end. Of what is filled, the result holds the
    ``keep`` largest cells of each node; with ``keep=None`` it is exact, and takes the memory of
    nodes x features on a graph where values spread everywhere.

    Args:
        iterations: Number of steps, 40 in the publication.
        keep: How many filled cells of each node to keep; see ``dropped_share_`` for what the
            others amount to.
        observed_zeros: As in :class:`~grafenne.impute.base.BlockImputer`.
    """

    name: ClassVar[str] = "feature-propagation"

    iterations: int = 40
    keep: int | None = 128

    def _check(self) -> None:
        super()._check()
        check_iterations(self.iterations)

    def _filled_blocks(
        self, graph: FeatureGraph, edges: FeatureGraph
    ) -> Iterator[tuple[NDArray[np.int64], Block]]:
        neighbours = Neighbours(symmetric_normalised(neighbour_matrix(edges, weighted=True)))
        columns = live_columns(graph.values)
        for chosen, cells, observed in column_blocks(graph.values, columns):
            known = cells[observed]
            state = cells
            for _ in range(self.iterations):
                state = neighbours @ state
                state[observed] = known
            state[observed] = 0
            yield chosen, state


def check_iterations(iterations: object) -> None:
    """Raises unless ``iterations`` is a whole number from 1."""
    if not (isinstance(iterations, int) and iterations >= 1):
        raise ParameterError(f"iterations must be a whole number from 1, got {iterations!r}.")


def symmetric_normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    """D^-1/2 A D^-1/2; a row that sums to nothing stays empty.

    D holds the sums of the weights' sizes: with negative weights the sums themselves may be so
    small that the product grows without end when it is repeated.
    """
    sizes, rows = np.abs(matrix.data), np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    if sizes.max(initial=0.0) > LARGEST_WEIGHT:  # sums might be beyond all numbers
        matrix = matrix / sizes.max()
        sizes = np.abs(matrix.data)
    degrees = np.bincount(rows, sizes, minlength=matrix.shape[0])
    scale = np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, np.finfo(float).tiny)), 0.0)
    data = matrix.data * scale[rows] * scale[matrix.indices]
    return sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
