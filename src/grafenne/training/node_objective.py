"""What a network is trained for when nodes are to be predicted: whole graph or in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.nn.encoder import NodeEncoder
from grafenne.nn.learned_features import LearnedFeatures
from grafenne.nn.model import Grafenne
from grafenne.nn.new_features import NewFeatures
from grafenne.ops import RandomBits, hashed_keep, set_random_bits
from grafenne.sampling import Ahead, Sample, Sampler, encode_layerwise, iterate_batches
from grafenne.sampling.layerwise import ROWS
from grafenne.sampling.sample import Scales
from grafenne.training.distributed import check_alone, exchange_rows, world
from grafenne.training.hiding import FeatureHiding


class NodeTask(Protocol):
    """Loss and metric of node predictions."""

    output_width: int

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean loss over the given nodes."""

    def training_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The same for nodes that are learned from."""

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
        features = getattr(encoder, "features", None)
        self.new_features = (
            NewFeatures(output_width, features.weight.shape[1])
            if isinstance(features, LearnedFeatures)
            else None
        )

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Tensor:
        """Outputs of all nodes, ``[num_nodes, output_width]``."""
        result: Tensor = self.head(self.encoder(graph, keep).nodes)
        return result


class Batch(NamedTuple):
    """Training nodes of one step, over all processes.

    Attributes:
        positions: The nodes.
        seed: Seed of everything random in the step.
    """

    positions: NDArray[np.int64]
    seed: int


class Drawn(NamedTuple):
    """What a process needs for its share of a batch.

    Attributes:
        batch: The batch.
        positions: The nodes of this process.
        sample: Their neighbourhoods.
        keeps: Masks of the sample's triples.
    """

    batch: Batch
    positions: NDArray[np.int64]
    sample: Sample
    keeps: list[Scales]


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
        hiding: Hides whole kinds of features, beside the encoder's own feature dropout.
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
        hiding: FeatureHiding | None = None,
        sampler: Sampler | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.network, self.graph, self.task, self.bits = network, graph, task, bits
        self.targets = targets
        self.train = torch.tensor(train)
        self.validation = torch.tensor(validation if len(validation) else train)
        self.sampler, self.batch_size, self.hiding = sampler, batch_size, hiding
        self.first_label = graph.num_features if first_label is None else first_label
        self.label_places = torch.nonzero(graph.incidence.indices >= self.first_label).squeeze(1)
        self.label_nodes = (
            graph.incidence.rows[self.label_places] if len(self.label_places) else self.label_places
        ).long()

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """One loss over the whole graph, or one per batch of training nodes."""
        if self.sampler is None:
            check_alone(
                "Several processes share out batches of nodes: set batch_size (--batch-size)."
            )
            yield self._whole_graph_loss
            return
        size = self.batch_size or len(self.train)
        if len(self.label_places):
            # A batch's own labels are hidden: one of all training nodes would show none at all.
            size = min(size, max(len(self.train) // 2, 1))
        generator = self.bits.generator()
        parts = list(iterate_batches(self.train.numpy(), size, generator))
        seeds = generator.integers(2**62, size=len(parts)).tolist()
        with Ahead(self._draw, list(map(Batch, parts, seeds))) as samples:
            try:
                for number in range(len(parts)):
                    yield partial(self._batch_loss, samples, number)
            finally:
                set_random_bits(self.network, self.bits)

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes."""
        self.network.eval()
        with torch.no_grad():
            keep = self._validation_keep()
            if self.sampler is None:
                outputs = self.network(self.graph, keep)[self.validation]
            else:
                outputs = outputs_in_blocks(self.network, self.graph, self.validation, keep)
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
        return self.task.training_loss(outputs, self.targets[asked])

    def _masks(self) -> tuple[Tensor | None, Tensor]:
        """Which triples the network sees this time, and which training nodes are asked."""
        encoder = self.network.encoder
        count, device = self.graph.incidence.num_entries, self.graph.incidence.device
        keep = encoder.feature_dropout.keep(count, encoder.dtype, device)
        if self.hiding is not None:
            seen = self.hiding.keep(int(self.bits.generator().integers(2**62))).to(encoder.dtype)
            keep = seen if keep is None else keep * seen
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

    def _draw(self, batch: Batch) -> Drawn:
        """What a batch needs; it depends on the batch alone, so a thread may do it ahead."""
        if self.sampler is None:
            raise TypeError("a whole graph is not drawn")
        around = world()
        mine = around.share(batch.positions)
        generator = np.random.default_rng((batch.seed, around.rank))
        sample = self.sampler.sample(mine, generator=generator)
        # A triple has the same fate in every block of a step, and in every process.
        keeps = [
            (
                _times(self._keep_places(block.incidence_places, batch), scale),
                _times(self._keep_places(block.back_places, batch), back_scale),
            )
            for block, (scale, back_scale) in zip(
                sample.blocks, sample.keeps(scale_sums=True), strict=True
            )
        ]
        return Drawn(batch, mine, sample, keeps)

    def _batch_loss(self, samples: Ahead[Batch, Drawn], number: int) -> Tensor:
        drawn = samples.take(number)
        encoder, device = self.network.encoder, next(self.network.parameters()).device
        # Dropout begins anew in each step: the processes of a run draw different amounts.
        set_random_bits(self.network, RandomBits(_seed_of(drawn.batch.seed)))
        blocks = drawn.sample.to(device).blocks
        keeps = [(_moved(keep, device), _moved(back, device)) for keep, back in drawn.keeps]
        features = encoder.features(self.graph)[drawn.sample.feature_positions.to(device)]
        outputs = self.network.head(encoder.encode(blocks, features, keeps).nodes)
        loss = self.task.training_loss(outputs, self.targets[torch.from_numpy(drawn.positions)])
        return loss if world().alone else loss * self._share_of(drawn)

    def _share_of(self, drawn: Drawn) -> float:
        """How much a process's mean loss counts beside those of the others."""
        whole = drawn.batch.positions
        if world().rank >= len(whole):  # it computes a node of another process
            return 0.0
        weight = getattr(self.task, "weight", None)
        if weight is None:
            return world().size * len(drawn.positions) / len(whole)
        targets, weight = self.targets.cpu(), weight.double()
        own = weight[targets[torch.from_numpy(drawn.positions)]].sum()
        return world().size * float(own / weight[targets[torch.from_numpy(whole)]].sum())

    def _keep_places(self, places: Tensor | None, batch: Batch) -> Tensor | None:
        """The mask of a block's triples: feature dropout, and the labels of the asked hidden."""
        dropout = self.network.encoder.feature_dropout
        nothing = not dropout.rate and not len(self.label_places) and self.hiding is None
        if places is None or nothing:
            return None
        keep = hashed_keep(places, dropout.rate, batch.seed).to(self.network.encoder.dtype)
        keep *= dropout.scale
        if self.hiding is not None:
            keep *= self.hiding.keep(batch.seed, places).to(keep)
        if len(self.label_places):
            label = self.graph.incidence.indices.cpu()[places] >= self.first_label
            starts = self.graph.incidence.indptr.cpu()
            owner = torch.searchsorted(starts, places[label].to(starts.dtype), right=True)
            keep[label] = (~torch.isin(owner - 1, torch.from_numpy(batch.positions))).to(keep)
        return keep


def answerable(nodes: NDArray[np.int64], targets: Tensor) -> NDArray[np.int64]:
    """Those of the nodes whose label the task knows; a class absent from training has none."""
    known = targets.cpu().numpy()[nodes]
    kept: NDArray[np.int64] = nodes[known >= 0 if known.dtype == np.int64 else known == known]
    return kept


def outputs_in_blocks(
    network: NodeNetwork, graph: AllotropicGraph, positions: Tensor, keep: Tensor | None = None
) -> Tensor:
    """The network's exact outputs for some nodes, layer by layer; see ``encode_layerwise``.

    Args:
        network: The network, in evaluation mode.
        graph: The graph, in main memory.
        positions: The nodes.
        keep: 0 for triples to leave out, 1 for the others.

    Returns:
        ``[positions, output_width]``, where the network is.
    """
    around = world()
    nodes = encode_layerwise(
        network.encoder,
        graph,
        positions,
        keep=keep,
        share=(around.rank, around.size),
        exchange=exchange_rows,
    ).nodes
    device = network.head.weight.device
    with torch.no_grad():
        return torch.cat([network.head(part.to(device)) for part in torch.split(nodes, ROWS)])


def _seed_of(seed: int) -> int:
    return seed * 2**16 + world().rank


def _moved(keep: Tensor | None, device: torch.device) -> Tensor | None:
    return None if keep is None else keep.to(device)


def _times(keep: Tensor | None, scale: Tensor | None) -> Tensor | None:
    if keep is None or scale is None:
        return scale if keep is None else keep
    return keep * scale
