"""The results of strategies on a stream in a file, so that a run can go on after a stop."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from grafenne.continual.lineage import strategy_settings
from grafenne.continual.results import StepResult
from grafenne.continual.strategies import Strategy
from grafenne.data.delta import GraphDelta
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split
from grafenne.data.stream import GraphStream
from grafenne.errors import DataError


def stream_identity(
    estimator: Any, stream: GraphStream, split: Split, seed: int, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What a log must agree on to be continued."""
    from grafenne.allotrope import to_allotropic
    from grafenne.training.identity import data_checksum, describe_setting

    settings = estimator.get_params(deep=False)
    for name in ("verbose", "device", "random_state"):
        settings.pop(name, None)
    return {
        "estimator": type(estimator).__name__,
        "settings": {name: describe_setting(value) for name, value in settings.items()},
        "seed": seed,
        "steps": stream.num_steps,
        "options": describe_setting(dict(options or {})),
        "data": data_checksum(
            to_allotropic(stream.first), split.train, split.validation, split.test
        ),
    }


def change_identity(delta: GraphDelta | None, graph: FeatureGraph, split: Split) -> str:
    """A digest of a step: what changed, and who trains, validates and tests afterwards."""
    content = hashlib.sha256((delta.digest() if delta is not None else "").encode())
    for part in (split.train, split.validation, split.test):
        content.update(repr(graph.nodes.take(part)).encode("utf-8", "surrogatepass"))
    return content.hexdigest()


class StreamLog:
    """A line per strategy and step, and beside it the models as the last lines left them.

    A model is written before its line and the model before it is removed after the line, so
    that whenever a run is stopped the last line's model is there.

    Args:
        path: The file.
        identity: What the run is; a log of another run is refused.
    """

    def __init__(self, path: Path | str, identity: dict[str, Any]) -> None:
        self.path = Path(path)
        self.models = self.path.with_name(f"{self.path.name}.models")
        self.head = json.loads(json.dumps({"stream": identity}))
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            self._read()

    def results(self, plan: Strategy) -> list[StepResult]:
        """What is known of a strategy, step by step."""
        rows = [row for row in self.rows if row["strategy"] == plan.name]
        wanted = json.loads(json.dumps(strategy_settings(plan)))
        for row in rows:
            if row["settings"] != wanted:
                raise DataError(
                    f"The log {self.path} has {plan.name!r} with other settings "
                    f"({row['settings']}); name another file or delete it."
                )
        return [_from_row(row) for row in rows]

    def has_first(self) -> bool:
        """Whether the model of the first snapshot is there."""
        return (self.models / "first" / "model.json").is_file()

    def keep_first(self, fitted: Any) -> None:
        """Keeps the model of the first snapshot."""
        fitted.save(self.models / "first")

    def first(self) -> Any:
        """The model of the first snapshot."""
        return _load(self.models / "first")

    def learner(self, strategy: str, step: int) -> Any:
        """The model that a strategy had after a step."""
        return _load(self.models / f"{strategy}-{step}")

    def check(self, step: int, change: str) -> None:
        """Raises if a step that is done was another change, or on another split."""
        for row in self.rows:
            if row["step"] == step and row["change"] != change:
                raise DataError(
                    f"The log {self.path} is of another run (step {step} of the stream, or its "
                    "split, differs); name another file or delete it."
                )

    def add(self, result: StepResult, plan: Strategy, learner: Any, change: str) -> None:
        """Keeps one more result, the model behind it, and what it was a change to."""
        from grafenne.data.atomic import atomic_write

        if result.step:
            learner.save(self.models / f"{result.strategy}-{result.step}")
        row = {**_to_row(result), "settings": strategy_settings(plan), "change": change}
        self.rows.append(row)
        lines = [json.dumps(line, allow_nan=False) for line in (self.head, *self.rows)]
        with atomic_write(self.path) as beside:
            beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
        shutil.rmtree(self.models / f"{result.strategy}-{result.step - 1}", ignore_errors=True)

    def tidy(self) -> None:
        """Removes the models; a finished run needs them no longer."""
        # First that which tells that the first one is there: the rest may not come to pass.
        (self.models / "first" / "model.json").unlink(missing_ok=True)
        shutil.rmtree(self.models, ignore_errors=True)

    def _read(self) -> None:
        try:
            text = self.path.read_text(encoding="utf-8")
            head, *rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            if not isinstance(head, dict) or "stream" not in head:
                raise ValueError("it does not hold the results of a stream")
            counts: dict[str, int] = {}
            for row in rows:
                _from_row(row)
                told = {"settings", "change"} <= row.keys()
                if row["step"] != counts.setdefault(row["strategy"], 0) or not told:
                    raise ValueError(f"step {row['step']} of {row['strategy']!r} is out of order")
                counts[row["strategy"]] += 1
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(f"Cannot go on from the log {self.path}: {error}.") from None
        if head != self.head:
            raise DataError(
                f"The log {self.path} is of another run (the {_difference(head, self.head)} "
                "differs); name another file or delete it."
            )
        self.rows = rows


def _load(folder: Path) -> Any:
    from grafenne.estimators.persistence import load_estimator

    return load_estimator(folder)


def _to_row(result: StepResult) -> dict[str, Any]:
    """A result as JSON can hold it: NaN, which stands for an empty group, is null."""
    row: dict[str, Any] = _without_nan(asdict(result))
    return row


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _from_row(row: Mapping[str, Any]) -> StepResult:
    told = {part.name: row[part.name] for part in fields(StepResult)}
    for name in ("accuracy", "before_update"):
        told[name] = {group: _number(value) for group, value in told[name].items()}
    told["groups"] = [_number(value) for value in told["groups"]]
    return StepResult(**told)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for name, value in wanted["stream"].items():
        if found["stream"].get(name) != value:
            return str(name)
    return "description"
