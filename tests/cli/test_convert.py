"""``grafenne convert``: another format, the same graph."""

from __future__ import annotations

from pathlib import Path

from grafenne import FeatureGraph
from tests.cli.conftest import Run


def test_tables_become_mapped_arrays_and_tables_again(
    run: Run, tables: Path, tmp_path: Path
) -> None:
    ran = run("convert", tables, "--out", tmp_path / "mapped", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["format"] == "mapped"
    assert (tmp_path / "mapped" / "values-indices.npy").is_file()
    assert run("convert", tmp_path / "mapped", "--out", tmp_path / "b", "--format", "csv").code == 0
    assert FeatureGraph.read(tmp_path / "b") == FeatureGraph.read(tables)


def test_every_command_reads_mapped_arrays(
    run: Run, tables: Path, model: Path, tmp_path: Path
) -> None:
    run("convert", tables, "--out", tmp_path / "mapped")
    for command in (["describe"], ["predict", model], ["evaluate", model]):
        expected, found = run(*command, tables), run(*command, tmp_path / "mapped")
        assert found.code == 0, found.err
        assert found.out.replace(str(tmp_path / "mapped"), str(tables)) == expected.out


def test_mistakes_are_told(run: Run, tables: Path, tmp_path: Path) -> None:
    ran = run("convert", tables, "--out", tmp_path / "g", "--format", "maped")
    assert ran.code == 2
    assert "Did you mean 'mapped'" in ran.err
    (tmp_path / "mine").write_text("text")
    ran = run("convert", tables, "--out", tmp_path)
    assert ran.code == 2
    assert "mine" in ran.err
    assert (tmp_path / "mine").read_text() == "text"
