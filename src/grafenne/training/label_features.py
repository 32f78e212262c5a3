"""Known labels as features: a node's label is one more feature that some nodes have.

While training, a random half of the training nodes show their label and the loss is taken on the
others, so no node is ever asked for a label it shows. Afterwards all training nodes show theirs.
What may be shown is fixed at training time and kept with the model: the labels of a graph that is
predicted are never looked at, so validation and test labels cannot leak.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.errors import DataError

PREFIX = "label of node="


class LabelFeatures:
    """The labels that nodes may show.

    Args:
        classes: The class names.
        nodes: Ids of the nodes that show their label.
        codes: Their classes, as positions in ``classes``.
    """

    def __init__(
        self, classes: Sequence[Hashable], nodes: Sequence[Hashable], codes: NDArray[np.int64]
    ) -> None:
        self.names = [f"{PREFIX}{name}" for name in classes]
        self.nodes = list(nodes)
        self.codes = codes

    def add_to(self, graph: FeatureGraph) -> FeatureGraph:
        """The graph with the shown labels as further triples of value 1."""
        place = graph.nodes.find(self.nodes)
        shown = place >= 0
        features = graph.features.extended(self.names)
        if len(features) != graph.num_features + len(self.names):
            raise DataError(f"A feature name may not begin with {PREFIX!r}.")
        column = graph.num_features + self.codes[shown]
        values = graph.values
        ones = np.ones(int(shown.sum()), dtype=values.data.dtype)
        return graph.replace(
            features=features,
            values=FeatureValues.build(
                np.concatenate((values.rows, place[shown])),
                np.concatenate((values.indices, column)),
                np.concatenate((values.data, ones)),
                nodes=graph.nodes,
                features=features,
            ),
            feature_edges=graph.feature_edges.resized(len(features)),
        )
