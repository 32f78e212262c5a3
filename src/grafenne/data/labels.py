"""What is known about the nodes: a class name or a number for some of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, shown

LabelKind = Literal["class", "number"]


@dataclass(frozen=True, eq=False)
class Labels:
    """One label per node, or none.

    Attributes:
        kind: ``class`` for names to choose from, ``number`` for quantities.
        values: For classes the position in ``classes``, -1 where the label is unknown; for
            numbers the number, NaN where it is unknown.
        classes: The class names, sorted; empty for numbers.
    """

    kind: LabelKind
    values: NDArray[np.int64] | NDArray[np.float64]
    classes: tuple[Hashable, ...] = ()

    @classmethod
    def build(
        cls,
        labels: Mapping[Hashable, Any] | Sequence[Any] | NDArray[Any],
        nodes: Vocabulary,
        kind: LabelKind | None = None,
    ) -> Labels:
        """From ``{node: label}``, or one label per node with ``None``/NaN where unknown.

        Fractions are read as numbers, everything else as class names; ``kind`` says otherwise.
        """
        if kind not in (None, "class", "number"):
            raise ParameterError(f"The kind of labels is 'class' or 'number', got {kind!r}.")
        if isinstance(labels, Mapping):
            positions = nodes.positions(list(labels))
            given = list(labels.values())
        else:
            given = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
            if len(given) != len(nodes):
                raise DataError(f"There are {len(nodes)} nodes but {len(given)} labels.")
            positions = np.arange(len(nodes))
        known = [(place, plain(label)) for place, label in zip(positions, given, strict=True)]
        known = [(place, label) for place, label in known if not is_missing(label)]
        if kind is None:
            kind = "number" if any(isinstance(label, float) for _, label in known) else "class"
        if kind == "number":
            return cls._numbers(known, nodes)
        return cls._classes(known, nodes)

    @classmethod
    def _numbers(cls, known: list[tuple[int, Any]], nodes: Vocabulary) -> Labels:
        values = np.full(len(nodes), np.nan)
        for place, label in known:
            try:
                values[place] = as_float(label)
            except (TypeError, ValueError):
                raise DataError(
                    f"The label of node {nodes[int(place)]!r} is {shown(label)}, not a number.",
                    row=int(place),
                ) from None
            if not np.isfinite(values[place]):
                raise DataError(
                    f"The label of node {nodes[int(place)]!r} is {shown(label)}; labels must be "
                    "finite.",
                    row=int(place),
                )
        return cls("number", values)

    @classmethod
    def _classes(cls, known: list[tuple[int, Any]], nodes: Vocabulary) -> Labels:
        for place, label in known:
            if not isinstance(label, Hashable):
                raise DataError(
                    f"The label of node {nodes[int(place)]!r} is {shown(label)}, which cannot be "
                    "the name of a class.",
                    row=int(place),
                )
        classes = tuple(sort_names({label for _, label in known}))
        code = {label: position for position, label in enumerate(classes)}
        values = np.full(len(nodes), -1, dtype=np.int64)
        for place, label in known:
            values[place] = code[label]
        return cls("class", values, classes)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which nodes have a label."""
        return ~np.isnan(self.values) if self.kind == "number" else self.values >= 0

    def label(self, position: int) -> Any:
        """The label of the node at ``position``, ``None`` if unknown."""
        value = self.values[position]
        if self.kind == "number":
            return None if np.isnan(value) else float(value)
        return None if value < 0 else self.classes[int(value)]

    def take(self, positions: NDArray[np.int64]) -> Labels:
        """The labels of the nodes at ``positions``; -1 stands for a node without label."""
        values = self.values[positions].copy()
        values[positions < 0] = np.nan if self.kind == "number" else -1
        return Labels(self.kind, values, self.classes)


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def as_float(value: Any) -> float:
    """A number as a fraction; a whole number beyond all fractions is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_missing(value: Any) -> bool:
    """Whether ``value`` says "no label": None, NaN, or pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def sort_names(names: set[Any]) -> list[Any]:
    """Sorted where the names can be compared, else by type and text, so the order is stable."""
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))
