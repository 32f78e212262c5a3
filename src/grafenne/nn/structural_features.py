"""Feature vectors read off the company that a feature keeps in the graph."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.nn.company import other_company_of
from grafenne.nn.feature_embedding import FeatureEmbedding, Same, hash_of
from grafenne.nn.new_features import half_if_new


class StructuralFeatures(FeatureEmbedding):
    r"""A vector read off a feature's own neighbourhood in the graph.

    Each feature is described by the features it occurs with: a fixed random vector per name
    (from a hash, so it never changes) is averaged over the features of a node, and then over the
    nodes that have the feature, :math:`D_f^{-1} X^T D_v^{-1} X R`. Features in like company get
    like vectors. A linear layer, the only part that is trained, turns this sketch, together with
    how common the feature is, into a state.

    Only features known when training began count as company: new ones must not move the sketches
    that the network was trained on. (When they did, half of Cora's words, brought in later, cost
    a trained model nine points.) New ones count half, see
    :func:`~grafenne.nn.new_features.half_if_new`, until an update has learned of them; what
    counts as company stays the same even then.

    Args:
        width: Width of the vectors.
        sketch: Width of the random vectors.
        names: The known features; all that a graph has if there is no telling. An update appends
            to them.
    """

    companions: Tensor

    def __init__(self, width: int, sketch: int = 128, names: Vocabulary | None = None) -> None:
        super().__init__(width)
        self.sketch, self.names = sketch, names
        self.linear = nn.Linear(sketch + 2, width)
        self.register_buffer("companions", torch.tensor(0 if names is None else len(names)))
        self._company = names

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.linear.reset_parameters()

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"sketch={self.sketch}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        company = self.company
        known = None if company is None or graph.features == company else company
        sketches = graph.once(
            ("structural", self.sketch, Same(known)),
            lambda: _sketches(graph, self.sketch, known),
        )
        result: Tensor = self.linear(sketches.to(self.linear.weight))
        return result

    @property
    def company(self) -> Vocabulary | None:
        """The features that others are described by: those that were known from the first."""
        count = int(self.companions)
        if self.names is not None and (self._company is None or len(self._company) != count):
            self._company = Vocabulary(self.names[:count], kind="feature")
        return self._company

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """Half for the features that are new."""
        return half_if_new(graph, self.names)


def _sketches(graph: AllotropicGraph, width: int, known: Vocabulary | None) -> Tensor:
    """What company each feature keeps, ``[num_features, width + 2]``; see the class above."""
    seeds = [hash_of(name) for name in graph.features]
    fixed = np.stack(
        [np.random.default_rng(seed).standard_normal(width, dtype=np.float32) for seed in seeds]
        or [np.empty(width, dtype=np.float32)]
    )[: graph.num_features]
    incidence, back = graph.incidence, graph.incidence.transpose
    with torch.no_grad():
        states = torch.from_numpy(fixed).to(incidence.device)
        flag = torch.ones(graph.num_features, 1, device=incidence.device)
        if known is not None:
            places = torch.from_numpy(known.find(graph.features)).to(incidence.device)
            flag = (places >= 0).float().unsqueeze(1)
        company, used = other_company_of(graph, states, flag)
        count = back.counts.to(torch.float32).unsqueeze(1)
        # Names that no node has (any more) must not move the others: they stay out of the mean.
        common = flag * used
        mean = (company * common).sum(dim=0, keepdim=True) / common.sum().clamp(min=1)
        company = (company - mean) * used
        # A feature in average company has only rounding errors left: do not blow them up.
        scale = company.norm(dim=1, keepdim=True) / width**0.5
        company = company / scale.clamp(min=1e-3)
        return torch.cat((company, count.log1p(), used), dim=1)
