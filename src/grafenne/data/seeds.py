"""Randomness from a seed."""

from __future__ import annotations

import numpy as np

from grafenne.errors import ParameterError, shown


def seeded(seed: int, *part: int) -> np.random.Generator:
    """A generator made from a seed, which is a whole number from 0.

    Args:
        seed: The seed.
        part: Sets apart several generators of one seed.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(f"A seed is a whole number from 0, got {shown(seed)}.")
    return np.random.default_rng([seed, *part] if part else seed)
