"""Imputation by the mean of the neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph
from grafenne.impute.base import (
    Block,
    BlockImputer,
    Neighbours,
    column_blocks,
    live_columns,
    neighbour_matrix,
)


@dataclass(kw_only=True, eq=False, repr=False)
class NeighbourhoodMean(BlockImputer):
    r"""A missing value becomes the mean of the neighbours' observed ones (NM, strategy (5)).

    .. math:: x_{vf} = \frac{\sum_{u \in N_v} m_{uf} x_{uf}}{\sum_{u \in N_v} m_{uf}}
        \qquad \text{if } m_{vf} = 0

    A cell that no neighbour has stays missing. The weights of edges play no part.

    Args:
        keep: As in :class:`~grafenne.impute.base.BlockImputer`; all by default, since only cells
            that a neighbour has are filled.
        observed_zeros: As there.
    """

    name: ClassVar[str] = "neighbourhood-mean"

    def _filled_blocks(
        self, graph: FeatureGraph, edges: FeatureGraph
    ) -> Iterator[tuple[NDArray[np.int64], Block]]:
        neighbours = Neighbours(neighbour_matrix(edges, weighted=False))
        columns = live_columns(graph.values)
        for chosen, cells, observed in column_blocks(graph.values, columns):
            count = neighbours @ observed.astype(np.float32)
            mean: Block = (neighbours @ cells) / np.maximum(count, np.float32(1))
            mean[observed] = 0
            yield chosen, mean
