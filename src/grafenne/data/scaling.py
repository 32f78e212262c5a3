"""Brings numeric features to a common scale, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ModelFileError, NotFittedError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph

ScalingMethod = Literal["standard", "robust", "none"]
METHODS = ("standard", "robust", "none")

FARTHEST = 1e6
"""Values are cut off so many scales away from the centre.

That is far beyond use, and a network of 32-bit numbers can still square what becomes of it: with
1e30 a single such value made the predictions for other nodes undefined.
"""


class FeatureScaler:
    """Centres and scales each feature by what the training nodes show.

    A value ``x`` of a feature with statistics becomes ``(x - centre) / scale``. Absent cells stay
    absent, and the work is that of the stored values.

    A feature *without* statistics was first seen after training, or showed only one distinct
    value in training, as binary features do. No statistics are borrowed from the graph in which
    it arrives, because a prediction must not depend on what else is in the batch; instead a
    value with ``|x| <= 1`` stays as it is and a larger one becomes ``sign(x) (1 + log|x|)``.
    A binary 1 therefore stays 1.

    Args:
        method: ``standard`` uses mean and standard deviation; ``robust`` median and
            interquartile range (the standard deviation where that range is zero); ``none``
            leaves everything as it is.

    Attributes:
        features_: Names of the features that have statistics.
        centre_: Centre of each of them.
        scale_: Scale of each of them, positive.
    """

    features_: Vocabulary
    centre_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def __init__(self, method: ScalingMethod = "standard") -> None:
        self.method = method

    def fit(self, graph: FeatureGraph, nodes: ArrayLike | None = None) -> FeatureScaler:
        """Learns the statistics.

        Args:
            graph: The graph to learn from.
            nodes: Positions of the training nodes; all nodes by default.
        """
        if self.method not in METHODS:
            raise ParameterError(
                f"The scaling method is one of {', '.join(METHODS)}, got {self.method!r}."
            )
        values, feature = graph.values.data, graph.values.indices
        chosen = None if nodes is None else _chosen(nodes, graph.num_nodes)
        if graph.values.is_binary:  # every feature shows one value: nothing to read or to copy
            values, feature = values[:0], feature[:0]
        elif chosen is not None:
            kept = chosen[graph.values.rows]
            values, feature = values[kept], feature[kept]
        used = np.empty(0, dtype=np.int64)
        centre = scale = np.empty(0)
        if self.method != "none" and len(values):
            used, centre, scale = _statistics(
                feature.astype(np.int64), values.astype(np.float64), self.method == "robust"
            )
        self.features_ = Vocabulary(graph.features.take(used), kind="feature")
        self.centre_, self.scale_ = centre, scale
        return self

    def transform_values(self, graph: FeatureGraph) -> NDArray[np.float64]:
        """The scaled values of a graph's triples, in storage order."""
        known, centre, scale = self._of_triples(graph)
        value = graph.values.data.astype(np.float64)
        if self.method == "none":
            return value
        with np.errstate(over="ignore"):
            scaled = np.where(known, (value - centre) / scale, _squash(value))
        return np.clip(scaled, -FARTHEST, FARTHEST)

    def transform(self, graph: FeatureGraph) -> FeatureGraph:
        """A copy of the graph with scaled values; the graph itself where none of them changes."""
        self._check_fitted()
        if graph.values.is_binary and not (self.features_.find(graph.features) >= 0).any():
            return graph
        return _with_values(graph, self.transform_values(graph))

    def inverse_transform(self, graph: FeatureGraph) -> FeatureGraph:
        """The way back from :meth:`transform`, up to rounding; not for values that were cut off."""
        known, centre, scale = self._of_triples(graph)
        value = graph.values.data.astype(np.float64)
        if self.method != "none":
            with np.errstate(over="ignore"):
                value = np.where(known, value * scale + centre, _stretch(value))
        return _with_values(graph, value)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and text, to be stored with a model."""
        self._check_fitted()
        return {
            "method": self.method,
            "features": list(self.features_),
            "centre": self.centre_.tolist(),
            "scale": self.scale_.tolist(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FeatureScaler:
        """The scaler that :meth:`to_dict` described."""
        try:
            scaler = cls(stored["method"])
            scaler.features_ = Vocabulary(stored["features"], kind="feature")
            scaler.centre_ = np.asarray(stored["centre"], dtype=np.float64)
            scaler.scale_ = np.asarray(stored["scale"], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"The stored scaling is damaged: {error!r}.") from None
        count = len(scaler.features_)
        fits = scaler.centre_.shape == scaler.scale_.shape == (count,) and scaler.method in METHODS
        sound = np.isfinite(scaler.centre_).all() and np.isfinite(scaler.scale_).all()
        if not fits or not sound or (scaler.scale_ <= 0).any():
            raise ModelFileError("The stored scaling is damaged: its parts do not fit together.")
        return scaler

    def __repr__(self) -> str:
        fitted = f", {len(self.features_):,} features" if hasattr(self, "features_") else ""
        return f"FeatureScaler({self.method!r}{fitted})"

    def _check_fitted(self) -> None:
        if not hasattr(self, "features_"):
            raise NotFittedError("This FeatureScaler is not fitted yet; call fit first.")

    def _of_triples(
        self, graph: FeatureGraph
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
        """For each triple: whether its feature has statistics, the centre, and the scale."""
        self._check_fitted()
        place = self.features_.find(graph.features)[graph.values.indices]
        # One more place at the end serves the features without statistics, which are -1.
        centre = np.append(self.centre_, 0.0)[place]
        scale = np.append(self.scale_, 1.0)[place]
        return place >= 0, centre, scale


def _chosen(nodes: ArrayLike, count: int) -> NDArray[np.bool_]:
    positions = np.asarray(nodes)
    if positions.size and positions.dtype.kind not in "iu":
        raise DataError(f"Training nodes are given by position, got {positions.dtype}.")
    if positions.size and not 0 <= positions.min() <= positions.max() < count:
        wrong = positions.min() if positions.min() < 0 else positions.max()
        raise DataError(f"Training node {wrong} is not among the {count} nodes of the graph.")
    chosen = np.zeros(count, dtype=bool)
    chosen[positions.astype(np.int64)] = True
    return chosen


def _statistics(
    feature: NDArray[np.int64], value: NDArray[np.float64], robust: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Features with at least two distinct values, their centres and their scales."""
    order = np.lexsort((value, feature))
    feature, value = feature[order], value[order]
    begin = np.flatnonzero(np.concatenate(([True], feature[1:] != feature[:-1])))
    count = np.diff(np.append(begin, len(feature)))
    names = feature[begin]
    group = np.repeat(np.arange(len(begin)), count)
    # Sums and squares are taken of numbers brought to at most 1, so that none can overflow.
    largest = np.maximum(np.maximum.reduceat(np.abs(value), begin), np.finfo(float).tiny)
    mean = np.bincount(group, value / largest[group]) / count  # in units of the largest
    gap = value / largest[group] - mean[group]
    widest = np.maximum(np.maximum.reduceat(np.abs(gap), begin), np.finfo(float).tiny)
    spread = np.sqrt(np.bincount(group, (gap / widest[group]) ** 2) / count)
    centre, scale = mean * largest, spread * widest * largest
    if robust:
        centre = _quantile(value, begin, count, 0.5)
        # Half of it, for the whole may be more than the largest number.
        upper, lower = (_quantile(value / 2, begin, count, share) for share in (0.75, 0.25))
        between = 2 * np.minimum(upper - lower, np.finfo(float).max / 2)
        scale = np.where(between > 0, between, scale)
    varied = value[begin] != value[begin + count - 1]
    varied &= (scale > 0) & np.isfinite(scale) & np.isfinite(centre)
    return names[varied], centre[varied], scale[varied]


def _quantile(
    value: NDArray[np.float64], begin: NDArray[np.int64], count: NDArray[np.int64], share: float
) -> NDArray[np.float64]:
    """The quantile of each run of sorted values, between neighbours by linear interpolation."""
    at = share * (count - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, count - 1)
    part = at - low
    quantile: NDArray[np.float64] = value[begin + low] * (1 - part) + value[begin + high] * part
    return quantile


def _squash(value: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.maximum(np.abs(value), 1.0)
    return np.where(np.abs(value) <= 1, value, np.sign(value) * (1 + np.log(size)))


def _stretch(value: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(value) <= 1, value, np.sign(value) * np.exp(np.abs(value) - 1))


def _with_values(graph: FeatureGraph, value: NDArray[np.float64]) -> FeatureGraph:
    """The graph with other values in the same cells, in the precision the graph had."""
    old = graph.values
    limit = float(np.finfo(old.data.dtype).max)
    data = np.clip(value, -limit, limit).astype(old.data.dtype)
    return graph.replace(values=old.with_data(data))
