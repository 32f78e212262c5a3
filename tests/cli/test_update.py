"""``grafenne update``: a model follows its graph, whole at every moment."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grafenne import FeatureGraph, GrafenneClassifier, GraphDelta
from grafenne.cli.main import main
from grafenne.errors import DataError
from tests.cli.conftest import Run, shop


def grown(labels: bool = True) -> FeatureGraph:
    """The shop later: some items left, others came, with features that are new."""
    graph = shop(range(6, 70), 3, extra=("isbn", "bulbs"))
    return graph if labels else graph.with_labels(None)


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "later"
    grown().write(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_snapshot_is_compared_and_taken_in(
    run: Run, model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    ran = run("update", model, later, "--before", tables, "--out", tmp_path / "m", "--json")
    assert ran.code == 0
    told = ran.json
    assert told["strategy"] == "ewc"
    assert told["new_features"] == 2
    assert told["updates"] == 1
    assert told["test_accuracy"] >= 0.9
    before, after = FeatureGraph.read(tables), FeatureGraph.read(later)
    assert told["delta"] == before.diff(after).digest()
    assert "nodes +10 -6" in ran.err
    # The command does what the estimator does.
    expected = GrafenneClassifier.load(model).update(before, after)
    loaded = GrafenneClassifier.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(after), expected.predict_proba(after))
    assert loaded.lineage_[0]["parent"] == told["parent"]


def test_events_and_delta_folders(run: Run, model: Path, tables: Path, tmp_path: Path) -> None:
    before = FeatureGraph.read(tables)
    delta = before.diff(grown())
    delta.write(tmp_path / "events.jsonl")
    delta.write(tmp_path / "delta")
    digests = set()
    for number, change in enumerate(("events.jsonl", "delta")):
        out = tmp_path / f"m{number}"
        told = run(
            "update", model, tmp_path / change, "--before", tables, "--out", out, "--json",
            "--strategy", "finetune", "--epochs", 2, "--quiet", "--write-graph", tmp_path / "after",
        )  # fmt: skip
        assert told.code == 0
        assert told.err == ""
        assert told.json["epochs"] == 2
        digests.add(told.json["digest"])
    assert len(digests) == 1
    assert FeatureGraph.read(tmp_path / "after") == before.apply(delta)


def test_releases_of_a_dataset(run: Run, tmp_path: Path) -> None:
    data = ("debian-mini", "--release")
    code = main(
        ["train", *data, "bookworm", "--epochs", "1", "--width", "8", "--features", "name",
         "--quiet", "--out", str(tmp_path / "m")]
    )  # fmt: skip
    assert code == 0
    arguments = (tmp_path / "m", *data, "trixie", "--out", tmp_path / "m2", "--epochs", 1)
    assert "--before-release" in run("update", *arguments).err
    told = run("update", *arguments, "--before-release", "bookworm", "--json").json
    assert told["new_features"] > 100
    assert told["affected"] > 1000


def write_plain(graph: FeatureGraph, folder: Path) -> None:
    """Tables alone, without the notes that tell how they were meant."""
    graph.write(folder, format="csv")
    for path in folder.iterdir():
        if path.suffix != ".csv":
            path.unlink()


def test_options_tell_how_both_folders_are_read(run: Run, tmp_path: Path) -> None:
    write_plain(shop(range(20), 0), tmp_path / "a")
    write_plain(shop(range(22), 0), tmp_path / "b")
    directed = ("--option", "directed=true")
    small = ("--epochs", 2, "--quiet", "--json")
    model, now = tmp_path / "m", tmp_path / "now"
    assert run("train", tmp_path / "a", *directed, "--out", model, *small).code == 0
    change = ("--before", tmp_path / "a", "--out", tmp_path / "m2", "--write-graph", now)
    ran = run("update", model, tmp_path / "b", *change, *directed, *small)
    assert ran.code == 0
    assert FeatureGraph.read(now) == FeatureGraph.read(tmp_path / "b", directed=True)
    # A change says nothing of how it is read: the option is for the graph before it.
    (tmp_path / "c.jsonl").write_text('{"event": "add_edge", "source": "i2", "target": "i0"}\n')
    assert run("update", model, tmp_path / "c.jsonl", *change, *directed, *small).code == 0
    assert FeatureGraph.read(now).num_edges == 19
    ran = run("update", model, tmp_path / "c.jsonl", *change, *small)
    assert ran.code == 2  # undirected, the edge is there already
    ran = run("update", model, tmp_path / "b", *change, *small, "--option", "direct=true")
    assert ran.code == 2
    assert "Did you mean 'directed'" in ran.err


def test_options_of_a_dataset_are_not_for_a_folder(run: Run, tmp_path: Path) -> None:
    size = ("--option", "num_nodes=40", "--option", "num_features=20")
    small = ("--epochs", 2, "--width", 8)
    assert run("train", "synthetic", *size, *small, "--out", tmp_path / "m").code == 0
    larger = ("--option", "num_nodes=44", *size[2:])
    later = ("--out", tmp_path / "later", "--format", "csv")
    assert run("convert", "synthetic", *larger, *later).code == 0
    ran = run(
        "update", tmp_path / "m", tmp_path / "later", "--before", "synthetic", *size,
        "--option", "duplicates=first", "--out", tmp_path / "m2", "--epochs", 1, "--json",
    )  # fmt: skip
    assert ran.code == 0
    assert "nodes +4" in ran.err


def test_a_snapshot_without_labels_leaves_them_as_they_were(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    grown(labels=False).write(tmp_path / "later")
    out, now = tmp_path / "m", tmp_path / "now"
    ran = run(
        "update", model, tmp_path / "later", "--before", tables, "--out", out, "--json",
        "--write-graph", now, "--epochs", 2,
    )  # fmt: skip
    assert "has no labels" in ran.err
    before, after = FeatureGraph.read(tables), FeatureGraph.read(now)
    for node in after.nodes:
        assert after.label_of(node) == (before.label_of(node) if node in before.nodes else None)
    expected = GrafenneClassifier.load(model).update(before, grown(labels=False), epochs=2)
    loaded = GrafenneClassifier.load(out)
    assert np.array_equal(loaded.predict_proba(after), expected.predict_proba(after))


def test_an_empty_folder_is_no_change(run: Run, model: Path, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    ran = run("update", model, tmp_path / "nothing", "--before", tables, "--out", tmp_path / "m")
    assert ran.code == 2
    assert "is empty" in ran.err
    assert not (tmp_path / "m").exists()


# ---- again, in place, and stopped ------------------------------------------------------------


def test_the_same_update_again_does_nothing(
    run: Run, model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    command = ("update", model, later, "--before", tables, "--out", tmp_path / "m", "--epochs", 3)
    first = run(*command, "--json").json
    held = contents(tmp_path / "m")
    ran = run(*command, "--json", "--write-graph", tmp_path / "graph")
    assert "already" in ran.err
    assert ran.json["repeated"] is True
    assert ran.json["digest"] == first["digest"]
    assert contents(tmp_path / "m") == held
    assert FeatureGraph.read(tmp_path / "graph").num_nodes == 64
    assert run(*command, "--json", "--again").json["repeated"] is False
    other = run(*command[:-1], 4, "--json").json
    assert other["repeated"] is False
    assert other["digest"] != first["digest"]


def test_in_place_a_change_is_taken_in_once(
    run: Run, model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    shutil.copytree(model, tmp_path / "m")
    command = ("update", tmp_path / "m", later, "--before", tables, "--out", tmp_path / "m")
    first = run(*command, "--json").json
    again = run(*command, "--json").json
    assert (first["updates"], again["updates"]) == (1, 1)
    assert again["digest"] == first["digest"]
    third = run(
        "update", tmp_path / "m", tables, "--before", later, "--out", tmp_path / "m", "--json"
    ).json
    assert third["updates"] == 2
    assert third["parent"] == first["digest"]


DIES_WRITING = """
import os, sys
import safetensors.torch
from grafenne.cli.main import main

def die(tensors, path):
    path.write_bytes(b"half of the weigh")
    os._exit(9)

safetensors.torch.save_file = die
main(sys.argv[1:])
"""


def test_a_process_killed_while_writing_leaves_the_old_model(
    run: Run, model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    shutil.copytree(model, tmp_path / "m")
    held = contents(tmp_path / "m")
    command = ["update", str(tmp_path / "m"), str(later), "--before", str(tables), "--quiet"]
    command += ["--out", str(tmp_path / "m")]
    # A process of its own: a fork of this one has none of the threads that torch counts on.
    died = subprocess.run([sys.executable, "-c", DIES_WRITING, *command], check=False)
    assert died.returncode == 9
    assert contents(tmp_path / "m") == held
    repeated = run(*command, "--json").json
    straight = run(
        "update", model, later, "--before", tables, "--out", tmp_path / "other", "--json"
    ).json
    assert repeated["updates"] == 1
    assert repeated["digest"] == straight["digest"]


def test_an_update_that_fails_leaves_everything(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    GraphDelta(labels_set=[("i0", "sofa")]).write(tmp_path / "events.jsonl")
    ran = run(
        "update", model, tmp_path / "events.jsonl", "--before", tables, "--out", tmp_path / "m",
        "--new-classes", "refuse", "--write-graph", tmp_path / "graph",
    )  # fmt: skip
    assert ran.code == 2
    assert "'sofa'" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl"]


def test_a_graph_that_cannot_be_written_leaves_the_model(
    run: Run, model: Path, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DataError("The disk is full.")

    shutil.copytree(model, tmp_path / "m")
    GraphDelta(labels_set=[("i0", "book")]).write(tmp_path / "events.jsonl")
    before = contents(tmp_path / "m")
    monkeypatch.setattr(FeatureGraph, "write", refuse)
    ran = run(
        "update", tmp_path / "m", tmp_path / "events.jsonl", "--before", tables,
        "--out", tmp_path / "m", "--write-graph", tmp_path / "now", "--epochs", 1,
    )  # fmt: skip
    assert ran.code == 2
    assert "disk is full" in ran.err
    assert contents(tmp_path / "m") == before


def test_a_label_of_another_type_is_refused(
    run: Run, model: Path, tables: Path, tmp_path: Path
) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"event": "set_label", "node": "i1", "label": 3.5}\n')
    ran = run("update", model, events, "--before", tables, "--out", tmp_path / "m")
    assert ran.code == 2
    assert "'i1' is 3.5" in ran.err
    assert not (tmp_path / "m").exists()


def test_a_graph_that_the_model_does_not_know_is_told(
    run: Run, model: Path, later: Path, tmp_path: Path
) -> None:
    ran = run(
        "update", model, later, "--before", later, "--out", tmp_path / "m",
        "--strategy", "frozen",
    )  # fmt: skip
    assert ran.code == 0
    assert "10 of the nodes before the change are unknown to the model" in ran.err


# ---- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--strategy", "ewcc"), "Did you mean 'ewc'"),
        (("--strength", "strong"), "number or auto"),
        (("--strategy", "finetune", "--strength", "3"), "--strength"),
        (("--set", "memori=3", "--strategy", "replay"), "Did you mean 'memory'"),
        (("--new-classes", "maybe"), "--new-classes"),
        (("--release", "trixie"), "Only named datasets"),
    ],
)
def test_mistakes_are_one_sentence(
    run: Run,
    model: Path,
    tables: Path,
    later: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    ran = run("update", model, later, "--before", tables, "--out", tmp_path / "m", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "m").exists()


def test_what_is_missing_is_named(
    run: Run, model: Path, link_model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "m")
    assert "--before" in run("update", model, later, *out).err
    assert "gone.jsonl" in run("update", model, "gone.jsonl", "--before", tables, *out).err
    (tmp_path / "changes.txt").write_text("a\n")
    assert ".jsonl" in run("update", model, tmp_path / "changes.txt", "--before", tables, *out).err
    ran = run("update", link_model, later, "--before", tables, *out)
    assert "GrafenneLinkPredictor, which cannot be updated" in ran.err
    ran = run("update", model, later, "--before", tables, *out, "--write-graph", tables)
    assert "--write-graph" in ran.err
    assert ran.code == 2


def test_a_model_tells_its_lineage(
    run: Run, model: Path, tables: Path, later: Path, tmp_path: Path
) -> None:
    assert run("describe", model, "--json").json["updates"] == 0
    run("update", model, later, "--before", tables, "--out", tmp_path / "m", "--epochs", 1)
    told = run("describe", tmp_path / "m", "--json").json
    assert told["lineage"][0]["parent"] == run("describe", model, "--json").json["digest"]
    human = run("describe", tmp_path / "m").out
    assert told["lineage"][0]["delta"][:12] in human
    about = json.loads((tmp_path / "m" / "model.json").read_text())
    about["lineage"] = [{}]
    (tmp_path / "m" / "model.json").write_text(json.dumps(about))
    assert run("describe", tmp_path / "m").code == 2
