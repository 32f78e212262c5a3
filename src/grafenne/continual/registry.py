"""The strategies by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from grafenne.continual.contgnn import ContGnn
from grafenne.continual.ewc import Ewc, EwcReplay, OnlineEwc
from grafenne.continual.replay import ExperienceReplay
from grafenne.continual.strategies import Finetune, Frozen, Retrain, Strategy, WarmStart
from grafenne.errors import ParameterError, did_you_mean, unknown_name

STRATEGIES: dict[str, type[Strategy]] = {
    kind.name: kind
    for kind in (
        Ewc,
        Finetune,
        ExperienceReplay,
        ContGnn,
        EwcReplay,
        OnlineEwc,
        WarmStart,
        Retrain,
        Frozen,
    )
}


def make_strategy(strategy: str | Strategy, **options: Any) -> Strategy:
    """A strategy by its name, with its settings; one that is made already stays as it is."""
    if isinstance(strategy, Strategy):
        if options:
            raise ParameterError(
                f"{next(iter(options))} belongs to the strategy: set it where it is made."
            )
        return strategy
    if strategy not in STRATEGIES:
        raise unknown_name("strategy", strategy, STRATEGIES)
    kind = STRATEGIES[strategy]
    known = [part.name for part in fields(kind) if part.init]
    for option in options:
        if option not in known:
            raise ParameterError(
                f"The strategy {strategy!r} has no setting {option!r}; it has "
                f"{', '.join(known) or 'none'}.{did_you_mean(option, known)}"
            )
    return kind(**options)
