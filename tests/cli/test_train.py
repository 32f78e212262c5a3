from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from grafenne import FeatureGraph, GrafenneClassifier
from grafenne.training.node_objective import NodeObjective
from tests.cli.conftest import Run, shop

QUICK = ("--epochs", "4", "--width", "8")


def test_json_is_one_object_with_the_promised_keys(run: Run, tables: Path) -> None:
    ran = run("train", tables, *QUICK, "--json")
    assert ran.code == 0
    found = ran.json
    for key in (
        "test_accuracy", "val_accuracy", "test_macro_f1", "seconds_per_epoch", "peak_mb",
    ):  # fmt: skip
        assert isinstance(found[key], float)
    assert found["epochs"] == 4
    assert found["parameters"] > 100
    assert found["task"] == "classification"
    assert found["dataset"] == str(tables)
    assert found["settings"]["width"] == 8
    assert (found["test_nodes"], found["val_nodes"]) == (12, 12)


def test_text_tells_the_same_for_people(run: Run, tables: Path) -> None:
    ran = run("train", tables, *QUICK)
    assert "test accuracy" in ran.out
    assert "FeatureGraph(60 nodes" in ran.err
    assert run("train", tables, *QUICK, "--quiet").err == ""


def test_the_same_seed_gives_the_same_result(run: Run, tables: Path) -> None:
    first, second = (run("train", tables, *QUICK, "--json", "--seed", 3).json for _ in range(2))
    assert first["test_auc"] == second["test_auc"]
    assert first["val_auc"] == second["val_auc"]


def test_the_model_is_saved_and_the_checkpoint_removed(
    run: Run, tables: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "model"
    assert run("train", tables, *QUICK, "--out", out).code == 0
    assert sorted(path.name for path in out.parent.iterdir()) == ["model"]
    assert GrafenneClassifier.load(out).width == 8


def test_a_folder_of_other_work_is_never_replaced(run: Run, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    ran = run("train", tables, *QUICK, "--out", tmp_path)
    assert ran.code == 2
    assert "thesis.txt" in ran.err
    assert "epoch" not in ran.err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_numbers_call_for_regression(run: Run, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=40)
    FeatureGraph.from_frames(
        pd.DataFrame({"node": range(40), "feature": "x", "value": values}),
        labels=dict(enumerate((3 * values + 0.5).tolist())),
    ).write(tmp_path / "numbers")
    model = tmp_path / "model"
    found = run("train", tmp_path / "numbers", *QUICK, "--json", "--out", model).json
    assert found["task"] == "regression"
    assert found["test_mae"] > 0
    assert found["test_rmse"] >= found["test_mae"]
    assert "test_r2" in found
    assert run("predict", model, tmp_path / "numbers", "--out", tmp_path / "p.csv").code == 0
    frame = pd.read_csv(tmp_path / "p.csv")
    assert list(frame.columns) == ["node", "value"]
    assert list(frame["node"]) == list(range(40))
    assert run("evaluate", model, tmp_path / "numbers", "--json").json["nodes"] == 40


def test_numbers_that_are_classes_are_told_how_to_be_read(run: Run, tmp_path: Path) -> None:
    labels = {f"i{number}": 1.5 + number % 2 for number in range(20)}
    shop(range(20), 0).with_labels(labels).write(tmp_path / "t", format="csv")
    for path in (tmp_path / "t").iterdir():
        if path.suffix != ".csv":
            path.unlink()
    command = ("train", tmp_path / "t", "--task", "classification", *QUICK, "--json")
    ran = run(*command)
    assert ran.code == 2
    assert "--option label_kind=class" in ran.err
    assert run(*command, "--option", "label_kind=class").code == 0


def test_links_are_judged_by_ranking(run: Run, tables: Path) -> None:
    found = run("train", tables, "--task", "links", *QUICK, "--json").json
    assert 0 <= found["test_auc"] <= 1
    assert 0 <= found["test_average_precision"] <= 1
    assert "test_hits@10" in found


def test_missing_features_change_what_is_learnt(run: Run, tables: Path) -> None:
    whole = run("train", tables, *QUICK, "--json").json
    sparse = run("train", tables, *QUICK, "--json", "--missing", "0.9").json
    zeros = run("train", tables, *QUICK, "--json", "--missing", "0.9", "--observed-zeros").json
    assert len({whole["val_auc"], sparse["val_auc"], zeros["val_auc"]}) == 3
    assert sparse["missing"] == 0.9


def test_settings_from_a_file_give_way_to_options(run: Run, tables: Path, tmp_path: Path) -> None:
    file = tmp_path / "best.json"
    file.write_text(json.dumps({"settings": {"width": 4, "dropout": 0.25, "epochs": 9}}))
    ran = run("train", tables, "--settings", file, "--epochs", 2, "--json", "--set", "skip=false")
    settings = ran.json["settings"]
    assert (settings["width"], settings["dropout"], settings["epochs"]) == (4, 0.25, 2)
    assert settings["skip"] is False
    file.write_text("{")
    ran = run("train", tables, "--settings", file)
    assert ran.code == 2
    assert "best.json" in ran.err


def test_a_given_split_is_used(run: Run, tables: Path, tmp_path: Path) -> None:
    file = tmp_path / "split.csv"
    parts = ["train"] * 30 + ["validation"] * 10 + ["test"] * 5
    lines = [f"i{number},{part}" for number, part in enumerate(parts)]
    file.write_text("\n".join(["node,part", *lines]) + "\n")
    found = run("train", tables, *QUICK, "--json", "--split", file).json
    assert (found["val_nodes"], found["test_nodes"]) == (10, 5)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("node,part\ni0,train\ni999,test\n", ["line 3", "i999"]),
        ("node,part\ni0,train\ni1,tset\n", ["line 3", "tset"]),
        ("node,part\ni0,train\ni0,test\n", ["line 3", "i0", "twice"]),
        ("node,role\ni0,train\n", ["part"]),
        ("", ["split.csv", "empty"]),
    ],
)
def test_a_bad_split_is_named_with_its_line(
    run: Run, tables: Path, tmp_path: Path, content: str, words: list[str]
) -> None:
    file = tmp_path / "split.csv"
    file.write_text(content)
    ran = run("train", tables, *QUICK, "--split", file, "--quiet")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    for word in words:
        assert word in ran.err


def test_unlabelled_tables_cannot_be_trained_on(run: Run, newer_tables: Path) -> None:
    ran = run("train", newer_tables, *QUICK, "--quiet")
    assert ran.code == 2
    assert "label" in ran.err


def test_ctrl_c_keeps_the_state_of_the_run(run: Run, tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    arguments = ["train", str(tables), "--out", str(out), "--width", "8", "--patience", "100000"]
    running = subprocess.Popen(
        [sys.executable, "-m", "grafenne", *arguments, "--epochs", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, Ctrl-C is ignored and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert running.stderr is not None
    done = 0
    while done < 3:  # training is under way
        line = running.stderr.readline()
        assert line
        done = int(line.split()[1].split("/")[0]) if line.startswith("epoch") else 0
    running.send_signal(signal.SIGINT)
    told, complaint = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told == ""
    assert "same command" in complaint
    assert not out.exists()
    state = tmp_path / "model.checkpoint" / "checkpoint.json"
    assert len(json.loads(state.read_text())["history"]["epochs"]) > 1

    # It belongs to that run alone; another one refuses it unless it may be thrown away.
    other = run(*arguments, "--epochs", 3)
    assert other.code == 2
    assert "--fresh" in other.err
    assert state.exists()
    assert run(*arguments, "--epochs", 3, "--fresh").code == 0
    assert out.is_dir()
    assert not state.exists()


def test_the_same_command_goes_on_where_it_stopped(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("train", tables, "--epochs", 12, "--width", 8, "--json", "--out")
    whole = run(*arguments, tmp_path / "whole").json
    count = 0
    ordinary = NodeObjective.validate

    def interrupted(objective: NodeObjective) -> tuple[float, float]:
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return ordinary(objective)

    with monkeypatch.context() as patched:
        patched.setattr(NodeObjective, "validate", interrupted)
        stopped = run(*arguments, tmp_path / "parts")
    assert stopped.code == 130
    assert stopped.out == ""
    again = run(*arguments, tmp_path / "parts")
    assert "checkpoint" in again.err
    assert again.json["epochs"] == 12
    assert again.json["val_accuracy"] == whole["val_accuracy"]
    one, other = (tmp_path / name / "model.safetensors" for name in ("whole", "parts"))
    assert one.read_bytes() == other.read_bytes()


def test_answers_may_be_smoothed(run: Run, tables: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    found = run("train", tables, *QUICK, "--json", "--smoothing", "0.5", "--out", model).json
    assert found["smoothing"] == 0.5
    assert found["settings"]["smoothing"] == 0.5
    assert GrafenneClassifier.load(model).smoothing_.share == 0.5
    chosen = run("train", tables, *QUICK, "--json", "--smoothing", "auto").json
    assert chosen["smoothing"] in (0.0, 0.3, 0.5, 0.7, 0.9)
    assert run("train", tables, *QUICK, "--json").json["smoothing"] is None
    behind = run("train", tables, *QUICK, "--json", "--smoothing", "0.5", "--impute", "special")
    assert behind.json["smoothing"] == 0.5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--smoothing", "much"), "smoothing is 'auto', or at least 0 and below 1"),
        (("--smoothing", "0.5", "--task", "links"), "smoothing"),
    ],
)
def test_strange_smoothing_is_refused(
    run: Run, tables: Path, words: tuple[str, ...], told: str
) -> None:
    ran = run("train", tables, *QUICK, *words)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err
