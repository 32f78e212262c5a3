"""A small random search over an estimator's settings, on validation data only."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.data.seeds import seeded
from grafenne.errors import DataError, ParameterError, TrainingError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.split import Split
    from grafenne.estimators.base import NetworkEstimator
    from grafenne.impute.wrapped import ImputedEstimator
    from grafenne.tasks.links import EdgeSplit

    Tunable = NetworkEstimator | ImputedEstimator

Space = Mapping[str, Sequence[Any]]

DEFAULT_SPACE: Space = {
    "learning_rate": (0.003, 0.005, 0.01, 0.02),
    "weight_decay": (0.0, 1e-4, 5e-4, 2e-3),
    "dropout": (0.0, 0.2, 0.5, 0.7),
    "feature_dropout": (0.0, 0.2, 0.5, 0.7),
    "width": (32, 64, 128),
    "features": ("company", "learned", "name", "structural"),
    "averaging": (0.0, 0.25),
}
"""What :func:`tune` draws from unless told otherwise, as far as the estimator has these settings:
6,144 combinations for GRAFENNE."""


@dataclass(frozen=True)
class TuneResult:
    """What a search found.

    Attributes:
        best_settings: The settings of the best trial, those of the space alone; pass them on with
            ``estimator.set_params(**best_settings)``.
        best_score: Its validation loss; the lowest wins.
        table: One row per trial: its number, its settings, ``loss``, ``metric`` (the task's own,
            on validation data), ``best_epoch``, ``epochs`` and ``seconds``. A trial whose training
            failed has no loss.
    """

    best_settings: dict[str, Any]
    best_score: float
    table: pd.DataFrame


def tune(
    estimator: Tunable,
    graph: FeatureGraph,
    split: Split | EdgeSplit | None = None,
    *,
    trials: int = 16,
    space: Space | None = None,
    seed: int = 0,
    verbose: bool = False,
    log: Path | str | None = None,
    on_trial: Callable[[dict[str, Any]], None] | None = None,
) -> TuneResult:
    """Trains with several settings and tells which has the lowest validation loss.

    The first trial is the estimator as it is; each of the others draws every setting of the space
    at random, no combination twice. Only training and validation data are used: the test part of
    a split is never looked at. The estimator itself is left alone.

    Args:
        estimator: The estimator whose settings are in question, GRAFENNE's or a baseline. Behind
            an imputation its settings are called ``estimator__width``, ``imputer__keep`` and so
            on.
        graph: The graph to train on.
        split: As in ``fit``; without it ``fit`` sets validation data aside by its own seed.
        trials: How many settings to try.
        space: The values to draw from, by setting; by default those of :data:`DEFAULT_SPACE`
            that the estimator has.
        seed: Seed of the draw.
        verbose: Whether to tell each trial on standard error.
        log: A JSON-lines file with a line per finished trial. A search that was interrupted goes
            on from it, and one that is asked for more trials continues it.
        on_trial: Called after each trial with its row of the table.
    """
    from sklearn.base import clone

    from grafenne.data.atomic import reserved

    space = default_space(estimator) if space is None else space
    if trials < 1:
        raise ParameterError(f"trials must be at least 1, got {trials}.")
    _check_space(space, estimator)
    with reserved(log or None):
        kept = _Log(Path(log), _identity(estimator, graph, split, space, seed)) if log else None
        rows: list[dict[str, Any]] = [] if kept is None else kept.rows[:trials]
        for number, settings in enumerate(draw_settings(_settings(estimator), space, trials, seed)):
            if number < len(rows):
                continue
            row = try_estimator(clone(estimator).set_params(**settings), graph, split)
            row = {"trial": number, "settings": settings, **row}
            rows.append(row)
            if kept is not None:
                kept.add(row)
            if verbose:
                sys.stderr.write(describe_trial(row) + "\n")
                sys.stderr.flush()
            if on_trial is not None:
                on_trial(row)
    return _result(rows)


def describe_trial(row: Mapping[str, Any]) -> str:
    """``trial 3: loss 0.5120, metric 0.8410, 12.1 s (width=64, …)``."""
    settings = ", ".join(f"{name}={value}" for name, value in row["settings"].items())
    if row["loss"] is None:
        return f"trial {row['trial']}: training failed ({settings})"
    return (
        f"trial {row['trial']}: loss {row['loss']:.4f}, metric {row['metric']:.4f}, "
        f"{row['seconds']:.1f} s ({settings})"
    )


def _check_space(space: Space, estimator: Tunable) -> None:
    known = _settings(estimator)
    if not space:
        raise ParameterError("The space of a search must not be empty.")
    for name, values in space.items():
        if name not in known:
            raise unknown_name("setting", name, known)
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ParameterError(f"The space gives no list of values for {name!r}.")


def default_space(estimator: Tunable) -> dict[str, Sequence[Any]]:
    """The part of :data:`DEFAULT_SPACE` that an estimator has, by its names for the settings.

    With ``direct`` each feature has vectors of its own, so ``features`` is not in question.
    """
    known = _settings(estimator)

    def named(name: str) -> str:
        return f"estimator__{name}" if f"estimator__{name}" in known else name

    drawn = [name for name in DEFAULT_SPACE if named(name) in known]
    if known.get(named("direct")):
        drawn.remove("features")
    return {named(name): DEFAULT_SPACE[name] for name in drawn}


def _settings(estimator: Tunable) -> dict[str, Any]:
    """All settings, with those of an estimator behind an imputation."""
    from grafenne.impute.wrapped import ImputedEstimator

    if isinstance(estimator, ImputedEstimator):
        settings: dict[str, Any] = estimator.get_params(deep=True)
        return settings
    own: dict[str, Any] = estimator.get_params(deep=False)
    return own


def draw_settings(
    own: Mapping[str, Any], space: Space, trials: int, seed: int
) -> Iterator[dict[str, Any]]:
    """The settings of each trial; those of the first trials do not depend on how many follow.

    Args:
        own: What the estimator has now, which is the first trial.
        space: The values to draw from; no combination is drawn twice.
        trials: How many, fewer if there are no more combinations.
        seed: Seed of the draw.
    """
    first = {name: value for name, value in own.items() if name in space}
    yield first
    generator = seeded(seed)
    seen = [first]
    possible = math.prod(len(values) for values in space.values())
    misses = 0
    while len(seen) < trials and misses < 100 * possible:
        drawn = {
            name: values[int(generator.integers(len(values)))] for name, values in space.items()
        }
        if any(_same(drawn, other) for other in seen):
            misses += 1
            continue
        seen.append(drawn)
        yield drawn


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(value is other[name] or _equal(value, other[name]) for name, value in one.items())


def _equal(one: Any, other: Any) -> bool:
    plain = (str, bool, int, float)  # arrays and tensors compare element by element
    return isinstance(one, plain) and isinstance(other, plain) and one == other


def try_estimator(
    estimator: Tunable, graph: FeatureGraph, split: Split | EdgeSplit | None
) -> dict[str, Any]:
    """Fits an estimator and tells its validation loss and metric; no loss if training failed."""
    trained: Any = estimator
    quiet = {"verbose": False, "estimator__verbose": False}
    trained.set_params(**{name: quiet[name] for name in _settings(trained) if name in quiet})
    try:
        history = trained.fit(graph, split).history_
    except TrainingError:
        return dict.fromkeys(("loss", "metric", "best_epoch", "epochs", "seconds"))
    return {
        "loss": history.best_loss,
        "metric": history.epochs[history.best_epoch][2],
        "best_epoch": history.best_epoch,
        "epochs": len(history.epochs),
        "seconds": history.seconds,
    }


def _result(rows: list[dict[str, Any]]) -> TuneResult:
    import pandas as pd

    good = [row for row in rows if row["loss"] is not None]
    if not good:
        raise TrainingError("Training failed in every trial; try lower learning rates.")
    best = min(good, key=lambda row: row["loss"])
    flat = [
        {
            "trial": row["trial"],
            **row["settings"],
            **{name: value for name, value in row.items() if name not in ("trial", "settings")},
        }
        for row in rows
    ]
    return TuneResult(dict(best["settings"]), float(best["loss"]), pd.DataFrame(flat))


def _identity(
    estimator: Tunable,
    graph: FeatureGraph,
    split: Any,
    space: Space,
    seed: int,
) -> dict[str, Any]:
    """What a log must agree on to be continued."""
    from grafenne.allotrope import to_allotropic
    from grafenne.training.identity import data_checksum, describe_setting

    settings = {
        name: value
        for name, value in _settings(estimator).items()
        if name.removeprefix("estimator__") not in ("verbose", "device")
    }
    seen = getattr(split, "graph", graph)  # an edge split shows its training edges only
    parts = [] if split is None else [split.train, split.validation]
    told: list[Any] = []
    if graph.labels is not None and split is not None and not hasattr(split, "graph"):
        told = [graph.labels.values[part] for part in parts]
    elif graph.labels is not None and split is None:
        told = [graph.labels.values]
    return {
        "estimator": type(estimator).__name__,
        "settings": {name: describe_setting(value) for name, value in settings.items()},
        "space": {name: describe_setting(list(values)) for name, values in space.items()},
        "seed": seed,
        "data": data_checksum(to_allotropic(seen), *parts, *told),
    }


class _Log:
    """The finished trials of a search, in a file that is always whole."""

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self.path = path
        self.head = json.loads(json.dumps({"search": identity}))
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            self._read()

    def add(self, row: dict[str, Any]) -> None:
        """Appends a trial."""
        from grafenne.data.atomic import atomic_write

        self.rows.append(row)
        try:
            lines = [json.dumps(line) for line in (self.head, *self.rows)]
        except TypeError as error:
            raise ParameterError(f"Only plain settings can go into a log: {error}.") from None
        with atomic_write(self.path) as beside:
            beside.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8")
            head, *rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            whole = all(
                row["trial"] == place and isinstance(row["settings"], dict) and "loss" in row
                for place, row in enumerate(rows)
            )
            if not isinstance(head, dict) or "search" not in head or not whole:
                raise ValueError("it does not hold the trials of a search")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"Cannot go on from the log {self.path}: {error}.") from None
        if head != self.head:
            raise DataError(
                f"The log {self.path} is of another search (the {_difference(head, self.head)} "
                "differs); name another file or delete it."
            )
        self.rows = rows


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for name, value in wanted["search"].items():
        if found["search"].get(name) != value:
            return str(name)
    return "description"
