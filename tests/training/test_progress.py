"""Progress: what a line says, and where it goes."""

from __future__ import annotations

import io
import sys

import pytest

from grafenne import GrafenneClassifier
from grafenne.training.loop import History
from grafenne.training.progress import (
    LiveProgress,
    PlainProgress,
    describe_epoch,
    make_progress,
)
from tests.estimators.cases import graph_for

HISTORY = History(epochs=[(0.9, 0.8, 0.5), (0.512, 0.401, 0.874)], seconds=3.0)
LINE = "epoch 2/12: loss 0.5120, validation loss 0.4010, accuracy 0.8740, 15 s left at most"


def test_a_line_tells_losses_metric_and_time_left() -> None:
    assert describe_epoch(HISTORY, 12, "accuracy") == LINE


def test_plain_lines_come_at_intervals() -> None:
    often, rarely = io.StringIO(), io.StringIO()
    for stream, every in ((often, 0.0), (rarely, 1e9)):
        progress = PlainProgress("accuracy", stream, every)
        progress.epoch(HISTORY, 12)
        progress.epoch(HISTORY, 12)
        progress.close()
    assert often.getvalue() == f"{LINE}\n{LINE}\n"
    assert rarely.getvalue() == ""


def test_the_kind_depends_on_where_standard_error_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(make_progress("auc"), PlainProgress)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    live = make_progress("auc")
    assert isinstance(live, LiveProgress)
    live.epoch(HISTORY, 12)
    live.close()


def test_nothing_is_written_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    GrafenneClassifier(width=8, epochs=3, verbose=True).fit(graph_for("classifier"))
    assert capsys.readouterr().out == ""
    GrafenneClassifier(width=8, epochs=3).fit(graph_for("classifier"))
    assert capsys.readouterr() == ("", "")
