"""A table with a row per node as the data of a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from grafenne import FeatureGraph
from tests.cli.conftest import Run

PEOPLE = """name,age,city,zip,bio,job
ann,31,Rome,00184,likes red wine,cook
bob,,Rome,00185,Red cars,driver
cid,22.5,Oslo,0150,,cook
dan,44,,0151,wine and cars,driver
eve,50,Oslo,0150,slow wine,cook
fay,18,Rome,00184,fast cars,driver
gus,29,Oslo,0152,white wine,cook
hal,33,Rome,,cars,driver
"""
FRIENDS = "source,target\nann,cid\nbob,dan\neve,gus\nfay,hal\nann,eve\nbob,fay\n"


@pytest.fixture
def people(tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "friends.csv").write_text(FRIENDS)
    given = ("node=name", "label=job", f"edges={tmp_path / 'friends.csv'}", "text=bio")
    return (tmp_path / "people.csv", *(part for text in given for part in ("--option", text)))


def test_columns_are_what_they_seem_or_what_is_said(
    run: Run, people: tuple[object, ...], tmp_path: Path
) -> None:
    out = tmp_path / "graph"
    assert run("convert", *people, "--out", out, "--format", "parquet").code == 0
    graph = FeatureGraph.read(out)
    assert graph.features_of("ann") == {
        "age": 31.0, "city=Rome": 1.0, "zip=00184": 1.0, "bio:likes": 1.0, "bio:red": 1.0,
        "bio:wine": 1.0,
    }  # fmt: skip
    assert graph.features_of("cid") == {"age": 22.5, "city=Oslo": 1.0, "zip=0150": 1.0}
    assert graph.label_of("hal") == "driver"
    assert graph.num_edges == 6
    again = run("convert", *people, "--option", "ignore=zip,city", "--out", out)
    assert again.code == 0
    assert FeatureGraph.read(out).features_of("cid") == {"age": 22.5}


def test_categories_stay_as_they_are_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tools.csv").write_text("node,version\na,1.1\nb,1.10\n")
    command = ("describe", tmp_path / "tools.csv", "--json")
    assert run(*command).json["features"] == 1  # a number, unless told otherwise
    assert run(*command, "--option", "category=version").json["features"] == 2


def test_a_table_is_trained_on_predicted_and_updated(
    run: Run, people: tuple[object, ...], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    assert run("train", *people, "--epochs", 3, "--width", 8, "--out", model).code == 0
    assert run("predict", model, *people).out.count("\n") == 9
    (tmp_path / "later.csv").write_text(PEOPLE + "ida,40,Bonn,53111,wine and tea,cook\n")
    ran = run(
        "update", model, tmp_path / "later.csv", "--before", *people, "--out", model, "--epochs", 1
    )
    assert ran.code == 0
    assert "nodes +1" in ran.err


def test_bad_tables_are_told(run: Run, people: tuple[object, ...], tmp_path: Path) -> None:
    path = people[0]
    for options, words in (
        ((), ("node=", "'name', 'age'")),
        (("--option", "node=nme"), ("'nme'", "Did you mean 'name'")),
        (("--option", "node=job"), ("'cook'", "line 4")),
        (("--option", "node=city"), ("no node", "line 5")),
        (("--option", "node=name", "--option", "number=city"), ("line 2", "'Rome'")),
        (("--option", "node=name", "--option", "texts=bio"), ("'texts'", "Did you mean 'text'")),
        (("--option", "node=name", "--release", "sid"), ("release",)),
        (
            ("--option", "node=name", "--option", "text=bio", "--option", "ignore=zip,bio"),
            ("'bio'", "text and ignore"),
        ),
    ):
        ran = run("describe", path, *options)
        assert ran.code == 2
        assert ran.err.count("\n") == 1
        for word in words:
            assert word in ran.err
    (tmp_path / "notes.txt").write_text("hello")
    assert "no table" in run("describe", tmp_path / "notes.txt").err
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in run("describe", tmp_path / "empty.csv").err
