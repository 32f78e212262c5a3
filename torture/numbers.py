"""Numbers: every estimator on graphs with extreme but legal values and shapes."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grafenne import FeatureGraph
from torture.numbers_check import BrokenPromiseError, check_fit, check_update, check_use
from torture.numbers_graphs import NAMED, make_graph
from torture.numbers_subjects import EVERY, KINDS, Subject
from torture.settings import Settings

SHARE = 3
"""Variants of an estimator share out the graphs: each takes one in so many."""

COSTLY = "many features on one node"
"""Takes most of the time that there is."""


def run(settings: Settings) -> dict[str, Any]:
    """Named graphs: all of them for one estimator of each kind, a share for all the others."""
    fits: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    others = EVERY[:: max(1, round(1 / settings.scale))]
    for number, subject in enumerate((*KINDS, *others)):
        names = tuple(NAMED)
        if number >= len(KINDS):
            names = tuple(name for name in names[number % SHARE :: SHARE] if name != COSTLY)
        fits += fit_on_named(subject, names, settings.folder)
        uses += use_on_named(subject, names)
        if number % 20 == 19:
            settings.say(f"{number + 1} estimators: {dict(fits)}, {dict(uses)}")
    return {
        "estimators": len(KINDS) + len(others),
        "graphs": len(NAMED),
        "fits": dict(fits),
        "uses_and_updates_of_a_fitted_model": dict(uses),
    }


def fit_on_named(
    subject: Subject, names: Iterable[str], folder: Path | None = None
) -> Counter[str]:
    """Fits an estimator on named graphs; how often it answered and refused."""
    outcomes: Counter[str] = Counter()
    for name in names:
        outcomes[_named(name, lambda graph: check_fit(subject, graph, folder), subject)] += 1
    return outcomes


def use_on_named(subject: Subject, names: Iterable[str]) -> Counter[str]:
    """Fits on an ordinary graph; then asks about named ones, and updates to them."""
    ordinary = make_graph(subject.task)
    model = subject.make().fit(ordinary)
    outcomes: Counter[str] = Counter()

    def update(graph: FeatureGraph) -> str:
        return check_update(subject, copy.deepcopy(model), ordinary, graph)

    for name in names:
        outcomes[_named(name, lambda graph: check_use(subject, model, graph), subject)] += 1
        updates = subject.is_grafenne and subject.task != "links"
        if updates and NAMED[name](subject.task).directed == ordinary.directed:
            outcomes[_named(name, update, subject)] += 1
    return outcomes


def _named(name: str, check: Any, subject: Subject) -> str:
    try:
        outcome: str = check(NAMED[name](subject.task))
    except BrokenPromiseError as error:
        raise BrokenPromiseError(f"On the graph {name!r}, {error}") from error
    return outcome
