"""What changed between two graphs (the paper's dynamic graphs)."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from grafenne.data.delta_rows import PARTS, Rows, check_once, check_removed
from grafenne.data.labels import LabelKind
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GraphDelta:
    """A set of changes to a graph, by ids and names, never by position.

    Every part is given as a list of rows and kept as :class:`Rows`. The order of the rows means
    nothing, and no two rows may speak of the same node, edge, triple or label. Adding what is
    there, and removing or changing what is not there, is an error when the delta is applied.

    Removing a node removes its triples, its edges and its label with it; these may be listed as
    removed too, but nothing of a removed node may be added or changed. Feature names that the
    graph does not know yet are appended to its vocabulary.

    Either all edges of a graph have weights or none has. ``None`` as a weight means none, so a
    change from one to the other lists every edge that stays in ``edges_changed``.

    Example:
        >>> delta = GraphDelta(
        ...     nodes_added=["tea"],
        ...     triples_added=[("tea", "warm", 1.0)],
        ...     edges_added=[("tea", "milk")],
        ... )
        >>> delta
        GraphDelta(nodes +1, edges +1, triples +1)

    Args:
        nodes_added: Ids of new nodes; their labels go into ``labels_set``.
        nodes_removed: Ids of nodes that leave.
        edges_added: ``(source, target)`` or ``(source, target, weight)``.
        edges_removed: ``(source, target)``.
        edges_changed: ``(source, target, weight)``, the new weight.
        triples_added: ``(node, feature, value)``.
        triples_changed: ``(node, feature, value)``, the new value.
        triples_removed: ``(node, feature)``.
        labels_set: ``(node, label)``, whether or not the node had one.
        labels_removed: Ids of nodes that lose their label.
        feature_edges_added: Like ``edges_added``, between features.
        feature_edges_removed: Like ``edges_removed``, between features.
        feature_edges_changed: Like ``edges_changed``, between features.
        label_kind: ``class`` or ``number``, for a graph without labels whose kind the new ones
            leave in doubt; without it fractions are numbers and everything else names a class.
    """

    nodes_added: Rows
    nodes_removed: Rows
    edges_added: Rows
    edges_removed: Rows
    edges_changed: Rows
    triples_added: Rows
    triples_changed: Rows
    triples_removed: Rows
    labels_set: Rows
    labels_removed: Rows
    feature_edges_added: Rows
    feature_edges_removed: Rows
    feature_edges_changed: Rows
    label_kind: LabelKind | None

    def __init__(
        self,
        *,
        nodes_added: Iterable[Hashable] = (),
        nodes_removed: Iterable[Hashable] = (),
        edges_added: Iterable[Any] = (),
        edges_removed: Iterable[Any] = (),
        edges_changed: Iterable[Any] = (),
        triples_added: Iterable[Any] = (),
        triples_changed: Iterable[Any] = (),
        triples_removed: Iterable[Any] = (),
        labels_set: Iterable[Any] = (),
        labels_removed: Iterable[Hashable] = (),
        feature_edges_added: Iterable[Any] = (),
        feature_edges_removed: Iterable[Any] = (),
        feature_edges_changed: Iterable[Any] = (),
        label_kind: LabelKind | None = None,
    ) -> None:
        if label_kind not in (None, "class", "number"):
            raise ParameterError(f"label_kind is 'class' or 'number', got {label_kind!r}.")
        given = (
            nodes_added,
            nodes_removed,
            edges_added,
            edges_removed,
            edges_changed,
            triples_added,
            triples_changed,
            triples_removed,
            labels_set,
            labels_removed,
            feature_edges_added,
            feature_edges_removed,
            feature_edges_changed,
        )
        parts = {part: Rows.of(part, rows) for part, rows in zip(PARTS, given, strict=True)}
        check_once(parts)
        check_removed(parts)
        for part, rows in parts.items():
            object.__setattr__(self, part, rows)
        object.__setattr__(self, "label_kind", label_kind)

    @property
    def parts(self) -> dict[str, Rows]:
        """All parts by name, the empty ones too."""
        return {part: getattr(self, part) for part in PARTS}

    def __len__(self) -> int:
        """Number of single changes."""
        return sum(len(rows) for rows in self.parts.values())

    def __bool__(self) -> bool:
        return not self.is_empty

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return len(self) == 0

    def __repr__(self) -> str:
        signs = {"added": "+", "set": "+", "removed": "-", "changed": "~"}
        counts: dict[str, list[str]] = {}
        for part, rows in self.parts.items():
            family, _, action = part.rpartition("_")
            if len(rows):
                counts.setdefault(family, []).append(f"{signs[action]}{len(rows):,}")
        shown = (f"{family.replace('_', ' ')} {' '.join(n)}" for family, n in counts.items())
        return f"GraphDelta({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphDelta):
            return NotImplemented
        return self is other or (len(self) == len(other) and self._digest == other._digest)

    def __hash__(self) -> int:
        return hash(self._digest)

    def digest(self) -> str:
        """A SHA-256 of the content, the same whatever the order of the rows."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        content = hashlib.sha256(f"{self.label_kind}\n".encode())
        for part, rows in self.parts.items():
            content.update(f"{part} {len(rows)}\n".encode())
            single = len(rows.names) == 1
            for line in sorted(_canonical((row,) if single else row) for row in rows):
                content.update(line.encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def affected_nodes(self, graph: FeatureGraph) -> list[Hashable]:
        """The nodes whose features or incident edges change, and the added ones.

        Neighbours of removed nodes are among them; nodes that only change their label are not.

        Args:
            graph: The graph before the change.

        Returns:
            Ids of nodes that exist after the change, in the order they then have.
        """
        from grafenne.data.affected import affected_nodes

        return affected_nodes(graph, self)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> GraphDelta:
        """From a folder of tables or a ``.jsonl`` file; see :mod:`grafenne.data.delta_files`."""
        from grafenne.data.delta_files import read_delta

        return read_delta(path)

    def write(self, path: str | PathLike[str]) -> None:
        """To a ``.jsonl`` file of events, or else to a folder with one table per part."""
        from grafenne.data.delta_files import write_delta

        write_delta(self, path)


def _canonical(row: tuple[Any, ...]) -> str:
    """One line that says the same for equal rows: -0.0 is 0.0, and 1 is not '1'."""
    return "\t".join(repr(cell + 0.0 if isinstance(cell, float) else cell) for cell in row) + "\n"
