"""Filling in features where links are to be predicted."""

from __future__ import annotations

from dataclasses import replace

from grafenne.data.feature_graph import FeatureGraph
from grafenne.impute.base import Imputer
from grafenne.tasks.links import EdgeSplit, hide_in_turns

VIEWS = 5
"""How many times the training graph is filled in without a part of its edges."""


def fill_split(
    imputer: Imputer, split: EdgeSplit, seed: int = 0, leaked_by: FeatureGraph | None = None
) -> EdgeSplit:
    """An edge split with its training graph filled in and, if need be, views of it to train on.

    Values that spread along an edge make its ends alike. Edges of validation and test are split
    off before, but a network that was asked for training edges whose ends were made alike would
    learn to look for that, and find nothing of the kind later. (Cora, p = 0.99, seed 0, feature
    propagation along all training edges: by the cosine of the filled features alone training edges
    are told from other pairs with an AUC of 0.96, validation edges with 0.72.) So training sees
    features that were filled in without the edges it is asked for.

    Args:
        imputer: What fills in.
        split: The split.
        seed: Seed of the views.
        leaked_by: The whole graph, whose edges are used instead, those that are tested too. All
            ends are then made alike: such figures are too good.
    """
    filled = imputer.transform(split.graph, adjacency_graph=leaked_by)
    if leaked_by is not None or not imputer.along_edges:
        return replace(split, graph=filled)
    views = hide_in_turns(split.graph, VIEWS, seed)
    return replace(split, graph=filled, views=tuple(map(imputer.transform, views)))
