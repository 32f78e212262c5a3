"""Interrupted runs go on to the same result as uninterrupted ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import GrafenneClassifier, GrafenneLinkPredictor, GrafenneRegressor
from grafenne.errors import DataError, ModelFileError
from grafenne.ops import RandomBits
from grafenne.training import node_objective
from grafenne.training.checkpoint import Checkpoint
from grafenne.training.loop import History, TrainingSettings, train
from tests.estimators.cases import answers, graph_for

SETTINGS = TrainingSettings(epochs=12, patience=12, learning_rate=0.05)
AVERAGED = replace(SETTINGS, averaging=0.5)


class Noisy:
    """A small network with random steps, two to an epoch, that may be stopped at one of them."""

    def __init__(self, bits: RandomBits, stop_at: int | None = None) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.network = torch.nn.Sequential(
                torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)
            )
        self.bits, self.stop_at, self.count = bits, stop_at, 0

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        yield from (self.loss, self.loss)

    def draw(self) -> Tensor:
        return torch.from_numpy(self.bits.generator().normal(size=(5, 3))).float()

    def loss(self) -> Tensor:
        inputs = self.draw()
        self.count += 1
        if self.count == self.stop_at:
            raise KeyboardInterrupt
        dropped = torch.nn.functional.dropout(inputs)  # torch's global randomness
        result: Tensor = (self.network(dropped) - inputs.sum(dim=1, keepdim=True)).square().mean()
        return result

    def validate(self) -> tuple[float, float]:
        self.network.eval()
        with torch.no_grad():
            loss = float((self.network(torch.eye(3)) - 1).square().mean())
        return loss, loss


def finish(
    folder: Path | None, settings: TrainingSettings = SETTINGS, **identity: Any
) -> tuple[dict[str, Tensor], History]:
    """A run to the end, from a checkpoint if there is one."""
    torch.seed()  # a new process has another global state, which must not matter
    bits = RandomBits(7)
    objective = Noisy(bits)
    kept = None if folder is None else Checkpoint(folder, identity)
    history = train(objective, settings, bits, checkpoint=kept)
    return objective.network.state_dict(), history


def same(first: tuple[Any, History], second: tuple[Any, History]) -> bool:
    """Equal weights, bit for bit, and equal histories but for the time."""
    weights = all(torch.equal(first[0][name], second[0][name]) for name in first[0])
    one, two = first[1].to_dict(), second[1].to_dict()
    return weights and all(one[name] == two[name] for name in one if name != "seconds")


def interrupted(
    folder: Path, stop_at: int, every: float = 1e9, settings: TrainingSettings = SETTINGS
) -> None:
    bits = RandomBits(7)
    with pytest.raises(KeyboardInterrupt):
        train(Noisy(bits, stop_at), settings, bits, checkpoint=Checkpoint(folder, {}, every))


@pytest.mark.parametrize("settings", [SETTINGS, AVERAGED], ids=["plain", "averaged"])
@pytest.mark.parametrize("stop_at", [1, 2, 3, 8, 9, 24])
def test_going_on_after_ctrl_c_changes_nothing(
    tmp_path: Path, stop_at: int, settings: TrainingSettings
) -> None:
    interrupted(tmp_path / "c", stop_at, settings=settings)
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [
        "checkpoint.json",
        "checkpoint.safetensors",
    ]
    assert same(finish(tmp_path / "c", settings), finish(None, settings))


def test_going_on_after_several_interruptions_changes_nothing(tmp_path: Path) -> None:
    for stop_at in (4, 5, 9):
        interrupted(tmp_path / "c", stop_at)
    assert same(finish(tmp_path / "c"), finish(None))


def test_going_on_after_a_kill_changes_nothing(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    bits = RandomBits(7)
    objective = Noisy(bits)
    validate = objective.validate

    def killed() -> tuple[float, float]:
        if len(objective.modes) == 5:
            raise Killed
        objective.modes.append(0)
        return validate()

    objective.modes = []  # type: ignore[attr-defined]
    objective.validate = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):  # nothing is saved on the way out, as when the machine stops
        train(objective, SETTINGS, bits, checkpoint=Checkpoint(tmp_path / "c", {}, every=0))
    stored = json.loads((tmp_path / "c" / "checkpoint.json").read_text())
    assert len(stored["history"]["epochs"]) == 5
    assert same(finish(tmp_path / "c"), finish(None))


@pytest.mark.parametrize("settings", [SETTINGS, AVERAGED], ids=["plain", "averaged"])
@pytest.mark.parametrize("step", [2, 3, 8, 13])
def test_going_on_inside_an_epoch_changes_nothing(
    tmp_path: Path, step: int, settings: TrainingSettings
) -> None:
    """The state is kept after steps too, and Ctrl-C does not put an older one in its place."""
    interrupted(tmp_path / "c", step, every=0, settings=settings)
    stored = json.loads((tmp_path / "c" / "checkpoint.json").read_text())
    assert len(stored["history"]["epochs"]) == (step - 1) // 2
    if step % 2 == 0:  # stopped in the second step of an epoch
        assert stored["inside"]["steps"] == 1
    assert same(finish(tmp_path / "c", settings), finish(None, settings))


def test_checkpoints_come_at_intervals(tmp_path: Path) -> None:
    finish(tmp_path / "rare")
    assert not (tmp_path / "rare").exists()
    bits = RandomBits(7)
    train(Noisy(bits), SETTINGS, bits, checkpoint=Checkpoint(tmp_path / "often", {}, every=0))
    assert (tmp_path / "often").exists()


def test_another_run_is_refused_with_the_difference(tmp_path: Path) -> None:
    interrupted(tmp_path / "c", 9)
    with pytest.raises(ModelFileError, match="another run \\(width was None, now 16\\)"):
        finish(tmp_path / "c", width=16)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "checkpoint.safetensors").unlink(),
        lambda folder: (folder / "checkpoint.safetensors").write_bytes(b"\0" * 40),
        lambda folder: (folder / "checkpoint.json").write_text("{"),
        lambda folder: (folder / "checkpoint.json").write_text("[1]"),
        lambda folder: (folder / "checkpoint.json").write_bytes(b"\xff\xfe{}"),
        lambda folder: change(folder, format=99),
        lambda folder: change(folder, bits={"state": [2**70] * 4}),
        lambda folder: change(folder, bits=3),
        lambda folder: change(folder, history={"epochs": 3}),
        lambda folder: change(folder, identity=[]),
        lambda folder: change(folder, inside={"random": 3, "steps": 1, "total": 0.0}),
        lambda folder: change(folder, inside={"steps": 1}),
    ],
)
def test_a_damaged_checkpoint_is_one_clear_error(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    folder = tmp_path / "c"
    interrupted(folder, 9)
    damage(folder)
    with pytest.raises(ModelFileError) as caught:
        finish(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def change(folder: Path, **parts: Any) -> None:
    path = folder / "checkpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **parts}))


def test_a_folder_with_other_files_is_neither_used_nor_lost(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        Checkpoint(tmp_path, {})
    with pytest.raises(DataError, match=r"thesis\.tex"):
        GrafenneClassifier(epochs=1).fit(graph_for("classifier"), checkpoint=tmp_path)
    with pytest.raises(DataError, match="is a file"):
        Checkpoint(tmp_path / "thesis.tex", {})
    assert (tmp_path / "thesis.tex").read_text() == "years of work"

    later = Checkpoint(tmp_path / "c", {})
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "notes").write_text("mine")
    later.remove()
    assert (tmp_path / "c" / "notes").read_text() == "mine"


# ---- through the estimators ------------------------------------------------------------------


def stop_in_batch(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ctrl-C in the middle of a step of a node objective."""
    count = 0
    plain = node_objective.NodeNetwork.forward
    sampled = node_objective.hashed_keep

    def counted(function: Any) -> Any:
        def wrapper(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                raise KeyboardInterrupt
            return function(*arguments, **named)

        return wrapper

    monkeypatch.setattr(node_objective.NodeNetwork, "forward", counted(plain))
    monkeypatch.setattr(node_objective, "hashed_keep", counted(sampled))


ESTIMATORS: dict[str, tuple[str, Any]] = {
    "classifier": ("classifier", GrafenneClassifier(width=8, epochs=8)),
    "labels": ("classifier", GrafenneClassifier(width=8, epochs=8, labels_as_features=True)),
    "batches": (
        "classifier",
        GrafenneClassifier(
            width=8,
            epochs=4,
            batch_size=7,
            neighbours=2,
            nodes_per_feature=3,
            backbone="gat",
            feature_dropout=0.5,
        ),
    ),
    "regressor": ("regressor", GrafenneRegressor(width=8, epochs=8, normalisation="batch")),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupted_fit_goes_on_to_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, model = ESTIMATORS[name]
    graph = graph_for(kind)
    expected = answers(model.fit(graph), graph)
    history = model.history_.to_dict()
    with monkeypatch.context() as patch:
        stop_in_batch(patch, 12)
        with pytest.raises(KeyboardInterrupt):
            model.fit(graph, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").is_dir()
    model.fit(graph, checkpoint=tmp_path / "c")
    assert np.array_equal(answers(model, graph), expected)
    resumed = model.history_.to_dict()
    assert all(resumed[part] == history[part] for part in history if part != "seconds")
    assert not (tmp_path / "c").exists()


def test_a_checkpoint_of_other_settings_or_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_for("classifier")

    def vectors(names: list[str]) -> np.ndarray:
        return np.ones((len(names), 2))

    model = GrafenneClassifier(width=8, epochs=8, features=vectors)
    with monkeypatch.context() as patch:
        stop_in_batch(patch, 6)
        with pytest.raises(KeyboardInterrupt):
            model.fit(graph, checkpoint=tmp_path / "c")
    stored = (tmp_path / "c" / "checkpoint.json").read_text()
    assert " at 0x" not in stored  # an address would be another one in the next process
    with pytest.raises(ModelFileError, match="dropout was"):
        GrafenneClassifier(width=8, epochs=8, features=vectors, dropout=0.125).fit(
            graph, checkpoint=tmp_path / "c"
        )
    others = [
        graph.without_features(["f1"], nodes=[next(iter(graph.nodes_with("f1")))]),
        graph.with_labels({**{node: graph.label_of(node) for node in graph.nodes}, "n2": "even"}),
        graph.replace(edges=graph.edges.take(np.arange(graph.num_edges) > 0)),
    ]
    for other in others:
        with pytest.raises(ModelFileError, match="data was"):
            model.fit(other, checkpoint=tmp_path / "c")
    model.fit(graph, checkpoint=tmp_path / "c")


def test_link_prediction_leaves_no_checkpoint_behind(tmp_path: Path) -> None:
    graph = graph_for("links")
    model = GrafenneLinkPredictor(width=8, epochs=2).fit(graph, checkpoint=tmp_path / "c")
    assert len(model.history_.epochs) == 2
    assert list(tmp_path.iterdir()) == []
