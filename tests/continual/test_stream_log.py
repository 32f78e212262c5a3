"""A run over a stream that is stopped goes on to the very same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grafenne import GrafenneClassifier
from grafenne.continual import STRATEGIES, StepResult, make_strategy, run_stream, synthetic_task
from grafenne.errors import DataError

SMALL: dict[str, Any] = {"width": 8, "epochs": 5, "patience": 5}
NAMES = ("ewc", "replay", "online-ewc", "contgnn", "frozen")


class StoppedError(Exception):
    """Stands for Ctrl-C or the power cut."""


def plans() -> list[Any]:
    more = {"replay": {"memory": 10}, "contgnn": {"memory": 10}}
    return [make_strategy(name, epochs=3, **more.get(name, {})) for name in NAMES]


def run(log: Path | None = None, stop_after: int | None = None, seed: int = 0, **more: Any) -> Any:
    task = synthetic_task(num_nodes=60, num_features=30, steps=3, seed=0)
    told: list[StepResult] = []

    def progress(result: StepResult) -> None:
        told.append(result)
        if len(told) == stop_after:
            raise StoppedError

    results = run_stream(
        GrafenneClassifier(**{**SMALL, **more}),
        task.stream,
        plans(),
        split_rule=task.split_rule,
        seed=seed,
        progress=progress,
        log=log,
    )
    assert len(told) == 3 * len(NAMES)
    return results


def numbers(results: Any) -> list[Any]:
    """All that does not depend on how fast the machine is."""
    return [
        (step.strategy, step.step, str(step.accuracy), str(step.before_update), str(step.groups))
        for step in results.steps
    ]


@pytest.mark.parametrize("stop_after", [3, 8, 12])
def test_a_stopped_run_goes_on(stop_after: int, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with pytest.raises(StoppedError):
        run(log, stop_after)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 1 + stop_after
    assert {"strategy", "step", "accuracy", "seconds"} <= lines[1].keys()
    resumed = run(log)
    assert numbers(resumed) == numbers(run())
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_finished_log_is_only_read(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = run(log)
    held = log.read_bytes()
    again = run(log)
    assert log.read_bytes() == held
    assert numbers(again) == numbers(first)
    assert [step.seconds for step in again.steps] == [step.seconds for step in first.steps]
    assert again.summary().round(6).equals(first.summary().round(6))


def test_another_run_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    run(log)
    with pytest.raises(DataError, match="the settings differs"):
        run(log, width=4)
    with pytest.raises(DataError, match="the seed differs"):
        run(log, seed=1)
    task = synthetic_task(num_nodes=60, num_features=30, steps=3, seed=0)
    with pytest.raises(DataError, match="'ewc' with other settings"):
        run_stream(
            GrafenneClassifier(**SMALL),
            task.stream,
            [make_strategy("ewc", epochs=4)],
            split_rule=task.split_rule,
            log=log,
        )


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[1]", '{"other": 1}', '{"stream": {}}\n{"a": 1}']
)
def test_a_damaged_log_is_one_clear_error(text: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text)
    with pytest.raises(DataError, match=r"log\.jsonl"):
        run(log)


def test_every_strategy_is_known_by_name() -> None:
    assert set(NAMES) <= set(STRATEGIES)
