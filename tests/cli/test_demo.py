from __future__ import annotations

import builtins
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from grafenne.cli.demo_report import report_html
from grafenne.cli.demo_run import Story, run_demo
from grafenne.estimators.explain import Contribution, Explanation
from tests.cli.conftest import Run


class Balance(HTMLParser):
    """Checks that elements are closed in order and that nothing is fetched from elsewhere."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href"):
                assert value is not None
                assert value.startswith("#")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def story() -> Story:
    return run_demo(epochs=2)


def test_every_release_after_the_first_is_taken_in(story: Story) -> None:
    assert [step.new_packages for step in story.steps] == [0, 448, 301, 190]
    assert story.steps[0].updated_accuracy is None
    for step in story.steps[1:]:
        # After two epochs there is much left to learn, so an update must help.
        assert step.updated_accuracy is not None
        assert step.updated_accuracy > step.held_out_accuracy


def test_demo_writes_a_report_predictions_and_a_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    ran = run("demo", "--out", out, "--epochs", 2, "--json", "--quiet")
    assert ran.code == 0
    found = ran.json
    assert [step["release"] for step in found["steps"]] == ["bookworm", "trixie", "forky", "sid"]
    assert found["steps"][0]["new_accuracy"] is None
    assert found["steps"][1]["new_packages"] == 448
    frame = pd.read_csv(out / "predictions.csv")
    assert len(frame) == 448
    assert list(frame.columns)[:3] == ["node", "label", "probability"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "http" not in page
    Balance().feed(page)
    asked = ("predict", out / "model", "--release", "trixie", "--nodes", "asfsmd")
    assert run(*asked).out.splitlines()[1].startswith("asfsmd,")

    # A second run replaces the results; without matplotlib it says so and has no plots.
    ordinary = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return ordinary(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    ran = run("demo", "--out", out, "--epochs", 1, "--json")
    assert ran.json["plots"] is False
    assert "pip install matplotlib" in ran.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "no plots" in page


def test_steps_measure_new_and_held_out_packages(story: Story) -> None:
    first, second = story.steps[:2]
    assert (first.packages, first.new_packages, first.unseen_features) == (3892, 0, 0)
    assert second.unseen_features > 100
    assert len(story.predictions) == second.new_packages == 448
    assert story.predictions["correct"].mean() == pytest.approx(second.new_accuracy)
    assert story.explanation.node in set(story.predictions["node"])


def test_every_text_is_escaped(story: Story) -> None:
    evil = "<script>alert('x')</script>"
    parts = [Contribution(evil, 1.0, 0.5)]
    told = Explanation(evil, evil, 0.5, parts, parts)
    frame = story.predictions.head(3).assign(node=evil, label=evil, unseen_features=evil)
    page = report_html(
        Story(**{**vars(story), "explanation": told, "predictions": frame, "common_section": evil}),
        None,
    )
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    Balance().feed(page)


def test_a_file_in_the_way_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    ran = run("demo", "--out", tmp_path / "demo")
    assert ran.code == 2
    assert "demo" in ran.err
