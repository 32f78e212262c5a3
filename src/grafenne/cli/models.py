"""Estimators for commands: made from options, loaded, checked before anything slow begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.cli.options import choose, parse_pairs
from grafenne.cli.output import say
from grafenne.errors import DataError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph

TASKS = ("classification", "regression", "links")
NOT_FOR_FILES = ("random_state", "device", "verbose")


def choose_task(task: str | None, graph: FeatureGraph) -> str:
    """The task that was asked for, or the one that the labels call for."""
    if task is not None:
        return choose("task", task, TASKS)
    numbers = graph.labels is not None and graph.labels.kind == "number"
    return "regression" if numbers else "classification"


def make_estimator(task: str, settings: Mapping[str, Any], more: Iterable[str] = ()) -> Any:
    """An estimator for a task.

    Args:
        task: One of :data:`TASKS`.
        settings: Its settings; those that are ``None`` are left at the estimator's own default.
        more: Further settings as ``name=value`` texts.
    """
    from grafenne import GrafenneClassifier, GrafenneLinkPredictor, GrafenneRegressor
    from grafenne.estimators.parameters import check_parameters

    kinds: dict[str, Any] = {
        "classification": GrafenneClassifier,
        "regression": GrafenneRegressor,
        "links": GrafenneLinkPredictor,
    }
    kind = kinds[choose("task", task, TASKS)]
    estimator = kind()
    known = estimator.get_params()
    given = {name: value for name, value in settings.items() if value is not None}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ParameterError(f"The task {task!r} has no setting {name!r}.{hint}")
    given.update(parse_pairs(more, known, f"the task {task!r}"))
    estimator.set_params(**given)
    check_parameters(estimator)
    return estimator


def warn_of_strange_data(estimator: Any, graph: FeatureGraph, data: str) -> None:
    """Says so if a model knows not a single feature of a graph: it was likely meant for another."""
    known = set(estimator.feature_names_in_.tolist())
    if known and graph.num_features and known.isdisjoint(graph.features):
        say(f"Note: the model was trained with none of the features of {data}.")


def behind_imputer(estimator: Any, name: str) -> Any:
    """The estimator with an imputation before it.

    Args:
        estimator: An estimator of :func:`make_estimator`.
        name: Name of the imputation.
    """
    from grafenne import impute

    kinds: dict[str, Any] = {
        "classification": impute.ImputedClassifier,
        "regression": impute.ImputedRegressor,
        "links": impute.ImputedLinkPredictor,
    }
    imputer = impute.make_imputer(name)
    return kinds[estimator.task_name](imputer=imputer, estimator=estimator)


def read_settings(path: Path | None) -> dict[str, Any]:
    """Settings from a JSON file, such as ``grafenne tune --out`` writes."""
    if path is None:
        return {}
    from grafenne.data.json_files import read_json

    content = read_json(path)
    if isinstance(content, dict) and "settings" in content:
        content = content["settings"]
    if not isinstance(content, dict):
        raise DataError(f"The file {path} does not hold an object with settings.")
    for name in NOT_FOR_FILES:
        content.pop(name, None)
    return content


def load_model(folder: Path, device: str | None = None) -> Any:
    """A saved model of any task."""
    from grafenne.estimators.persistence import load_estimator

    return load_estimator(folder, **({} if device is None else {"device": device}))


def check_model_folder(folder: Path) -> None:
    """Refuses, before hours of training, a place where the model cannot be saved."""
    from grafenne.estimators.model_files import FILES

    if folder.exists() and not folder.is_dir():
        raise DataError(f"Cannot write the model {folder}: a file of that name exists.")
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if entry.name not in FILES:
                raise DataError(
                    f"Cannot write the model {folder}: the folder holds {entry.name!r}, which "
                    "would be lost."
                )
    check_writable(folder)


def check_graph_folder(folder: Path) -> None:
    """Refuses, before any work is done, a place where a graph cannot be written."""
    from grafenne.data.folder import is_graph_file

    if folder.exists() and not folder.is_dir():
        raise DataError(f"Cannot write the graph {folder}: a file of that name exists.")
    if folder.is_dir():
        for entry in sorted(folder.iterdir()):
            if not is_graph_file(entry.name):
                raise DataError(
                    f"Cannot write the graph {folder}: the folder holds {entry.name!r}, which "
                    "would be lost."
                )
    check_writable(folder)


def check_table(path: Path | None) -> None:
    """Refuses a table's name that cannot be written, before any work is done."""
    from grafenne.data.tables import ENDINGS, ending_of

    if path is None:
        return
    if ending_of(path) is None:
        raise DataError(
            f"Cannot write {path}: the name of a table ends in one of {', '.join(ENDINGS)}."
        )
    if path.is_dir():
        raise DataError(f"Cannot write {path}: it is a folder.")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Refuses a path whose folder is not a folder or may not be written to."""
    above = path.resolve().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise DataError(f"Cannot write {path}: {above} is not a folder.")
    if not os.access(above, os.W_OK):
        raise DataError(f"Cannot write {path}: the folder {above} may not be written to.")
