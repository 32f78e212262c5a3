"""The ``label`` column of a table as labels, and back."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.columns import Table, as_numbers, encode, object_column
from grafenne.data.labels import LabelKind, Labels, sort_names
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.vocabulary import Vocabulary

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_PADDED = re.compile(r"-?0[0-9]+")
_NUMBER = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE
)
"""What counts as a number in a file; Python also takes ``2020_1``, which is a code."""


def labels_from(
    table: Table,
    positions: NDArray[np.int64],
    nodes: Vocabulary,
    kind: LabelKind | None = None,
    classes: Iterable[Hashable] = (),
) -> Labels:
    """The labels in the column ``label`` of a table.

    Fractions are numbers, everything else is a class name. A column of fractions that are all
    whole and has gaps is what pandas makes of whole numbers with gaps, so they are class names.

    Args:
        table: The table.
        positions: The node of each row.
        nodes: All nodes.
        kind: ``class`` or ``number``, to say otherwise.
        classes: Class names besides those that the column holds.
    """
    import pandas as pd

    if kind not in (None, "class", "number"):
        raise ParameterError(f"label_kind must be 'class' or 'number', got {kind!r}.")
    column = table.frame["label"]
    if kind != "number" and _is_spoilt_whole(column):
        labels = [None if label is None else int(label) for label in _or_none(column)]
        whole = pd.DataFrame({"label": object_column(labels)}, dtype=object)
        table = replace(table, frame=whole)
    elif kind is None and _has_fractions(column):
        kind = "number"
    if kind == "number":
        return _numbers(table, positions, nodes)
    if isinstance(column.dtype, pd.CategoricalDtype):
        classes = {*classes, *column.cat.categories}
    encoded = encode(table, "label", allow_missing=True)
    values = np.full(len(nodes), -1, dtype=np.int64)
    values[positions] = encoded.codes
    return with_classes(Labels("class", values, tuple(encoded.names)), classes)


def with_classes(labels: Labels, classes: Iterable[Hashable]) -> Labels:
    """The same labels over more class names, in their fixed order."""
    if labels.kind == "number":
        return labels
    ordered = sort_names({*classes, *labels.classes})
    place = {name: number for number, name in enumerate(ordered)}
    # The last entry serves -1, the nodes without label.
    code = np.array([*(place[name] for name in labels.classes), -1], dtype=np.int64)
    return Labels("class", code[labels.values.astype(np.int64)], tuple(ordered))


def label_frame(labels: Labels, nodes: pd.Series[Any]) -> pd.DataFrame:
    """``node, label`` of the nodes that have one; class names are pandas categories."""
    import pandas as pd

    known = np.flatnonzero(labels.known)
    values: Any = labels.values[known]
    if labels.kind == "class":
        names = pd.Index(object_column(labels.classes), dtype=object, tupleize_cols=False)
        values = pd.Categorical.from_codes(values, names)
    labelled: Any = nodes.take(known).reset_index(drop=True)
    frame: pd.DataFrame = pd.DataFrame({"node": labelled, "label": values})
    return frame


def _numbers(table: Table, positions: NDArray[np.int64], nodes: Vocabulary) -> Labels:
    given = as_numbers(table, "label").astype(np.float64)
    infinite = np.isinf(given)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"The label in {table.place(row)} is {given[row]}; labels must be finite.", row=row
        )
    values = np.full(len(nodes), np.nan)
    values[positions] = given
    return Labels("number", values)


def _has_fractions(column: pd.Series[Any]) -> bool:
    import pandas as pd

    if column.dtype == object:
        return any(isinstance(label, float) and label == label for label in column)
    return pd.api.types.is_float_dtype(column.dtype)


def _is_spoilt_whole(column: pd.Series[Any]) -> bool:
    import pandas as pd

    if not pd.api.types.is_float_dtype(column.dtype):
        return False
    known = column[column.notna()].to_numpy(dtype=np.float64)
    gaps = len(known) < len(column)
    return gaps and len(known) > 0 and bool((known == np.floor(known)).all())


def _or_none(column: pd.Series[Any]) -> list[float | None]:
    known = column.notna().tolist()
    return [label if here else None for label, here in zip(column.tolist(), known, strict=True)]


def typed_labels(column: pd.Series[Any], kind: LabelKind | None = None) -> pd.Series[Any]:
    """Labels of a text file, where everything is text, as what they seem to be.

    All whole numbers: whole numbers (class names). All numbers: fractions, also if all of them are
    whole (``1017.0``) and some are missing. Anything else, codes with leading zeros such as
    ``007`` included: text.

    Args:
        column: The labels.
        kind: ``class`` leaves what looks like fractions as it is written: the versions ``1.1`` and
            ``1.10`` are one number, but two classes.
    """
    import pandas as pd

    codes, uniques = pd.factorize(column)
    texts = [str(text).strip() for text in uniques]
    unknown = [text.lower() == "nan" for text in texts]
    typed: list[Any] | None = None
    if all(map(_WHOLE.fullmatch, texts)) or (
        not all(unknown)  # gaps among whole numbers, as pandas writes them when asked
        and all(gap or _WHOLE.fullmatch(text) for gap, text in zip(unknown, texts, strict=True))
    ):
        typed = [None if gap else int(text) for gap, text in zip(unknown, texts, strict=True)]
    elif kind != "class" and all(map(_is_number, texts)):
        typed = [float(text) for text in texts]
    if not typed:
        return column
    # Objects even if they are all fractions: in a column of floats with gaps, whole ones are taken
    # for what pandas makes of whole numbers.
    result: pd.Series[Any] = pd.Series(object_column([*typed, None])[codes])
    return result


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and _PADDED.fullmatch(text) is None
