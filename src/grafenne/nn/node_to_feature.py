"""Phase 3: nodes to features (paper: "Phase 3 -- Integrating attribute and topology")."""

from __future__ import annotations

from torch import Tensor, nn

from grafenne.nn.phase import FeaturePhase
from grafenne.ops import Adjacency, SparsePattern, first_rows, sparse_product


class NodeToFeature(FeaturePhase):
    r"""Each feature gathers the states of the nodes that have it.

    .. math:: h_u^\ell = \mathrm{Combine}\Big(W_{11} h_u^{\ell-1},
        \sum_{v \in N_u^{feat}} \alpha_{uv} m_u(v)\Big)

    The paper's sum runs over :math:`N_u^G`, which is empty for a feature; it means the feature
    neighbourhood. With ``feature_edges`` the states of neighbouring features join in (the
    paper's future work): :math:`+\, W_f \,\mathrm{mean}_{u' \in N_u} h_{u'}^{\ell-1}`.

    Args:
        feature_width: Width of the features' states.
        node_width: Width of the nodes' states.
        width: Width of the result.
        heads: Number of attention heads.
        mode: ``value`` or ``paper`` (weights 7 to 12).
        aggregation: ``attention``, ``mean`` or ``sum``.
        feature_edges: Whether edges among features carry messages.
    """

    def __init__(
        self,
        feature_width: int,
        node_width: int,
        width: int,
        *,
        heads: int = 1,
        mode: str = "value",
        aggregation: str = "attention",
        feature_edges: bool = False,
    ) -> None:
        super().__init__(
            node_width, feature_width, width, heads=heads, mode=mode, aggregation=aggregation
        )
        self.neighbour = nn.Linear(feature_width, width, bias=False) if feature_edges else None

    def reset_parameters(self) -> None:
        """Draws new weights."""
        super().reset_parameters()
        if self.neighbour is not None:
            self.neighbour.reset_parameters()

    def forward(
        self,
        incidence: SparsePattern,
        values: Tensor | None,
        nodes: Tensor,
        features: Tensor,
        keep: Tensor | None = None,
        *,
        feature_adjacency: Adjacency | None = None,
    ) -> Tensor:
        """One pass of phase 3.

        Args:
            incidence: Feature edges seen from the features, ``[num_features, num_nodes]``: the
                transpose of phase 1's.
            values: Their weights in the order of ``incidence``, ``None`` if all are 1.
            nodes: States of the nodes after phase 2, ``[num_nodes, node_width]``.
            features: States of the features before, ``[num_features, feature_width]``; in a
                sampled part, neighbours of these features may follow behind them.
            keep: 0 for feature edges to leave out, 1 for the others, in the same order.
            feature_adjacency: Edges among features.

        Returns:
            States of the features, ``[num_features, width]``.
        """
        states = self.send(incidence, values, nodes, first_rows(features, incidence.num_rows), keep)
        if self.neighbour is None or feature_adjacency is None:
            return states
        mean = feature_adjacency.mean_weights(features.dtype)
        neighbours = sparse_product(feature_adjacency.pattern, mean, features)
        result: Tensor = states + self.neighbour(neighbours)
        return result
