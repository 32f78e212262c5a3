"""What a search draws from: the same number of combinations for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.configuration import LARGE, MANY_MISSING, may_join_zeros, method_of

COMMON: Mapping[str, Sequence[Any]] = {
    "learning_rate": (0.003, 0.01, 0.02),
    "weight_decay": (0.0, 5e-4, 2e-3),
    "dropout": (0.2, 0.5, 0.7),
    "feature_dropout": (0.0, 0.3, 0.6, 0.8),
    "num_layers": (1, 2, 3),
}
"""What every method has. Depth matters where few features are left: they come from afar."""

WIDTHS: Mapping[bool, Sequence[int]] = {False: (64, 128), True: (32, 64)}
"""Widths on small and on large data."""

OWN: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "GraphNetwork": {
        "normalise_rows": (True, False),
        "skip": (False, True),
        "normalisation": ("none", "layer"),
    },
    "Gcnmf": {"normalise_rows": (True, False), "components": (1, 2, 3, 5)},
    "Pagnn": {
        "normalise_rows": (True, False),
        "scaling": ("none", "standard"),
        "schedule": ("constant", "cosine"),
    },
    "Fate": {"normalise_rows": (True, False), "folds": (1, 2, 5, 10)},
    "AllotropicGnn": {
        "features": ("learned", "structural"),
        "normalise_rows": (False, True),
        "normalisation": ("layer", "batch"),
    },
    "Grafenne": {
        "aggregation": ("attention", "mean"),
        "reach": (0, 10),
        "normalisation": ("layer", "batch"),
    },
}
"""What only a family of methods has: eight combinations each."""

ZEROS: Mapping[str, Sequence[Any]] = {
    "aggregation": ("attention", "mean"),
    "reach": (3, 10),
    "observed_zeros": (True, False),
}
"""GRAFENNE's own part where few cells are left: whether observed zeros are edges too."""

FAR = {"reach": (10, 40)}
"""The same where few nodes are labelled too: a node must hear those that are far away."""


UNSCALED: Mapping[str, Sequence[Any]] = {
    "normalise_rows": (True, False),
    "variant": ("mean", "rescaled"),
    "schedule": ("constant", "cosine"),
}
"""PaGNN's own part where too many zeros are known: scaled, each of them would be a value."""


def lists_many_zeros(cell: Cell) -> bool:
    """Whether there are known zeros by the hundred million: on Physics with half of its cells."""
    return cell.dataset in LARGE and 0 < cell.p < MANY_MISSING


def may_see_zeros(cell: Cell) -> bool:
    """Whether a search chooses if GRAFENNE is told which zeros are known."""
    from grafenne.baselines.methods import METHODS

    method = METHODS[method_of(cell)]
    if method.family != "Grafenne" or cell.p < MANY_MISSING:
        return False
    return method.imputer is None or may_join_zeros(cell)


def space_of(cell: Cell) -> dict[str, Sequence[Any]]:
    """The values to draw from for a cell, by setting."""
    from grafenne.baselines.methods import METHODS

    family = METHODS[method_of(cell)].family
    own = UNSCALED if family == "Pagnn" and lists_many_zeros(cell) else OWN[family]
    if may_see_zeros(cell):
        own = {**ZEROS, **FAR} if cell.data.get("split") == "few-labels" else ZEROS
    return {**COMMON, "width": WIDTHS[cell.dataset in LARGE], **own}
