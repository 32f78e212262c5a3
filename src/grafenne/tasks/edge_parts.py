"""Which edges a link predictor learnt from, by the ids of their ends.

Positions mean nothing in another graph, nor in the same one with its rows in another order. A model
that divided the edges anew to be judged would be asked for edges that it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.tasks.links import EdgeSplit, Pairs, edge_pairs, pair_keys

EDGES, NEGATIVES = ("train", "validation", "test"), ("validation_negatives", "test_negatives")


@dataclass(frozen=True, eq=False)
class EdgeParts:
    """The pairs of an :class:`~grafenne.tasks.links.EdgeSplit` without its graph.

    Attributes:
        nodes: The nodes whose positions the pairs tell.
        pairs: The pairs of each part, ``[n, 2]``, by the names that the split has for them.
    """

    nodes: Vocabulary
    pairs: Mapping[str, Pairs]

    @classmethod
    def of(cls, split: EdgeSplit) -> EdgeParts:
        """Those of a split."""
        return cls(split.graph.nodes, {name: getattr(split, name) for name in EDGES + NEGATIVES})

    def split(self, graph: FeatureGraph) -> EdgeSplit:
        """The same division of the edges of a graph, which may have changed since.

        Edges that are gone are in no part, nor are pairs that have become edges. Edges that are new
        are neither asked for nor hidden.

        Args:
            graph: The whole graph.
        """
        edges = pair_keys(edge_pairs(graph), graph.num_nodes, graph.directed)
        found: dict[str, Pairs] = {}
        for name in self.pairs:
            here = self._find(name, graph)
            is_edge = np.isin(pair_keys(here, graph.num_nodes, graph.directed), edges)
            found[name] = here[is_edge if name in EDGES else ~is_edge]
        hidden = np.concatenate((found["validation"], found["test"]))
        known = ~np.isin(edges, pair_keys(hidden, graph.num_nodes, graph.directed))
        return EdgeSplit(
            graph.replace(edges=graph.edges.take(known)),
            found["train"],
            found["validation"],
            found["test"],
            found["validation_negatives"],
            found["test_negatives"],
        )

    def count_trained(self, asked: Pairs, graph: FeatureGraph) -> int:
        """How many of these pairs of a graph's nodes are edges that training saw."""
        seen = pair_keys(self._find("train", graph), graph.num_nodes, graph.directed)
        return int(np.isin(pair_keys(asked, graph.num_nodes, graph.directed), seen).sum())

    def _find(self, name: str, graph: FeatureGraph) -> Pairs:
        """A part's pairs by the positions that their ends have in a graph, if both are there."""
        pairs = graph.nodes.find(self.nodes)[self.pairs[name]]
        return pairs[(pairs >= 0).all(axis=1)]

    def to_dict(self) -> dict[str, list[int]]:
        """The ends of each part's pairs one after the other, for a JSON file."""
        return {name: pairs.reshape(-1).tolist() for name, pairs in self.pairs.items()}

    @classmethod
    def from_dict(cls, nodes: Vocabulary, told: Mapping[str, Any]) -> EdgeParts:
        """The way back from :meth:`to_dict`; raises a ``ValueError`` for anything else."""
        pairs = {}
        for name in EDGES + NEGATIVES:
            ends = np.asarray(told[name])
            if ends.size and (ends.dtype.kind != "i" or ends.ndim != 1):
                raise ValueError(f"the {name} edges are no list of whole numbers")
            if ends.size and not 0 <= ends.min() <= ends.max() < len(nodes):
                raise ValueError(f"the {name} edges are between nodes that do not exist")
            pairs[name] = ends.astype(np.int64).reshape(-1, 2)
        return cls(nodes, pairs)
