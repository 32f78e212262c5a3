"""Labels that a model may show when it predicts: those of its training nodes, and no others.

They are fixed at training time and kept with the model. The labels of a graph that is predicted are
never looked at, so validation and test labels cannot leak.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph


class ShownLabels:
    """Who shows which class.

    Args:
        nodes: Ids of the nodes that show their label.
        codes: Their classes, as positions in the list of classes.
    """

    def __init__(self, nodes: Sequence[Hashable], codes: NDArray[np.int64]) -> None:
        self.nodes = list(nodes)
        self.codes = codes

    def within(self, graph: FeatureGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of those nodes that a graph has, and their classes."""
        place = graph.nodes.find(self.nodes)
        there = place >= 0
        return place[there], self.codes[there]
