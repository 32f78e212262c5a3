from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_datasets_tells_what_is_here(run: Run, tmp_path: Path) -> None:
    ran = run("datasets", "--json", "--data-root", tmp_path)
    here = {about["name"]: about["offline"] for about in ran.json["datasets"]}
    assert here["debian-mini"]
    assert here["synthetic"]
    assert not here["cora"]
    assert not here["debian"]
    text = run("datasets", "--data-root", tmp_path).out
    assert "Cora: papers, citations and words" in text
    assert str(tmp_path) in text


def test_datasets_sees_files_that_are_here(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "Physics" / "raw" / "ms_academic_phy.npz"
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "debian").mkdir()
    ran = run("datasets", "--json", "--data-root", tmp_path)
    here = {about["name"]: about["offline"] for about in ran.json["datasets"]}
    assert here["physics"]
    assert not here["debian"]


def test_describe_counts_a_folder(run: Run, tables: Path) -> None:
    found = run("describe", tables, "--json").json
    assert (found["nodes"], found["edges"], found["features"]) == (60, 58, 5)
    assert found["classes"] == 2
    text = run("describe", tables).out
    assert "labelled nodes" in text


def test_describe_takes_the_options_of_a_dataset(run: Run) -> None:
    found = run("describe", "synthetic", "--option", "num_nodes=30", "--json").json
    assert found["nodes"] == 30
    first, second = (
        run("describe", "--release", release, "--json").json["nodes"]
        for release in ("bookworm", "trixie")
    )
    assert (first, second) == (3892, 4058)


def test_a_bad_table_is_named_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "features.csv").write_text("node,feature,value\nann,age,31\nbob,age,nan\n")
    ran = run("describe", tmp_path)
    assert ran.code == 2
    assert "line 3" in ran.err
    assert "features.csv" in ran.err
    assert ran.err.count("\n") == 1


def test_folders_have_no_options(run: Run, tables: Path) -> None:
    ran = run("describe", tables, "--release", "trixie")
    assert ran.code == 2
    assert "tables" in ran.err


def test_how_the_tables_of_a_folder_are_read_can_be_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("node\na\nb\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\na,b\n")
    (tmp_path / "labels.csv").write_text("node,label\na,3\nb,4\n")
    assert run("describe", tmp_path).code == 2
    told = (
        "--option",
        "duplicates=first",
        "--option",
        "directed=true",
        "--option",
        "label_kind=number",
    )
    ran = run("describe", tmp_path, *told, "--json")
    assert ran.code == 0
    assert ran.json["directed"] is True
    assert run("describe", tmp_path, "--option", "durplicates=first").code == 2
    assert "Only named datasets" in run("describe", tmp_path, "--release", "trixie").err
