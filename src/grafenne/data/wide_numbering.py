"""One numbering for the names before and after a change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, unknown_name

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph


class WideNumbering:
    """Positions of the old names followed by the added ones, and which of them stay.

    Args:
        old: The names before the change.
        added: New names; those that ``old`` has are left out.
    """

    def __init__(self, old: Vocabulary, added: Iterable[Hashable] = ()) -> None:
        self.old = old
        self.added = Vocabulary(
            [name for name in dict.fromkeys(added) if name not in old], kind=old.kind
        )
        self.kept = np.ones(len(self), dtype=bool)

    @classmethod
    def of_nodes(cls, graph: FeatureGraph, delta: GraphDelta) -> WideNumbering:
        """The nodes of a graph and those that a delta adds and removes."""
        added = delta.nodes_added.ids("node")
        places = cls(graph.nodes, added)
        if len(places.added) < len(added):
            node = next(node for node in added if node in graph.nodes)
            raise DataError(f"Node {node!r} cannot be added: the graph has it already.")
        places.kept[graph.nodes.positions(delta.nodes_removed.ids("node"))] = False
        return places

    def __len__(self) -> int:
        return len(self.old) + len(self.added)

    def positions(self, names: Sequence[Hashable]) -> NDArray[np.int64]:
        """The wide position of each name; an unknown one raises an error."""
        found = self.old.find(names)
        for row in np.flatnonzero(found < 0).tolist():
            if names[row] not in self.added:
                raise unknown_name(self.old.kind, names[row], [*self.old, *self.added])
            found[row] = len(self.old) + self.added.position(names[row])
        return found

    @property
    def unchanged(self) -> bool:
        """Whether nothing is added and nothing removed."""
        return not len(self.added) and bool(self.kept.all())

    def final(self) -> NDArray[np.int64]:
        """Where each wide position ends up once the removed ones are squeezed out."""
        return np.cumsum(self.kept) - 1

    def vocabulary(self) -> Vocabulary:
        """The names after the change."""
        if self.kept.all():
            return self.old.extended(self.added)
        stay = self.old.take(np.flatnonzero(self.kept[: len(self.old)]))
        return Vocabulary([*stay, *self.added], kind=self.old.kind)


class JointNumbering:
    """The names of both graphs in one numbering: those of the first, then the new ones."""

    def __init__(self, before: Vocabulary, after: Vocabulary) -> None:
        self.before, self.after = before, after
        found = before.find(after)
        fresh = found < 0
        self.new = len(before) + np.arange(int(fresh.sum()), dtype=np.int64)
        self.place = found.copy()  # of each name of the second graph
        self.place[fresh] = self.new
        self.size = len(before) + len(self.new)
        self.stays = np.zeros(len(before), dtype=bool)
        self.stays[found[~fresh]] = True
        self._fresh = np.flatnonzero(fresh)

    def names_at(self, positions: NDArray[np.integer[Any]]) -> list[Any]:
        """The names at joint positions."""
        positions = positions.astype(np.int64)
        if not len(positions) or positions.max() < len(self.before):
            return self.before.take(positions)
        new = self.after.take(self._fresh)
        if positions.min() >= len(self.before):
            return [new[place] for place in (positions - len(self.before)).tolist()]
        old = len(self.before)
        return [new[at - old] if at >= old else self.before[at] for at in positions.tolist()]
