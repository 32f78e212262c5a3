"""Imputation by the mean of the neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from grafenne.data.feature_graph import FeatureGraph
from grafenne.impute.base import BlockImputer, check_sizes, neighbour_matrix
from grafenne.impute.gathering import gather
from grafenne.impute.largest import rank_in_rows


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

    def _transform(self, graph: FeatureGraph, edges: FeatureGraph) -> FeatureGraph:
        check_sizes(graph)
        # A key for each cell, rising in the order in which observed cells are stored.
        size = graph.num_features
        observed = graph.values.rows.astype(np.int64) * size + graph.values.indices
        parts = [_NOTHING]
        for found in gather(neighbour_matrix(edges, weighted=False), graph.values):
            mean = found.totals / found.weights
            keys = found.nodes * size + found.features
            places = np.searchsorted(observed, keys)
            known = np.append(observed, -1)[places] == keys
            filled = ~known & (mean != 0)
            parts.append((found.nodes[filled], found.features[filled], mean[filled]))
        nodes, features, means = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.dropped_share_ = 0.0
        if self.keep is not None:
            kept = rank_in_rows(nodes, means, graph.num_nodes) < self.keep
            if len(means):
                self.dropped_share_ = float(np.square(means[~kept]).sum() / np.square(means).sum())
            nodes, features, means = nodes[kept], features[kept], means[kept]
        return self._join(graph, nodes, features, means)


_NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
