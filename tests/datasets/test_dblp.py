from __future__ import annotations

from pathlib import Path

import pytest

from grafenne.datasets import load, load_stream
from grafenne.errors import DataError, ParameterError

FILE = """\
5
#*Query languages for the relational model
#@Ada, Ben
#t1992
#cVLDB
#index10
#!Relations are queried.

#*Indexing relational data
#year1993
#confVLDB
#citation3
#index11
#arnetid7
#%10
#%10
#%13
#%

#*Neural networks learn
#t1993
#cNIPS
#index12
#%99

#*Learning to index
#t1994
#cNIPS
#index13
#%11
#%12
#%13

#*A lonely journal paper
#t1994
#cRare
#index14
#%12
"""


def root_with(folder: Path, text: str = FILE) -> Path:
    (folder / "dblp").mkdir(exist_ok=True)
    (folder / "dblp" / "citations.txt").write_text(text, encoding="utf-8")
    return folder


def edges(graph: object) -> set[tuple[str, str]]:
    lists = graph.edges  # type: ignore[attr-defined]
    names = graph.nodes  # type: ignore[attr-defined]
    return set(zip(names.take(lists.sources), names.take(lists.targets), strict=True))


def test_years_are_steps(tmp_path: Path) -> None:
    stream = load_stream(
        "dblp", root=root_with(tmp_path), first_year=1992, last_year=1994, num_classes=2
    )
    first, second, third = stream
    assert list(first.nodes) == ["10"]
    assert list(second.nodes) == ["10", "11", "12"]
    assert list(third.nodes) == ["10", "11", "12", "13"]
    assert edges(first) == set()
    assert edges(second) == {("11", "10")}
    assert edges(third) == {("11", "10"), ("11", "13"), ("13", "11"), ("13", "12")}
    assert first.features_of("10") == {
        "word:query": 1,
        "word:languages": 1,
        "word:relational": 1,
        "word:model": 1,
    }
    assert list(third.features)[: first.num_features] == list(first.features)
    assert [third.label_of(node) for node in third.nodes] == ["VLDB", "VLDB", "NIPS", "NIPS"]
    assert third.directed
    assert load("dblp", root=tmp_path, last_year=1994, num_classes=2) == third


def test_classes_by_venue_and_words_of_the_abstract(tmp_path: Path) -> None:
    graph = load(
        "dblp",
        root=root_with(tmp_path),
        classes={"VLDB": "databases", "Rare": "databases"},
        abstracts=True,
    )
    assert list(graph.nodes) == ["10", "11", "14"]
    assert graph.label_of("14") == "databases"
    assert "word:queried" in graph.features_of("10")


def test_only_the_years_asked_for_count(tmp_path: Path) -> None:
    graph = load("dblp", root=root_with(tmp_path), first_year=1993, last_year=1993)
    assert set(graph.nodes) == {"11", "12"}
    assert edges(graph) == set()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE.replace("#@Ada", "Ada"), r"citations\.txt, line 3: 'Ada, Ben' does not begin"),
        (FILE.replace("#t1992", "#tMCMXCII"), "line 4: the year is 'MCMXCII'"),
        (FILE.replace("#index10\n", ""), "line 2: the record has no #index"),
        (FILE.replace("#index12", "#index11"), "line 20: #index 11 is there twice"),
        ("", "no paper of a known venue from 1992 to 1997"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("dblp", root=root_with(tmp_path, text))


def test_the_file_must_be_there_and_be_the_only_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no \.txt file in .*dblp"):
        load("dblp", root=tmp_path)
    root_with(tmp_path)
    (tmp_path / "dblp" / "other.txt").write_text("")
    with pytest.raises(DataError, match=r"holds 2 \.txt files"):
        load("dblp", root=tmp_path)


def test_years_in_the_wrong_order(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="1997 lies after last_year 1992"):
        load_stream("dblp", root=root_with(tmp_path), first_year=1997, last_year=1992)
