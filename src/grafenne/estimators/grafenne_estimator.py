"""What the three GRAFENNE estimators share: their settings, and the network these make."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError
from grafenne.estimators.base import NetworkEstimator
from grafenne.estimators.fitting import (
    fitting_feature_dropout,
    fitting_reach,
    holds_records,
    telling_triples,
)
from grafenne.nn.company_start import company_start
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.features import is_learned, make_features
from grafenne.nn.model import Grafenne
from grafenne.ops import RandomBits
from grafenne.sampling import Sampler


@dataclass(kw_only=True, eq=False, repr=False)
class GrafenneEstimator(NetworkEstimator):
    """Base of the three GRAFENNE estimators."""

    shared_start: ClassVar[bool] = True
    """Whether vectors that start by company have a part in common."""

    backbone: Any = "sage"
    features: Any = None
    mode: str = "value"
    aggregation: str = "attention"
    heads: int = 1
    normalisation: str = "layer"
    skip: bool = True
    reach: int | None = None
    direct: bool | None = False
    feature_dropout: float | None = None
    feature_decay: float | None = None
    feature_edges: bool = True
    batch_size: int | None = None
    neighbours: Any = None
    features_per_node: Any = None
    nodes_per_feature: Any = None

    def _get_to_know(self, graph: FeatureGraph) -> None:
        super()._get_to_know(graph)
        self.reach_ = self._fitting_reach(graph) if self.reach is None else self.reach

    def _build_network(self, graph: AllotropicGraph) -> nn.Module:
        self.direct_ = self._fitting_direct() if self.direct is None else self.direct
        features = self._make_features(self._fitting_features(), graph.features)
        links = self.feature_edges and len(graph.feature_adjacency) > 0
        return self._make_network(self._encoder(features, links))

    def _suit(
        self, network: Any, graph: FeatureGraph, prepared: AllotropicGraph, examples: int
    ) -> None:
        kind = self._fitting_features()
        by_company = isinstance(kind, str) and kind == "company"
        # In batches nobody waits for a pass over all values that was not asked for.
        looked = by_company or not self._in_blocks
        telling = telling_triples(graph, prepared) if looked else None
        if self.feature_dropout is None:
            network.encoder.feature_dropout.rate = fitting_feature_dropout(
                prepared,
                examples,
                direct=self.direct_,
                reach=self.reach_,
                known_zeros=telling is not None,
            )
        if by_company:
            start = company_start(prepared, self.width, telling, shared=self.shared_start)
            network.encoder.features.begin(self._start_scale(telling is not None, examples) * start)

    def _start_scale(self, known_zeros: bool, examples: int) -> float:
        """Scale at which vectors start by company, see :func:`fitting_start_scale`."""
        return 1.0

    def _feature_decay(self, graph: FeatureGraph, examples: int) -> float | None:
        return self.feature_decay

    def _rebuild_network(self, kind: Any, names: Vocabulary, feature_edges: bool) -> nn.Module:
        features = self._make_features(kind, names)
        return self._make_network(self._encoder(features, feature_edges))

    def _make_features(self, kind: Any, names: Vocabulary) -> FeatureEmbedding:
        """Φ for a graph with these features."""
        # The user's own layers are parameters: training must not change them.
        own = deepcopy(kind) if isinstance(kind, FeatureEmbedding) else kind
        made = make_features(own, names, self.width, evidence=self.direct_)
        if made.width != self.width:
            raise ParameterError(
                f"features gives states of width {made.width}, but width is {self.width}."
            )
        return made

    def _encoder(self, features: FeatureEmbedding, feature_edges: bool) -> Grafenne:
        encoder = Grafenne(
            features,
            width=self.width,
            num_layers=self._num_layers,
            reach=self.reach_,
            backbone=self.backbone if isinstance(self.backbone, type) else deepcopy(self.backbone),
            heads=self.heads,
            mode=self.mode,
            aggregation=self.aggregation,
            normalisation=self.normalisation,
            skip=self.skip,
            dropout=self.dropout,
            feature_dropout=self.feature_dropout or 0.0,
            feature_edges=feature_edges,
        )
        if self._in_blocks and not encoder.local:
            raise ParameterError(
                "With this backbone a node depends on more than the edges into it, which is all "
                "that a batch has: leave batch_size out, or take one of the backbones by name."
            )
        return encoder

    def _fitting_direct(self) -> bool:
        # Not the features of the prepared graph: labels that are shown are no fields of records.
        return (
            is_learned(self.features)
            and self.mode == "value"
            and holds_records(self.feature_names_in_)
        )

    def _fitting_features(self) -> Any:
        # Evidence says what a feature means by itself (debian-mini, three seeds, validation loss:
        # 0.488 from a random start, 0.502 by company). In batches nobody waits for whole passes.
        if self.features is not None:
            return self.features
        return "learned" if self.direct_ or self._in_blocks else "company"

    def _fitting_reach(self, graph: FeatureGraph) -> int:
        # Within ten steps there is everything: a sample would be the whole graph.
        return 0 if self._in_blocks else fitting_reach(graph)

    def _sampler(self, graph: AllotropicGraph, bits: RandomBits) -> Sampler | None:
        if self.batch_size is None:
            return None
        return Sampler(
            graph,
            self._num_layers,
            reach=self.reach_,
            neighbours=self.neighbours,
            features_per_node=self.features_per_node,
            nodes_per_feature=self.nodes_per_feature,
            feature_edges=self.feature_edges,
            seed=bits.generator(),
        )
