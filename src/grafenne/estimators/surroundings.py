"""The part of a graph that the answer for a few nodes depends on, with pieces of it taken away.

The states of the feature nodes are held as they are in the whole graph, so one question costs only
the neighbourhood of the nodes, not the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.feature_graph import FeatureGraph
from grafenne.nn.block import triple_weights, whole_graph_blocks
from grafenne.ops import Adjacency, SparsePattern

if TYPE_CHECKING:
    from grafenne.estimators.grafenne_estimator import GrafenneEstimator


@dataclass(frozen=True)
class Contribution:
    """What one feature or neighbour added.

    Attributes:
        name: Feature name or node id.
        value: Its value (of a feature) or label (of a neighbour), for the reader.
        contribution: Fall of the answer (the log-odds of the predicted class or of the link, or
            the predicted number) when it is taken away. Negative: it spoke against it.
    """

    name: Hashable
    value: Any
    contribution: float


class Surroundings:
    """Runs a network on the neighbourhood of a few nodes.

    Args:
        estimator: A fitted estimator of GRAFENNE.
        graph: The graph.
        centres: Positions of the nodes; in the part they are the first, in this order.
    """

    def __init__(
        self, estimator: GrafenneEstimator, graph: FeatureGraph, centres: Sequence[int]
    ) -> None:
        self.graph, self.centres = graph, list(centres)
        self.seen = estimator._see(graph)
        with torch.no_grad():
            self.feature_states = estimator._encoded(graph).feature_states
        self.encoder = estimator._network_encoder()
        # One step beyond the layers, where the degrees of the farthest senders come from. A layer
        # from elsewhere may take several steps at once: it gets everything that can be reached.
        named = isinstance(estimator.backbone, str)
        steps = self.encoder.num_blocks + 1 if named else self.seen.num_nodes
        local = _neighbourhood(self.seen, np.array(self.centres), steps)
        part = to_allotropic(self.seen.subgraph_at(local), direction=estimator.direction)
        self.part = part.to(estimator.device)
        self.trust = self.encoder.features.trust(self.part)

    def states(self, part: AllotropicGraph) -> Tensor:
        """Embeddings of the nodes of a part, those of the centres first."""
        blocks = whole_graph_blocks(part, self.encoder.num_blocks, self.encoder.dtype)
        weights = triple_weights(part, self.trust, None, self.encoder.dtype)
        held = self.encoder.states_of_blocks(self.feature_states)
        with torch.no_grad():
            nodes: Tensor = self.encoder.encode_fixed(blocks, held, [weights] * len(blocks))
        return nodes

    def contributions(
        self,
        centre: int,
        answer: Callable[[AllotropicGraph], float],
        base: float,
        top: int | None,
    ) -> tuple[list[Contribution], list[Contribution]]:
        """What each feature of a centre, and each node joined to it, adds; the strongest first.

        Args:
            centre: Which of the centres.
            answer: The answer that a part gives.
            base: That of the whole part.
            top: How many of each to keep; ``None`` for all.
        """
        features = [
            Contribution(name, value, base - answer(self._without_triple(centre, place)))
            for place, (name, value) in enumerate(self._triples(centre))
        ]
        neighbours = []
        for other in self._joined(centre):
            name = self.part.nodes[other]
            without = answer(self._without_edges(centre, other))
            neighbours.append(Contribution(name, self.graph.label_of(name), base - without))
        return _strongest(features, top), _strongest(neighbours, top)

    def _triples(self, centre: int) -> Iterator[tuple[str, float | None]]:
        """Feature and value, before scaling, of each triple; a shown label has no value."""
        position = self.centres[centre]
        start, end = (int(bound) for bound in self.seen.values.indptr[[position, position + 1]])
        begin = int(self.graph.values.indptr[position])
        for offset in range(end - start):
            feature = int(self.seen.values.indices[start + offset])
            own = feature < self.graph.num_features
            value = float(self.graph.values.data[begin + offset]) if own else None
            yield self.seen.features[feature], value

    def _joined(self, centre: int) -> list[int]:
        """The nodes joined to a centre, either way."""
        pattern = self.part.adjacency.pattern
        rows, columns = pattern.rows, pattern.indices
        others = torch.cat((columns[rows == centre], rows[columns == centre])).tolist()
        return sorted(set(others) - {centre})

    def _without_triple(self, centre: int, offset: int) -> AllotropicGraph:
        """The part without one of a centre's triples."""
        pattern = self.part.incidence
        place = int(pattern.indptr[centre]) + offset
        kept = torch.arange(pattern.num_entries, device=pattern.device) != place
        indptr = pattern.indptr.clone()
        indptr[centre + 1 :] -= 1
        incidence = SparsePattern(indptr, pattern.indices[kept], pattern.num_columns)
        values = self.part.values[kept]
        return replace(self.part, incidence=incidence, values=values, _memory={})

    def _without_edges(self, centre: int, other: int) -> AllotropicGraph:
        """The part without the edges between a centre and another node."""
        adjacency = self.part.adjacency
        pattern = adjacency.pattern
        rows, columns = pattern.rows, pattern.indices
        ahead, back = (rows == centre) & (columns == other), (rows == other) & (columns == centre)
        left = ~(ahead | back)
        counts = torch.bincount(rows[left], minlength=pattern.num_rows)
        indptr = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
        weights = None if adjacency.weights is None else adjacency.weights[left]
        fewer = SparsePattern(indptr, columns[left], pattern.num_columns)
        return self.part.with_adjacency(Adjacency(fewer, weights))


def _neighbourhood(
    graph: FeatureGraph, positions: NDArray[np.int64], steps: int
) -> NDArray[np.int64]:
    """Positions within ``steps`` edges of some nodes, these nodes first."""
    reach = graph.edges.incoming("both")
    inside = np.zeros(graph.num_nodes, dtype=bool)
    inside[positions] = True
    frontier = positions
    found = [frontier]
    for _ in range(steps):
        frontier = np.unique(reach[frontier].indices)
        frontier = frontier[~inside[frontier]]
        if not len(frontier):
            break
        inside[frontier] = True
        found.append(frontier)
    return np.concatenate(found)


def _strongest(parts: list[Contribution], top: int | None) -> list[Contribution]:
    return sorted(parts, key=lambda part: -abs(part.contribution))[:top]
