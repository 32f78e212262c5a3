"""Feature vectors that the user supplies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import DataError
from grafenne.nn.feature_embedding import FeatureEmbedding


class GivenFeatures(FeatureEmbedding):
    """Vectors that the user supplies: from a text encoder, a knowledge base, a table.

    Args:
        source: A callable from a list of names to an array ``[len(names), n]``, or a mapping
            from names to vectors. Features without a vector start at the mean of all vectors.
        width: Width of the states; a trained linear layer maps the given vectors to it.
        given_width: Width of the given vectors.
    """

    def __init__(
        self,
        source: Callable[[list[str]], Any] | Mapping[str, Any],
        width: int,
        given_width: int,
    ) -> None:
        super().__init__(width)
        self.source = source
        self.linear = nn.Linear(given_width, width)
        self._key = object()  # an id() may come back after its owner is gone

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.linear.reset_parameters()

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        vectors = graph.once(("given", self._key), lambda: self._vectors(list(graph.features)))
        result: Tensor = self.linear(vectors.to(self.linear.weight))
        return result

    def _vectors(self, names: list[str]) -> Tensor:
        width = self.linear.in_features
        if not names:
            return torch.empty(0, width)
        if callable(self.source):
            vectors = np.asarray(self.source(names), dtype=np.float32)
        else:
            mean: Any = None
            rows = []
            for name in names:
                vector = self.source.get(name)
                if vector is None:
                    mean = _mean_vector(self.source, width) if mean is None else mean
                    vector = mean
                rows.append(_checked(name, vector, width))
            vectors = np.stack(rows)
        if vectors.shape != (len(names), width):
            raise DataError(
                f"The feature embedding gave an array of shape {vectors.shape} for "
                f"{len(names)} features of width {width}."
            )
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            name = names[int(np.argmin(finite))]
            raise DataError(f"The vector of feature {name!r} has numbers that are not finite.")
        return torch.from_numpy(vectors)


def _checked(name: str, vector: Any, width: int) -> NDArray[np.float32]:
    row = np.asarray(vector, dtype=np.float32)
    if row.shape != (width,):
        raise DataError(
            f"The vector of feature {name!r} has shape {row.shape}, but the others have {width} "
            "numbers."
        )
    return row


def _mean_vector(source: Mapping[str, Any], width: int) -> NDArray[np.float64]:
    """The mean of all given vectors, so that it does not depend on the graph at hand."""
    total = np.zeros(width)
    for name, vector in source.items():
        total += _checked(name, vector, width)
    return total / max(len(source), 1)
