"""The kind of a feature, which is the first part of its name."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = re.compile("[:=]")


def feature_kind(name: str) -> str:
    """What stands before the first ``:`` or ``=``, or the whole name where there is neither.

    ``tag`` for ``tag:role::program``, ``priority`` for ``priority=optional``, ``size`` for
    ``size``.
    """
    return _SEPARATOR.split(name, maxsplit=1)[0]


def feature_kinds(names: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The kinds in order of appearance, and for each name the position of its kind."""
    kinds: dict[str, int] = {}
    codes = [kinds.setdefault(feature_kind(name), len(kinds)) for name in names]
    return list(kinds), np.array(codes, dtype=np.int64)
