"""Elastic weight consolidation (paper, appendix "Extension to Continual Learning")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.context import UpdateContext
from grafenne.continual.growth import RowMap
from grafenne.continual.importance import Importance
from grafenne.continual.replay import Reservoir
from grafenne.continual.strategies import Strategy
from grafenne.errors import ParameterError

GRID = (1e3, 1e4, 1e5, 1e6)
"""What ``penalty="auto"`` tries."""


def quadratic_penalty(
    parameters: Mapping[str, Tensor], start: Mapping[str, Tensor], importance: Importance
) -> Tensor:
    r""":math:`\frac12 \sum_w \Omega_w (\Theta^w_t - \Theta^w_{t-1})^2`, parameters by name."""
    parts = [
        (weight * (parameters[name] - start[name]).square()).sum()
        for name, weight in importance.items()
    ]
    return torch.stack(parts).sum() / 2


@dataclass(kw_only=True)
class Ewc(Strategy):
    r"""EWC: trains on the affected nodes and holds what the others need.

    .. math:: L = \sum_{v \in \Delta V} L(v) + \frac\lambda2 \sum_w \Omega_w
        (\Theta^w_t - \Theta^w_{t-1})^2

    Both terms are divided by the number of nodes in the first, so that learning rates mean the
    same whatever the size of a change. :math:`\Omega` is taken on the new graph with the old
    parameters, over a sample U of the training nodes without the affected ones. Nothing is kept
    from one update to the next but the parameters themselves.

    Attributes:
        penalty: λ, or ``auto`` to choose among :data:`GRID` by the validation loss.
        sample: \|U\|, how many training nodes to draw.
    """

    name: ClassVar[str] = "ewc"

    penalty: float | str = 1e5
    sample: int = 25
    chosen_: float = field(default=0.0, init=False, repr=False)
    _importance: Importance = field(default_factory=dict, init=False, repr=False)
    _count: int = field(default=1, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        named = isinstance(self.penalty, str)
        if (named and self.penalty != "auto") or (not named and not float(self.penalty) >= 0):
            raise ParameterError(f"penalty must be at least 0, or 'auto', got {self.penalty!r}.")
        if self.sample < 1:
            raise ParameterError(f"sample must be at least 1, got {self.sample}.")

    def before_step(self, context: UpdateContext) -> None:
        """Measures the importance."""
        self._count = len(self.training_nodes(context))
        if self._count:
            self._importance = self.measure(context)

    def measure(self, context: UpdateContext) -> Importance:
        """Ω of this update."""
        return context.importance(sample_unaffected(context, self.sample))

    def trials(self) -> Iterator[float | None]:
        """The penalties to try."""
        for penalty in GRID if self.penalty == "auto" else (float(self.penalty),):
            self.chosen_ = penalty
            yield penalty

    def loss(self, context: UpdateContext, base: Tensor) -> Tensor:
        """The loss with the penalty."""
        penalty = quadratic_penalty(context.parameters(), context.start, self._importance)
        return base + self.chosen_ / self._count * penalty

    def after_step(self, context: UpdateContext) -> None:
        """Forgets the importance."""
        self._importance = {}


@dataclass(kw_only=True)
class OnlineEwc(Ewc):
    """EWC whose importance adds up over the updates (Schwarz et al., 2018).

    Attributes:
        decay: What an importance counts one update later.
    """

    name: ClassVar[str] = "online-ewc"

    decay: float = 0.9
    _total: Importance = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.decay <= 1:
            raise ParameterError(f"decay must be from 0 to 1, got {self.decay!r}.")

    def before_step(self, context: UpdateContext) -> None:
        """Follows parameters that grew, whether or not there is something to train on."""
        self._total = follow_rows(self._total, context.rows, context.parameters())
        super().before_step(context)

    def measure(self, context: UpdateContext) -> Importance:
        """Ω of this update and, less and less, of the ones before."""
        now = super().measure(context)
        for name, earlier in self._total.items():
            now[name] = now[name] + self.decay * earlier
        self._total = now
        return now

    def after_step(self, context: UpdateContext) -> None:
        """Follows parameters that shrank again, as nothing was learned of new features."""
        super().after_step(context)
        self._total = leave_rows(self._total, context.left_rows)

    def stored_numbers(self) -> int:
        """The importances."""
        return sum(tensor.numel() for tensor in self._total.values())

    def remembered_tensors(self) -> dict[str, Tensor]:
        """The importances added up."""
        return dict(self._total)

    def recall(self, remembered: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """The importances as they were."""
        self._total = dict(tensors)


@dataclass(kw_only=True)
class EwcReplay(Ewc):
    """EWC that also replays a few earlier training nodes.

    Attributes:
        memory: How many nodes to remember.
    """

    name: ClassVar[str] = "ewc-replay"

    memory: int = 100
    _reservoir: Reservoir | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory < 1:
            raise ParameterError(f"memory must be at least 1, got {self.memory}.")

    def before_step(self, context: UpdateContext) -> None:
        """Fills the memory the first time, and measures the importance."""
        if self._reservoir is None:
            self._reservoir = Reservoir(self.memory)
            self._reservoir.offer(context.old_train, context.bits.generator())
        super().before_step(context)

    def training_nodes(self, context: UpdateContext) -> NDArray[np.int64]:
        """The affected ones and the remembered ones."""
        remembered = [] if self._reservoir is None else self._reservoir.nodes
        return np.union1d(context.affected_train, context.positions(remembered))

    def after_step(self, context: UpdateContext) -> None:
        """Offers the new training nodes to the memory."""
        super().after_step(context)
        if self._reservoir is not None:
            self._reservoir.follow(context)

    def stored_numbers(self) -> int:
        """The remembered ids."""
        return 0 if self._reservoir is None else len(self._reservoir.nodes)

    def remembered(self) -> dict[str, Any]:
        """The memory; nothing before the first update."""
        return {} if self._reservoir is None else self._reservoir.to_dict()

    def recall(self, remembered: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """The memory as it was."""
        self._reservoir = Reservoir.from_dict(self.memory, remembered) if remembered else None


def sample_unaffected(context: UpdateContext, size: int) -> NDArray[np.int64]:
    """U without the affected nodes: a sample of the training nodes that the change left alone.

    They are taken out before the sample is drawn: from one release of Debian to the next four
    nodes in five are affected, and of a sample of 25 a handful would be left.
    """
    unaffected = np.setdiff1d(context.train, context.affected)
    return np.sort(context.bits.generator().permutation(unaffected)[:size])


def follow_rows(earlier: Importance, rows: RowMap, now: Mapping[str, Tensor]) -> Importance:
    """An importance measured before parameters grew, as it applies to their rows now."""
    moved = {}
    for name, tensor in earlier.items():
        if name in rows:
            place = torch.from_numpy(rows[name]).to(tensor.device)
            flag = (place >= 0).to(tensor.dtype).view(-1, *[1] * (tensor.ndim - 1))
            tensor = tensor[place.clamp(min=0)] * flag
        if name in now and now[name].shape == tensor.shape:
            moved[name] = tensor
    return moved


def leave_rows(importance: Importance, rows: RowMap) -> Importance:
    """The other way: an importance without the rows that were new, the others where they were."""
    left = dict(importance)
    for name in importance.keys() & rows.keys():
        kept = np.flatnonzero(rows[name] >= 0)
        order = kept[np.argsort(rows[name][kept])]
        left[name] = importance[name][torch.from_numpy(order)]
    return left
