"""Equality that is stricter than ``==``: the same positions, types and bits."""

from __future__ import annotations

import numpy as np

from grafenne import FeatureGraph
from grafenne.data.edges import EdgeList


def assert_identical(found: FeatureGraph, expected: FeatureGraph) -> None:
    assert found == expected
    assert list(found.nodes) == list(expected.nodes)
    assert [type(node) for node in found.nodes] == [type(node) for node in expected.nodes]
    assert list(found.features) == list(expected.features)
    _same_array(found.values.indptr, expected.values.indptr)
    _same_array(found.values.indices, expected.values.indices)
    _same_array(found.values.data, expected.values.data)
    _same_edges(found.edges, expected.edges)
    _same_edges(found.feature_edges, expected.feature_edges)
    assert (found.labels is None) == (expected.labels is None)
    if found.labels is not None and expected.labels is not None:
        assert found.labels.kind == expected.labels.kind
        assert found.labels.classes == expected.labels.classes
        assert list(map(type, found.labels.classes)) == list(map(type, expected.labels.classes))
        _same_array(found.labels.values, expected.labels.values)


def _same_edges(found: EdgeList, expected: EdgeList) -> None:
    assert found.directed == expected.directed
    _same_array(found.sources, expected.sources)
    _same_array(found.targets, expected.targets)
    assert (found.weights is None) == (expected.weights is None)
    if found.weights is not None and expected.weights is not None:
        _same_array(found.weights, expected.weights)


def _same_array(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
