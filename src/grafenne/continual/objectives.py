"""What a network is trained for in an update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from sys import float_info
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.continual.context import UpdateContext
from grafenne.continual.fixed_states import hold_batch_statistics
from grafenne.continual.strategies import Strategy
from grafenne.training.node_objective import NodeObjective


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
            at first that of the start (without validation nodes a start that any epoch beats:
            the nodes trained on cannot say that nothing was to be learned from them).
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
        self.exact = NodeObjective(
            context.network,
            context.prepared,
            context.task,
            context.targets,
            nodes,
            answerable(context.validation, context.targets),
            context.bits,
            first_label=context.first_label if labelled else None,
            sampler=learner._sampler(context.prepared, context.bits),
            batch_size=learner.batch_size,
            hiding=context.hiding,
        )
        self.every = validate_every
        self.at_start = self.exact.validate()
        self.samples = []
        if context.states == "fixed":
            self.samples = [
                (torch.tensor(part), context.fixed.sample(part))
                for part in self._parts(learner.batch_size, labelled)
            ]
        self.restart()

    def restart(self) -> None:
        """Begins to count epochs anew."""
        judged = len(self.context.validation) > 0
        self._last = self.at_start if judged else (float_info.max, self.at_start[1])
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
        loss: Tensor = self.context.task.loss(outputs, self.context.targets[asked])
        return loss

    def _parts(self, batch_size: int | None, labelled: bool) -> list[NDArray[np.int64]]:
        size = batch_size or len(self.nodes)
        if labelled:
            # Nodes that are asked hide their labels: if all were, nobody would show one.
            size = min(size, max(len(self.context.train) // 2, 1))
        return [self.nodes[start : start + size] for start in range(0, len(self.nodes), size)]


def answerable(nodes: NDArray[np.int64], targets: Tensor) -> NDArray[np.int64]:
    """Those of the nodes whose label the task knows."""
    known = targets.cpu().numpy()[nodes]
    kept: NDArray[np.int64] = nodes[known >= 0 if known.dtype == np.int64 else known == known]
    return kept
