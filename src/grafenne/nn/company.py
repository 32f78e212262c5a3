"""The company of a feature: what the features that it occurs with are like, on average."""

from __future__ import annotations

import torch
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.ops import sparse_product


def company_of(graph: AllotropicGraph, states: Tensor, counts: Tensor) -> Tensor:
    """Mean over a feature's nodes of the mean over those of their features that count.

    Args:
        graph: The graph.
        states: Of the features, ``[num_features, width]``.
        counts: 1 for the features that count, 0 for the others, ``[num_features, 1]``.

    Returns:
        ``[num_features, width + 1]``; the last column tells whether any feature counted.
    """
    incidence = graph.incidence
    per_node = _mean(sparse_product(incidence, None, torch.cat((states * counts, counts), dim=1)))
    return _mean(sparse_product(incidence.transpose, None, per_node))


def other_company_of(
    graph: AllotropicGraph, states: Tensor, counts: Tensor
) -> tuple[Tensor, Tensor]:
    """The company of a feature without itself, and whether it has any.

    With itself, a known feature would be told from a new one by its own vector.
    """
    incidence, back = graph.incidence, graph.incidence.transpose
    sums = sparse_product(incidence, None, torch.cat((states * counts, counts), dim=1))
    total, number = sums[:, :-1], sums[:, -1:]
    company = states.new_zeros(len(states), states.shape[1] + 1)
    for own, chosen in ((1, counts), (0, 1 - counts)):
        others = (number - own).clamp(min=0)
        told = (others > 0).to(states.dtype)
        share = told / others.clamp(min=1)
        found = sparse_product(back, None, torch.cat((total * share, share, told), dim=1))
        without = found[:, :-2] - own * states * found[:, -2:-1]
        company += torch.cat((without, found[:, -1:]), dim=1) * chosen
    found = company[:, -1:]
    return company[:, :-1] / found.clamp(min=1), (found > 0).to(states.dtype)


def _mean(sums: Tensor) -> Tensor:
    """Sums divided by their last column, which becomes whether there was anything to sum."""
    total = sums[:, -1:]
    return torch.cat((sums[:, :-1] / total.clamp(min=1), (total > 0).to(sums.dtype)), dim=1)
