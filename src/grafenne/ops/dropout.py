"""Dropout with cheap randomness.

After the sparse products, drawing a float per element is nearly half of a training step. Eight
random bits decide as well: rates are rounded to multiples of 1/256.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.errors import ParameterError


class RandomBits:
    """A seeded stream of random bytes whose state can be saved and restored.

    Args:
        seed: Start of the stream.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.SFC64(seed)
        self._generator = np.random.Generator(self._bits)

    def keep(self, count: int, rate: float, device: torch.device | str = "cpu") -> Tensor:
        """``count`` booleans, each false with probability ``rate`` (in steps of 1/256)."""
        return torch.from_numpy(self._bytes(count) >= threshold(rate)).to(device)

    def weights(
        self, count: int, rate: float, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> Tensor:
        """The same as numbers: zero, or what keeps a sum as it was on average."""
        out = torch.empty(count, dtype=dtype)
        torch.ge(torch.from_numpy(self._bytes(count)), threshold(rate), out=out)
        return out.to(device).mul_(256 / (256 - threshold(rate)))

    def _bytes(self, count: int) -> NDArray[np.uint8]:
        whole_words = count % 8 == 0 and not self._bits.state["has_uint32"]
        if whole_words and sys.byteorder == "little":  # the same bytes, four times as fast
            return self._bits.random_raw(count // 8).view(np.uint8)
        return np.frombuffer(bytearray(self._generator.bytes(count)), dtype=np.uint8)

    def generator(self) -> np.random.Generator:
        """The underlying generator, for draws other than bits."""
        return self._generator

    def state(self) -> dict[str, Any]:
        """The state, as plain numbers."""
        state: Any = self._bits.state
        plain = {key: int(value) for key, value in state.items() if key.startswith(("has", "uin"))}
        return {"state": [int(word) for word in state["state"]["state"]], **plain}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continues where :meth:`state` was taken."""
        self._bits.state = {
            "bit_generator": "SFC64",
            "state": {"state": np.array(state["state"], dtype=np.uint64)},
            "has_uint32": state["has_uint32"],
            "uinteger": state["uinteger"],
        }


class Dropout(nn.Module):
    """Sets elements to zero with probability ``rate`` while training, and scales up the rest.

    Args:
        rate: Probability, rounded to a multiple of 1/256.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ParameterError(f"A dropout rate is at least 0 and below 1, got {rate}.")
        self.rate = rate
        self.bits: RandomBits | None = None

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"rate={self.rate}"

    @property
    def scale(self) -> float:
        """What kept elements are multiplied by, so that sums stay the same on average."""
        return 256 / (256 - threshold(self.rate))

    def keep(self, count: int, dtype: torch.dtype, device: torch.device) -> Tensor | None:
        """Weights for ``count`` elements, zero or ``scale``; ``None`` when nothing is dropped."""
        if not self.training or threshold(self.rate) == 0:
            return None
        return self._source().weights(count, self.rate, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        """Drops elements of ``input``."""
        if not self.training or threshold(self.rate) == 0:
            return input
        source = self._source()
        return input * source.weights(input.numel(), self.rate, input.dtype, input.device).view(
            input.shape
        )

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Drops elements of matrices that are set side by side, ``[rows, sum of the widths]``.

        The same as dropping after joining, with fewer passes over the memory.
        """
        if not self.training or threshold(self.rate) == 0 or len(parts) == 1:
            return self.forward(torch.cat(tuple(parts), dim=1) if len(parts) > 1 else parts[0])
        like, width = parts[0], sum(part.shape[1] for part in parts)
        count = len(like) * width
        weights = self._source().weights(count, self.rate, like.dtype, like.device)
        result: Tensor = _JoinedProduct.apply(  # type: ignore[no-untyped-call]
            weights.view(len(like), width), *parts
        )
        return result

    def _source(self) -> RandomBits:
        if self.bits is None:
            # Used on its own, outside a training loop: follow torch's seed.
            self.bits = RandomBits(int(torch.randint(2**62, ()).item()))
        return self.bits


class _JoinedProduct(torch.autograd.Function):
    """Parts side by side, times constant weights."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, *parts: Tensor) -> Tensor:
        ctx.widths = [part.shape[1] for part in parts]
        ctx.save_for_backward(weights)
        out = torch.empty_like(weights)
        for part, weight, place in zip(
            parts,
            torch.split(weights, ctx.widths, dim=1),
            torch.split(out, ctx.widths, dim=1),
            strict=True,
        ):
            torch.mul(part, weight, out=place)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (weights,) = ctx.saved_tensors
        pairs = zip(
            torch.split(grads[0], ctx.widths, dim=1),
            torch.split(weights, ctx.widths, dim=1),
            strict=True,
        )
        return None, *(
            gradient * weight if needed else None
            for needed, (gradient, weight) in zip(ctx.needs_input_grad[1:], pairs, strict=True)
        )


def hashed_keep(places: Tensor, rate: float, seed: int) -> Tensor:
    """Booleans, false with probability ``rate``, that depend only on the place and the seed.

    Two batches, or two layers of one, that meet the same place make the same choice, without a
    mask over all places.
    """
    # The finaliser of SplitMix64: every bit of the input reaches the top byte.
    # Seeds are spread first: two that follow each other must not give the same mask, moved by one.
    start = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    with np.errstate(over="ignore"):
        mixed = places.cpu().numpy().astype(np.uint64) + start
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    kept = (mixed >> np.uint64(56)).astype(np.int64) >= threshold(rate)
    return torch.from_numpy(kept).to(places.device)


def threshold(rate: float) -> int:
    """The byte below which an element is dropped; some always stay, as the rate is below 1."""
    return min(round(rate * 256), 255)


def set_random_bits(module: nn.Module, bits: RandomBits) -> None:
    """Makes every dropout inside ``module`` draw from one stream."""
    for part in module.modules():
        if isinstance(part, Dropout):
            part.bits = bits
