"""Whole flows: nothing connects unless a download was asked for; pages escape what data says."""

from __future__ import annotations

import json
import socket
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from grafenne import FeatureGraph
from grafenne.cli.main import main
from torture.bad_input_world import World

EVIL = "<script>alert(1)</script>"
SMALL = ("--epochs", "1", "--width", "8", "--quiet")


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every attempt to reach another machine, none of which succeeds."""
    made: list[Any] = []

    def refuse(*arguments: Any, **options: Any) -> Any:
        made.append(arguments[:2])
        raise OSError("the network is not there")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "GRAFENNE_DATA"):
        monkeypatch.delenv(name, raising=False)
    return made


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_no_command_connects(sound_world: World, tmp_path: Path, attempts: list[Any]) -> None:
    world, model = sound_world, tmp_path / "model"
    commands: list[tuple[object, ...]] = [
        ("datasets",),
        ("describe", "debian-mini"),
        ("describe", world.model),
        ("convert", world.tables, "--out", tmp_path / "graph"),
        ("train", world.tables, "--out", model, *SMALL),
        ("train", "synthetic", "--option", "num_nodes=30", *SMALL),
        ("predict", model, world.changed),
        ("predict", world.links, world.tables, "--pairs", world.tables / "edges.csv"),
        ("evaluate", model, world.tables),
        ("explain", model, world.tables, "--node", "i0"),
        ("embed", model, world.tables, "--out", tmp_path / "e.csv"),
        ("update", model, world.events, "--before", world.tables, "--out", tmp_path / "m2"),
        ("stream", world.stream, "--strategy", "finetune", *SMALL),
        ("tune", world.tables, "--trials", "1", "--epochs", "1", "--quiet"),
        ("experiment", "list"),
        ("report", world.results, "--out", tmp_path / "report.html"),
    ]
    ended = {" ".join(map(str, words[:2])): run(*words) for words in commands}
    assert set(ended.values()) == {0}, ended
    assert attempts == []


def test_only_a_download_connects(
    tmp_path: Path, attempts: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("describe", "cora", "--data-root", tmp_path) == 2
    assert "cannot be downloaded" in capsys.readouterr().err
    assert attempts != []


class Tags(HTMLParser):
    """Which tags a page has, and which attributes run code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.code: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attributes:
            if name.startswith("on") or "javascript:" in str(value).lower():
                self.code.append(f"{name}={value}")


@pytest.mark.parametrize("evil", [EVIL, '"><img src=x onerror=alert(1)>', "'-->]]><svg onload=x>"])
def test_results_named_like_code_stay_text(evil: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    row = {"experiment": "node-classification", "dataset": "cora", "p": 0.5, "seed": 0}
    rows = [
        {**row, "method": evil, "value": 0.5, "command": evil, "version": evil, "settings": evil},
        {**row, "method": "grafenne", "dataset": evil, "value": 0.6, "metric": evil},
        {**row, "experiment": evil, "method": evil, "value": 0.7, "variant": evil},
        {**row, "method": evil, "seed": 1, "error": evil},
    ]
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("report", folder, "--out", tmp_path / "report.html") == 0
    found = Tags((tmp_path / "report.html").read_text())
    assert not found.tags & {"script", "img", "iframe", "object", "embed"}
    assert found.code == []


def test_names_like_code_travel_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A package, a feature and a class of that name come back as they were, everywhere."""
    nodes = [f"{EVIL}{number}" for number in range(12)]
    graph = FeatureGraph.from_frames(
        pd.DataFrame({"node": nodes, "feature": [EVIL, "plain"] * 6}),
        pd.DataFrame({"source": nodes[:-1], "target": nodes[1:]}),
        dict(zip(nodes, [EVIL, "other"] * 6, strict=True)),
    )
    folder = tmp_path / "tables"
    graph.write(folder, format="csv")
    assert run("train", folder, "--out", tmp_path / "model", *SMALL) == 0
    capsys.readouterr()
    assert run("explain", tmp_path / "model", folder, "--node", nodes[0], "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["node"] == nodes[0]
    assert run("predict", tmp_path / "model", folder, "--out", tmp_path / "p.parquet") == 0
    assert pd.read_parquet(tmp_path / "p.parquet")["node"].tolist() == nodes
