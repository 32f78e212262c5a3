"""Learning on graphs whose nodes have different features that change over time.

The names below are loaded when they are first used, so that ``import grafenne`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.allotrope import AllotropicGraph, to_allotropic
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.missing import drop_features
    from grafenne.data.scaling import FeatureScaler
    from grafenne.data.split import Split, random_split
    from grafenne.data.stream import GraphStream
    from grafenne.estimators import (
        GrafenneClassifier,
        GrafenneLinkPredictor,
        GrafenneRegressor,
    )
    from grafenne.tasks.links import EdgeSplit, split_edges

_HOMES = {
    "AllotropicGraph": "grafenne.allotrope",
    "EdgeSplit": "grafenne.tasks.links",
    "FeatureGraph": "grafenne.data.feature_graph",
    "FeatureScaler": "grafenne.data.scaling",
    "GrafenneClassifier": "grafenne.estimators",
    "GrafenneLinkPredictor": "grafenne.estimators",
    "GrafenneRegressor": "grafenne.estimators",
    "GraphDelta": "grafenne.data.delta",
    "GraphStream": "grafenne.data.stream",
    "Split": "grafenne.data.split",
    "drop_features": "grafenne.data.missing",
    "random_split": "grafenne.data.split",
    "split_edges": "grafenne.tasks.links",
    "to_allotropic": "grafenne.allotrope",
}

_ROOMS = ("datasets", "nn")

__all__ = [
    "AllotropicGraph",
    "EdgeSplit",
    "FeatureGraph",
    "FeatureScaler",
    "GrafenneClassifier",
    "GrafenneLinkPredictor",
    "GrafenneRegressor",
    "GraphDelta",
    "GraphStream",
    "Split",
    "__version__",
    "drop_features",
    "random_split",
    "split_edges",
    "to_allotropic",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"grafenne.{name}")
    raise AttributeError(f"module 'grafenne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_ROOMS))
