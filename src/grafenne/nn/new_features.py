"""Features that training never saw: their vectors, read off where they are, and what they count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.nn.block import triple_weights
from grafenne.nn.company import other_company_of
from grafenne.ops import sparse_product

Answers = Callable[["Tensor | None"], Tensor]
"""From a mask of a graph's triples (0 leaves one out) to the outputs of all its nodes."""

NEW_VECTORS = "vectors of new features"
"""Where a graph remembers them, a row for each of its features."""

TRUST = 0.5
"""How much a feature counts whose vector is a guess, beside one that was trained."""

DOUBT = 3.0
"""A feature of so many nodes is believed half."""

RIDGE = 0.01
"""Penalty on what is read of predictions, as a share of its mean variance."""

RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The same for company, which has more columns: the best by features left out one by one counts."""

COLUMNS = 64
"""How many columns of company are computed at a time: each is a number for every node."""

LEAST = 1e-4
"""No class is taken to be less likely than that: certainty says little more than near certainty."""


class NewFeatures(nn.Module):
    r"""A linear map from where a feature is found to the vector that training would have given it.

    .. math::
        w_u \approx \bar w + \frac{n_u}{n_u + 3} \Big[\mathrm{mean}_{v \in N_u}
            \mathrm{mean}_{f \in F_v \setminus u} w_f - \bar w \;\Big\|\;
            \mathrm{mean}_{v \in N_u} o_v - \bar o\Big] R

    It reads two things of a feature: the company that it keeps, and what is predicted for its
    nodes without it. It is fitted to the trained vectors once training is done (ridge regression),
    each with its company without itself, as a new one is in nobody's company. The mean of its
    company, which is what a feature starts at otherwise, is close to any other. (Half of the
    features hidden in training, seeds 100 to 102, test accuracy against ignoring them, with that
    mean, a map from predictions alone, from company alone, and from both: Cora -0.1, +0.9, +0.2,
    +0.9 points; CiteSeer -0.4, 0.0, +0.3, +0.3; Actor -0.5, -1.1, -0.6, +0.1, and where all
    vectors had started at random +1.3, +0.4, +0.9, +1.6.)

    Args:
        outputs: Number of outputs per node.
        columns: Width of the features' trained rows.
    """

    def __init__(self, outputs: int, columns: int) -> None:
        super().__init__()
        self.weight: Tensor
        self.centre: Tensor
        self.middle: Tensor
        self.register_buffer("weight", torch.zeros(columns + outputs, columns))
        self.register_buffer("centre", torch.zeros(outputs))
        self.register_buffer("middle", torch.zeros(columns))

    @property
    def is_learned(self) -> bool:
        """Whether there is something to read vectors by."""
        return bool(self.weight.any())

    def learn(
        self,
        graph: AllotropicGraph,
        outputs: Tensor,
        vectors: Tensor,
        known: Tensor,
        examples: Tensor | None = None,
    ) -> None:
        """Fits the map.

        Args:
            graph: The graph that was trained on.
            outputs: What the network says of its nodes, ``[num_nodes, outputs]``.
            vectors: Trained rows of its features, ``[num_features, columns]``.
            known: The features that are company, ``[num_features]``.
            examples: Those to learn from; all known ones by default.
        """
        examples = known if examples is None else examples
        told = _told(outputs)
        self.centre.copy_(told.mean(dim=0))
        self.middle.copy_(vectors[examples].mean(dim=0))
        described = self._describe(graph, told, vectors, known)
        # Not every device has numbers of 64 bits, and the system is small.
        read, trust = (part[examples].cpu().double() for part in described)
        target = (vectors[examples] - self.middle).cpu().double()
        weighed = trust * read
        squares, wanted = weighed.T @ read, weighed.T @ target
        self.weight.zero_()
        if not 0 < float(squares.trace()) < math.inf:  # nothing, or nothing of use, is told
            return
        spread, columns, least = squares.diagonal(), len(self.middle), math.inf
        for ridge in RIDGES:
            penalty = torch.empty_like(spread)
            penalty[:columns] = ridge * spread[:columns].mean()
            penalty[columns:] = RIDGE * spread[columns:].mean()
            penalty[penalty == 0] = 1.0  # one of the two may tell nothing
            inverse = torch.linalg.inv(squares + penalty.diag())
            found = inverse @ wanted
            leverage = (weighed @ inverse * read).sum(dim=1, keepdim=True)
            missed = (read @ found - target) / (1 - leverage)  # of each, had it been left out
            error = float((trust * missed.square()).sum())
            if error < least and bool(torch.isfinite(found.to(self.weight.dtype)).all()):
                least = error
                self.weight.copy_(found)

    def read(
        self, graph: AllotropicGraph, outputs: Tensor, vectors: Tensor, known: Tensor
    ) -> Tensor:
        """A vector for each feature of a graph.

        Args:
            graph: The graph.
            outputs: What the network says of its nodes without the new features.
            vectors: Rows of its features, ``[num_features, columns]``.
            known: For which of them these are trained ones, ``[num_features]``.
        """
        read, _ = self._describe(graph, _told(outputs), vectors, known)
        return self.middle + read @ self.weight

    def grow(self, outputs: int) -> None:
        """Makes room for more outputs, which it does not read."""
        more = outputs - len(self.centre)
        self.weight = torch.cat((self.weight, self.weight.new_zeros(more, self.weight.shape[1])))
        self.centre = torch.cat((self.centre, self.centre.new_zeros(more)))

    def _describe(
        self, graph: AllotropicGraph, told: Tensor, vectors: Tensor, known: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Each feature's company and what is said of its nodes, and how far to believe them."""
        home, there = told.device, graph.incidence.device  # a large graph stays in main memory
        back = graph.incidence.transpose
        centred = (told - self.centre.to(told)).to(there)
        said = sparse_product(back, None, centred) / back.counts.to(centred).clamp(min=1)[:, None]
        flag = known.to(there, vectors.dtype).unsqueeze(1)
        parts = torch.split((vectors - self.middle).to(there), COLUMNS, dim=1)
        company = [other_company_of(graph, part, flag)[0] for part in parts]
        number = back.counts.to(told).unsqueeze(1)
        trust = number / (number + DOUBT)
        return trust * torch.cat((*company, said), dim=1).to(home), trust


def trust_in(known: Tensor) -> Tensor:
    """How much features count, given which of them are known."""
    return torch.where(known, 1.0, TRUST)


def half_if_new(graph: AllotropicGraph, names: Vocabulary | None) -> Tensor | None:
    """How much features count if those that training never saw count half.

    The vector of such a feature is a guess among vectors that were trained, however it is made, and
    a node that seems to have many more features than nodes had in training is read wrongly. (Half
    of the features hidden in training, test accuracy against ignoring them where they count half,
    and where they count fully. Actor, learned vectors, five seeds: +1.1 and +0.4 points. Two seeds
    each of Cora and Actor: -2.5 and -5.1 with vectors from names that say nothing, -0.6 and -1.9
    with structural ones.)

    Args:
        graph: The graph.
        names: The features that training saw; ``None`` if there is no telling.
    """
    if names is None or graph.features == names:
        return None
    known = torch.from_numpy(names.find(graph.features)) >= 0
    return None if bool(known.all()) else trust_in(known)


def _told(outputs: Tensor) -> Tensor:
    """Outputs of nodes as the regression reads them: classes by their log probability."""
    if outputs.shape[1] == 1:
        return outputs
    return (functional.softmax(outputs, dim=1) + LEAST).log()


def learn_new_features(
    network: Any,
    graph: AllotropicGraph,
    outputs: Answers,
    loss: Callable[[Tensor], float],
    count: int,
    generator: np.random.Generator,
) -> None:
    """Fits the map if it is worth it, by validation data and the features that are known.

    A half of them is hidden, and then let in again at the vectors read for them, counting as new
    features do; then the other half. Only if the loss is lower than with the mean of the features
    that they occur with is the map kept, fitted to all features then.

    Args:
        network: With ``encoder.features`` and ``new_features``, trained.
        graph: The graph that it was trained on.
        outputs: The network's outputs for all nodes of the graph.
        loss: Validation loss of such outputs.
        count: How many of the first features count; those after them are labels, never new.
        generator: Says which half.
    """
    reading: NewFeatures | None = network.new_features
    if reading is None or count < 2:
        return
    features = network.encoder.features
    vectors = features.weight.detach().clone()
    plain = torch.arange(len(vectors), device=vectors.device) < count
    order = torch.from_numpy(generator.permutation(count))
    gain = 0.0
    for hidden in (order[count // 2 :], order[: count // 2]):
        known = torch.ones_like(plain)
        known[hidden] = False
        without = outputs(triple_weights(graph, known, None, network.encoder.dtype))
        reading.learn(graph, without, vectors, known, known & plain)
        counts = triple_weights(graph, trust_in(known), None, network.encoder.dtype)
        read = reading.read(graph, without, vectors, known)
        guesses = features.company(graph, vectors, known), read
        for new, sign in zip(guesses, (1, -1), strict=True):
            try:
                features.weight.data.copy_(torch.where(known.unsqueeze(1), vectors, new))
                gain += sign * loss(outputs(counts))
            finally:
                features.weight.data.copy_(vectors)
    if gain > 0:
        reading.learn(graph, outputs(None), vectors, torch.ones_like(plain), plain)
    else:
        reading.weight.zero_()


def place_new_features(network: Any, graph: AllotropicGraph, outputs: Answers) -> None:
    """Lets the graph remember vectors for the features that the network does not know.

    Args:
        network: With ``encoder.features`` and ``new_features``.
        graph: The graph, as the network sees it.
        outputs: The network's outputs for all nodes of the graph.
    """
    reading: NewFeatures | None = network.new_features
    if reading is None or not reading.is_learned:
        return
    features = network.encoder.features

    def read() -> Tensor | None:
        vectors = features.weight.detach()
        place = torch.from_numpy(features.names.find(graph.features)).to(vectors.device)
        known = place >= 0
        if bool(known.all()):
            return None
        without = outputs(triple_weights(graph, known, None, network.encoder.dtype))
        return reading.read(graph, without, vectors[place.clamp(min=0)], known)

    if graph.features != features.names:
        graph.once(NEW_VECTORS, read)
