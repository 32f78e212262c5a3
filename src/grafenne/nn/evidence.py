"""Evidence: what each feature says by itself, past the attention of the first layer."""

from __future__ import annotations

from torch import Tensor

from grafenne.nn.block import Block
from grafenne.ops import Adjacency, SparsePattern, first_rows, sparse_product


def parted(features: Tensor, width: int) -> tuple[Tensor, Tensor | None]:
    """The features' states, and beside them their evidence, ``[features, 2 width]``, if any."""
    if features.shape[1] == width:
        return features, None
    return features[:, :width], features[:, width:]


def direct_evidence(block: Block, evidence: Tensor, keep: Tensor | None = None) -> Tensor:
    r"""A linear GraphSAGE layer over the values, to be added to phase 2 of the first layer.

    .. math:: \sum_{u \in N_v^{feat}} e_{uv} a_u
        + \mathrm{mean}_{w \in N_v} \sum_{u \in N_w^{feat}} e_{uw} b_u

    Attention takes a mean of vectors that start at unit scale: a feature of few nodes stays near
    where it started, and is noise for the others. Here each feature adds two vectors of its own,
    one for its nodes and one for their neighbours, that start near zero: what nobody has learned
    from says nothing. That wins where nodes are records (debian-mini, validation, five seeds:
    86.0 % against 83.8 %, both with the feature dropout that suits them) and loses on bags of
    words (Cora with half of its words, 85.7 % against 88.2 %).

    Args:
        block: What the first layer sees of the graph.
        evidence: The vectors a and b side by side, ``[features in, 2 width]``.
        keep: Weight of each triple, 0 to leave it out; ``None`` if all are 1.

    Returns:
        ``[nodes out, width]``.
    """
    sums = evidence_sums(block.incidence, block.values, evidence, keep)
    return join_evidence(block.adjacency, sums)


def evidence_sums(
    incidence: SparsePattern, values: Tensor | None, evidence: Tensor, keep: Tensor | None = None
) -> Tensor:
    """Both sums over the features of each node, ``[nodes in, 2 width]``."""
    weights = values
    if keep is not None:
        weights = keep if values is None else values * keep
    return sparse_product(incidence, weights, evidence.contiguous())


def join_evidence(adjacency: Adjacency, sums: Tensor) -> Tensor:
    """A node's own sum and the mean of its neighbours', ``[nodes out, width]``."""
    width = sums.shape[1] // 2
    pattern = adjacency.pattern
    around = sparse_product(
        pattern, adjacency.mean_weights(sums.dtype), sums[:, width:].contiguous()
    )
    return first_rows(sums, pattern.num_rows)[:, :width] + around
