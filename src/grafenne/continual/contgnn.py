"""ContinualGNN, "Streaming Graph Neural Networks via Continual Learning" (Wang et al., 2020)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.context import UpdateContext
from grafenne.continual.ewc import Ewc
from grafenne.continual.importance import Importance
from grafenne.continual.memory import check_ids
from grafenne.errors import ParameterError


@dataclass(kw_only=True)
class ContGnn(Ewc):
    """Detects which nodes a change influences, replays important nodes, and regularises.

    - *Detection*: the change of the affected nodes' embeddings under the old model (between the
      old graph and the new one) spreads over the graph by two steps of averaging with the
      neighbours; the training nodes with the largest influence join the affected ones.
    - *Replay*: a memory with a share for each class, in which nodes whose neighbours have other
      labels are likelier to stay: they lie where classes meet.
    - *Regularisation*: the quadratic penalty, with the importance over the memory.

    The authors' program takes 250 remembered nodes, λ = 80 and new_ratio = 0.8 for Cora. Their
    importance is the square of the summed gradient; here it is the mean of squared gradients as
    everywhere, so that one λ means one thing.

    Attributes:
        memory: How many nodes to remember.
        penalty: λ of the regularisation.
        detected: How many influenced training nodes join, as a share of the affected ones.
        border: How much likelier a node at the border of its class is to be remembered.
    """

    name: ClassVar[str] = "contgnn"

    penalty: float | str = 80.0
    memory: int = 250
    detected: float = 0.8
    border: float = 1.0
    _memory: list[Hashable] = field(default_factory=list, init=False, repr=False)
    _seen: Counter[Any] = field(default_factory=Counter, init=False, repr=False)
    _nodes: NDArray[np.int64] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory < 1:
            raise ParameterError(f"memory must be at least 1, got {self.memory}.")
        if not self.detected >= 0 or not self.border >= 0:
            raise ParameterError(
                f"detected and border must be at least 0, got {self.detected!r} and "
                f"{self.border!r}."
            )

    def before_step(self, context: UpdateContext) -> None:
        """Fills the memory the first time, detects, and measures the importance."""
        if not self._seen:
            self._remember(context, context.positions(context.old_train))
        others = np.setdiff1d(context.train, context.affected)
        influenced = influence(context)[others]
        count = round(self.detected * len(context.affected_train))
        largest = np.argsort(-influenced, kind="stable")[:count]
        found = others[largest[influenced[largest] > 0]]
        remembered = context.positions(self._memory)
        self._nodes = np.unique(np.concatenate((context.affected_train, found, remembered)))
        super().before_step(context)

    def training_nodes(self, context: UpdateContext) -> NDArray[np.int64]:
        """Affected, influenced and remembered nodes."""
        return context.affected_train if self._nodes is None else self._nodes

    def measure(self, context: UpdateContext) -> Importance:
        """Ω over the remembered nodes that the change left alone, ``sample`` of them."""
        remembered = np.setdiff1d(context.positions(self._memory), context.affected)
        drawn = context.bits.generator().permutation(remembered)[: self.sample]
        return context.importance(np.sort(drawn))

    def after_step(self, context: UpdateContext) -> None:
        """Offers the affected training nodes to the memory."""
        super().after_step(context)
        self._nodes = None
        self._memory = context.after.nodes.take(context.positions(self._memory))
        self._remember(context, context.affected_train)

    def stored_numbers(self) -> int:
        """The remembered ids."""
        return len(self._memory)

    def remembered(self) -> dict[str, Any]:
        """The memory, and how many nodes of each class were offered to it."""
        seen = [[int(code), int(count)] for code, count in self._seen.items()]
        return {"nodes": list(self._memory), "seen": seen}

    def recall(self, remembered: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """The memory as it was."""
        # A share of at least one node for each class may exceed the memory's size.
        most = self.memory + len(remembered["seen"])
        self._memory = list(check_ids(remembered["nodes"], most))
        self._seen = Counter({int(code): int(count) for code, count in remembered["seen"]})

    def _remember(self, context: UpdateContext, offered: NDArray[np.int64]) -> None:
        """Keeps each class at its share of all nodes offered so far."""
        labels = self._label_codes(context)
        generator = context.bits.generator()
        self._seen.update(labels[offered].tolist())
        total = sum(self._seen.values())
        groups: dict[int, list[Hashable]] = {code: [] for code in self._seen}
        for position in context.positions(self._memory).tolist():
            groups.setdefault(int(labels[position]), []).append(context.after.nodes[position])
        likelier = 1 + self.border * border_share(context, labels)
        known = set(self._memory)
        for position in generator.permutation(offered).tolist():
            code, node = int(labels[position]), context.after.nodes[position]
            room = max(int(self.memory * self._seen[code] / total), 1)
            group = groups[code]
            while len(group) > room:
                del group[int(generator.integers(len(group)))]
            if node in known:
                continue
            if len(group) < room:
                group.append(node)
            elif generator.random() < room / self._seen[code] * likelier[position]:
                group[int(generator.integers(len(group)))] = node
        self._memory = [node for group in groups.values() for node in group]

    def _label_codes(self, context: UpdateContext) -> NDArray[np.int64]:
        targets = context.targets.cpu().numpy()
        if targets.dtype == np.int64:
            return targets
        return np.where(np.isnan(targets), -1, 0).astype(np.int64)  # numbers: one class for all


def influence(context: UpdateContext) -> NDArray[np.float64]:
    """How much the change reaches each node: the affected nodes' change of embedding, spread.

    Two steps of averaging over a node and its neighbours. Added nodes had no embedding; theirs
    counts as a change from zero.
    """
    after, before = context.after, context.before
    nodes = after.nodes.take(context.affected)
    old = [node for node in nodes if node in before.nodes]
    change = context.embed(after, nodes)
    was = change.new_zeros(change.shape)
    if old:
        stayed = np.flatnonzero(before.nodes.find(nodes) >= 0)
        was[stayed] = context.embed(before, old)
    spread = np.zeros(after.num_nodes)
    spread[context.affected] = (change - was).abs().sum(dim=1).double().cpu().numpy()
    links = after.edges.incoming("both").astype(bool).astype(np.float64)
    degree = 1 + np.diff(links.indptr)
    for _ in range(2):
        spread = (spread + links @ spread) / degree
    return spread


def border_share(context: UpdateContext, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far a node lies at the border of its class, from 0 to 1.

    The share of neighbours with another label, through a steep logistic curve. Only the labels
    of training nodes are looked at.
    """
    known = np.zeros(context.after.num_nodes, dtype=bool)
    known[context.train] = True
    links = context.after.edges.incoming("both")
    row = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
    told = known[links.indices]
    differs = told & (labels[links.indices] != labels[row])
    count = np.bincount(row, weights=told, minlength=links.shape[0])
    share = np.bincount(row, weights=differs, minlength=links.shape[0]) / (count + 1)
    curve: NDArray[np.float64] = 1 / (1 + np.exp(5 - 10 * share))
    return curve
