"""Every estimator that there is, in a small form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grafenne.baselines import METHODS, make_method
from grafenne.baselines.methods import TASKS
from grafenne.estimators.registry import ESTIMATORS

SMALL: dict[str, Any] = {"width": 4, "epochs": 3, "patience": 3}


@dataclass(frozen=True)
class Subject:
    """An estimator under test.

    Attributes:
        method: Its name among the methods.
        task: What it predicts.
        settings: Settings that differ from the method's.
    """

    method: str
    task: str
    settings: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        told = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.method}/{self.task}" + (f"[{told}]" if told else "")

    @property
    def is_grafenne(self) -> bool:
        """Whether it is GRAFENNE with nothing in front of it, which explains and updates."""
        method = METHODS[self.method]
        return method.family == "Grafenne" and method.imputer is None

    def make(self, **more: Any) -> Any:
        """A new estimator, not fitted yet."""
        family = METHODS[self.method]
        heads = {"heads": 2} if family.settings.get("heads") else {}
        settings = {**SMALL, **heads, **self.settings, **more}
        return make_method(self.method, task=self.task, **settings)


def does(method: str, task: str) -> bool:
    """Whether there is an estimator of a method for a task."""
    kind = METHODS[method]
    if task != "classification" and kind.settings.get("labels_as_features"):
        return False
    return f"{kind.family}{TASKS[task]}" in ESTIMATORS


def _every_method() -> list[Subject]:
    return [Subject(method, task) for task in TASKS for method in METHODS if does(method, task)]


GRAFENNE_SETTINGS: tuple[dict[str, Any], ...] = (
    {"batch_size": 4},
    {"batch_size": 3, "neighbours": 2, "features_per_node": 2, "nodes_per_feature": 2},
    {"scaling": "none"},
    {"scaling": "robust"},
    {"mode": "paper"},
    {"mode": "paper", "aggregation": "sum", "scaling": "none"},
    {"aggregation": "mean"},
    {"aggregation": "sum"},
    {"normalisation": "none", "aggregation": "sum"},
    {"normalisation": "batch"},
    {"features": "name"},
    {"features": "structural"},
    {"heads": 2},
    {"skip": False},
    {"backbone": "graph"},
    {"clip_norm": None},
    {"schedule": "cosine"},
    {"averaging": 0.5},
    {"direction": "in"},
    {"direct": True},
    {"direct": True, "normalisation": "none", "scaling": "none"},
)
CLASSIFIER_SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grafenne", {"class_weight": "balanced"}),
    ("grafenne", {"class_shares": "validation"}),
    ("grafenne", {"kind_dropout": 0.5, "node_dropout": 0.3}),
    ("grafenne+labels", {"batch_size": 4}),
    ("grafenne", {"smoothing": "auto"}),
    ("gcn", {"smoothing": 0.9}),
    ("sage", {"normalise_rows": False}),
    ("gcn", {"normalise_rows": False}),
    ("gin", {"normalise_rows": False, "normalisation": "none"}),
    ("gcnmf", {"normalise_rows": False}),
    ("gcnmf", {"scaling": "standard", "normalise_rows": False}),
    ("pagnn", {"normalise_rows": False}),
    ("fate", {"normalise_rows": False, "scaling": "standard"}),
    ("traditional", {"scaling": "none"}),
    ("traditional", {"normalisation": "batch"}),
)


def _variants() -> list[Subject]:
    found = [Subject(method, "classification", kept) for method, kept in CLASSIFIER_SETTINGS]
    for task in TASKS:
        for settings in GRAFENNE_SETTINGS:
            if task != "links" or "batch_size" not in settings:
                found.append(Subject("grafenne", task, settings))
    return found


EVERY: tuple[Subject, ...] = (*_every_method(), *_variants())
"""All methods for all their tasks, and further settings that change what is computed."""

KINDS: tuple[Subject, ...] = (
    Subject("grafenne", "classification"),
    Subject("grafenne", "regression"),
    Subject("grafenne", "links"),
    Subject("grafenne", "classification", {"batch_size": 4}),
    Subject("grafenne", "regression", {"batch_size": 4}),
    Subject("grafenne+labels", "classification"),
    Subject("sage", "classification"),
    Subject("gcn", "links"),
    Subject("gcn", "classification", {"smoothing": 0.9}),
    Subject("gcnmf", "classification"),
    Subject("pagnn", "classification"),
    Subject("fate", "classification"),
    Subject("traditional", "classification"),
    Subject("traditional", "links"),
    Subject("mask+sage", "classification"),
    Subject("nm+sage", "links"),
    Subject("fp+grafenne", "regression"),
    Subject("pcfi+gat", "classification"),
    Subject("places+grafenne", "classification"),
    Subject("places+sage", "links"),
)
"""One of each estimator in the registry and of each imputation, for the short form."""
