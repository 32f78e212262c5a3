"""Smoothed answers: what is predicted for a node leans towards what is predicted around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph
from grafenne.tasks.shown_labels import ShownLabels

STEPS = 10
"""How many edges an answer travels."""

SHARES = (0.0, 0.3, 0.5, 0.7, 0.9)
"""How much of an answer may come from around, where validation data chooses."""


@dataclass(frozen=True)
class Smoothing:
    r"""The second half of Correct & Smooth (Huang et al., 2021), after the network's answer.

    .. math:: P^{k+1} = s\, D^{-1/2} (A + I) D^{-1/2} P^k + (1 - s)\, P^0

    with :math:`P^0_v` the probabilities of the network, or the label where v is a training node;
    after ten steps each row is divided by its sum. It has nothing to train and costs ten sparse
    products as wide as there are classes.

    Attributes:
        share: s, how much comes from around; 0 leaves the answers as they are.
        shown: The labels of the training nodes.
    """

    share: float
    shown: ShownLabels

    def smooth(self, graph: FeatureGraph, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Smoothed probabilities of all nodes of a graph, ``[num_nodes, classes]``.

        Args:
            graph: The graph; of it, ids and edges alone are read.
            answers: What the network says, ``[num_nodes, classes]``.
        """
        if not self.share:
            return answers
        places, codes = self.shown.within(graph)
        start = answers.copy()
        start[places] = 0.0
        start[places, codes] = 1.0
        around = _normalised(graph.edges)
        now = start
        for _ in range(STEPS):
            now = self.share * (around @ now) + (1 - self.share) * start
        smoothed: NDArray[np.float64] = now / now.sum(axis=1, keepdims=True)
        return smoothed


def choose_smoothing(
    graph: FeatureGraph,
    answers: NDArray[np.float64],
    shown: ShownLabels,
    asked: NDArray[np.int64],
    truth: NDArray[np.int64],
    select: str = "loss",
) -> Smoothing:
    """The share, none among them, that is best on validation nodes; among equals the smallest.

    Args:
        graph: The graph that was trained on.
        answers: The network's probabilities, ``[num_nodes, classes]``.
        shown: The labels of the training nodes.
        asked: Positions of the validation nodes; without any, answers stay as they are.
        truth: Their classes.
        select: ``loss`` for the lowest mean negative log-likelihood, ``metric`` for the highest
            accuracy.
    """
    if not len(asked):
        return Smoothing(0.0, shown)

    def rank(smoothing: Smoothing) -> tuple[float, float]:
        found = smoothing.smooth(graph, answers)[asked]
        likely = found[np.arange(len(asked)), truth].clip(min=np.finfo(np.float64).tiny)
        loss, wrong = float(-np.log(likely).mean()), float((found.argmax(axis=1) != truth).mean())
        loss = loss if np.isfinite(loss) else np.inf
        return (loss, wrong) if select == "loss" else (wrong, loss)

    return min((Smoothing(share, shown) for share in SHARES), key=rank)


def _normalised(edges: EdgeList) -> sparse.csr_array:
    """Edges either way and one from each node to itself, divided by the roots of the degrees.

    Weights count by their size, beside a mean edge of 1: an answer has no opposite.
    """
    matrix = abs(edges.incoming("both"))
    if len(matrix.data) and matrix.data.max() > 0:
        sizes = matrix.data / matrix.data.max()  # their sum may be beyond all numbers
        matrix.data = sizes / sizes.mean()
    matrix = matrix + sparse.eye_array(matrix.shape[0], format="csr")
    scale = sparse.diags_array(1 / np.sqrt(matrix.sum(axis=1)))
    result: sparse.csr_array = (scale @ matrix @ scale).tocsr()
    return result
