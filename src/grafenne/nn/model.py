"""GRAFENNE: feature embeddings, L layers of three phases, and skips to the result."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.errors import ParameterError
from grafenne.nn.block import Block, Keeps, kept_blocks, triple_weights
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.layer import GrafenneLayer
from grafenne.nn.reach import Reach
from grafenne.ops import Dropout, first_rows


class Encoded(NamedTuple):
    """What the model makes of a graph.

    Attributes:
        nodes: Node embeddings, ``[num_nodes, output_width]``.
        feature_states: States of the features before each layer, ``[num_features, width]`` each;
            the first with evidence beside them, where there is any.
    """

    nodes: Tensor
    feature_states: list[Tensor]


class Grafenne(nn.Module):
    """The whole network, from an allotropic graph to node embeddings.

    The number of parameters does not depend on the number of features, unless Φ is ``learned``.

    Args:
        features: Φ, the starting states of the feature nodes.
        width: Width of all states.
        num_layers: Number of three-phase layers.
        reach: From how many edges away the first phase 1 hears features, beside the layers; see
            :class:`~grafenne.nn.reach.Reach`.
        backbone: The GNN of phase 2.
        heads: Number of attention heads.
        mode: ``value`` or ``paper``.
        aggregation: ``attention``, ``mean`` or ``sum`` in phases 1 and 3.
        normalisation: ``layer``, ``batch`` or ``none``.
        skip: Whether the embedding joins the result of the first phase 1 and of every layer,
            which matters where neighbours mislead. Without it, it is the last layer's result.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of feature edges left out in training.
        feature_edges: Whether edges among features carry messages.
    """

    def __init__(
        self,
        features: FeatureEmbedding,
        *,
        width: int = 64,
        num_layers: int = 2,
        reach: int = 0,
        backbone: Any = "sage",
        heads: int = 1,
        mode: str = "value",
        aggregation: str = "attention",
        normalisation: str = "layer",
        skip: bool = True,
        dropout: float = 0.5,
        feature_dropout: float = 0.5,
        feature_edges: bool = False,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ParameterError(f"num_layers must be at least 1, got {num_layers}.")
        self.features = features
        self.width, self.skip = width, skip
        self.layers = nn.ModuleList(
            GrafenneLayer(
                width,
                first=number == 0,
                last=number == num_layers - 1,
                # An instance serves the first layer, copies of it the others.
                backbone=deepcopy(backbone) if number else backbone,
                heads=heads,
                mode=mode,
                aggregation=aggregation,
                normalisation=normalisation,
                dropout=dropout,
                feature_edges=feature_edges,
            )
            for number in range(num_layers)
        )
        self.reach = Reach(width, reach) if reach else None
        self.output_width = width * (num_layers + 1) if skip else width
        self.dropout = Dropout(dropout)
        self.feature_dropout = Dropout(feature_dropout)

    @property
    def num_layers(self) -> int:
        """Number of three-phase layers."""
        return len(self.layers)

    @property
    def local(self) -> bool:
        """Whether phase 2 sees edges into a node alone, so that parts of a graph are enough."""
        return all(layer.node_to_node.local for layer in self.layers)  # type: ignore[union-attr]

    @property
    def num_blocks(self) -> int:
        """How many blocks a pass needs: one for each step of the reach, one for each layer."""
        return self.reach_steps + self.num_layers

    @property
    def reach_steps(self) -> int:
        """How many steps it reaches beyond its layers."""
        return 0 if self.reach is None else self.reach.steps

    @property
    def dtype(self) -> torch.dtype:
        """Number type of the parameters."""
        return next(self.parameters()).dtype

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.features.reset_parameters()  # type: ignore[operator]
        if self.reach is not None:
            self.reach.reset_parameters()
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Encoded:
        """A full pass over the graph.

        Args:
            graph: The allotropic graph.
            keep: Weight of each triple, 0 to leave it out, ``[num_values]``. Without it
                ``feature_dropout`` decides while training. Features that Φ only guesses at count
                less (:meth:`~grafenne.nn.feature_embedding.FeatureEmbedding.trust`).
        """
        if keep is None:
            keep = self.feature_dropout.keep(
                graph.incidence.num_entries, self.dtype, graph.incidence.device
            )
        keep = triple_weights(graph, self.features.trust(graph), keep, self.dtype)
        blocks, keeps = kept_blocks(graph, self.num_blocks, self.dtype, keep)
        return self.encode(blocks, self.features(graph), keeps)

    def encode(
        self,
        blocks: Sequence[Block],
        features: Tensor,
        keeps: Sequence[Keeps] | None = None,
    ) -> Encoded:
        """The layers alone, over given blocks.

        Args:
            blocks: ``num_blocks`` of them, whole or sampled: those of the reach come first.
            features: Starting states of the features.
            keeps: Per block, the masks of phase 1 and phase 3.
        """
        states = [features]
        keeps = [(None, None)] * len(blocks) if keeps is None else keeps
        heard = self._hear(blocks, features, keeps[0][0])
        nodes: Tensor | None = None
        parts: list[Tensor] = []
        steps = zip(self.layers, blocks[self.reach_steps :], keeps[self.reach_steps :], strict=True)
        for layer, block, (keep, back_keep) in steps:
            first = heard if nodes is None else None
            out = layer(block, nodes, states[-1], keep, back_keep, gathered=first)
            parts += [out.nodes] if parts else [out.gathered, out.nodes]
            nodes = out.nodes
            if out.features is not None:
                states.append(out.features)
        return Encoded(self.dropout.joined(self._answering(parts)), states)

    def encode_fixed(
        self,
        blocks: Sequence[Block],
        states: Sequence[Tensor],
        keeps: Sequence[Tensor | None] | None = None,
    ) -> Tensor:
        """Node embeddings with the features' states before each layer held as given.

        A node then depends on its own features and its neighbourhood only, not on every node
        that shares a feature with one of them.

        Args:
            blocks: ``num_blocks`` of them; their phase 3 is left out.
            states: States of the features before each block, see :meth:`states_of_blocks`.
            keeps: Per block, 0 for triples to leave out, 1 for the others.
        """
        keeps = [None] * len(blocks) if keeps is None else keeps
        heard = self._hear(blocks, states[0], keeps[0])
        nodes: Tensor | None = None
        parts: list[Tensor] = []
        for number, layer in enumerate(self.layers, start=self.reach_steps):
            without = replace(blocks[number], back_incidence=None, back_values=None)
            first = heard if nodes is None else None
            out = layer(without, nodes, states[number], keeps[number], gathered=first)
            parts += [out.nodes] if parts else [out.gathered, out.nodes]
            nodes = out.nodes
        return torch.cat(self._answering(parts), dim=1)

    def states_of_blocks(self, states: Sequence[Tensor]) -> list[Tensor]:
        """The features' states before each block, from those before each layer."""
        return [states[0]] * self.reach_steps + list(states)

    def _hear(
        self, blocks: Sequence[Block], features: Tensor, keep: Tensor | None
    ) -> Tensor | None:
        """The first phase 1 with what comes from afar; ``None`` if nothing does."""
        if self.reach is None:
            return None
        first: GrafenneLayer = self.layers[0]  # type: ignore[assignment]
        gathered = first.gather(blocks[0], None, features, keep)
        result: Tensor = self.reach(blocks[: self.reach_steps], gathered, keep)
        return result

    def _answering(self, parts: list[Tensor]) -> list[Tensor]:
        """What the embedding is made of, for the nodes that the last layer answers for."""
        return [first_rows(part, len(parts[-1])) for part in parts] if self.skip else parts[-1:]
