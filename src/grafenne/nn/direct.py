"""The direct path: from features to the result, past all layers."""

from __future__ import annotations

from torch import Tensor, nn

from grafenne.nn.block import Block
from grafenne.ops import Adjacency, SparsePattern, sparse_product


class DirectPath(nn.Module):
    r"""A linear GraphSAGE layer over the nodes' own features, without activation or norm.

    .. math:: x_v = \sum_{u \in N_v^{feat}} e_{uv} D_1 h_u^0
        + \mathrm{mean}_{w \in N_v} \sum_{u \in N_w^{feat}} e_{uw} D_2 h_u^0

    Each feature adds its evidence, whatever else a node has; the layers' means and norms learn
    that only slowly. Where plain sums do well the layers need to learn no more than what is left.
    (Validation loss over two seeds, without and with it: Cora 0.336 and 0.308, debian-mini 0.593
    and 0.577.)

    Args:
        width: Width of the features' states and of the result.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.message = nn.Linear(width, 2 * width, bias=False)  # D_1 and D_2 side by side

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.message.reset_parameters()

    def forward(self, block: Block, features: Tensor, keep: Tensor | None = None) -> Tensor:
        """One pass over the first layer's block.

        Args:
            block: What the first layer sees of the graph.
            features: Starting states, ``[at least features in, width]``.
            keep: Weight of each triple, 0 to leave it out; ``None`` if all are 1.

        Returns:
            ``[nodes out, width]``.
        """
        sums = self.gather(block.incidence, block.values, features, keep)
        own = sums[: block.num_nodes_out, : self.width]
        return own + self.pass_on(block.adjacency, sums[:, self.width :].contiguous())

    def gather(
        self,
        incidence: SparsePattern,
        values: Tensor | None,
        features: Tensor,
        keep: Tensor | None = None,
    ) -> Tensor:
        """Both sums over each node's features, ``[nodes in, 2 width]``."""
        weights = values
        if keep is not None:
            weights = keep if values is None else values * keep
        return sparse_product(incidence, weights, self.message(features[: incidence.num_columns]))

    def pass_on(self, adjacency: Adjacency, sums: Tensor) -> Tensor:
        """The mean over each node's neighbours, ``[nodes in, width] -> [nodes out, width]``."""
        return sparse_product(adjacency.pattern, adjacency.mean_weights(sums.dtype), sums)
