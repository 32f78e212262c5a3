"""Experience replay: earlier training nodes, kept by id and trained on again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.context import UpdateContext
from grafenne.continual.memory import check_ids
from grafenne.continual.strategies import Strategy
from grafenne.errors import ModelFileError, ParameterError


class Reservoir:
    """A uniform sample of all nodes ever offered (Vitter's algorithm R).

    Args:
        size: Most nodes to hold.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ParameterError(f"memory must be at least 1, got {size}.")
        self.size = size
        self.nodes: list[Hashable] = []
        self.offered = 0

    def offer(self, nodes: Sequence[Hashable], generator: np.random.Generator) -> None:
        """Lets each node in with the probability that keeps the sample uniform."""
        for node in nodes:
            self.offered += 1
            if len(self.nodes) < self.size:
                self.nodes.append(node)
                continue
            place = int(generator.integers(self.offered))
            if place < self.size:
                self.nodes[place] = node

    def to_dict(self) -> dict[str, Any]:
        """The sample and how many nodes it was drawn from, as plain data."""
        return {"nodes": list(self.nodes), "offered": self.offered}

    @classmethod
    def from_dict(cls, size: int, told: Mapping[str, Any]) -> Reservoir:
        """A reservoir as :meth:`to_dict` told it."""
        reservoir = cls(size)
        reservoir.nodes = list(check_ids(told["nodes"], size))
        reservoir.offered = int(told["offered"])
        if reservoir.offered < len(reservoir.nodes):
            raise ModelFileError("The remembered nodes of a saved model are damaged.")
        return reservoir

    def follow(self, context: UpdateContext) -> None:
        """Offers the nodes that train since this update, and lets those that left go."""
        known = set(context.old_train)
        train = context.after.nodes.take(context.train)
        self.offer([node for node in train if node not in known], context.bits.generator())
        self.nodes = [node for node in self.nodes if node in context.after.nodes]


@dataclass(kw_only=True)
class ExperienceReplay(Strategy):
    """ER: trains on the affected training nodes and on a sample of the earlier ones.

    The first update draws the memory from the nodes that trained before it; later ones offer it
    the nodes that are new.

    Attributes:
        memory: How many nodes to remember.
    """

    name: ClassVar[str] = "replay"

    memory: int = 100
    _reservoir: Reservoir = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._reservoir = Reservoir(self.memory)

    def before_step(self, context: UpdateContext) -> None:
        """Fills the memory the first time."""
        if not self._reservoir.offered:
            self._reservoir.offer(context.old_train, context.bits.generator())

    def training_nodes(self, context: UpdateContext) -> NDArray[np.int64]:
        """The affected ones and the remembered ones."""
        return np.union1d(context.affected_train, context.positions(self._reservoir.nodes))

    def after_step(self, context: UpdateContext) -> None:
        """Offers the new training nodes to the memory."""
        self._reservoir.follow(context)

    def stored_numbers(self) -> int:
        """The remembered ids."""
        return len(self._reservoir.nodes)

    def remembered(self) -> dict[str, Any]:
        """The memory."""
        return self._reservoir.to_dict()

    def recall(self, remembered: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """The memory as it was."""
        self._reservoir = Reservoir.from_dict(self.memory, remembered)
