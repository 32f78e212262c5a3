"""The methods that experiments compare, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grafenne.errors import ParameterError, did_you_mean, unknown_name
from grafenne.estimators.registry import ESTIMATORS, estimator_kind, wrapper_kind
from grafenne.impute.registry import make_imputer

TASKS = {
    "classification": "Classifier",
    "regression": "Regressor",
    "links": "LinkPredictor",
}
"""How the classes for a task are called."""


@dataclass(frozen=True)
class Method:
    """How to make a method.

    Attributes:
        family: What the name of its class begins with.
        settings: Its settings, where they differ from the defaults.
        imputer: Name of the imputation in front of it.
        imputer_settings: Settings of that.
    """

    family: str
    settings: dict[str, Any] = field(default_factory=dict)
    imputer: str | None = None
    imputer_settings: dict[str, Any] = field(default_factory=dict)


PLAIN: dict[str, Method] = {
    "sage": Method("GraphNetwork", {"kind": "sage"}),
    "gat": Method("GraphNetwork", {"kind": "gat", "heads": 8}),
    "gin": Method("GraphNetwork", {"kind": "gin", "normalisation": "batch"}),
    "gcn": Method("GraphNetwork", {"kind": "gcn"}),
    "mlp": Method("GraphNetwork", {"kind": "mlp"}),
    "gcnmf": Method("Gcnmf"),
    "pagnn": Method("Pagnn", {"variant": "mean"}),
    "pagnn-2": Method("Pagnn", {"variant": "rescaled"}),
    "fate": Method("Fate"),
    "traditional": Method("AllotropicGnn"),
    "grafenne": Method("Grafenne"),
    "grafenne-gat": Method("Grafenne", {"backbone": "gat"}),
    "grafenne-gin": Method("Grafenne", {"backbone": "gin"}),
    "grafenne-gcn": Method("Grafenne", {"backbone": "gcn"}),
}
"""Methods that see the graph as it is."""

IMPUTED = (
    "sage",
    "gat",
    "gin",
    "gcn",
    "mlp",
    "grafenne",
    "grafenne-gat",
    "grafenne-gin",
    "grafenne-gcn",
)
PREFIXES: dict[str, tuple[str, dict[str, Any]]] = {
    "mask": ("special", {"observed_mask": True}),
    "nm": ("neighbourhood-mean", {}),
    "fp": ("feature-propagation", {}),
    "pcfi": ("pcfi", {}),
    "places": ("places", {}),
}
"""Imputations that stand in front of :data:`IMPUTED`, as in ``fp+sage``."""

FEW_FILLED: dict[str, Any] = {"direct": False, "scaling": "none"}
MANY_FILLED: dict[str, Any] = {"features": "learned", "direct": True, "scaling": "none"}
FILLED = {"nm": FEW_FILLED, "fp": MANY_FILLED, "pcfi": MANY_FILLED, "places": MANY_FILLED}
"""Settings of GRAFENNE behind an imputation of words.

What is filled in are shares between 0 and 1, and their size means the same for every word, so
nothing is scaled. FP and PCFI fill in many of them for every node, and they add up. Cora with
half of its words, behind FP, two seeds, validation: 90.3 % with both, 88.7 % with ``direct``
alone, 89.1 % with neither; loss 0.343, 0.392, 0.366. With ``direct`` vectors start at random. A
mean of neighbours has few words: behind NM the loss is 0.390 with ``direct`` and 0.356 without on
Cora with half of its words (three seeds), 0.815 and 0.789 on CiteSeer, 1.519 and 1.476 on Actor,
0.207 and 0.177 on Physics with one in a hundred (one seed), and level on Cora and CiteSeer with
one in a hundred.
"""

LABELLED = ("Grafenne", "GraphNetwork", "AllotropicGnn")
"""Families that take labels as features, as in ``grafenne+labels``."""


def _all_methods() -> dict[str, Method]:
    methods = dict(PLAIN)
    for prefix, (imputer, settings) in PREFIXES.items():
        for name in IMPUTED:
            plain = PLAIN[name]
            filled = FILLED.get(prefix, {}) if plain.family == "Grafenne" else {}
            own = {**plain.settings, **filled}
            methods[f"{prefix}+{name}"] = Method(plain.family, own, imputer, settings)
    for name, method in list(methods.items()):
        if method.family in LABELLED:
            methods[f"{name}+labels"] = Method(
                method.family,
                {**method.settings, "labels_as_features": True},
                method.imputer,
                method.imputer_settings,
            )
    return methods


METHODS: dict[str, Method] = _all_methods()
"""All methods by name."""


def make_method(name: str, *, task: str = "classification", **settings: Any) -> Any:
    """An estimator for a method.

    Args:
        name: One of :data:`METHODS`, such as ``sage``, ``fp+sage`` or ``grafenne+labels``.
        task: ``classification``, ``regression`` or ``links``.
        settings: Settings of the estimator; those that begin with ``imputer__`` are the
            imputation's.
    """
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    method, ending = METHODS[name], TASKS[task]
    if f"{method.family}{ending}" not in ESTIMATORS:
        raise ParameterError(f"The method {name!r} does not do {task}.")
    inner: Any = estimator_kind(f"{method.family}{ending}")()
    for_imputer = {
        setting.removeprefix("imputer__"): value
        for setting, value in settings.items()
        if setting.startswith("imputer__")
    }
    chosen = {**method.settings, **settings}
    known = inner.get_params()
    for setting in chosen:
        if setting not in known and not setting.startswith("imputer__"):
            hint = did_you_mean(setting, known)
            raise ParameterError(
                f"The method {name!r} has no setting {setting!r} for {task}.{hint}"
            )
    inner.set_params(**{key: value for key, value in chosen.items() if key in known})
    if method.imputer is None:
        if for_imputer:
            raise ParameterError(f"The method {name!r} has no imputer to set.")
        return inner
    imputer = make_imputer(method.imputer, **{**method.imputer_settings, **for_imputer})
    return wrapper_kind(f"Imputed{ending}")(imputer=imputer, estimator=inner)
