"""What a network is trained for when nodes are to be predicted: whole graph or in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.nn.encoder import NodeEncoder
from grafenne.nn.model import Grafenne
from grafenne.ops import RandomBits, hashed_keep
from grafenne.sampling import Sampler, iterate_batches


class NodeTask(Protocol):
    """Loss and metric of node predictions."""

    output_width: int

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean loss over the given nodes."""

    def quick_metric(self, outputs: Tensor, targets: Tensor) -> float:
        """A metric that is cheap enough for every epoch."""


class NodeNetwork(nn.Module):
    """An encoder with a linear head per node.

    Args:
        encoder: From a graph to node embeddings: GRAFENNE or another
            :class:`~grafenne.nn.encoder.NodeEncoder`.
        output_width: Number of outputs per node.
    """

    def __init__(self, encoder: Grafenne | NodeEncoder, output_width: int) -> None:
        super().__init__()
        self.encoder: Any = encoder
        self.head = nn.Linear(encoder.output_width, output_width)

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Tensor:
        """Outputs of all nodes, ``[num_nodes, output_width]``."""
        result: Tensor = self.head(self.encoder(graph, keep).nodes)
        return result


class NodeObjective:
    """Training and validation losses of a node task.

    Args:
        network: The network.
        graph: The graph, with label triples where labels are features.
        task: Loss and metric.
        targets: Target of each node.
        train: Positions of the training nodes.
        validation: Positions of the validation nodes; the training nodes stand in if there are
            none.
        bits: Source of randomness.
        first_label: Position of the first feature that is a label, ``None`` if none are.
        sampler: Draws the neighbourhoods of batches; ``None`` to train on the whole graph.
        batch_size: Nodes per batch.
    """

    def __init__(
        self,
        network: NodeNetwork,
        graph: AllotropicGraph,
        task: NodeTask,
        targets: Tensor,
        train: NDArray[np.int64],
        validation: NDArray[np.int64],
        bits: RandomBits,
        *,
        first_label: int | None = None,
        sampler: Sampler | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.network, self.graph, self.task, self.bits = network, graph, task, bits
        self.targets = targets
        self.train = torch.tensor(train)
        self.validation = torch.tensor(validation if len(validation) else train)
        self.sampler, self.batch_size = sampler, batch_size
        self.first_label = graph.num_features if first_label is None else first_label
        self.label_places = torch.nonzero(graph.incidence.indices >= self.first_label).squeeze(1)
        self.label_nodes = graph.incidence.rows[self.label_places].long()

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """One loss over the whole graph, or one per batch of training nodes."""
        if self.sampler is None:
            yield self._whole_graph_loss
            return
        size = self.batch_size or len(self.train)
        if len(self.label_places):
            # A batch's own labels are hidden: one of all training nodes would show none at all.
            size = min(size, max(len(self.train) // 2, 1))
        for positions in iterate_batches(self.train.numpy(), size, self.bits.generator()):
            yield partial(self._batch_loss, positions)

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes."""
        self.network.eval()
        with torch.no_grad():
            outputs = self.network(self.graph, self._validation_keep())[self.validation]
            targets = self.targets[self.validation]
            loss = float(self.task.loss(outputs, targets))
            return loss, self.task.quick_metric(outputs, targets)

    def _validation_keep(self) -> Tensor | None:
        """Hides labels of the nodes that are asked, where training nodes stand in."""
        asked = torch.isin(self.label_nodes.cpu(), self.validation)
        if not bool(asked.any()):
            return None
        incidence = self.graph.incidence
        keep = torch.ones(
            incidence.num_entries, dtype=self.network.encoder.dtype, device=incidence.device
        )
        keep[self.label_places[asked]] = 0
        return keep

    def _whole_graph_loss(self) -> Tensor:
        keep, asked = self._masks()
        outputs = self.network(self.graph, keep)[asked]
        return self.task.loss(outputs, self.targets[asked])

    def _masks(self) -> tuple[Tensor | None, Tensor]:
        """Which triples the network sees this time, and which training nodes are asked."""
        encoder = self.network.encoder
        count, device = self.graph.incidence.num_entries, self.graph.incidence.device
        keep = encoder.feature_dropout.keep(count, encoder.dtype, device)
        if not len(self.label_places):
            return keep, self.train
        shown = self.bits.keep(len(self.label_places), 0.5)
        if bool(shown.all()):  # nobody would be left to ask
            shown = torch.zeros_like(shown)
        if keep is None:
            keep = torch.ones(count, dtype=encoder.dtype, device=device)
        keep[self.label_places] = shown.to(keep)
        hidden = torch.ones(self.graph.num_nodes, dtype=torch.bool)
        hidden[self.label_nodes.cpu()[shown]] = False
        return keep, self.train[hidden[self.train]]

    def _batch_loss(self, positions: NDArray[np.int64]) -> Tensor:
        if self.sampler is None:
            return self._whole_graph_loss()
        device = self.graph.incidence.device
        sample = self.sampler.sample(positions).to(device)
        encoder = self.network.encoder
        asked = torch.from_numpy(positions)
        asking = torch.zeros(self.graph.num_nodes, dtype=torch.bool, device=device)
        asking[asked] = True
        seed = int(self.bits.generator().integers(2**62))
        keeps = [
            (
                _times(self._keep_places(block.incidence_places, seed, asking), scale),
                _times(self._keep_places(block.back_places, seed, asking), back_scale),
            )
            for block, (scale, back_scale) in zip(
                sample.blocks, sample.keeps(scale_sums=True), strict=True
            )
        ]
        features = encoder.features(self.graph)[sample.feature_positions]
        outputs = self.network.head(encoder.encode(sample.blocks, features, keeps).nodes)
        return self.task.loss(outputs, self.targets[asked])

    def _keep_places(self, places: Tensor | None, seed: int, asking: Tensor) -> Tensor | None:
        """The mask of a block's triples; a triple has the same fate in every block of a step."""
        dropout = self.network.encoder.feature_dropout
        if places is None or (not dropout.rate and not len(self.label_places)):
            return None
        keep = hashed_keep(places, dropout.rate, seed).to(self.network.encoder.dtype)
        keep *= dropout.scale
        if len(self.label_places):
            label = self.graph.incidence.indices[places] >= self.first_label
            keep[label] = (~asking[self.graph.incidence.rows[places[label]].long()]).to(keep)
        return keep


def _times(keep: Tensor | None, scale: Tensor | None) -> Tensor | None:
    if keep is None or scale is None:
        return scale if keep is None else keep
    return keep * scale
