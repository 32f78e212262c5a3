"""Known labels as features: a node's label is one more feature that some nodes have.

While training, a random half of the training nodes show their label and the loss is taken on the
others, so no node is ever asked for a label it shows. Afterwards all training nodes show theirs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.ops import SparsePattern
from grafenne.tasks.shown_labels import ShownLabels

PREFIX = "label of node="


class LabelFeatures(ShownLabels):
    """The labels that nodes may show, as features.

    Args:
        classes: The class names.
        nodes: Ids of the nodes that show their label.
        codes: Their classes, as positions in ``classes``.
    """

    def __init__(
        self, classes: Sequence[Hashable], nodes: Sequence[Hashable], codes: NDArray[np.int64]
    ) -> None:
        self.names = [f"{PREFIX}{name}" for name in classes]
        if len(set(self.names)) < len(self.names):  # the classes 1 and "1", say
            self.names = [f"{PREFIX}{name!r}" for name in classes]
        super().__init__(nodes, codes)

    def add_to(self, graph: FeatureGraph) -> FeatureGraph:
        """The graph with the shown labels as further triples of value 1."""
        for name in graph.features:
            if name.startswith(PREFIX):
                raise DataError(
                    f"The feature {name!r} begins with {PREFIX!r}, which is kept for labels as "
                    "features."
                )
        place, codes = self.within(graph)
        features = graph.features.extended(self.names)
        column = graph.num_features + codes
        values = graph.values
        ones = np.ones(len(place), dtype=values.data.dtype)
        return graph.replace(
            features=features,
            values=FeatureValues.build(
                np.concatenate((values.rows, place)),
                np.concatenate((values.indices, column)),
                np.concatenate((values.data, ones)),
                nodes=graph.nodes,
                features=features,
            ),
            feature_edges=graph.feature_edges.resized(len(features)),
        )


class FeaturesAndLabels(FeatureEmbedding):
    """Φ for a graph whose last features are labels: any Φ, and a trained vector per label.

    The other Φ never sees the labels. One that reads a feature's neighbourhood would otherwise
    tell a node's label through the node's rare features, also while it is asked for; and vectors
    that a user supplies know nothing about labels.

    Args:
        inner: Φ of the other features.
        names: Names of the labels' features.
    """

    def __init__(self, inner: FeatureEmbedding, names: Sequence[str]) -> None:
        super().__init__(inner.width)
        self.inner = inner
        self.names = list(names)
        self.labels = nn.Parameter(torch.empty(len(self.names), inner.width))
        nn.init.normal_(self.labels)

    def reset_parameters(self) -> None:
        """Draws new vectors."""
        self.inner.reset_parameters()  # type: ignore[operator]
        nn.init.normal_(self.labels)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"{len(self.names)} labels"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``; the labels are the last of them."""
        return torch.cat((self.inner(self._plain(graph)), self.labels))

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """As the other Φ has it; labels count fully."""
        inner = self.inner.trust(self._plain(graph))
        return None if inner is None else torch.cat((inner, inner.new_ones(len(self.names))))

    def _plain(self, graph: AllotropicGraph) -> AllotropicGraph:
        found: AllotropicGraph = graph.once(
            ("without labels", len(self.names)), lambda: self._without(graph)
        )
        return found

    def _without(self, graph: AllotropicGraph) -> AllotropicGraph:
        count = graph.num_features - len(self.names)
        incidence = graph.incidence
        kept = incidence.indices < count
        rows = torch.bincount(incidence.rows[kept].long(), minlength=incidence.num_rows)
        indptr = torch.cat((rows.new_zeros(1), rows.cumsum(0)))
        return replace(
            graph,
            features=Vocabulary(graph.features[:count], kind="feature"),
            incidence=SparsePattern(indptr, incidence.indices[kept], count),
            values=graph.values[kept],
            _memory={},
        )
