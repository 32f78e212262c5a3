"""Strategies: what a model does when its graph has changed.

A strategy is a small object with a few hooks, called in this order: ``before_step``, then
``training_nodes``, then ``loss`` for every training step, then ``after_step``. What it keeps from
one update to the next (a memory, an importance) it keeps in itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.context import UpdateContext
from grafenne.errors import ParameterError


@dataclass(kw_only=True)
class Strategy:
    """Base of all strategies.

    Attributes:
        epochs: Most passes over the nodes that an update trains on.
        learning_rate: Step size; ``None`` for a share of the estimator's.
    """

    name: ClassVar[str]
    kind: ClassVar[str] = "continue"
    """``continue`` from the present parameters, ``restart`` from none, or ``keep`` them."""
    weight_decay: ClassVar[bool] = False
    """Whether the estimator's weight decay applies. It pulls parameters toward zero; an update
    on few nodes should stay near where it began instead."""
    states: ClassVar[str] = "fixed"
    """What ``states="auto"`` means for this strategy."""

    epochs: int = 30
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ParameterError(f"epochs must be at least 1, got {self.epochs}.")
        if self.learning_rate is not None and not self.learning_rate > 0:
            raise ParameterError(f"learning_rate must be above 0, got {self.learning_rate}.")

    def before_step(self, context: UpdateContext) -> None:
        """Looks at the model before it changes."""

    def training_nodes(self, context: UpdateContext) -> NDArray[np.int64]:
        """Positions of the nodes to train on."""
        return context.affected_train

    def trials(self) -> Iterator[float | None]:
        """Settings to try, each from the same start; the best on the validation nodes stays."""
        yield None

    def loss(self, context: UpdateContext, base: Tensor) -> Tensor:
        """What to minimise, from the mean loss of the nodes at hand."""
        return base

    def after_step(self, context: UpdateContext) -> None:
        """Looks at the model after it changed."""

    def stored_numbers(self) -> int:
        """How many numbers (or node ids) it keeps between updates."""
        return 0

    def remembered(self) -> dict[str, Any]:
        """What it keeps between updates, as plain data that JSON can hold."""
        return {}

    def remembered_tensors(self) -> dict[str, Tensor]:
        """What it keeps between updates for each number of a parameter, by parameter name."""
        return {}

    def recall(self, remembered: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Takes back what :meth:`remembered` and :meth:`remembered_tensors` gave."""


@dataclass(kw_only=True)
class Finetune(Strategy):
    """FT: trains on the affected training nodes alone; what else was known may be forgotten."""

    name: ClassVar[str] = "finetune"


@dataclass(kw_only=True)
class WarmStart(Strategy):
    """Goes on from the present parameters, on all training nodes of the new graph."""

    name: ClassVar[str] = "warm-start"
    weight_decay: ClassVar[bool] = True
    states: ClassVar[str] = "exact"

    def training_nodes(self, context: UpdateContext) -> NDArray[np.int64]:
        """All of them."""
        return context.train


@dataclass(kw_only=True)
class Retrain(Strategy):
    """The oracle: forgets everything and trains on the whole new graph, as ``fit`` does.

    The estimator's settings say for how long; it has none of its own.
    """

    name: ClassVar[str] = "retrain"
    kind: ClassVar[str] = "restart"

    epochs: int = field(default=1, init=False, repr=False)
    learning_rate: float | None = field(default=None, init=False, repr=False)


@dataclass(kw_only=True)
class Frozen(Strategy):
    """Never changes; new nodes and features go through the model as it is."""

    name: ClassVar[str] = "frozen"
    kind: ClassVar[str] = "keep"

    epochs: int = field(default=1, init=False, repr=False)
    learning_rate: float | None = field(default=None, init=False, repr=False)
