"""What one layer sees of the allotropic graph: the whole of it, or a sampled part.

Nodes and features of a sampled part are numbered so that whatever a later layer needs comes
first: the receivers of a phase are always the first rows of its senders. So layers never need an
index to find one set inside another, and a whole graph is simply the block that holds everything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.ops import Adjacency, SparsePattern, thinned

Keeps = tuple[Tensor | None, Tensor | None]
"""Weights of the triples in phases 1 and 3 of a layer; ``None`` if all are 1."""


@dataclass(frozen=True)
class Block:
    """The feature edges and edges that one layer works on.

    Attributes:
        incidence: Phase 1, ``[nodes in, features in]``.
        values: Weights of these feature edges, ``None`` if all are 1.
        adjacency: Phase 2, from ``nodes in`` to ``nodes out``.
        back_incidence: Phase 3, ``[features out, nodes out]``; ``None`` in a last layer, where
            nobody reads the features' states any more.
        back_values: Weights of these feature edges.
        feature_adjacency: Edges among features, ``[features out, features in]``.
        incidence_places: Which triple of the whole graph each entry of ``incidence`` is; ``None``
            if they are all, in order.
        back_places: The same for ``back_incidence``.
    """

    incidence: SparsePattern
    values: Tensor | None
    adjacency: Adjacency
    back_incidence: SparsePattern | None
    back_values: Tensor | None
    feature_adjacency: Adjacency | None = None
    incidence_places: Tensor | None = None
    back_places: Tensor | None = None

    @property
    def num_nodes_out(self) -> int:
        """Number of nodes whose states the layer computes."""
        return self.adjacency.pattern.num_rows

    def keep_of(self, keep: Tensor | None) -> Keeps:
        """A mask over all triples of the graph, as phase 1 and phase 3 of this block see it."""
        if keep is None:
            return None, None
        forward = keep if self.incidence_places is None else keep[self.incidence_places]
        if self.back_incidence is None:
            return forward, None
        places = self.incidence.permutation if self.back_places is None else self.back_places
        return forward, keep.index_select(0, places)

    def to(self, device: torch.device | str) -> Block:
        """The same block on another device."""
        moved = {
            part.name: value.to(device)
            for part in fields(self)
            if (value := getattr(self, part.name)) is not None
        }
        return replace(self, **moved)


def whole_graph_blocks(
    graph: AllotropicGraph, num_layers: int, dtype: torch.dtype, *, last_phase3: bool = False
) -> list[Block]:
    """The blocks of a full pass: every layer sees everything.

    Args:
        graph: The allotropic graph.
        num_layers: Number of layers.
        dtype: Number type of the model.
        last_phase3: Whether the last layer updates the features too, which no node ever sees.
    """
    return _repeat(graph, graph.incidence, graph.edge_values(dtype), num_layers, last_phase3)


def triple_weights(
    graph: AllotropicGraph, trust: Tensor | None, keep: Tensor | None, dtype: torch.dtype
) -> Tensor | None:
    """The weight of each triple, where features count unequally; ``None`` if all are 1.

    Args:
        graph: The allotropic graph.
        trust: How much each feature counts, ``[num_features]``; ``None`` if all do fully.
        keep: Weight of each triple besides, 0 to leave it out, ``[num_values]``.
        dtype: Number type of the model.
    """
    if trust is None:
        return keep
    incidence = graph.incidence
    own = trust.to(incidence.device, dtype)[incidence.indices.long()]
    return own if keep is None else own * keep.to(own)


def kept_blocks(
    graph: AllotropicGraph, num_layers: int, dtype: torch.dtype, keep: Tensor | None
) -> tuple[list[Block], list[Keeps] | None]:
    """The blocks of a full pass that leaves some triples out, and the weights of the others.

    A node that lacks a feature lacks it in every layer: one mask for all of them. What is left
    out is not multiplied by zero, it is not there: with four fifths of the values hidden, a
    training step has a fifth of the sparse work.

    Args:
        graph: The allotropic graph.
        num_layers: Number of layers.
        dtype: Number type of the model.
        keep: Weight of each triple, 0 to leave it out, ``[num_values]``; ``None`` keeps all.
    """
    if keep is None:
        return whole_graph_blocks(graph, num_layers, dtype), None
    incidence, places = thinned(graph.incidence, keep != 0)
    values = graph.edge_values(dtype)
    weights = keep[places]
    blocks = _repeat(graph, incidence, None if values is None else values[places], num_layers)
    back_weights = weights.index_select(0, incidence.permutation)
    return blocks, [(weights, back_weights)] * (num_layers - 1) + [(weights, None)]


def _repeat(
    graph: AllotropicGraph,
    incidence: SparsePattern,
    values: Tensor | None,
    num_layers: int,
    last_phase3: bool = False,
) -> list[Block]:
    back_values = None if values is None else values.index_select(0, incidence.permutation)
    links = graph.feature_adjacency if len(graph.feature_adjacency) else None
    full = Block(incidence, values, graph.adjacency, incidence.transpose, back_values, links)
    last = Block(incidence, values, graph.adjacency, None, None)
    return [full] * (num_layers - 1) + [full if last_phase3 else last]
