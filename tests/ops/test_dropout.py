from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from grafenne.errors import ParameterError
from grafenne.ops import Dropout, RandomBits, hashed_keep, set_random_bits

COUNT = 200_000


def bound(rate: float) -> float:
    """Five standard deviations of a binomial share."""
    return 5 * math.sqrt(rate * (1 - rate) / COUNT)


@pytest.mark.parametrize("rate", [0.0625, 0.25, 0.5, 0.8125])
def test_rates_hold(rate: float) -> None:
    kept = RandomBits(3).keep(COUNT, rate)
    assert kept.dtype == torch.bool
    assert abs(1 - kept.double().mean().item() - rate) < bound(rate)


def test_neighbouring_draws_are_independent() -> None:
    kept = RandomBits(4).keep(COUNT, 0.5)
    together = (kept[1:] & kept[:-1]).double().mean().item()
    assert abs(together - 0.25) < 2 * bound(0.25)


def test_bytes_come_in_the_order_of_the_generator_however_many_are_asked_for() -> None:
    bits, generator = RandomBits(5), np.random.Generator(np.random.SFC64(5))
    for count in (8, 64, 7, 8, 3, 16, 12, 64, 1001, 8, 5, 6, 8):
        expected = np.frombuffer(generator.bytes(count), dtype=np.uint8) >= 64
        assert bits.keep(count, 0.25).numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_dropout_keeps_the_mean(rate: float) -> None:
    dropout = Dropout(rate)
    dropout.bits = RandomBits(0)
    dropped = dropout(torch.ones(COUNT // 10, 10))
    assert dropped.unique().tolist() == [0.0, pytest.approx(1 / (1 - rate))]
    assert abs(dropped.mean().item() - 1) < bound(rate) / (1 - rate)


@pytest.mark.parametrize("widths", [(3,), (3, 1, 4)])
def test_matrices_side_by_side_are_dropped_as_if_they_were_joined(widths: tuple[int, ...]) -> None:
    parts = [torch.randn(50, width, requires_grad=True) for width in widths]
    direction = torch.randn(50, sum(widths))
    found = []
    for together in (True, False):
        dropout = Dropout(0.3)
        dropout.bits = RandomBits(1)
        out = dropout.joined(parts) if together else dropout(torch.cat(parts, dim=1))
        found.append([out, *torch.autograd.grad((out * direction).sum(), parts)])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    assert torch.equal(Dropout(0.3).eval().joined(parts), torch.cat(parts, dim=1))


def test_evaluation_is_the_identity() -> None:
    dropout = Dropout(0.5).eval()
    states = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert dropout(states) is states
    assert dropout.keep(10, torch.float32, torch.device("cpu")) is None
    assert dropout.bits is None  # nothing was drawn


def test_rate_zero_draws_nothing() -> None:
    dropout = Dropout(0.0)
    states = torch.ones(3)
    assert dropout(states) is states
    assert dropout.keep(3, torch.float32, torch.device("cpu")) is None


def test_same_seed_same_masks() -> None:
    first, second, other = RandomBits(7), RandomBits(7), RandomBits(8)
    assert torch.equal(first.keep(1000, 0.5), second.keep(1000, 0.5))
    assert not torch.equal(first.keep(1000, 0.5), other.keep(1000, 0.5))


@pytest.mark.parametrize("before", [0, 1, 5, 64, 1001])
def test_a_restored_state_continues_bit_for_bit(before: int) -> None:
    bits = RandomBits(11)
    bits.keep(before, 0.5)
    bits.generator().random(3)
    bits.generator().integers(100, size=before, dtype="int32")
    state = json.loads(json.dumps(bits.state()))  # a checkpoint holds plain numbers
    there = [bits.keep(77, 0.3), bits.keep(1, 0.5), bits.keep(500, 0.9)]
    draws = bits.generator().random(5).tolist()
    later = RandomBits(999)
    later.keep(13, 0.5)
    later.set_state(state)
    again = [later.keep(77, 0.3), later.keep(1, 0.5), later.keep(500, 0.9)]
    assert all(torch.equal(a, b) for a, b in zip(there, again, strict=True))
    assert later.generator().random(5).tolist() == draws


def test_one_stream_for_a_whole_network() -> None:
    def network() -> nn.Sequential:
        return nn.Sequential(Dropout(0.5), nn.Sequential(Dropout(0.25)), nn.ReLU())

    results = []
    for seed in (5, 5, 6):
        made = network()
        set_random_bits(made, RandomBits(seed))
        assert made[0].bits is made[1][0].bits
        results.append(made(torch.ones(50, 4)))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_on_its_own_it_follows_the_seed_of_torch() -> None:
    results = []
    for _ in range(2):
        torch.manual_seed(21)
        results.append(Dropout(0.5)(torch.ones(100)))
    assert torch.equal(results[0], results[1])
    assert 0 < (results[0] == 0).sum() < 100


def test_masks_hold_zero_or_the_scale_in_the_asked_type() -> None:
    dropout = Dropout(0.5)
    dropout.bits = RandomBits(1)
    keep = dropout.keep(1000, torch.float64, torch.device("cpu"))
    assert keep is not None
    assert keep.dtype == torch.float64
    assert set(keep.tolist()) == {0.0, 2.0}


def test_a_dropped_element_gets_no_gradient() -> None:
    dropout = Dropout(0.5)
    dropout.bits = RandomBits(2)
    states = torch.ones(100, requires_grad=True)
    result = dropout(states)
    result.sum().backward()
    assert torch.equal(states.grad, result.detach())


def test_a_rate_close_to_one_leaves_something() -> None:
    dropout = Dropout(0.9999)
    dropout.bits = RandomBits(0)
    result = dropout(torch.ones(COUNT))
    assert result.isfinite().all()
    assert 0 < (result > 0).double().mean() < 0.01
    assert abs(result.mean().item() - 1) < 0.2


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_hashed_masks_hold_the_rate_and_differ_from_seed_to_seed(rate: float) -> None:
    places = torch.arange(COUNT)
    masks = [hashed_keep(places, rate, seed) for seed in range(3)]
    for mask in masks:
        assert abs(1 - mask.double().mean().item() - rate) < bound(rate)
    both = (masks[0] & masks[1]).double().mean().item()
    assert abs(both - (1 - rate) ** 2) < 2 * bound(rate)
    assert not torch.equal(masks[0][1:], masks[1][:-1])  # nor is one the other, moved by one


def test_a_hashed_mask_depends_on_the_place_and_the_seed_alone() -> None:
    places = torch.arange(1000)
    mask = hashed_keep(places, 0.5, 17)
    some = torch.tensor([3, 999, 0, 3])
    assert torch.equal(hashed_keep(some, 0.5, 17), mask[some])
    assert torch.equal(hashed_keep(places.int(), 0.5, 17), mask)
    assert hashed_keep(places, 0.0, 17).all()
    assert 0 < hashed_keep(torch.arange(COUNT), 0.9999, 17).sum() < 0.01 * COUNT


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_impossible_rates(rate: float) -> None:
    with pytest.raises(ParameterError, match="at least 0 and below 1"):
        Dropout(rate)


def test_repr_tells_the_rate() -> None:
    assert repr(Dropout(0.25)) == "Dropout(rate=0.25)"
