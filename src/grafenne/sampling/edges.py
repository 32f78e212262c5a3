"""Edges of the whole graph, to take parts of."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.ops import Adjacency
from grafenne.sampling.rows import CompressedRows, Integers, Picked


class Edges:
    """Edges to draw from, with what the drawn ones carry along.

    Args:
        adjacency: The edges of a whole graph.
        dtype: Number type of the model.
    """

    def __init__(self, adjacency: Adjacency, dtype: torch.dtype) -> None:
        self.rows = CompressedRows(adjacency.pattern)
        self.weights = as_numpy(adjacency.edge_weights(dtype))
        self._number: Any = torch.empty(0, dtype=dtype).numpy().dtype
        self._degrees = None if self.weights is None else adjacency.degrees(dtype).cpu().numpy()

    def part(self, picked: Picked, senders: NDArray[np.int64]) -> Adjacency:
        """The drawn edges; ``senders`` are the positions that their columns number."""
        pattern = picked.pattern(len(senders))
        degrees = self._degrees_of(senders)
        weights = None if self.weights is None else self.weights[picked.places]
        if picked.scale is not None:
            scale = np.repeat(picked.scale.astype(degrees.dtype), np.diff(picked.indptr))
            weights = scale if weights is None else weights * scale
        kept = None if weights is None else torch.from_numpy(weights)
        return Adjacency(pattern, kept, torch.from_numpy(degrees))

    def _degrees_of(self, senders: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        if self._degrees is not None:
            return self._degrees[senders]
        # Without weights the degree is the size of the row: no array over all nodes is needed.
        indptr: Integers = self.rows.indptr
        return (indptr[senders + 1] - indptr[senders]).astype(self._number)


def as_numpy(tensor: Tensor | None) -> NDArray[np.floating[Any]] | None:
    """The numbers of a tensor, shared where it is in main memory."""
    return None if tensor is None else tensor.cpu().numpy()
