from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grafenne.data.labels import Labels
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, UnknownNameError

NODES = Vocabulary(["a", "b", "c"], kind="node")


def test_classes_are_sorted_and_coded() -> None:
    labels = Labels.build({"c": "red", "a": "blue"}, NODES)
    assert labels.kind == "class"
    assert labels.classes == ("blue", "red")
    assert labels.values.tolist() == [0, -1, 1]
    assert labels.known.tolist() == [True, False, True]
    assert [labels.label(place) for place in range(3)] == ["blue", None, "red"]


def test_numbers_are_kept() -> None:
    labels = Labels.build([1.5, None, 2], NODES)
    assert labels.kind == "number"
    assert labels.classes == ()
    np.testing.assert_array_equal(labels.values, [1.5, np.nan, 2.0])
    assert labels.known.tolist() == [True, False, True]
    assert [labels.label(place) for place in range(3)] == [1.5, None, 2.0]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (["x", "y", None], "class"),
        ([1, 2, None], "class"),
        ([True, False, None], "class"),
        ([1, 2.5, None], "number"),
        (np.array([0, 1, 1]), "class"),
        (np.array([0.0, 1.0, np.nan]), "number"),
        ([None, None, None], "class"),
    ],
)
def test_the_kind_is_seen_from_the_labels(given: Any, kind: str) -> None:
    assert Labels.build(given, NODES).kind == kind


def test_the_kind_can_be_said() -> None:
    assert Labels.build([1, 2, None], NODES, "number").values.tolist()[:2] == [1.0, 2.0]
    versions = Labels.build([1.5, 2.5, 1.5], NODES, "class")
    assert versions.classes == (1.5, 2.5)
    assert versions.values.tolist() == [0, 1, 0]
    with pytest.raises(ParameterError, match="'text'"):
        Labels.build([1, 2, 3], NODES, "text")  # type: ignore[arg-type]


def test_every_way_to_say_unknown() -> None:
    import pandas as pd

    labels = Labels.build({"a": pd.NA, "b": float("nan"), "c": pd.NaT}, NODES)
    assert not labels.known.any()


def test_numpy_labels_are_plain_ones() -> None:
    labels = Labels.build([np.str_("x"), np.int64(3), None], NODES)
    assert labels.label(1) == 3
    assert type(labels.label(1)) is int


def test_classes_of_mixed_types_have_a_fixed_order() -> None:
    assert Labels.build(["b", 2, "a"], NODES).classes == (2, "a", "b")


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (["x", "y"], None, "3 nodes but 2 labels"),
        ({"b": "tall"}, "number", "label of node 'b' is 'tall', not a number"),
        ({"b": float("inf")}, None, "label of node 'b' is inf; labels must be finite"),
    ],
)
def test_bad_labels_are_refused(given: Any, kind: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Labels.build(given, NODES, kind)


def test_a_label_of_an_unknown_node_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Unknown node 'q'"):
        Labels.build({"q": 1}, NODES)


def test_labels_of_some_nodes() -> None:
    classes = Labels.build(["x", "y", None], NODES).take(np.array([1, -1, 2, 0]))
    assert [classes.label(place) for place in range(4)] == ["y", None, None, "x"]
    numbers = Labels.build([0.5, None, 2.5], NODES).take(np.array([2, -1, 1]))
    assert [numbers.label(place) for place in range(3)] == [2.5, None, None]
