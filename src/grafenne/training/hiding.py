"""Hides whole kinds of features, and all features of a node, while training.

New nodes may lack what older ones have: of the packages new in a Debian release few carry tags. A
network that has met nodes without a kind of feature leans on it less. Hiding single values is
:class:`~grafenne.ops.Dropout`'s work.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_kinds import feature_kinds
from grafenne.errors import ParameterError
from grafenne.ops import hashed_keep


class FeatureHiding:
    """Decides which triples a training step sees; one seed, one decision, wherever it is asked.

    Args:
        graph: The graph.
        kind_rate: Probability that a node lacks all its features of a kind, for each kind.
        node_rate: Probability that a node lacks all its features.
        first_label: Position of the first feature that is a label; labels are never hidden here.
    """

    def __init__(
        self,
        graph: AllotropicGraph,
        *,
        kind_rate: float = 0.0,
        node_rate: float = 0.0,
        first_label: int | None = None,
    ) -> None:
        for name, rate in (("kind_rate", kind_rate), ("node_rate", node_rate)):
            if not 0 <= rate < 1:
                raise ParameterError(f"{name} is at least 0 and below 1, got {rate!r}.")
        self.graph, self.kind_rate, self.node_rate = graph, kind_rate, node_rate
        self.first_label = graph.num_features if first_label is None else first_label
        kinds, codes = feature_kinds(str(name) for name in graph.features)
        self.num_kinds = max(len(kinds), 1)
        self.codes = torch.from_numpy(codes).to(graph.incidence.device)

    def keep(self, seed: int, places: Tensor | None = None) -> Tensor:
        """Whether each triple stays, ``[places]``.

        A node and a kind are hashed with the seed, so that nothing of size nodes x kinds is made
        and two blocks of a batch agree.

        Args:
            seed: Seed of the training step.
            places: Places of the triples in the incidence; all by default.
        """
        incidence = self.graph.incidence
        rows, features = incidence.rows.long(), incidence.indices.long()
        if places is not None:
            rows, features = rows[places], features[places]
        seeds = np.random.SeedSequence(seed).generate_state(2).tolist()
        kept = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
        if self.kind_rate:
            pairs = rows * self.num_kinds + self.codes[features]
            kept &= hashed_keep(pairs, self.kind_rate, seeds[0])
        if self.node_rate:
            kept &= hashed_keep(rows, self.node_rate, seeds[1])
        return kept | (features >= self.first_label)
