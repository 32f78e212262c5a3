"""One small estimator of each kind, and what can be asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne import FeatureGraph
from grafenne.baselines import make_method
from tests.estimators.cases import graph_for as labelled_graph
from tests.estimators.cases import pairs_of

METHODS = (
    "sage",
    "gat",
    "gin",
    "gcn",
    "mlp",
    "gcnmf",
    "pagnn",
    "pagnn-2",
    "fate",
    "traditional",
    "sage+labels",
    "traditional+labels",
    "mask+sage",
    "fp+gcn",
    "pcfi+sage",
    "nm+grafenne",
    "fp+grafenne+labels",
)
LINK_METHODS = ("sage", "traditional", "fp+gcn")
CASES = tuple((name, "classification") for name in METHODS) + tuple(
    (name, "links") for name in LINK_METHODS
)
SMALL: dict[str, Any] = {"width": 8, "epochs": 4, "patience": 4}


def make(name: str, task: str, **settings: Any) -> Any:
    few = {"heads": 2} if name == "gat" else {}
    return make_method(name, task=task, **{**SMALL, **few, **settings})


def graph_for(task: str, **settings: Any) -> FeatureGraph:
    return labelled_graph("classifier" if task == "classification" else "links", **settings)


def answers(model: Any, task: str, graph: FeatureGraph, which: Any = None) -> NDArray[np.float64]:
    if task == "links":
        which = pairs_of(graph) if which is None else which
    result: NDArray[np.float64] = model.predict_proba(graph, which)
    return result
