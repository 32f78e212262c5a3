from __future__ import annotations

from pathlib import Path

import pytest

from grafenne.datasets import data_root, dataset_info, dataset_names, load, load_stream
from grafenne.datasets.registry import Dataset, register
from grafenne.errors import ParameterError, UnknownNameError


def test_all_datasets_are_described() -> None:
    names = dataset_names()
    assert names == [
        "actor",
        "citeseer",
        "cora",
        "dblp",
        "debian",
        "debian-mini",
        "physics",
        "synthetic",
    ]
    for name in names:
        info = dataset_info(name)
        assert info.name == name
        assert info.title
        assert info.description
        assert info.task
        assert info.source
    streams = [name for name in names if dataset_info(name).streaming]
    assert streams == ["dblp", "debian", "debian-mini", "synthetic"]


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'citeseer'"):
        load("citeser")
    with pytest.raises(UnknownNameError, match="Did you mean 'debian'"):
        dataset_info("debain")


def test_an_unknown_option_is_named_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"'relase'.*options are release.*'release'"):
        load("debian-mini", relase="sid")
    with pytest.raises(ParameterError, match="it has none"):
        load("cora", split=1)
    with pytest.raises(ParameterError, match="'steps'"):
        load("synthetic", steps=2)


def test_a_dataset_that_stands_still_is_no_stream() -> None:
    with pytest.raises(ParameterError, match="'cora' does not change over time"):
        load_stream("cora")


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ParameterError, match="already a dataset called 'cora'"):
        register(Dataset("cora", "", "", "", "", load))


def test_the_data_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAFENNE_DATA", str(tmp_path / "named"))
    assert data_root(tmp_path / "given") == tmp_path / "given"
    assert data_root() == tmp_path / "named"
    monkeypatch.delenv("GRAFENNE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "cache" / "grafenne"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root() == tmp_path / ".cache" / "grafenne"
