"""The estimators that a saved model may name, and where they live."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grafenne.errors import unknown_name

if TYPE_CHECKING:
    from grafenne.estimators.base import NetworkEstimator

ESTIMATORS: dict[str, str] = {
    "GrafenneClassifier": "grafenne.estimators",
    "GrafenneLinkPredictor": "grafenne.estimators",
    "GrafenneRegressor": "grafenne.estimators",
    "AllotropicGnnClassifier": "grafenne.baselines",
    "AllotropicGnnLinkPredictor": "grafenne.baselines",
    "FateClassifier": "grafenne.baselines",
    "GcnmfClassifier": "grafenne.baselines",
    "GraphNetworkClassifier": "grafenne.baselines",
    "GraphNetworkLinkPredictor": "grafenne.baselines",
    "PagnnClassifier": "grafenne.baselines",
}
"""Where each kind of estimator lives; a kind that is listed here can be saved and loaded."""

WRAPPERS: dict[str, str] = {
    "ImputedClassifier": "grafenne.impute",
    "ImputedLinkPredictor": "grafenne.impute",
    "ImputedRegressor": "grafenne.impute",
}
"""Where each kind of estimator lives that puts something in front of another one."""


def estimator_kind(name: str) -> type[NetworkEstimator]:
    """The class of that name."""
    kind: type[NetworkEstimator] = _find(name, ESTIMATORS)
    return kind


def wrapper_kind(name: str) -> Any:
    """The class of that name."""
    return _find(name, WRAPPERS)


def _find(name: str, homes: dict[str, str]) -> Any:
    if name not in homes:
        raise unknown_name("estimator", name, homes)
    return getattr(import_module(homes[name]), name)
