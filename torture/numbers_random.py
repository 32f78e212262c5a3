"""Numbers at random: estimators on graphs drawn by hypothesis, values of any size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from torture.numbers_check import check_fit
from torture.numbers_graphs import extreme_graphs
from torture.numbers_subjects import EVERY, Subject
from torture.settings import Settings

GRAPHS = 3000


def run(settings: Settings) -> dict[str, Any]:
    """Estimators drawn from all there are, each on a graph of its own."""
    outcomes = fit_on_random(EVERY, settings.times(GRAPHS), settings.seed)
    return {"estimators": len(EVERY), "fits": dict(outcomes)}


def fit_on_random(subjects: Iterable[Subject], count: int, start: int) -> Counter[str]:
    """Fits estimators on graphs drawn by hypothesis, which makes a failing one small."""
    outcomes: Counter[str] = Counter()

    @seed(start)
    @example_settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(st.data(), st.sampled_from(list(subjects)))
    def attempt(data: st.DataObject, subject: Subject) -> None:
        outcomes[check_fit(subject, data.draw(extreme_graphs(subject.task)))] += 1

    attempt()
    return outcomes
