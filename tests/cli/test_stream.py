"""``grafenne stream``: strategies side by side."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

SMALL = ("--option", "num_nodes=60", "--option", "num_features=30", "--option", "steps=3",
         "--width", 8, "--epochs", 5, "--update-epochs", 2)  # fmt: skip
TWO = ("--strategy", "ewc", "--strategy", "frozen")


def test_strategies_are_compared(run: Run, tmp_path: Path) -> None:
    log, plot = tmp_path / "log.jsonl", tmp_path / "plot.png"
    ran = run(
        "stream", "synthetic", *SMALL, *TWO, "--strategy", "retrain", "--log", log, "--plot", plot
    )
    assert ran.code == 0
    lines = ran.out.splitlines()
    for column in ("all", "affected", "unaffected", "new", "forgetting", "backward", "forward",
                   "gap", "seconds"):  # fmt: skip
        assert column in lines[0].split()
    assert [line.split()[0] for line in lines[1:]] == ["ewc", "frozen", "retrain"]
    assert "hash of its id" in ran.err
    assert "step 2/2 retrain: all" in ran.err
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(log.read_text().splitlines()) == 1 + 3 * 3
    # The same command only reads the log.
    again = run(
        "stream", "synthetic", *SMALL, *TWO, "--strategy", "retrain", "--log", log, "--quiet"
    )
    assert again.out == ran.out
    assert again.err == ""


def test_one_json_object(run: Run) -> None:
    ran = run("stream", "synthetic", *SMALL, *TWO, "--json", "--steps", 1, "--new-labels", 0.5)
    told = ran.json
    assert [row["strategy"] for row in told["summary"]] == ["ewc", "frozen"]
    assert {row["step"] for row in told["steps"]} == {0, 1}
    assert "0.5" in told["labels"]


def test_a_folder_of_changes(run: Run, tmp_path: Path) -> None:
    from grafenne.continual import synthetic_task

    synthetic_task(num_nodes=40, num_features=20, steps=2).stream.write(tmp_path / "stream")
    ran = run("stream", tmp_path / "stream", *SMALL[6:], "--strategy", "finetune", "--json")
    assert ran.json["summary"][0]["strategy"] == "finetune"


def test_options_tell_how_a_folder_is_read(run: Run, tmp_path: Path) -> None:
    from grafenne.continual import synthetic_task

    stream = synthetic_task(num_nodes=40, num_features=20, steps=2).stream
    for step, graph in enumerate(stream):
        graph.write(tmp_path / "stream" / str(step), format="csv")
        for path in (tmp_path / "stream" / str(step)).iterdir():
            if path.suffix != ".csv":
                path.unlink()
    edges = tmp_path / "stream" / "0" / "edges.csv"
    first = edges.read_text().splitlines()[1]
    edges.write_text(edges.read_text() + first + "\n")
    command = ("stream", tmp_path / "stream", *SMALL[6:], "--strategy", "frozen", "--json")
    ran = run(*command)
    assert ran.code == 2
    assert "edges.csv" in ran.err
    ran = run(*command, "--option", "duplicates=first")
    assert ran.json["summary"][0]["strategy"] == "frozen"
    assert "label_kind" in run(*command, "--option", "seed=3").err


def test_a_stopped_run_is_told_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grafenne import GrafenneClassifier

    whole = GrafenneClassifier.update
    calls = []

    def update(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(self, *arguments, **options)

    log = tmp_path / "log.jsonl"
    command = ("stream", "synthetic", *SMALL, "--strategy", "ewc", "--log", log)
    monkeypatch.setattr(GrafenneClassifier, "update", update)
    ran = run(*command)
    assert ran.code == 130
    assert "again to go on" in ran.err
    assert len(log.read_text().splitlines()) == 3
    assert run(*command).code == 0
    assert len(calls) == 3
    assert not (tmp_path / "log.jsonl.models").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("synthetic", "--strategy", "ewcc"), "Did you mean 'ewc'"),
        (("synthetic", *TWO, *TWO), "listed twice"),
        (("syntetic",), "Did you mean 'synthetic'"),
        (("actor",), "does not change over time"),
        (("synthetic", "--option", "drif=1"), "Did you mean 'drift'"),
        (("synthetic", "--plot", "plot.svg"), ".png"),
        (("synthetic", "--strategy", "finetune", "--strength", "2"), "--strength"),
        (("synthetic", "--set", "widht=3"), "Did you mean 'width'"),
    ],
)
def test_mistakes_are_one_sentence(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run("stream", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_plot_without_matplotlib_is_refused_at_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return whole(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    ran = run("stream", "synthetic", "--plot", tmp_path / "plot.png")
    assert ran.code == 2
    assert "grafenne[plots]" in ran.err


def test_a_log_of_something_else_is_refused(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"trial": 1}) + "\n")
    ran = run("stream", "synthetic", *SMALL, *TWO, "--log", log)
    assert ran.code == 2
    assert "log.jsonl" in ran.err
