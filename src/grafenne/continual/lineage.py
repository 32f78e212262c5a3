"""Where a model comes from: a digest of what it knows, and one entry per update."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from grafenne.training.identity import describe_setting
from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.continual.strategies import Strategy
    from grafenne.estimators.base import NetworkEstimator

KEYS = ("parent", "delta", "strategy", "settings", "time", "version")
"""What an entry of a lineage tells."""

# How and where a model computes is not what it is; Φ and the backbone are in its weights.
_NOT_PART = ("device", "verbose", "features", "backbone")


def model_digest(estimator: NetworkEstimator) -> str:
    """A SHA-256 of a fitted model: settings, names, scaling and weights, bit for bit.

    It is the same before saving and after loading.
    """
    content = hashlib.sha256(type(estimator).__name__.encode())
    settings = {
        name: describe_setting(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name not in _NOT_PART
    }
    told: list[Any] = [settings, list(getattr(estimator, "classes_", ()))]
    told += [estimator.scaler_.to_dict(), [str(name) for name in estimator.feature_names_in_]]
    if getattr(estimator, "reach_", 0):
        told.append(estimator.reach_)
    if getattr(estimator, "direct_", False):
        told.append("direct")
    smoothing = getattr(estimator, "smoothing_", None)
    if smoothing is not None:
        told += [smoothing.share, smoothing.shown.nodes, smoothing.shown.codes.tolist()]
    content.update(repr(told).encode("utf-8", "surrogatepass"))
    for name, tensor in sorted(estimator.network_.state_dict().items()):
        array = tensor.detach().cpu().contiguous().numpy()
        content.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        content.update(array.tobytes())
    return content.hexdigest()


def lineage_entry(
    estimator: NetworkEstimator, delta_digest: str, strategy: Strategy, **settings: Any
) -> dict[str, Any]:
    """What is kept of one update.

    Args:
        estimator: The model before the update.
        delta_digest: Digest of the change.
        strategy: How the model was updated.
        settings: Further settings of the update.
    """
    return {
        "parent": model_digest(estimator),
        "delta": delta_digest,
        "strategy": strategy.name,
        "settings": {**strategy_settings(strategy), **settings},
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "version": __version__,
    }


def strategy_settings(strategy: Strategy) -> dict[str, Any]:
    """The settings that a strategy was made with, as plain data."""
    return {
        part.name: describe_setting(getattr(strategy, part.name))
        for part in fields(strategy)
        if part.init
    }


def same_update(one: Any, other: dict[str, Any]) -> bool:
    """Whether two entries tell of the same update of the same model, whenever it was done."""
    if not isinstance(one, dict):
        return False
    return all(one.get(key) == other[key] for key in KEYS if key not in ("time", "version"))


def check_lineage(told: Any) -> list[dict[str, Any]]:
    """A lineage as it was read from a file."""
    if not isinstance(told, list) or not all(
        isinstance(entry, dict) and set(KEYS) <= entry.keys() for entry in told
    ):
        raise ValueError("its lineage is not a list of updates")
    return told
