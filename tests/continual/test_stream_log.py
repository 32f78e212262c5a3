"""A run over a stream that is stopped goes on to the very same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grafenne import GrafenneClassifier, GraphDelta, GraphStream
from grafenne.continual import (
    STRATEGIES,
    StepResult,
    StreamSplit,
    make_strategy,
    run_stream,
    synthetic_task,
)
from grafenne.errors import DataError

SMALL: dict[str, Any] = {"width": 8, "epochs": 5, "patience": 5}
NAMES = ("ewc", "replay", "online-ewc", "contgnn", "frozen")


class StoppedError(Exception):
    """Stands for Ctrl-C or the power cut."""


def plans() -> list[Any]:
    more = {"replay": {"memory": 10}, "contgnn": {"memory": 10}}
    return [
        make_strategy(name, **({} if name == "frozen" else {"epochs": 3, **more.get(name, {})}))
        for name in NAMES
    ]


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


def follow(
    log: Path, names: list[str], split_rule: Any, stream: Any = None, progress: Any = None
) -> Any:
    task = synthetic_task(num_nodes=60, num_features=30, steps=3, seed=0)
    return run_stream(
        GrafenneClassifier(**SMALL),
        task.stream if stream is None else stream,
        names,
        split_rule=split_rule,
        log=log,
        progress=progress,
    )


def test_another_later_step_or_split_is_refused(tmp_path: Path) -> None:
    """The first snapshot alone does not tell one stream from another."""
    log = tmp_path / "log.jsonl"
    task = synthetic_task(num_nodes=60, num_features=30, steps=3, seed=0)
    first, rule = task.stream.first, StreamSplit()
    follow(log, ["frozen"], rule)
    with_first = StreamSplit(
        first=rule(first), first_nodes=first.nodes, new_fractions=(0.0, 0.0, 1.0)
    )
    told: list[StepResult] = []
    with pytest.raises(DataError, match=r"another run \(step 1 of the stream"):
        follow(log, ["frozen"], with_first, progress=told.append)
    assert [result.step for result in told] == [0]  # of what does not fit nothing is told
    deltas = [delta for delta, _ in task.stream.steps()]
    node = first.nodes[0]
    change = GraphDelta(triples_added=[(node, "odd one", 1.0)])
    other = GraphStream.from_deltas(first, [deltas[0], change])
    with pytest.raises(DataError, match=r"another run \(step 2 of the stream"):
        follow(log, ["frozen"], rule, other)


def test_a_finished_log_takes_another_strategy(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = follow(log, ["frozen"], StreamSplit())
    both = follow(log, ["frozen", "finetune"], StreamSplit())
    alone = follow(tmp_path / "other.jsonl", ["frozen", "finetune"], StreamSplit())
    assert numbers(both) == numbers(alone)
    assert numbers(both)[: len(first.steps)] == numbers(first)


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
