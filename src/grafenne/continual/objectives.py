"""What a network is trained for in an update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.continual.context import UpdateContext
from grafenne.continual.fixed_states import hold_batch_statistics
from grafenne.continual.strategies import Strategy


class UpdateObjective:
    """The loss of a strategy on its nodes.

    With exact states every step is a pass over the whole graph. With fixed states it is a pass
    over the neighbourhood of the nodes, which is drawn once. Validation is always exact: it is
    what will be predicted with.

    Args:
        context: The update.
        strategy: Its loss.
        nodes: Positions of the nodes to train on.
        validate_every: Epochs from one validation to the next; those between repeat the last,
            at first that of the start.
    """

    def __init__(
        self,
        context: UpdateContext,
        strategy: Strategy,
        nodes: NDArray[np.int64],
        validate_every: int = 1,
    ) -> None:
        self.context, self.strategy, self.nodes = context, strategy, nodes
        learner: Any = context.learner
        labelled = getattr(learner, "label_features_", None) is not None
        self.exact = context.objective(nodes)
        self.every = validate_every
        self.samples = []
        if context.states == "fixed":
            self.samples = [
                (torch.tensor(part), context.fixed.sample(part))
                for part in self._parts(learner.batch_size, labelled)
            ]
        self.restart()

    def restart(self) -> None:
        """Begins to count epochs anew."""
        self._last = self.context.at_start
        self._epochs = 0

    @property
    def network(self) -> nn.Module:
        """What is trained."""
        return self.context.network

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """The losses of one epoch."""
        if self.context.states == "exact":
            for compute in self.exact.batches():
                yield partial(self._strategy_loss, compute)
            return
        hold_batch_statistics(self.network)
        for asked, sample in self.samples:
            yield partial(self._strategy_loss, partial(self._fixed_loss, asked, sample))

    def validate(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes, by an exact pass when one is due."""
        self._epochs += 1
        if self._epochs % self.every == 0:
            self._last = self.exact.validate()
        return self._last

    def _strategy_loss(self, compute: Callable[[], Tensor]) -> Tensor:
        return self.strategy.loss(self.context, compute())

    def _fixed_loss(self, asked: Tensor, sample: Any) -> Tensor:
        seed = int(self.context.bits.generator().integers(2**62))
        outputs = self.context.fixed.outputs(sample, seed)
        loss: Tensor = self.context.task.training_loss(outputs, self.context.targets[asked])
        return loss

    def _parts(self, batch_size: int | None, labelled: bool) -> list[NDArray[np.int64]]:
        size = batch_size or len(self.nodes)
        if labelled:
            # Nodes that are asked hide their labels: if all were, nobody would show one.
            size = min(size, max(len(self.context.train) // 2, 1))
        return [self.nodes[start : start + size] for start in range(0, len(self.nodes), size)]
