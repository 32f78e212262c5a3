"""Which part of the graph a batch of nodes needs (paper, appendix "Complexity Analysis")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import ParameterError
from grafenne.nn.block import Block
from grafenne.ops import Adjacency
from grafenne.sampling.numbering import Numbering
from grafenne.sampling.rows import CompressedRows, Integers, Picked
from grafenne.sampling.sample import Sample, Scales


class Sampler:
    r"""Draws the neighbourhoods that a batch of nodes needs, layer by layer, backwards.

    With :math:`V_L` the seeds and :math:`F_L` empty (the last layer leaves phase 3 out), layer
    :math:`\ell` needs

    - :math:`P_\ell = V_\ell` and graph neighbours of it, on which phase 1 runs;
    - :math:`F_{\ell-1} = F_\ell` and features of :math:`P_\ell`;
    - :math:`V_{\ell-1} = P_\ell` and nodes that have a feature of :math:`F_{\ell-1}`.

    Each set begins with the one before, so layers only ever cut off the end. Within a row the
    entries stay in the order of the whole graph. Without bounds the result therefore equals that
    of a full pass. With bounds, entries are drawn uniformly without replacement, anew in each
    layer. The weights of the edges of a node with more neighbours than the bound are multiplied
    by (number of neighbours) / (number drawn): sums over neighbours (``gin``, ``graph``, ``gcn``)
    then have the whole neighbourhood's sum as their mean, and weighted means (``sage``) do not
    change. ``gat`` reads no weights. For the ``sum`` aggregation of phases 1 and 3 see
    :meth:`Sample.keeps`.

    A sampler serves one thread at a time.

    Args:
        graph: The graph.
        num_layers: Number of layers of the model.
        neighbours: Most graph neighbours per node: one bound, or one per layer, first layer
            first. ``None`` means no bound, here and below.
        features_per_node: Most features per node in phase 1.
        nodes_per_feature: Most nodes per feature in phase 3.
        feature_edges: Whether blocks hold the edges among features, where the graph has them;
            they have no bound. Leave them out for models that do not use them.
        dtype: Number type of the model.
        seed: A whole number, or a generator to draw from.
    """

    def __init__(
        self,
        graph: AllotropicGraph,
        num_layers: int,
        *,
        neighbours: int | Sequence[int | None] | None = None,
        features_per_node: int | None = None,
        nodes_per_feature: int | None = None,
        feature_edges: bool = True,
        dtype: torch.dtype = torch.float32,
        seed: int | np.random.Generator = 0,
    ) -> None:
        if num_layers < 1:
            raise ParameterError(f"num_layers must be at least 1, got {num_layers}.")
        if dtype not in (torch.float32, torch.float64):
            raise ParameterError(f"dtype must be torch.float32 or torch.float64, got {dtype}.")
        self.neighbours: list[int | None]
        if isinstance(neighbours, Sequence):
            self.neighbours = list(neighbours)
        else:
            self.neighbours = [neighbours] * num_layers
        if len(self.neighbours) != num_layers:
            raise ParameterError(
                f"neighbours must give one bound for each of the {num_layers} layers, "
                f"got {len(self.neighbours)}."
            )
        for bound in self.neighbours:
            _check_bound("neighbours", bound)
        _check_bound("features_per_node", features_per_node)
        _check_bound("nodes_per_feature", nodes_per_feature)
        self.graph, self.num_layers, self.dtype = graph, num_layers, dtype
        self.features_per_node, self.nodes_per_feature = features_per_node, nodes_per_feature
        self.generator = np.random.default_rng(seed)
        self._values = _numpy(graph.edge_values(dtype))
        self._edges = _Edges(graph.adjacency, dtype)
        linked = feature_edges and len(graph.feature_adjacency) > 0
        self._links = _Edges(graph.feature_adjacency, dtype) if linked else None
        self._incidence = CompressedRows(graph.incidence)
        self._nodes = Numbering(graph.num_nodes)
        self._features = Numbering(graph.num_features)

    def __repr__(self) -> str:
        return (
            f"Sampler({self.num_layers} layers, neighbours={self.neighbours}, "
            f"features_per_node={self.features_per_node}, "
            f"nodes_per_feature={self.nodes_per_feature})"
        )

    def sample(self, seeds: Tensor | ArrayLike, *, fixed_features: bool = False) -> Sample:
        """The blocks that give the states of these nodes.

        Args:
            seeds: Positions of different nodes; they are the first ``nodes out`` of the last
                block, in this order.
            fixed_features: Whether the states of the features are known for every layer. Then
                no layer has a phase 3, and the sample holds nothing but the seeds' neighbourhood
                of ``num_layers`` steps and its features.
        """
        try:
            self._nodes.number(self._checked(seeds))
            return self._draw(fixed_features)
        finally:
            self._nodes.clear()
            self._features.clear()

    def _draw(self, fixed_features: bool) -> Sample:
        nodes, features = self._nodes, self._features
        blocks: list[Block] = []
        scales: list[Scales] = []
        node_positions: list[Tensor] = []
        feature_positions: list[Tensor] = []
        back: Picked | None = None
        for layer in reversed(range(self.num_layers)):
            if fixed_features:
                features.clear()
            edges = self._pick(self._edges.rows, nodes, nodes, self.neighbours[layer])
            links = None
            if self._links is not None and back is not None:
                links = self._pick(self._links.rows, features, features, None)
            forward = self._pick(self._incidence, nodes, features, self.features_per_node)

            blocks.append(self._block(edges, forward, back, links))
            scales.append((self._scale(forward), self._scale(back)))
            node_positions.append(torch.from_numpy(nodes.positions))
            feature_positions.append(torch.from_numpy(features.positions))
            if layer and not fixed_features:
                back = self._pick(self._by_feature, features, nodes, self.nodes_per_feature)
        return Sample(blocks[::-1], node_positions[::-1], feature_positions[::-1], scales[::-1])

    def _pick(
        self, source: CompressedRows, rows: Numbering, columns: Numbering, limit: int | None
    ) -> Picked:
        """Entries of all rows numbered so far, with numbers for the columns they lead to."""
        picked = source.pick(rows.positions, limit, self.generator)
        return picked._replace(columns=columns.number(picked.columns))

    def _block(
        self, edges: Picked, forward: Picked, back: Picked | None, links: Picked | None
    ) -> Block:
        features = self._features.positions
        block = Block(
            incidence=forward.pattern(len(features)),
            values=self._values_at(forward.places),
            adjacency=self._edges.part(edges, self._nodes.positions),
            back_incidence=None,
            back_values=None,
            incidence_places=torch.from_numpy(forward.places),
        )
        if back is None:
            return block
        places = self._triples_by_feature[back.places].astype(np.int64)
        return replace(
            block,
            back_incidence=back.pattern(edges.num_rows),
            back_values=self._values_at(places),
            back_places=torch.from_numpy(places),
            feature_adjacency=(
                None if self._links is None or links is None else self._links.part(links, features)
            ),
        )

    @cached_property
    def _by_feature(self) -> CompressedRows:
        return CompressedRows(self.graph.incidence.transpose)

    @cached_property
    def _triples_by_feature(self) -> Integers:
        permutation: Integers = self.graph.incidence.permutation.cpu().numpy()
        return permutation

    def _values_at(self, places: NDArray[np.int64]) -> Tensor | None:
        return None if self._values is None else torch.from_numpy(self._values[places])

    def _scale(self, picked: Picked | None) -> Tensor | None:
        if picked is None or picked.scale is None:
            return None
        return torch.from_numpy(picked.scale).to(self.dtype)

    def _checked(self, seeds: Tensor | ArrayLike) -> NDArray[np.int64]:
        positions = np.asarray(seeds.cpu() if isinstance(seeds, Tensor) else seeds)
        if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
            raise ParameterError(
                "Seeds must be a list of node positions, "
                f"got an array of {positions.dtype} of shape {positions.shape}."
            )
        wrong = (positions < 0) | (positions >= self.graph.num_nodes)
        if wrong.any():
            raise ParameterError(
                f"Seed {positions[np.argmax(wrong)]} is no position among the "
                f"{self.graph.num_nodes} nodes."
            )
        ordered = np.sort(positions)
        repeated = ordered[1:] == ordered[:-1]
        if repeated.any():
            raise ParameterError(f"Seed {ordered[np.argmax(repeated)]} is given twice.")
        return positions.astype(np.int64)


class _Edges:
    """Edges of the whole graph, to draw from, with what the drawn ones carry along."""

    def __init__(self, adjacency: Adjacency, dtype: torch.dtype) -> None:
        self.rows = CompressedRows(adjacency.pattern)
        self.weights = _numpy(adjacency.edge_weights(dtype))
        self.degrees = adjacency.degrees(dtype).cpu().numpy()

    def part(self, picked: Picked, senders: NDArray[np.int64]) -> Adjacency:
        """The drawn edges; ``senders`` are the positions that their columns number."""
        pattern = picked.pattern(len(senders))
        degrees = self.degrees[senders]
        weights = None if self.weights is None else self.weights[picked.places]
        if picked.scale is not None:
            scale = np.repeat(picked.scale.astype(degrees.dtype), np.diff(picked.indptr))
            weights = scale if weights is None else weights * scale
        kept = None if weights is None else torch.from_numpy(weights)
        return Adjacency(pattern, kept, torch.from_numpy(degrees))


def _numpy(tensor: Tensor | None) -> NDArray[np.floating[Any]] | None:
    return None if tensor is None else tensor.cpu().numpy()


def _check_bound(name: str, bound: int | None) -> None:
    if bound is not None and bound < 1:
        raise ParameterError(f"{name} must be at least 1, or None for no bound, got {bound}.")
