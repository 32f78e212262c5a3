"""Where trained feature vectors start: by the company that the features keep."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.ops import sparse_product
from grafenne.ops.kernels import row_sum

STEPS = 2
"""How many edges away features still keep company with a node's own."""

ROUNDS, SPARE = 10, 32
"""Rounds of the subspace iteration, and how many directions it follows beyond those asked for."""

OWN_SPREAD = 0.7
"""Spread of what is a vector's own; the rest, to a spread of 1, all vectors share."""

FAINT = 1e-6
"""What of a direction stays where it is in a round, so that none is ever without any."""


def company_start(
    graph: AllotropicGraph,
    width: int,
    telling: NDArray[np.bool_] | None = None,
    *,
    shared: bool = True,
) -> Tensor:
    r"""Vectors of unit scale that are alike for features found on the same and on near nodes.

    They are the rows of :math:`V S^{1/2}` of the first singular vectors and values in

    .. math:: U S V^T = P^K D_v^{-1/2} B\, D_f^{-1/2}, \qquad P = (D + I)^{-1} (A + I),

    where B says which nodes have which features: latent semantic analysis (Deerwester et al.,
    1990) of a graph whose nodes have heard of their neighbours' features. All rows are brought to
    one length, turned at random, and joined by a vector that they have in common. No label is
    looked at, unless labels are shown as features.

    A vector drawn at random is noise until it is trained, and that of a feature of few nodes
    hardly ever is. Beginning here, it means what the features around it mean. What they have in
    common keeps a feature that is still not trained from adding noise. Validation data of seeds
    100 to 102, loss and accuracy from a random start and from this one: Cora with half of the
    cells missing 0.399, 87.9 % and 0.365, 89.2 %; CiteSeer 0.746, 75.4 % and 0.721, 76.4 %, with
    half of the cells 0.824, 74.7 % and 0.770, 74.2 %; Actor 1.347, 38.3 % and 1.333, 39.7 %.

    Where nearly all values are known zeros there is nothing in common: nodes are told apart by
    which cells are known, and with such a start they hardly differ (Cora, one cell in a hundred:
    training did not begin on any of three seeds). Nor is there where nodes are compared with each
    other: what all have in common says nothing about two of them (links, validation AUC of two
    seeds with a common part and without: CiteSeer with half of the cells missing 0.896 and 0.921,
    Actor 0.762 and 0.778, Cora 0.900 and 0.901; none missing: CiteSeer 0.939 and 0.955, Cora 0.928
    and 0.942).

    Found by subspace iteration, so by sparse products alone; in 64 bits, and with the turn that
    brings the vectors nearest to drawn ones, so that neither the last bits of a sum nor the sign
    of a singular vector changes the start. Draws from torch's generator.

    Args:
        graph: The graph.
        width: Width of the vectors.
        telling: Which triples count, ``[num_values]``; where nearly all values are known zeros,
            these are no company. ``None`` if all do.
        shared: Whether the vectors have a part in common; never where only some triples count.

    Returns:
        ``[num_features, width]``.
    """
    drawn = torch.randn(graph.num_features, width, dtype=torch.float64)
    common = torch.randn(width, dtype=torch.float64)
    weights = graph.incidence.ones(torch.float64)
    if telling is not None:
        weights = torch.from_numpy(telling).to(weights)
    if bool(weights.any()):
        rows = _turned_rows(graph, weights, drawn.to(weights)).cpu()
        length = rows.norm(dim=1, keepdim=True)
        rows = rows * (width**0.5 / length.clamp(min=FAINT))
        drawn = torch.where(length > FAINT, rows, drawn)
    own = OWN_SPREAD if shared and telling is None else 1.0
    started: Tensor = own * drawn + (1 - own**2) ** 0.5 * common
    return started.float()


def _turned_rows(graph: AllotropicGraph, weights: Tensor, drawn: Tensor) -> Tensor:
    """The rows described above, before they are of one length, turned towards drawn ones."""
    incidence, edges = graph.incidence, graph.adjacency.pattern
    back, order = incidence.transpose, incidence.permutation
    per_node = row_sum(incidence, weights).clamp(min=1).rsqrt()
    per_feature = row_sum(back, weights.index_select(0, order)).clamp(min=1).rsqrt()
    weights = weights * per_node[incidence.rows.long()] * per_feature[incidence.indices.long()]
    back_weights = weights.index_select(0, order)
    share = (edges.counts.to(weights) + 1).reciprocal().unsqueeze(1)

    def to_nodes(features: Tensor) -> Tensor:
        nodes = sparse_product(incidence, weights, features)
        for _ in range(STEPS):
            nodes = share * (nodes + sparse_product(edges, None, nodes))
        return nodes

    def to_features(nodes: Tensor) -> Tensor:
        for _ in range(STEPS):
            nodes = share * nodes
            nodes = nodes + sparse_product(edges.transpose, None, nodes)
        return sparse_product(back, back_weights, nodes)

    number, width = drawn.shape
    with torch.no_grad():
        spare = torch.randn(number, SPARE, dtype=torch.float64).to(drawn)
        directions = torch.cat((drawn, spare), dim=1)[:, :number]
        for _ in range(ROUNDS):
            nearer = to_features(to_nodes(directions)) + FAINT * directions
            directions = torch.linalg.qr(nearer)[0]
        found = to_nodes(directions)
        squares, mixed = torch.linalg.eigh(found.t() @ found)  # smallest first
        squares, main = squares[-width:], (directions @ mixed)[:, -width:]
        left, _, right = torch.linalg.svd(main.t() @ drawn, full_matrices=False)
        turned: Tensor = main * squares.clamp(min=0) ** 0.25 @ (left @ right)
        return turned
