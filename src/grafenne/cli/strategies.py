"""Strategies of continual learning from options of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli.options import choose, parse_pairs
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.continual.strategies import Strategy

EpochsOption = Annotated[
    int | None,
    typer.Option("--epochs", metavar="N", min=1, help="Most passes over the nodes of an update."),
]
StrengthOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How firmly ewc, ewc-replay, online-ewc and contgnn hold what the model knows (λ); "
        "auto chooses on the validation nodes.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of the strategy, such as sample=50 or learning_rate=0.001; may be "
        "repeated.",
    ),
]


def make_strategies(
    names: Sequence[str],
    epochs: int | None = None,
    strength: str | None = None,
    more: Iterable[str] | None = None,
) -> list[Strategy]:
    """Strategies by name, each with those of the settings that it has.

    Args:
        names: Their names, no two the same.
        epochs: Most epochs of an update.
        strength: λ as text, or ``auto``.
        more: Further settings as ``name=value`` texts.
    """
    from grafenne.continual import STRATEGIES, make_strategy

    kinds = {choose("strategy", name, STRATEGIES): STRATEGIES[name] for name in names}
    for name in names:
        if list(names).count(name) > 1:
            raise ParameterError(f"The strategy {name!r} is listed twice.")
    known: dict[str, dict[str, Any]] = {
        name: {part: getattr(kind(), part) for part in kind.__dataclass_fields__
               if kind.__dataclass_fields__[part].init}
        for name, kind in kinds.items()
    }  # fmt: skip
    every = {part: value for parts in known.values() for part, value in parts.items()}
    given = parse_pairs(more or (), every, " and ".join(map(repr, names)))
    if epochs is not None:
        given["epochs"] = epochs
    if strength is not None:
        if "penalty" not in every:
            raise ParameterError(
                f"--strength is for strategies that hold what is known, such as ewc; "
                f"{', '.join(names)} has none."
            )
        given["penalty"] = _penalty(strength)
    return [
        make_strategy(name, **{part: value for part, value in given.items() if part in known[name]})
        for name in names
    ]


def _penalty(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--strength is a number or auto, got {text!r}.") from None
