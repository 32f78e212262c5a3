"""GNNs made for missing features, as estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grafenne.allotrope import AllotropicGraph
from grafenne.baselines.gcnmf import Gcnmf
from grafenne.baselines.graph_network import GraphNetwork, count_bare_layers
from grafenne.baselines.pagnn import partial_aggregation
from grafenne.baselines.settings import FixedInputSettings
from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import ParameterError
from grafenne.estimators.classifier import NodeClassifier
from grafenne.ops import RandomBits


@dataclass(kw_only=True, eq=False, repr=False)
class GcnmfClassifier(FixedInputSettings, NodeClassifier):
    """GCNMF (Taguchi et al., 2021); see :class:`~grafenne.baselines.gcnmf.Gcnmf`.

    Stored triples are observed and all other cells missing, so on data where an absent cell is
    a known zero the zeros must be stored. Parameters that
    :class:`~grafenne.baselines.GraphNetworkClassifier` has too mean the same.

    Args:
        components: Number of Gaussians per feature.
    """

    components: int = 5

    def _count_bare_layers(self) -> int:
        return count_bare_layers("gcn", self._num_layers)

    def _make_encoder(self, num_features: int) -> Gcnmf:
        if not (isinstance(self.components, int) and self.components >= 1):
            raise ParameterError(
                f"components must be a whole number from 1, got {self.components!r}."
            )
        return Gcnmf(
            num_features,
            width=self.width,
            num_layers=self._num_layers,
            components=self.components,
            dropout=self.dropout,
            feature_dropout=self.feature_dropout,
        )

    def _new_network(
        self, graph: FeatureGraph, prepared: AllotropicGraph, bits: RandomBits, examples: int
    ) -> Any:
        network = super()._new_network(graph, prepared, bits, examples)
        network.encoder.layers[0].start(prepared, int(bits.generator().integers(2**31)))
        return network


@dataclass(kw_only=True, eq=False, repr=False)
class PagnnClassifier(FixedInputSettings, NodeClassifier):
    """PaGNN (Jiang & Zhang, 2020): a GCN whose first aggregation skips missing cells.

    See :func:`~grafenne.baselines.pagnn.partial_aggregation`; stored triples are observed.
    Parameters that :class:`~grafenne.baselines.GraphNetworkClassifier` has too mean the same.

    Args:
        variant: ``mean`` over the observed neighbours, or ``rescaled`` to the size that a sum
            over all neighbours has.
        complete: Whether nothing is missing and every absent cell is a known zero, which would
            otherwise have to be stored. Only stored values are scaled.
    """

    variant: str = "mean"
    complete: bool = False

    def _see(self, graph: FeatureGraph) -> FeatureGraph:
        if not isinstance(self.complete, bool):
            raise ParameterError(f"complete is True or False, got {self.complete!r}.")
        return partial_aggregation(
            super()._see(graph), self.variant, self.direction, complete=self.complete
        )

    def _count_bare_layers(self) -> int:
        return count_bare_layers("gcn", self._num_layers)

    def _make_encoder(self, num_features: int) -> GraphNetwork:
        return GraphNetwork(
            num_features,
            kind="gcn",
            first="mlp",
            width=self.width,
            num_layers=self._num_layers,
            dropout=self.dropout,
            feature_dropout=self.feature_dropout,
        )
