"""Which part of the graph a batch of nodes needs (paper, appendix "Complexity Analysis")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import ParameterError
from grafenne.nn.block import Block
from grafenne.sampling.edges import Edges, as_numpy
from grafenne.sampling.numbering import Numbering
from grafenne.sampling.rows import CompressedRows, Integers, Picked
from grafenne.sampling.sample import Sample, Scales

Bound = int | Sequence[int | None] | None


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
        reach: How many steps the model reaches beyond its layers; they are bounded as the first
            layer is.
        neighbours: Most graph neighbours per node: one bound, or one per layer, first layer
            first; here and below, ``None`` means no bound.
        features_per_node: Most features per node in phase 1. Each feature that a later layer sees
            brings further nodes into the earlier ones, so bounds that fall from layer to layer
            keep a sample small.
        nodes_per_feature: Most nodes per feature in phase 3, which the last layer leaves out.
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
        reach: int = 0,
        neighbours: Bound = None,
        features_per_node: Bound = None,
        nodes_per_feature: Bound = None,
        feature_edges: bool = True,
        dtype: torch.dtype = torch.float32,
        seed: int | np.random.Generator = 0,
    ) -> None:
        if num_layers < 1:
            raise ParameterError(f"num_layers must be at least 1, got {num_layers}.")
        if reach < 0:
            raise ParameterError(f"reach must not be negative, got {reach}.")
        if dtype not in (torch.float32, torch.float64):
            raise ParameterError(f"dtype must be torch.float32 or torch.float64, got {dtype}.")
        self.graph, self.num_layers, self.dtype = graph, num_layers, dtype
        self.reach = reach
        self.neighbours = _per_layer("neighbours", neighbours, num_layers)
        self.features_per_node = _per_layer("features_per_node", features_per_node, num_layers)
        self.nodes_per_feature = _per_layer("nodes_per_feature", nodes_per_feature, num_layers)
        self.generator = np.random.default_rng(seed)
        self._values = as_numpy(graph.edge_values(dtype))
        self._edges = Edges(graph.adjacency, dtype)
        linked = feature_edges and len(graph.feature_adjacency) > 0
        self._links = Edges(graph.feature_adjacency, dtype) if linked else None
        self._incidence = CompressedRows(graph.incidence)
        self._nodes = Numbering(graph.num_nodes)
        self._features = Numbering(graph.num_features)

    def __repr__(self) -> str:
        return (
            f"Sampler({self.num_layers} layers, neighbours={self.neighbours}, "
            f"features_per_node={self.features_per_node}, "
            f"nodes_per_feature={self.nodes_per_feature})"
        )

    def sample(
        self,
        seeds: Tensor | ArrayLike,
        *,
        fixed_features: bool = False,
        generator: np.random.Generator | None = None,
    ) -> Sample:
        """The blocks that give the states of these nodes.

        Args:
            seeds: Positions of different nodes; they are the first ``nodes out`` of the last
                block, in this order.
            fixed_features: Whether the states of the features are known for every layer. Then
                no layer has a phase 3, and the sample holds nothing but the seeds' neighbourhood
                of ``num_layers + reach`` steps and its features.
            generator: Draws for this sample alone; the sampler's own by default.
        """
        try:
            self._nodes.number(self._checked(seeds))
            return self._draw(fixed_features, generator or self.generator)
        finally:
            self._nodes.clear()
            self._features.clear()

    def _draw(self, fixed_features: bool, generator: np.random.Generator) -> Sample:
        nodes, features = self._nodes, self._features
        blocks: list[Block] = []
        scales: list[Scales] = []
        node_positions: list[Tensor] = []
        feature_positions: list[Tensor] = []
        back: Picked | None = None
        for step in reversed(range(self.reach + self.num_layers)):
            layer = max(step - self.reach, 0)
            if fixed_features:
                features.clear()
            edges = _pick(self._edges.rows, nodes, nodes, self.neighbours[layer], generator)
            links = None
            if self._links is not None and back is not None:
                links = _pick(self._links.rows, features, features, None, generator)
            limit = self.features_per_node[layer]
            forward = _pick(self._incidence, nodes, features, limit, generator)

            blocks.append(self._block(edges, forward, back, links))
            scales.append((self._scale(forward), self._scale(back)))
            node_positions.append(torch.from_numpy(nodes.positions))
            feature_positions.append(torch.from_numpy(features.positions))
            if layer and not fixed_features:
                limit = self.nodes_per_feature[layer - 1]
                back = _pick(self._by_feature, features, nodes, limit, generator)
        return Sample(blocks[::-1], node_positions[::-1], feature_positions[::-1], scales[::-1])

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


def _pick(
    source: CompressedRows,
    rows: Numbering,
    columns: Numbering,
    limit: int | None,
    generator: np.random.Generator,
) -> Picked:
    """Entries of all rows numbered so far, with numbers for the columns they lead to."""
    picked = source.pick(rows.positions, limit, generator)
    return picked._replace(columns=columns.number(picked.columns))


def _per_layer(name: str, bound: Bound, num_layers: int) -> list[int | None]:
    bounds = list(bound) if isinstance(bound, Sequence) else [bound] * num_layers
    if len(bounds) != num_layers:
        raise ParameterError(
            f"{name} must give one bound for each of the {num_layers} layers, got {len(bounds)}."
        )
    for one in bounds:
        if one is not None and one < 1:
            raise ParameterError(f"{name} must be at least 1, or None for no bound, got {one}.")
    return bounds
