"""Learning on graphs whose nodes have different features that change over time.

The names below are loaded when they are first used, so that ``import grafenne`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph

_HOMES = {
    "FeatureGraph": "grafenne.data.feature_graph",
}

__all__ = ["FeatureGraph", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grafenne' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
