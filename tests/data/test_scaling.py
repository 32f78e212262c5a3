from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.scaling import FARTHEST, FeatureScaler
from grafenne.errors import DataError, ModelFileError, NotFittedError, ParameterError
from tests.strategies import feature_graphs


def column(values: list[float], name: str = "x", dtype: type = np.float64) -> FeatureGraph:
    """One node per value."""
    count = len(values)
    triples = (np.arange(count), np.zeros(count, dtype=int), np.array(values, dtype=dtype))
    return FeatureGraph.from_arrays(count, [name], triples)


@pytest.fixture
def graph() -> FeatureGraph:
    """Feature tag is always 1, size is 100, 200, 300 at the nodes 0, 1, 2."""
    return FeatureGraph.from_arrays(
        4, ["tag", "size"], ([0, 0, 1, 2, 3], [0, 1, 1, 1, 0], [1, 100, 200, 300, 1])
    )


def test_standard_scaling_by_hand(graph: FeatureGraph) -> None:
    scaled = FeatureScaler().fit(graph).transform(graph)
    step = 100 / math.sqrt(20_000 / 3)
    assert scaled.features_of(0) == {"tag": 1.0, "size": pytest.approx(-step)}
    assert scaled.features_of(1) == {"size": pytest.approx(0)}
    assert scaled.features_of(2) == {"size": pytest.approx(step)}
    assert scaled.features_of(3) == {"tag": 1.0}


def test_robust_scaling_by_hand() -> None:
    graph = column([0, 1, 2, 3, 1000])
    scaled = FeatureScaler("robust").fit(graph).transform_values(graph)
    np.testing.assert_allclose(scaled, [-1, -0.5, 0, 0.5, 499])
    even = column([0, 1, 2, 4])  # quartiles 0.75, 1.5 and 2.5
    scaled = FeatureScaler("robust").fit(even).transform_values(even)
    np.testing.assert_allclose(scaled, (np.array([0, 1, 2, 4]) - 1.5) / 1.75)


def test_robust_scaling_falls_back_where_half_the_values_agree() -> None:
    graph = column([5, 5, 5, 5, 5, 5, 5, 15])
    scaler = FeatureScaler("robust").fit(graph)
    assert scaler.centre_.tolist() == [5]
    assert scaler.scale_ == pytest.approx(10 * math.sqrt(7) / 8)


def test_only_training_nodes_count(graph: FeatureGraph) -> None:
    scaler = FeatureScaler().fit(graph, nodes=[0, 1, 3])
    assert list(scaler.features_) == ["size"]
    assert scaler.centre_.tolist() == [150]
    assert scaler.scale_.tolist() == [50]
    assert scaler.transform(graph).features_of(2) == {"size": 3.0}


def test_features_seen_later_follow_the_stated_rule(graph: FeatureGraph) -> None:
    scaler = FeatureScaler().fit(graph)
    later = column([0.5, -1, 1, math.e, -(math.e**4), 0], "new")
    np.testing.assert_allclose(scaler.transform_values(later), [0.5, -1, 1, 2, -5, 0])
    # What else arrives makes no difference.
    alone = column([math.e], "new")
    assert scaler.transform_values(alone)[0] == scaler.transform_values(later)[3]


def test_a_feature_with_one_distinct_value_has_no_statistics() -> None:
    scaler = FeatureScaler().fit(column([5000.0, 5000.0]))
    assert len(scaler.features_) == 0
    np.testing.assert_allclose(scaler.transform_values(column([5000.0])), [1 + math.log(5000)])


def test_positions_of_features_do_not_matter(graph: FeatureGraph) -> None:
    scaler = FeatureScaler().fit(graph)
    other = FeatureGraph.from_arrays(1, ["size", "more", "tag"], ([0, 0], [0, 2], [200, 1]))
    assert scaler.transform(other).features_of(0) == {"size": 0.0, "tag": 1.0}


def test_no_scaling_leaves_everything(graph: FeatureGraph) -> None:
    scaler = FeatureScaler("none").fit(graph)
    assert scaler.transform(graph) == graph
    assert scaler.transform(column([1e9], "new")) == column([1e9], "new")
    assert scaler.inverse_transform(graph) == graph


@pytest.mark.parametrize("method", ["standard", "robust"])
@pytest.mark.parametrize("size", [1e30, 1e300, 1e-30, 1e-300])
def test_extreme_values_do_not_overflow(method: str, size: float) -> None:
    graph = column([-size, size, 0.0, size / 2])
    scaled = FeatureScaler(method).fit(graph).transform_values(graph)  # type: ignore[arg-type]
    same = column([-1, 1, 0.0, 0.5])
    expected = FeatureScaler(method).fit(same).transform_values(same)  # type: ignore[arg-type]
    np.testing.assert_allclose(scaled, expected, rtol=1e-12, atol=1e-12)


def test_values_far_outside_stay_finite() -> None:
    scaler = FeatureScaler().fit(column([1e-300, 2e-300]))
    assert scaler.transform_values(column([1e300])).tolist() == [1e6]
    single = scaler.transform(column([-3e38], dtype=np.float32))
    assert single.values.data.dtype == np.float32
    assert np.isfinite(single.values.data).all()


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.floats(-1e6, -1e-3), st.floats(1e-3, 1e6), st.just(0.0)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["standard", "robust", "none"]),
)
def test_the_inverse_leads_back(values: list[float], method: str) -> None:
    graph = column(values)
    scaler = FeatureScaler(method).fit(graph, nodes=[0, len(values) - 1])  # type: ignore[arg-type]
    scaled = scaler.transform(graph)
    back = scaler.inverse_transform(scaled).values.data
    widest = max(map(abs, values))
    led = np.abs(scaled.values.data) < FARTHEST if method != "none" else slice(None)
    np.testing.assert_allclose(
        back[led], np.array(values)[led], rtol=1e-6, atol=1e-9 * max(widest, 1)
    )


@settings(deadline=None)
@given(feature_graphs(), st.sampled_from(["standard", "robust", "none"]))
def test_scaling_keeps_the_cells_and_is_finite(graph: FeatureGraph, method: str) -> None:
    scaler = FeatureScaler(method).fit(graph)  # type: ignore[arg-type]
    scaled = scaler.transform(graph)
    np.testing.assert_array_equal(scaled.values.indptr, graph.values.indptr)
    np.testing.assert_array_equal(scaled.values.indices, graph.values.indices)
    assert scaled.values.data.dtype == graph.values.data.dtype
    assert np.isfinite(scaled.values.data).all()


def test_a_scaler_is_stored_and_read(graph: FeatureGraph) -> None:
    scaler = FeatureScaler("robust").fit(graph)
    stored = json.loads(json.dumps(scaler.to_dict()))
    back = FeatureScaler.from_dict(stored)
    assert back.transform(graph) == scaler.transform(graph)
    assert back.to_dict() == scaler.to_dict()
    assert repr(back) == "FeatureScaler('robust', 1 features)"


@pytest.mark.parametrize(
    "damage",
    [{"scale": [0.0]}, {"scale": [1.0, 2.0]}, {"method": "other"}, {"centre": ["x"]}, {"scale": 1}],
)
def test_a_damaged_scaler_is_refused(graph: FeatureGraph, damage: dict[str, object]) -> None:
    stored = {**FeatureScaler().fit(graph).to_dict(), **damage}
    with pytest.raises(ModelFileError, match="damaged"):
        FeatureScaler.from_dict(stored)
    del stored["features"]
    with pytest.raises(ModelFileError, match="features"):
        FeatureScaler.from_dict(stored)


def test_use_before_fit_and_wrong_arguments(graph: FeatureGraph) -> None:
    with pytest.raises(NotFittedError):
        FeatureScaler().transform(graph)
    with pytest.raises(NotFittedError):
        FeatureScaler().to_dict()
    assert repr(FeatureScaler()) == "FeatureScaler('standard')"
    with pytest.raises(ParameterError, match="'minmax'"):
        FeatureScaler("minmax").fit(graph)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Training node 9"):
        FeatureScaler().fit(graph, nodes=[0, 9])
    with pytest.raises(DataError, match="Training node -1"):
        FeatureScaler().fit(graph, nodes=[-1])
    with pytest.raises(DataError, match="by position, got bool"):
        FeatureScaler().fit(graph, nodes=[True, False, True, True])


def test_a_range_beyond_the_largest_number_is_cut_off() -> None:
    largest = float(np.finfo(float).max)
    values = [-largest, -largest, largest, largest]
    graph = FeatureGraph.from_arrays(4, ["f"], ([0, 1, 2, 3], [0, 0, 0, 0], values))
    scaler = FeatureScaler("robust").fit(graph)
    assert scaler.scale_.tolist() == [largest]
    assert scaler.transform(graph).values.data.tolist() == [-1, -1, 1, 1]
