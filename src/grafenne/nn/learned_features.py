"""Trained feature vectors, one per feature (paper, "Initialization")."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.nn.company import company_of
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.new_features import NEW_VECTORS, half_if_new


class LearnedFeatures(FeatureEmbedding):
    r"""One trained vector per feature known at training time, :math:`h_u^0 = w_u`.

    A feature that was not there starts where :class:`~grafenne.nn.new_features.NewFeatures` put
    it, if a vector was read for it; else at the mean vector of the known features it occurs with:
    first over the features of a node, then over the nodes that have it. One that occurs with no
    known feature starts at the mean of all vectors.

    Such a feature counts half, see :func:`~grafenne.nn.new_features.half_if_new`.

    Args:
        names: The known features.
        width: Width of the vectors.
        evidence: Whether each feature has two more vectors, which the first layer adds up; see
            :func:`~grafenne.nn.evidence.direct_evidence`. They come after the others in a row.
    """

    def __init__(self, names: Iterable[str], width: int, *, evidence: bool = False) -> None:
        super().__init__(width)
        self.names = names if isinstance(names, Vocabulary) else Vocabulary(names, kind="feature")
        columns = 3 * width if evidence else width
        self.weight = nn.Parameter(torch.empty(len(self.names), columns))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new vectors: states of unit scale, as the norms that follow train best so.

        Evidence starts as the weights of a linear layer over all features would.
        """
        with torch.no_grad():
            self.weight[:, : self.width].normal_()
            bound = max(len(self.names), 1) ** -0.5
            self.weight[:, self.width :].uniform_(-bound, bound)

    def begin(self, vectors: Tensor) -> None:
        """Sets the vectors to others than drawn ones, ``[num_features, width]``.

        See :func:`~grafenne.nn.company_start.company_start`.
        """
        with torch.no_grad():
            self.weight[:, : self.width] = vectors

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"{len(self.names)} features, width={self.width}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``, with evidence beside them if any."""
        if graph.features == self.names:
            return self.weight
        place = torch.from_numpy(self.names.find(graph.features)).to(self.weight.device)
        known = place >= 0
        if not len(self.names):
            return self.weight.new_zeros(len(place), self.weight.shape[1])
        states = self.weight[place.clamp(min=0)]
        if bool(known.all()):
            return states
        read = graph.recall(NEW_VECTORS)
        new = self.company(graph, states, known) if read is None else read.to(states)
        return torch.where(known.unsqueeze(1), states, new)

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """Half for the features that are new."""
        return half_if_new(graph, self.names)

    def company(self, graph: AllotropicGraph, states: Tensor, known: Tensor) -> Tensor:
        """Mean over a feature's nodes of the mean over their known features."""
        home, there = states.device, graph.incidence.device  # a large graph stays in main memory
        flag = known.to(there, states.dtype).unsqueeze(1)
        company = company_of(graph, states.to(there), flag).to(home)
        return torch.where(company[:, -1:] > 0, company[:, :-1], self.weight.mean(dim=0))
