"""Batches of nodes, and making the next one ahead."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grafenne.errors import ParameterError
from grafenne.sampling import Ahead, iterate_batches


def test_batches_hold_every_position_once() -> None:
    positions = np.arange(10, 33)
    batches = list(iterate_batches(positions, 10, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == [10, 10, 3]
    together = np.concatenate(batches)
    assert sorted(together.tolist()) == positions.tolist()
    assert together.tolist() != positions.tolist()
    plain = iterate_batches(torch.from_numpy(positions), 23, np.random.default_rng(0), False)
    assert next(plain).tolist() == positions.tolist()
    with pytest.raises(ParameterError, match="batch_size must be at least 1"):
        next(iterate_batches(positions, 0, np.random.default_rng(0)))


def test_ahead_makes_each_item_once_and_skips_for_free() -> None:
    made: list[int] = []

    def make(item: int) -> int:
        made.append(item)
        return item * item

    with Ahead(make, range(6)) as squares:
        assert [squares.take(number) for number in (2, 3, 5)] == [4, 9, 25]
    assert set(made) <= {2, 3, 4, 5}
    assert len(made) == len(set(made))


def test_ahead_passes_errors_on() -> None:
    def fail(item: int) -> int:
        raise ParameterError(f"item {item} is wrong")

    with Ahead(fail, range(3)) as nothing, pytest.raises(ParameterError, match="item 0 is wrong"):
        nothing.take(0)
