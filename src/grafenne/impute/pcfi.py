"""Pseudo-confidence-based feature imputation."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import DataError, ParameterError
from grafenne.impute.base import (
    BLOCK_CELLS,
    Block,
    BlockImputer,
    Neighbours,
    column_blocks,
    live_columns,
    neighbour_matrix,
)
from grafenne.impute.feature_propagation import check_iterations

MANY_MORE = 4
"""With so many times more features than nodes, the features x features matrix is never made."""

UNREACHED = 255
"""Distance of a node that no observed cell of the column reaches; longer ones count as this."""


@dataclass(kw_only=True, eq=False, repr=False)
class PseudoConfidence(BlockImputer):
    r"""PCFI (Um et al., "Confidence-Based Feature Imputation for Graphs with Partially Known
    Features", ICLR 2023).

    The confidence in a cell is :math:`c_{vf} = \alpha^{s_{vf}}`, where s is the number of steps
    to the nearest node at which f is observed. First each feature diffuses over the nodes, and
    surer neighbours count more (a row of the publication's :math:`\alpha^{s_u - s_v}`, divided by
    its sum),

    .. math:: x_{vf} \leftarrow \frac{\sum_{u \in N_v} c_{uf} x_{uf}}{\sum_{u \in N_v} c_{uf}},

    observed cells being reset in each step; then unsure cells are corrected by the sure features
    of the same node, through the correlations R of the diffused features and their means m:

    .. math:: x_{vf} \leftarrow x_{vf} + \beta (1 - c_{vf}) \sum_{g \ne f} c_{vg} (x_{vg} - m_g)
        R_{gf}

    The first part is a weighted mean, so where all observed values are equal (a graph that holds
    ones alone) it fills everything with them: keep observed zeros.

    The diffused columns wait in a temporary file, as the second part needs them all; in memory
    there are a few columns or rows at a time and the features x features matrix R (or one of
    nodes x nodes, where nodes are few).

    Args:
        alpha: Confidence lost per step, above 0 and below 1.
        beta: Strength of the second part; 0 leaves it out.
        iterations: Number of diffusion steps, 100 in the publication.
        keep: As in :class:`~grafenne.impute.feature_propagation.FeaturePropagation`.
        observed_zeros: As there.
    """

    name: ClassVar[str] = "pcfi"

    alpha: float = 0.9
    beta: float = 1.0
    iterations: int = 100
    keep: int | None = 128

    def _check(self) -> None:
        super()._check()
        check_iterations(self.iterations)
        if not 0 < self.alpha < 1:
            raise ParameterError(f"alpha must be above 0 and below 1, got {self.alpha!r}.")
        if not self.beta >= 0:
            raise ParameterError(f"beta must be at least 0, got {self.beta!r}.")

    def _filled_blocks(
        self, graph: FeatureGraph, edges: FeatureGraph
    ) -> Iterator[tuple[NDArray[np.int64], Block]]:
        neighbours = Neighbours(neighbour_matrix(edges, weighted=False))
        columns = live_columns(graph.values)
        shape = (graph.num_nodes, len(columns))
        if 0 in shape:
            return
        with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
            cells, steps = _array_in(first, np.float32, shape), _array_in(second, np.uint8, shape)
            blocks, start = [], 0
            for chosen, block, observed in column_blocks(graph.values, columns):
                blocks.append(slice(start, start + len(chosen)))
                steps[:, blocks[-1]] = distances(neighbours, observed)
                cells[:, blocks[-1]] = self._diffuse(
                    neighbours, block, observed, steps[:, blocks[-1]]
                )
                start += len(chosen)
            between = BetweenFeatures(cells, steps, self.alpha)
            for part in blocks:
                state = np.array(cells[:, part])
                if self.beta:
                    state += self.beta * between.correction(part)
                state[steps[:, part] == 0] = 0
                yield columns[part], state
            del cells, steps, between  # before the files are closed

    def _diffuse(
        self, neighbours: Neighbours, block: Block, observed: NDArray[np.bool_], steps: Any
    ) -> Block:
        sure = confidence(steps, self.alpha)
        total = neighbours @ sure
        np.maximum(total, np.finfo(np.float32).tiny, out=total)
        known, state = block[observed], block
        for _ in range(self.iterations):
            state = (neighbours @ (sure * state)) / total
            state[observed] = known
        return state


def _array_in(file: IO[bytes], kind: Any, shape: tuple[int, int]) -> Any:
    """An array in a file without a name, which goes when the process does, in whatever way.

    Its room is taken at once: a disk that gets full under an array would end the process.
    """
    size = np.dtype(kind).itemsize * shape[0] * shape[1]
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    except OSError as error:
        raise DataError(
            f"PCFI needs {size:,} bytes in {tempfile.gettempdir()}: {error.strerror}."
        ) from None
    return np.memmap(file, kind, "r+", shape=shape)


class BetweenFeatures:
    """The correction of a node's unsure cells by its sure ones.

    Args:
        cells: The diffused features, ``[nodes, features]`` in a file.
        steps: Distances to the nearest observed cell, likewise.
        alpha: Confidence lost per step.
    """

    def __init__(self, cells: Any, steps: Any, alpha: float) -> None:
        self.cells, self.steps, self.alpha = cells, steps, alpha
        height = max(1, BLOCK_CELLS // cells.shape[1])
        self.rows = [slice(top, top + height) for top in range(0, len(cells), height)]
        total = sum(cells[part].sum(axis=0, dtype=np.float64) for part in self.rows)
        mean = total / len(cells)
        square = sum(np.square(cells[part] - mean).sum(axis=0) for part in self.rows)
        self.mean = mean.astype(np.float32)
        spread = np.sqrt(square)
        # A feature that is the same everywhere is correlated with nothing.
        varied = spread > 1e-6 * np.maximum(np.abs(mean), 1) * np.sqrt(len(cells))
        self.scale = np.where(varied, 1 / np.where(varied, spread, 1), 0).astype(np.float32)

    def correction(self, part: slice) -> Block:
        """What is added to some columns, before it is multiplied by beta."""
        if MANY_MORE * len(self.cells) < len(self.mean):
            return self._correction_by_nodes(part)
        width = len(self.mean[part])
        related = np.zeros((len(self.mean), width), dtype=np.float32)  # R, [features, part]
        for rows in self.rows:
            apart = (self.cells[rows] - self.mean) * self.scale
            related += apart.T @ apart[:, part]
        related[np.arange(part.start, part.start + width), np.arange(width)] = 0
        result = np.empty((len(self.cells), width), dtype=np.float32)
        for rows in self.rows:
            sure = confidence(self.steps[rows], self.alpha)
            told = (sure * (self.cells[rows] - self.mean)) @ related
            result[rows] = (1 - sure[:, part]) * told
        return result

    def _correction_by_nodes(self, part: slice) -> Block:
        """The same where nodes are few: R is a product that can be taken from the other side."""
        apart = (self.cells - self.mean) * self.scale
        sure = confidence(self.steps, self.alpha)
        weighed = sure * (self.cells - self.mean)
        own = weighed[:, part] * np.square(apart[:, part]).sum(axis=0)  # of the diagonal of R
        told: Block = (1 - sure[:, part]) * ((weighed @ apart.T) @ apart[:, part] - own)
        return told


def confidence(steps: NDArray[np.uint8], alpha: float) -> Block:
    """alpha to the power of the distance; zero where nothing is in reach."""
    table = np.float64(alpha) ** np.arange(UNREACHED + 1)
    table[UNREACHED] = 0
    sure: Block = table.astype(np.float32)[steps]
    return sure


def distances(neighbours: Neighbours, observed: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Steps from each node to the nearest one at which the column is observed."""
    steps = np.where(observed, 0, UNREACHED).astype(np.uint8)
    reached = observed
    for distance in range(1, UNREACHED):
        further = (neighbours @ reached.astype(np.float32)) > 0
        further &= ~reached
        if not further.any():
            break
        steps[further] = distance
        reached = reached | further
    return steps
