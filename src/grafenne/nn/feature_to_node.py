"""Phase 1: features to nodes (paper: "Phase 1 -- Aggregating feature information")."""

from __future__ import annotations

from torch import Tensor

from grafenne.nn.phase import FeaturePhase
from grafenne.ops import SparsePattern


class FeatureToNode(FeaturePhase):
    r"""Each node gathers the states of its own features.

    .. math:: h_v^\ell = \mathrm{Combine}\Big(W_5 h_v^{\ell-1},
        \sum_{u \in N_v^{feat}} \alpha_{vu} m_v(u)\Big)

    ``mode="paper"`` is the printed section "Specifics", with weights 1 to 6 and an MLP;
    ``mode="value"`` lets the message depend on the value
    (:class:`~grafenne.nn.attention.ValueAttention`).

    Args:
        feature_width: Width of the features' states.
        node_width: Width of the nodes' states; 0 in the first layer, where they are zero.
        width: Width of the result.
        heads: Number of attention heads.
        mode: ``value`` or ``paper``.
        aggregation: ``attention``, ``mean`` or ``sum``.
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
    ) -> None:
        super().__init__(
            feature_width, node_width, width, heads=heads, mode=mode, aggregation=aggregation
        )

    def forward(
        self,
        incidence: SparsePattern,
        values: Tensor | None,
        features: Tensor,
        nodes: Tensor | None = None,
        keep: Tensor | None = None,
    ) -> Tensor:
        """One pass of phase 1.

        Args:
            incidence: Feature edges, ``[num_nodes, num_features]``.
            values: Their weights in the order of ``incidence``, ``None`` if all are 1.
            features: States of the features, ``[num_features, feature_width]``.
            nodes: States of the nodes, ``[num_nodes, node_width]``, ``None`` for zero.
            keep: 0 for feature edges to leave out, 1 for the others, in the same order.

        Returns:
            States of the nodes, ``[num_nodes, width]``.
        """
        return self.send(incidence, values, features, nodes, keep)
