"""Changes of labels: applying them, and finding them between two graphs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.columns import family_of
from grafenne.data.delta_rows import Rows
from grafenne.data.labels import LabelKind, Labels, sort_names
from grafenne.data.wide_numbering import JointNumbering, WideNumbering
from grafenne.errors import DataError, shown

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph


def apply_labels(labels: Labels | None, delta: GraphDelta, nodes: WideNumbering) -> Labels | None:
    """The labels after a change; classes that nobody has any more keep their name."""
    given = delta.labels_set.ids("label")
    removed = nodes.positions(delta.labels_removed.ids("node"))
    known = np.zeros(len(nodes), dtype=bool)
    if labels is not None:
        known[: len(labels.values)] = labels.known
    if not known[removed].all():
        node = delta.labels_removed[int(np.argmin(known[removed]))]
        raise DataError(f"The label of node {node!r} cannot be removed: it has none.")
    kind = kind_after(labels, given, delta.label_kind)
    if labels is None and not given:
        return None
    if labels is not None and labels.kind != kind:
        if known.any():
            raise DataError(f"The labels are of kind {labels.kind!r}, the delta's of {kind!r}.")
        labels = None  # a kind without a single label binds nobody

    places = nodes.positions(delta.labels_set.ids("node"))
    if kind == "number":
        values: NDArray[Any] = np.full(len(nodes), np.nan)
        codes = [_label_number(node, label) for node, label in delta.labels_set]
        classes: tuple[Hashable, ...] = ()
        if labels is not None:
            values[: len(labels.values)] = labels.values
    else:
        old = () if labels is None else labels.classes
        classes = tuple(sort_names({*old, *given}))
        code = {name: position for position, name in enumerate(classes)}
        values = np.full(len(nodes), -1, dtype=np.int64)
        codes = [code[label] for label in given]
        if labels is not None:  # the last place serves the unknown ones, which are -1
            moved = np.array([*(code[name] for name in old), -1], dtype=np.int64)
            values[: len(labels.values)] = moved[labels.values]
    values[removed] = np.nan if kind == "number" else -1
    if kind == "class":
        values[places] = -1
        others = values[nodes.kept]
        _check_families([classes[code] for code in np.unique(others[others >= 0])], delta)
    values[places] = codes
    return Labels(kind, values[nodes.kept], classes)


def labels_kept(before: FeatureGraph, after: FeatureGraph) -> FeatureGraph:
    """A later snapshot; one that tells no labels at all has those that were there before."""
    if after.labels is not None or before.labels is None:
        return after
    return after.replace(labels=before.labels.take(before.nodes.find(after.nodes)))


def diff_labels(
    before: Labels | None, after: Labels | None, nodes: JointNumbering
) -> tuple[dict[str, Rows], LabelKind | None]:
    """The parts ``labels_set`` and ``labels_removed``, and the kind where it must be said."""
    had = np.zeros(nodes.size, dtype=bool)
    has = np.zeros(nodes.size, dtype=bool)
    if before is not None:
        had[: len(nodes.before)] = before.known
    if after is not None:
        has[nodes.place] = after.known
    both_known = had.any() and has.any()
    if before is not None and after is not None and both_known and before.kind != after.kind:
        raise DataError(f"A delta cannot turn labels of kind {before.kind!r} into {after.kind!r}.")
    had[: len(nodes.before)] &= nodes.stays
    differs = has & ~had
    if before is not None and after is not None:
        both = np.flatnonzero((has & had)[nodes.place])  # positions in the second graph
        old_at = nodes.place[both]
        if after.kind == "number" or before.kind == "number":
            differs[old_at] = before.values[old_at] != after.values[both]
        else:
            code = {name: position for position, name in enumerate(before.classes)}
            # The last place serves nodes without label; none of them is looked up here.
            moved = np.array([*(code.get(name, -2) for name in after.classes), -1], dtype=np.int64)
            differs[old_at] = before.values[old_at] != moved[after.values[both]]
    set_at = np.flatnonzero(differs[nodes.place])
    names = nodes.names_at(nodes.place[set_at])
    labels = [] if after is None else [after.label(place) for place in set_at.tolist()]
    kind: LabelKind | None = None
    if after is not None and labels and kind_after(before, labels, None) != after.kind:
        kind = after.kind
    gone = np.flatnonzero(had & ~has)
    return {
        "labels_set": Rows("labels_set", [names, labels]),
        "labels_removed": Rows("labels_removed", [nodes.names_at(gone)]),
    }, kind


def kind_after(labels: Labels | None, given: Iterable[Any], wanted: LabelKind | None) -> LabelKind:
    """The kind of labels after ``given`` ones were set: as wanted, as it was, or as it looks."""
    if wanted is not None:
        return wanted
    if labels is not None:
        return labels.kind
    return "number" if any(isinstance(label, float) for label in given) else "class"


def _check_families(others: Iterable[Hashable], delta: GraphDelta) -> None:
    """Raises if nodes would have class names of several families, which no table could hold."""
    families = {family_of(type(name)) for name in others}
    for node, label in delta.labels_set:
        family = family_of(type(label))
        if families and family not in families:
            raise DataError(
                f"The new label of node {node!r} is {shown(label)}, {family}, but other classes "
                f"are {families.pop()}."
            )
        families.add(family)


def _label_number(node: Hashable, label: Any) -> float:
    try:
        number = float(label)  # a number written as text is welcome, as it is in a table
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise DataError(f"The new label of node {node!r} is {label!r}, not a finite number.")
    return number
