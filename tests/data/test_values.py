from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError

NODES = Vocabulary(["a", "b", "c"], kind="node")
FEATURES = Vocabulary(["x", "y", "z"], kind="feature")


def build(*triples: Any, duplicates: str = "error") -> FeatureValues:
    return FeatureValues.build(*triples, nodes=NODES, features=FEATURES, duplicates=duplicates)


@pytest.fixture
def values() -> FeatureValues:
    """a: x 1, z 0; c: y 5, z 2."""
    return build([2, 0, 2, 0], [2, 2, 1, 0], [2.0, 0.0, 5.0, 1.0])


def test_triples_are_stored_by_node_and_feature(values: FeatureValues) -> None:
    assert values.indptr.tolist() == [0, 2, 2, 4]
    assert values.indices.tolist() == [0, 2, 1, 2]
    assert values.data.tolist() == [1.0, 0.0, 5.0, 2.0]
    assert values.rows.tolist() == [0, 0, 2, 2]
    assert values.counts.tolist() == [2, 0, 2]
    assert values.feature_counts.tolist() == [1, 1, 2]
    assert (len(values), values.num_nodes, values.num_features) == (4, 3, 3)


def test_zeros_are_values(values: FeatureValues) -> None:
    assert 0.0 in values.data
    assert values.to_scipy().nnz == 4
    assert not values.is_binary
    assert build([0], [0], [1]).is_binary
    assert not build([0, 1], [0, 0], [1, 0]).is_binary


def test_the_same_triples_by_feature(values: FeatureValues) -> None:
    columns = values.by_feature
    assert columns.indptr.tolist() == [0, 1, 2, 4]
    assert columns.indices.tolist() == [0, 2, 0, 2]
    assert values.data[columns.data].tolist() == [1.0, 5.0, 0.0, 2.0]


def test_a_triple_given_twice_is_named() -> None:
    with pytest.raises(DataError, match="Node 'b' has feature 'z' twice") as caught:
        build([1, 0, 1], [2, 0, 2], [1.0, 1.0, 1.0])
    assert caught.value.row == 2


@pytest.mark.parametrize(("rule", "value"), [("first", 1.0), ("last", 4.0), ("sum", 7.0)])
def test_duplicates_merge_by_rule(rule: str, value: float) -> None:
    merged = build([1, 0, 1, 1], [2, 0, 2, 2], [1.0, 9.0, 2.0, 4.0], duplicates=rule)
    assert merged.rows.tolist() == [0, 1]
    assert merged.data.tolist() == [9.0, value]


def test_duplicates_that_cancel_stay_an_observed_zero() -> None:
    merged = build([1, 1], [2, 2], [1.0, -1.0], duplicates="sum")
    assert merged.data.tolist() == [0.0]
    with pytest.raises(DataError, match="node 'b' for feature 'z' have no finite sum"):
        build([1, 1], [2, 2], [1e308, 1e308], duplicates="sum")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_must_be_finite(bad: float) -> None:
    with pytest.raises(DataError, match=f"Node 'c' has the value {bad} for feature 'y'") as caught:
        build([0, 2], [0, 1], [1.0, bad])
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("triples", "message"),
    [
        (([3], [0], [1.0]), "Triple 0 has node position 3, but there are 3 nodes"),
        (([0, 0], [0, -1], [1.0, 1.0]), "Triple 1 has feature position -1"),
        (([0, 1], [0], [1.0]), "2 nodes, 1 features and 1 values"),
        (([0.0], [0], [1.0]), "whole numbers"),
        (([0], [0], ["one"]), "Values must be numbers"),
        (([0], [0], [None]), "Values must be numbers"),
    ],
)
def test_bad_triples_are_refused(triples: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build(*triples)


def test_bad_rules_are_refused() -> None:
    with pytest.raises(ParameterError, match="'mean'"):
        build([], [], [], duplicates="mean")


def test_the_precision_of_the_input_is_kept() -> None:
    assert build([0], [0], np.array([0.1], dtype=np.float32)).data.dtype == np.float32
    assert build([0], [0], [1]).data.dtype == np.float64
    assert build([0], [0], [True]).data.tolist() == [1.0]


def test_some_of_the_triples(values: FeatureValues) -> None:
    kept = values.take(np.array([False, True, False, True]))
    assert kept.indptr.tolist() == [0, 1, 1, 2]
    assert kept.indices.tolist() == [2, 2]
    assert kept.data.tolist() == [0.0, 2.0]
    assert kept.num_features == 3
    longer = values.resized(10)
    assert longer.num_features == 10
    assert longer.feature_counts.tolist() == [1, 1, 2, 0, 0, 0, 0, 0, 0, 0]


def test_no_triples_at_all() -> None:
    for empty in (build([], [], []), FeatureValues.empty(3, 3)):
        assert empty.counts.tolist() == [0, 0, 0]
        assert empty.feature_counts.tolist() == [0, 0, 0]
        assert empty.by_feature.nnz == 0
        assert len(empty.take(np.empty(0, dtype=bool))) == 0
    assert FeatureValues.empty(0, 0).rows.tolist() == []
