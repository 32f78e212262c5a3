from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

QUICK = ("--epochs", "3", "--quiet")


def test_a_search_ends_in_a_file_for_train(run: Run, tables: Path, tmp_path: Path) -> None:
    log, best = tmp_path / "trials.jsonl", tmp_path / "best.json"
    ran = run("tune", tables, *QUICK, "--trials", 2, "--log", log, "--out", best, "--json")
    assert ran.code == 0
    found = ran.json
    assert len(found["trials"]) == 2
    assert found["best_loss"] == min(trial["loss"] for trial in found["trials"])
    assert json.loads(best.read_text())["settings"] == found["settings"]
    assert len(log.read_text().splitlines()) == 3
    trained = run("train", tables, "--settings", best, "--json", "--quiet").json
    assert trained["settings"]["width"] == found["settings"]["width"]
    assert trained["epochs"] == 3


def test_a_search_goes_on_from_its_log(run: Run, tables: Path, tmp_path: Path) -> None:
    log = tmp_path / "trials.jsonl"
    arguments = ("tune", tables, "--epochs", 3, "--log", log, "--json")
    first = run(*arguments, "--trials", 2)
    assert first.err.count("trial ") == 2
    more = run(*arguments, "--trials", 3)
    assert more.err.count("trial ") == 1
    assert more.json["trials"][:2] == first.json["trials"]
    ran = run("tune", tables, "--epochs", 4, "--log", log, "--quiet")
    assert ran.code == 2
    assert "trials.jsonl" in ran.err


def test_text_lists_the_trials(run: Run, tables: Path) -> None:
    ran = run("tune", tables, *QUICK, "--trials", 2)
    assert "learning_rate" in ran.out
    assert "best:" in ran.out
