"""What goes into an estimator is a graph, and what comes out is finite."""

from __future__ import annotations

import torch
from torch import Tensor

from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import DataError


def check_outputs(outputs: Tensor, graph: FeatureGraph, positions: Tensor) -> None:
    """Raises where a network has no finite answer.

    Args:
        outputs: What it gave, ``[positions, …]``.
        graph: The graph it was asked about.
        positions: The nodes it was asked about.
    """
    finite = torch.isfinite(outputs)
    if bool(finite.all()):
        return
    wrong = ~finite.view(len(finite), -1).all(dim=1)
    node = graph.nodes[int(positions[wrong][0])]
    raise DataError(
        f"The model has no finite answer for node {node!r}: values or edge weights of extreme "
        "size are within its reach."
    )


def check_states(states: Tensor, graph: FeatureGraph) -> None:
    """Raises where a feature has no finite state.

    Args:
        states: Of the graph's features, ``[num_features, width]``.
        graph: The graph.
    """
    finite = torch.isfinite(states).all(dim=1)
    if not bool(finite.all()):
        name = graph.features[int(finite.int().argmin())]
        raise DataError(
            f"The model has no finite state for feature {name!r}: values or edge weights of "
            "extreme size are within its reach."
        )


def check_graph(graph: object) -> None:
    """Raises unless ``graph`` is a feature graph."""
    if not isinstance(graph, FeatureGraph):
        raise DataError(f"A FeatureGraph is needed, got {type(graph).__name__}.")
