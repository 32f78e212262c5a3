"""An imputation in front of any estimator."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from typing_extensions import Self

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split
from grafenne.errors import DataError, ModelFileError, NotFittedError, ParameterError
from grafenne.estimators.base import NetworkEstimator
from grafenne.estimators.checks import check_graph
from grafenne.estimators.classifier import GrafenneClassifier
from grafenne.estimators.explain import Explanation
from grafenne.estimators.explain_link import LinkExplanation
from grafenne.estimators.link_predictor import GrafenneLinkPredictor, NodePairs
from grafenne.estimators.node_estimator import NodeEstimator
from grafenne.estimators.regressor import GrafenneRegressor
from grafenne.impute.base import Imputer
from grafenne.impute.links import fill_split
from grafenne.impute.registry import IMPUTERS, make_imputer
from grafenne.tasks.edge_parts import EdgeParts
from grafenne.tasks.links import EdgeSplit, split_edges

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False, repr=False)
class ImputedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that fill a graph before another one sees it.

    Args:
        imputer: A name (see :func:`~grafenne.impute.make_imputer`) or an imputer.
        estimator: The estimator behind it, GRAFENNE's by default. Where features are words or tags,
            so that what is filled in are shares between 0 and 1, GRAFENNE does better with
            ``direct=True, scaling="none"``.

    Attributes:
        estimator_: The fitted estimator.
        imputer_: The imputer that was used.
    """

    imputer: Any = "feature-propagation"
    estimator: Any = None

    def _begin_fit(self) -> NetworkEstimator:
        """A fresh inner estimator; an earlier fit is forgotten."""
        imputer = make_imputer(self.imputer) if isinstance(self.imputer, str) else self.imputer
        if not isinstance(imputer, Imputer):
            raise ParameterError(f"imputer must be a name or an Imputer, got {imputer!r}.")
        inner = self._default() if self.estimator is None else clone(self.estimator)
        if not isinstance(inner, NetworkEstimator):
            raise ParameterError(f"estimator must be an estimator of grafenne, got {inner!r}.")
        self.__dict__.pop("_filled", None)
        self.__dict__.pop("estimator_", None)
        self.imputer_ = clone(imputer)
        return inner

    def _default(self) -> NetworkEstimator:
        raise TypeError(f"{type(self).__name__} must define _default")

    def _fit_inner(self, inner: Any, graph: FeatureGraph, split: Any, checkpoint: Any) -> None:
        try:
            inner.fit(graph, split, checkpoint=checkpoint)
        finally:
            if hasattr(inner, "network_"):  # training that had to stop keeps its best weights
                self.estimator_ = inner

    def _fill(self, graph: FeatureGraph) -> FeatureGraph:
        """The filled graph; kept for the last one, so that asking twice costs once."""
        check_graph(graph)
        cached = self.__dict__.get("_filled")
        if cached is not None and cached[0]() is graph:
            return cached[1]  # type: ignore[no-any-return]
        filled: FeatureGraph = self.imputer_.transform(graph)
        self.__dict__["_filled"] = (weakref.ref(graph), filled)
        return filled

    @property
    def _fitted(self) -> Any:
        if "estimator_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self.estimator_

    @property
    def _inner(self) -> Any:
        """The estimator behind the imputation, fitted or not."""
        fitted = self.__dict__.get("estimator_", self.estimator)
        return self._default() if fitted is None else fitted

    @property
    def task_name(self) -> str:
        """What the inner estimator predicts."""
        return str(self._inner.task_name)

    @property
    def random_state(self) -> int:
        """Seed of the inner estimator."""
        return int(self._inner.random_state)

    @property
    def network_(self) -> Any:
        """The trained network."""
        return self._fitted.network_

    @property
    def history_(self) -> Any:
        """What happened in training."""
        return self._fitted.history_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The features of the filled graph that it was trained with."""
        names: NDArray[Any] = self._fitted.feature_names_in_
        return names

    @property
    def split_(self) -> Any:
        """What was trained and validated on."""
        return self._fitted.split_

    @property
    def split_nodes_(self) -> Any:
        """The nodes whose positions ``split_`` tells."""
        return self._fitted.split_nodes_

    @property
    def num_parameters_(self) -> int:
        """Number of trained numbers."""
        return int(self._fitted.num_parameters_)

    def embed(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None, *, of: str = "nodes"
    ) -> NDArray[np.float32]:
        """Embeddings of the inner estimator on the filled graph."""
        embeddings: NDArray[np.float32] = self._fitted.embed(self._fill(graph), nodes, of=of)
        return embeddings

    # ---- keeping -----------------------------------------------------------------------------

    def save(self, folder: Path | str) -> None:
        """Writes the fitted model into a folder (safetensors and JSON)."""
        from grafenne.estimators.persistence import save_estimator

        inner, imputer = self._fitted, self.imputer_
        if IMPUTERS.get(getattr(imputer, "name", "")) is not type(imputer):
            raise ParameterError(f"Only imputers of grafenne can be saved, got {imputer!r}.")
        told, arrays = imputer.remembered()
        about = {"name": imputer.name, "settings": imputer.get_params(deep=False), "told": told}
        save_estimator(inner, folder, {"kind": type(self).__name__, "imputer": about}, arrays)

    @classmethod
    def load(cls, folder: Path | str, **overrides: Any) -> Self:
        """Reads a model that :meth:`save` wrote; see :meth:`NetworkEstimator.load`."""
        from grafenne.estimators.persistence import load_estimator

        model = load_estimator(folder, **overrides)
        if not isinstance(model, cls):
            raise ModelFileError(f"{folder} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model

    @classmethod
    def _unfold(
        cls, inner: NetworkEstimator, about: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Self:
        """The wrapper around a loaded estimator."""
        imputer = make_imputer(about["imputer"]["name"], **about["imputer"]["settings"])
        model = cls(imputer=imputer, estimator=clone(inner))
        model.imputer_, model.estimator_ = clone(imputer), inner
        model.imputer_.remember(about["imputer"].get("told", {}), arrays)
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__().copy()
        state.pop("_filled", None)  # kept for speed only, and tied to a graph that lives here
        return state


@dataclass(kw_only=True, eq=False, repr=False)
class ImputedNodeEstimator(ImputedEstimator):
    """Base of the imputed estimators that answer for nodes."""

    def fit(
        self,
        graph: FeatureGraph,
        split: Split | None = None,
        *,
        checkpoint: Path | str | None = None,
    ) -> Self:
        """Fills the graph and trains on it; see :meth:`GrafenneClassifier.fit`."""
        inner: Any = self._begin_fit()
        if not isinstance(inner, NodeEstimator):
            raise ParameterError(f"{type(inner).__name__} does not answer for nodes.")
        self._fit_inner(inner, self._fill(graph), split, checkpoint)
        return self

    def predict(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None) -> NDArray[Any]:
        """The prediction for each node, in the graph's order or that of ``nodes``."""
        predicted: NDArray[Any] = self._fitted.predict(self._fill(graph), nodes)
        return predicted

    def evaluate(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> dict[str, Any]:
        """The metrics on the labelled nodes among ``nodes``."""
        metrics: dict[str, Any] = self._fitted.evaluate(self._fill(graph), nodes)
        return metrics

    def score(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None) -> float:
        """The score of the inner estimator."""
        return float(self._fitted.score(self._fill(graph), nodes))

    def explain(self, graph: FeatureGraph, node: Hashable, *, top: int | None = 10) -> Explanation:
        """Which features, filled in or not, and which neighbours decided a prediction."""
        told: Explanation = self._fitted.explain(self._fill(graph), node, top=top)
        return told


@dataclass(kw_only=True, eq=False, repr=False)
class ImputedClassifier(ImputedNodeEstimator):
    """A classifier of nodes behind an imputation.

    >>> ImputedClassifier(imputer="feature-propagation", estimator=GrafenneClassifier(width=32))

    Args:
        imputer: A name (see :func:`~grafenne.impute.make_imputer`) or an imputer.
        estimator: The classifier behind it, :class:`GrafenneClassifier` by default.

    Attributes:
        estimator_: The fitted classifier.
        imputer_: The imputer that was used.
    """

    def _default(self) -> NetworkEstimator:
        return GrafenneClassifier()

    @property
    def classes_(self) -> NDArray[Any]:
        """The class names, in the order of the probabilities' columns."""
        names: NDArray[Any] = self._fitted.classes_
        return names

    def predict_proba(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> NDArray[np.float64]:
        """Probability of each class, ``[nodes, classes]``."""
        probabilities: NDArray[np.float64] = self._fitted.predict_proba(self._fill(graph), nodes)
        return probabilities


@dataclass(kw_only=True, eq=False, repr=False)
class ImputedRegressor(ImputedNodeEstimator):
    """A regressor of nodes behind an imputation; parameters as in :class:`ImputedClassifier`."""

    def _default(self) -> NetworkEstimator:
        return GrafenneRegressor()


@dataclass(kw_only=True, eq=False, repr=False)
class ImputedLinkPredictor(ImputedEstimator):
    """A link predictor behind an imputation; parameters as in :class:`ImputedClassifier`.

    Edges are split before anything is filled in: values that spread along an edge would tell of
    it. For the same reason training sees features that were filled in without the edges it asks
    for, see :func:`~grafenne.impute.links.fill_split`.
    """

    def _default(self) -> NetworkEstimator:
        return GrafenneLinkPredictor()

    def fit(
        self,
        graph: FeatureGraph,
        split: EdgeSplit | None = None,
        *,
        checkpoint: Path | str | None = None,
    ) -> Self:
        """Fills the split's training graph and trains; see :meth:`GrafenneLinkPredictor.fit`."""
        inner: Any = self._begin_fit()
        check_graph(graph)
        if split is None:
            share = inner.validation_share
            split = split_edges(graph, inner.random_state, (1 - share, share, 0.0))
        _check_split(split)
        filled = fill_split(self.imputer_, split, int(inner.random_state))
        self.__dict__["_filled"] = (weakref.ref(split.graph), filled.graph)
        self._fit_inner(inner, graph, filled, checkpoint)
        return self

    def decision_function(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.float64]:
        """Log-odds that each pair of node ids is an edge, given the edges of ``graph``."""
        scores: NDArray[np.float64] = self._fitted.decision_function(self._fill(graph), pairs)
        return scores

    def predict_proba(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.float64]:
        """Probability that each pair of node ids is an edge."""
        scores: NDArray[np.float64] = self._fitted.predict_proba(self._fill(graph), pairs)
        return scores

    def predict(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.bool_]:
        """Whether each pair is more likely an edge than not."""
        return self.decision_function(graph, pairs) > 0

    def suggest(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None, *, top: int = 10
    ) -> pd.DataFrame:
        """The most likely links that are not there; see :meth:`GrafenneLinkPredictor.suggest`."""
        found: pd.DataFrame = self._fitted.suggest(self._fill(graph), nodes, top=top)
        return found

    def explain(
        self, graph: FeatureGraph, source: Hashable, target: Hashable, *, top: int | None = 10
    ) -> LinkExplanation:
        """Which features, filled in or not, and which neighbours speak for a link."""
        told: LinkExplanation = self._fitted.explain(self._fill(graph), source, target, top=top)
        return told

    def evaluate(self, split: EdgeSplit, part: str = "test") -> dict[str, float | int]:
        """AUC, average precision and hits@k on a part of a split."""
        fitted = self._fitted
        _check_split(split)
        filled = replace(split, graph=self._fill(split.graph))
        metrics: dict[str, float | int] = fitted.evaluate(filled, part)
        return metrics

    @property
    def edge_parts_(self) -> EdgeParts:
        """The edges trained and validated on, by the ids of their ends."""
        parts: EdgeParts = self._fitted.edge_parts_
        return parts

    def score(self, split: EdgeSplit) -> float:
        """AUC on the test edges of a split and their negatives."""
        return float(self.evaluate(split)["auc"])


def _check_split(split: EdgeSplit) -> None:
    if not isinstance(split, EdgeSplit):
        raise DataError(f"An EdgeSplit is needed, got {type(split).__name__}.")
