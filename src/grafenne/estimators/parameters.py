"""Checks the settings of an estimator when it is fitted, each by the name the user gave it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import torch

from grafenne.data.scaling import METHODS
from grafenne.errors import ParameterError, unknown_name
from grafenne.nn.attention import AGGREGATIONS
from grafenne.nn.features import KINDS, is_learned
from grafenne.nn.layer import NORMALISATIONS
from grafenne.nn.node_to_node import BACKBONES
from grafenne.nn.phase import MODES
from grafenne.tasks.class_shares import check_class_shares
from grafenne.training.loop import SCHEDULES, SELECTIONS

if TYPE_CHECKING:
    from grafenne.estimators.base import NetworkEstimator

COUNTS = ("width", "heads", "epochs", "patience")
OPTIONAL_COUNTS = ("batch_size", "num_layers")
BOUNDS = ("neighbours", "features_per_node", "nodes_per_feature")
SHARES = ("dropout", "feature_dropout", "kind_dropout", "node_dropout", "validation_share",
          "hidden_share")  # fmt: skip
MAY_BE_OPEN = ("feature_dropout", "hidden_share")
NAMES: dict[str, Sequence[str]] = {
    "backbone": tuple(BACKBONES),
    "features": KINDS,
    "mode": MODES,
    "aggregation": AGGREGATIONS,
    "normalisation": NORMALISATIONS,
    "scaling": METHODS,
    "direction": ("both", "in", "out"),
    "schedule": SCHEDULES,
    "select": SELECTIONS,
}


def check_parameters(estimator: NetworkEstimator) -> None:
    """Raises an error that names the first setting that is not what it may be.

    Each kind of estimator has some of the settings; those of the same name mean the same.
    """
    settings = estimator.get_params(deep=False)
    for name in _present(COUNTS, settings):
        _check_count(name, settings[name])
    for name in _present(OPTIONAL_COUNTS, settings):
        if settings[name] is not None:
            _check_count(name, settings[name])
    if not is_reach(settings.get("reach")):
        raise ParameterError(
            f"reach must be a whole number from 0 to 1000, got {settings['reach']!r}."
        )
    _check_direct(settings)
    _check_smoothing(settings.get("smoothing"))
    check_class_shares(settings.get("class_shares"))
    for name in _present(SHARES, settings):
        value = settings[name]
        if name in MAY_BE_OPEN and value is None:
            continue
        if not (isinstance(value, Real) and 0 <= float(value) < 1):
            raise ParameterError(f"{name} must be at least 0 and below 1, got {value!r}.")
    averaging = settings["averaging"]
    if not (isinstance(averaging, Real) and 0 <= float(averaging) <= 1):
        raise ParameterError(f"averaging must be from 0 to 1, got {averaging!r}.")
    for name in _present(NAMES, settings):
        value, known = settings[name], NAMES[name]
        open_ended = name in ("backbone", "features") and not isinstance(value, str)
        if not open_ended and value not in known:
            raise unknown_name(name, value, known)
    if settings["width"] % settings.get("heads", 1):
        raise ParameterError(
            f"width must be a multiple of heads, got {settings['width']} and {settings['heads']}."
        )
    _check_size("learning_rate", settings["learning_rate"], above_zero=True)
    _check_size("weight_decay", settings["weight_decay"], above_zero=False)
    if settings.get("feature_decay") is not None:
        _check_size("feature_decay", settings["feature_decay"], above_zero=False)
    if settings["clip_norm"] is not None:
        _check_size("clip_norm", settings["clip_norm"], above_zero=True)
    seed = settings["random_state"]
    if not isinstance(seed, Integral) or seed < 0:
        raise ParameterError(f"random_state must be a whole number from 0, got {seed!r}.")
    for name in _present(BOUNDS, settings):
        _check_bounds(name, settings[name], estimator._num_layers)
    check_device(settings["device"])


def is_reach(value: Any) -> bool:
    """Whether a setting is a number of steps, or left to the estimator."""
    return value is None or (
        isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= 1000
    )


def _check_direct(settings: Mapping[str, Any]) -> None:
    direct, features = settings.get("direct"), settings.get("features")
    if direct is not None and not isinstance(direct, bool):
        raise ParameterError(f"direct is True, False or None, got {direct!r}.")
    if direct and not is_learned(features):
        raise ParameterError(
            "direct is for features='learned' or 'company', where each has vectors of its own."
        )


def _check_smoothing(smoothing: Any) -> None:
    if smoothing is None or smoothing == "auto":
        return
    number = isinstance(smoothing, Real) and not isinstance(smoothing, bool)
    if not (number and 0 <= float(smoothing) < 1):
        raise ParameterError(f"smoothing is 'auto', or at least 0 and below 1, got {smoothing!r}.")


def check_device(device: Any) -> None:
    """Raises unless torch can compute on ``device`` here."""
    if device is None:  # torch would take the default where memory is asked for, and nothing else
        raise ParameterError("device names where to compute, such as 'cpu', got None.")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ParameterError(f"device {device!r} cannot be used here: {reason}.") from None


def _present(names: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    return [name for name in names if name in settings]


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be a whole number from 1, got {value!r}.")


def _check_size(name: str, value: Any, *, above_zero: bool) -> None:
    fits = isinstance(value, Real) and math.isfinite(value) and float(value) >= 0
    if not fits or (above_zero and value == 0):
        least = "above 0" if above_zero else "at least 0"
        raise ParameterError(f"{name} must be a number {least}, got {value!r}.")


def _check_bounds(name: str, bounds: Any, num_layers: int) -> None:
    if isinstance(bounds, Sequence) and not isinstance(bounds, str):
        if len(bounds) != num_layers:
            raise ParameterError(
                f"{name} must give one bound for each of the {num_layers} layers, got "
                f"{len(bounds)}."
            )
    else:
        bounds = [bounds]
    for bound in bounds:
        if bound is not None:
            _check_count(name, bound)
