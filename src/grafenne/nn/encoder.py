"""What a network must offer so that the training loop and the estimators can use it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.nn.model import Encoded
from grafenne.ops import Dropout


class NodeEncoder(nn.Module):
    """Base of the networks, other than GRAFENNE, that turn a graph into node embeddings.

    Args:
        width: Width of the hidden states.
        output_width: Width of the embeddings.
        feature_dropout: Share of the feature values left out in training.
    """

    def __init__(self, width: int, output_width: int, feature_dropout: float) -> None:
        super().__init__()
        self.width, self.output_width = width, output_width
        self.feature_dropout = Dropout(feature_dropout)

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the parameters."""
        return next(self.parameters()).dtype

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Encoded:
        """A full pass over the graph.

        Args:
            graph: The graph; each network reads of it what it needs.
            keep: Weight of each triple beside its value, 0 leaves it out, ``[num_values]``.
                Without it ``feature_dropout`` decides while training.
        """
        if keep is None:
            keep = self.feature_dropout.keep(
                graph.incidence.num_entries, self.dtype, graph.incidence.device
            )
        return self.encode(graph, keep)

    def encode(self, graph: AllotropicGraph, keep: Tensor | None) -> Encoded:
        """The pass itself."""
        raise TypeError(f"{type(self).__name__} must define encode")


def kept_values(values: Tensor | None, keep: Tensor | None) -> Tensor | None:
    """Values of the triples, those left out as zero; ``None`` if all are 1."""
    if keep is None:
        return values
    return keep if values is None else values * keep
