"""What a sampler gives: a block per layer, and which nodes and features are in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grafenne.nn.block import Block

Scales = tuple[Tensor | None, Tensor | None]


@dataclass(frozen=True)
class Sample:
    """The part of a graph that the states of some nodes need.

    Attributes:
        blocks: One per layer, for :meth:`grafenne.nn.Grafenne.encode`.
        node_positions: Per layer, the positions in the whole graph of its ``nodes in``. The
            block's ``nodes out`` are the first of them, and the next layer's are the first of
            those; the seeds come first of all.
        feature_positions_per_layer: Per layer, the positions of its ``features in``. With fixed
            features each layer numbers its own, otherwise each list begins with the next one.
        scales: Per layer, by how much sums over the rows of phase 1 and of phase 3 must be
            multiplied to make up for entries that a bound left out; ``None`` where none was.
    """

    blocks: list[Block]
    node_positions: list[Tensor]
    feature_positions_per_layer: list[Tensor]
    scales: list[Scales]

    @property
    def feature_positions(self) -> Tensor:
        """Positions of the features whose starting states the first layer needs."""
        return self.feature_positions_per_layer[0]

    def keeps(self, keep: Tensor | None = None, *, scale_sums: bool = False) -> list[Scales]:
        """Masks for :meth:`grafenne.nn.Grafenne.encode`.

        Args:
            keep: 0 for triples to leave out, 1 for the others, over all triples of the graph.
            scale_sums: Whether to make up for entries that a bound left out, so that sums and
                counts stay the same on average; softmax weights and means do not change.
        """
        masks = [block.keep_of(keep) for block in self.blocks]
        if not scale_sums:
            return masks
        scaled = []
        for block, (forward, back), (scale, back_scale) in zip(
            self.blocks, masks, self.scales, strict=True
        ):
            if scale is not None:
                weights = scale[block.incidence.rows]
                forward = weights if forward is None else forward * weights
            if back_scale is not None and block.back_incidence is not None:
                weights = back_scale[block.back_incidence.rows]
                back = weights if back is None else back * weights
            scaled.append((forward, back))
        return scaled

    def to(self, device: torch.device | str) -> Sample:
        """The sample on another device; the positions stay where they are."""
        return replace(
            self,
            blocks=[block.to(device) for block in self.blocks],
            scales=[(_to(first, device), _to(second, device)) for first, second in self.scales],
        )


def _to(tensor: Tensor | None, device: torch.device | str) -> Tensor | None:
    return None if tensor is None else tensor.to(device)
