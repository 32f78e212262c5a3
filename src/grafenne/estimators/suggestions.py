"""The most likely links of some nodes, among all that are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.data.columns import names_column
from grafenne.data.feature_graph import FeatureGraph
from grafenne.training.link_objective import LinkNetwork

if TYPE_CHECKING:
    import pandas as pd

BLOCK_SCORES = 8_000_000
"""Scores that are held at a time."""

Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def most_likely(
    network: LinkNetwork,
    states: Tensor,
    graph: FeatureGraph,
    asked: NDArray[np.int64],
    top: int,
) -> Found:
    """Sources, targets and log-odds; for each source in order, the most likely first.

    Args:
        network: The network.
        states: Embeddings of all nodes.
        graph: The graph whose links are there already.
        asked: Positions of the sources.
        top: Most links for each of them.
    """
    ends, others = network.project(states)
    links = graph.edges.incoming("out" if graph.directed else "both")  # row = source
    width = max(1, BLOCK_SCORES // max(graph.num_nodes, 1))
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for start in range(0, len(asked), width):
        block = asked[start : start + width]
        scores = network.score_all(ends[torch.from_numpy(block)], others)
        scores[torch.arange(len(block)), torch.from_numpy(block)] = -torch.inf
        there = links[block].tocoo()
        row, column = (torch.from_numpy(place.astype(np.int64)) for place in there.coords)
        scores[row, column] = -torch.inf
        best = scores.topk(min(top, graph.num_nodes), dim=1)
        odds = best.values.cpu().double().numpy()
        kept = np.isfinite(odds)
        sources = np.broadcast_to(block[:, None], odds.shape)
        parts.append((sources[kept], best.indices.cpu().numpy()[kept], odds[kept]))
    sources, targets, odds = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sources, targets, odds


def link_frame(
    graph: FeatureGraph,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    probabilities: NDArray[np.float64],
) -> pd.DataFrame:
    """Links as a table of node ids: ``source, target, probability``."""
    import pandas as pd

    frame: pd.DataFrame = pd.DataFrame(
        {
            "source": names_column(graph.nodes.take(sources)),
            "target": names_column(graph.nodes.take(targets)),
            "probability": probabilities,
        }
    )
    return frame
