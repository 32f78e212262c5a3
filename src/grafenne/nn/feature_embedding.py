"""What every feature embedding Φ can do (paper, "Initialization")."""

from __future__ import annotations

import zlib

from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph


class FeatureEmbedding(nn.Module):
    """Base of all Φ.

    Args:
        width: Width of the states it gives.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states of the graph's features, ``[num_features, width]``."""
        raise TypeError(f"{type(self).__name__} must define forward")

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """How much each feature of a graph counts, ``[num_features]``; ``None`` if all do fully."""
        return None


class Same:
    """A key that is equal to that of the same object only, and keeps the object alive."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing


def hash_of(text: str) -> int:
    """The same number for a text on every machine and in every run."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
