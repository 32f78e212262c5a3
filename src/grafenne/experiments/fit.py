"""Runs one cell with one seed: data, imputation, training, and metrics on the test part."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grafenne.experiments.problem import Problem, make_problem
from grafenne.tasks.links import EdgeSplit


def run_cell(
    *, keys: Mapping[str, Any], seed: int, config: Mapping[str, Any], root: Path | None = None
) -> dict[str, Any]:
    """Trains by a configuration and tells what came of it.

    Args:
        keys: Dataset, method and missing rate of the cell.
        seed: Seed of the data and of training.
        config: What :func:`~grafenne.experiments.configuration.configure` gave.
        root: Where the files of the dataset are.
    """
    problem = make_problem(keys["dataset"], keys["p"], seed, config["data"], root)
    estimator = make_estimator(config, seed)
    started = time.perf_counter()
    problem, told = fill(problem, config)
    estimator.fit(problem.graph, problem.split)
    seconds = time.perf_counter() - started
    test, validation = (
        evaluate(estimator, problem, "test"),
        evaluate(estimator, problem, "validation"),
    )
    metric = "auc" if isinstance(problem.split, EdgeSplit) else "accuracy"
    history = estimator.history_
    return {
        "metric": metric,
        "value": test[metric],
        "validation": validation[metric],
        "metrics": test,
        "epochs": len(history.epochs),
        "best_epoch": history.best_epoch,
        "seconds": round(seconds, 3),
        "seconds_per_epoch": round(history.seconds_per_epoch, 5),
        "parameters": int(estimator.num_parameters_),
        **_smoothing_of(estimator),
        **told,
    }


def _smoothing_of(estimator: Any) -> dict[str, Any]:
    smoothing = getattr(estimator, "smoothing_", None)
    return {} if smoothing is None else {"smoothing": smoothing.share}


def make_estimator(config: Mapping[str, Any], seed: int) -> Any:
    """The untrained estimator that a configuration describes, without its imputation."""
    from grafenne.estimators.registry import estimator_kind

    kind: Any = estimator_kind(config["estimator"])
    return kind(**config["settings"], random_state=seed)


def fill(problem: Problem, config: Mapping[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """The problem after the configuration's imputation, and what is to be told about that."""
    from grafenne.impute.registry import make_imputer

    if "imputer" not in config:
        return problem, {}
    settings = dict(config["imputer"])
    imputer = make_imputer(settings.pop("name"), **settings)
    filled = problem.filled(imputer, leaked=config["data"]["leaked"])
    left_out = getattr(imputer, "dropped_share_", None)
    return filled, {} if left_out is None else {"fill_left_out": round(float(left_out), 6)}


def evaluate(estimator: Any, problem: Problem, part: str) -> dict[str, Any]:
    """The metrics on a part of the split, numbers alone."""
    split: Any = problem.split
    if isinstance(split, EdgeSplit):
        found = estimator.evaluate(split, part)
    else:
        nodes = problem.graph.nodes.take(getattr(split, part))
        found = estimator.evaluate(problem.graph, nodes)
    return {name: value for name, value in found.items() if isinstance(value, int | float)}
