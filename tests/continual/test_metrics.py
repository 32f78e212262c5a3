from __future__ import annotations

import math

import pytest

from grafenne.continual import metrics
from grafenne.errors import DataError

NAN = float("nan")
# Rows: after steps 0, 1, 2. Columns: nodes of the first snapshot, touched at step 1, at step 2.
ACCURACY = [
    [0.90, NAN, NAN],
    [0.94, 0.70, NAN],
    [0.88, 0.76, 0.50],
]


def test_average_performance() -> None:
    assert metrics.average_performance([0.9, 0.8, NAN]) == pytest.approx(0.85)


def test_forgetting() -> None:
    # First group: best 0.94, at last 0.88. Second: best 0.70, at last 0.76.
    assert metrics.forgetting(ACCURACY) == pytest.approx((0.06 - 0.06) / 2)


def test_backward_transfer() -> None:
    # First group: 0.90 to 0.88. Second: 0.70 to 0.76.
    assert metrics.backward_transfer(ACCURACY) == pytest.approx((-0.02 + 0.06) / 2)


def test_forward_transfer() -> None:
    assert metrics.forward_transfer([0.60, 0.70], [0.60, 0.64]) == pytest.approx(0.03)


def test_update_forgetting() -> None:
    assert metrics.update_forgetting([0.9, 0.8, NAN], [0.88, 0.81, NAN]) == pytest.approx(0.005)


def test_oracle_gap() -> None:
    assert metrics.oracle_gap([0.80, 0.70], [0.85, 0.71]) == pytest.approx(0.03)


def test_nothing_to_tell() -> None:
    assert math.isnan(metrics.forgetting([[0.9]]))
    assert math.isnan(metrics.average_performance([]))


def test_groups_that_vanish_are_left_out() -> None:
    assert metrics.backward_transfer([[0.9, NAN], [NAN, 0.5]]) != 0.0
    assert math.isnan(metrics.backward_transfer([[0.9, NAN], [NAN, 0.5]]))


def test_lengths_must_fit() -> None:
    with pytest.raises(DataError, match="2 and 1"):
        metrics.forward_transfer([0.5, 0.6], [0.5])
    with pytest.raises(DataError, match="row per step"):
        metrics.forgetting([[0.9, 0.8]])
