"""The training loop, driven by objectives whose losses are known beforehand."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor, nn

from grafenne.errors import ParameterError, TrainingError, UnknownNameError
from grafenne.ops import RandomBits
from grafenne.training.loop import TrainingSettings, train
from grafenne.training.progress import PlainProgress


class Scripted:
    """One weight that falls by the learning rate times the slope, and given validation losses.

    The metric is 0.5 unless it is given beside them.
    """

    def __init__(
        self,
        validation: Sequence[float | tuple[float, float]],
        *,
        slope: float = 1.0,
        steps: int = 1,
    ) -> None:
        self.network = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.network.weight)
        self.validation, self.slope, self.steps = iter(validation), slope, steps
        self.rates: list[float] = []
        self.after: list[float] = []
        self.modes: list[bool] = []

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        for _ in range(self.steps):
            yield self.loss

    def loss(self) -> Tensor:
        self.modes.append(self.network.training)
        return self.slope * self.network.weight.sum()

    def validate(self) -> tuple[float, float]:
        self.network.eval()
        self.after.append(float(self.network.weight.detach()))
        validation = next(self.validation)
        return validation if isinstance(validation, tuple) else (validation, 0.5)


def run(objective: Scripted, **settings: object) -> object:
    plain = {"weight_decay": 0.0, "learning_rate": 0.1, "clip_norm": None, **settings}
    return train(objective, TrainingSettings(**plain), RandomBits(0))  # type: ignore[arg-type]


def test_patience_ends_training_and_the_best_weights_come_back() -> None:
    objective = Scripted([3.0, 1.0, 2.0, 1.0, 5.0, 0.0])
    history = run(objective, epochs=100, patience=3)
    assert [epoch[1] for epoch in history.epochs] == [3.0, 1.0, 2.0, 1.0, 5.0]
    assert (history.best_epoch, history.best_loss, history.stopped) == (1, 1.0, "patience")
    assert objective.after[1] != objective.after[4]
    assert float(objective.network.weight.detach()) == objective.after[1]
    assert not objective.network.training


@pytest.mark.parametrize(
    ("settings", "best"),
    [
        ({}, 3),
        ({"select": "metric"}, 2),  # the same metric as before it, and a lower loss
        ({"select": "metric", "metric_falls": True}, 4),
    ],
)
def test_the_epoch_that_is_kept_is_the_best_by_loss_or_by_metric(
    settings: dict[str, object], best: int
) -> None:
    epochs = [(4.0, math.nan), (3.0, 0.8), (2.0, 0.8), (1.0, 0.6), (5.0, 0.5)]
    objective = Scripted(epochs)
    history = run(objective, epochs=5, patience=9, **settings)
    assert (history.best_epoch, history.best_loss) == (best, epochs[best][0])
    assert float(objective.network.weight.detach()) == objective.after[best]


def test_patience_counts_epochs_since_the_best_metric() -> None:
    objective = Scripted([(4.0, 0.9), (3.0, 0.8), (2.0, 0.7), (1.0, 0.6)])
    history = run(objective, epochs=9, patience=2, select="metric")
    assert (len(history.epochs), history.best_epoch, history.stopped) == (3, 0, "patience")


def test_training_ends_after_the_last_epoch() -> None:
    history = run(Scripted([4.0, 3.0, 2.0]), epochs=3, patience=1)
    assert (len(history.epochs), history.best_epoch, history.stopped) == (3, 2, "epochs")
    assert history.seconds_per_epoch == pytest.approx(history.seconds / 3)
    assert history.epochs[0][2] == 0.5


def test_every_batch_is_a_step_in_training_mode_and_losses_are_averaged() -> None:
    objective = Scripted([1.0, 2.0], steps=3)
    history = run(objective, epochs=2, patience=9)
    assert objective.modes == [True] * 6
    # Adam moves by the learning rate in each of the first steps: losses 0, -0.1, -0.2.
    assert history.epochs[0][0] == pytest.approx(-0.1, abs=1e-6)
    assert objective.after[0] == pytest.approx(-0.3, abs=1e-6)


def test_schedules() -> None:
    constant = TrainingSettings(learning_rate=0.2, epochs=10)
    assert {constant.rate_at(epoch) for epoch in range(10)} == {0.2}
    cosine = TrainingSettings(learning_rate=0.2, epochs=4, schedule="cosine")
    expected = [0.2, 0.1 + 0.1 * math.cos(math.pi / 4), 0.1, 0.1 - 0.1 * math.cos(math.pi / 4)]
    assert [cosine.rate_at(epoch) for epoch in range(4)] == pytest.approx(expected)
    objective = Scripted([4.0, 3.0, 2.0, 1.0])
    run(objective, epochs=4, patience=9, schedule="cosine", learning_rate=0.2)
    steps = [a - b for a, b in zip([0.0, *objective.after], objective.after, strict=False)]
    assert steps == pytest.approx(expected, rel=1e-4)  # Adam's step is the rate


def test_gradients_are_clipped() -> None:
    seen = []
    objective = Scripted([1.0], slope=100.0)
    objective.network.weight.register_post_accumulate_grad_hook(
        lambda weight: seen.append(float(weight.grad))  # type: ignore[arg-type]
    )
    step = torch.optim.Adam.step
    stepped = []

    def watched(self: torch.optim.Adam, closure: None = None) -> None:
        stepped.append(float(self.param_groups[0]["params"][0].grad))
        step(self, closure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", watched)
        run(objective, epochs=1, clip_norm=2.0)
    assert seen == [100.0]
    assert stepped == pytest.approx([2.0], rel=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_training_with_the_last_good_weights(bad: float) -> None:
    objective = Scripted([1.0, 2.0, bad, 0.0])
    with pytest.raises(TrainingError, match=r"validation loss is no longer.*learning_rate"):
        run(objective, epochs=9, patience=9)
    assert float(objective.network.weight.detach()) == objective.after[0]

    objective = Scripted([1.0, 0.5, 0.0])
    good: list[float] = []

    def losses() -> Tensor:
        good.append(float(objective.network.weight.detach()))
        return objective.network.weight.sum() * (bad if len(good) == 3 else 1.0)

    objective.loss = losses  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match="training loss"):
        run(objective, epochs=9, patience=9)
    assert float(objective.network.weight.detach()) == objective.after[1]


def test_progress_hears_of_every_epoch_and_is_closed_whatever_happens() -> None:
    class Listener(PlainProgress):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    settings = TrainingSettings(epochs=5, patience=9, clip_norm=None)
    stream = io.StringIO()
    listener = Listener("accuracy", stream, every=0)
    train(Scripted([5.0, 4.0, 3.0, 2.0, 1.0]), settings, RandomBits(0), progress=listener)
    assert len(stream.getvalue().splitlines()) == 5
    assert listener.closed == 1
    with pytest.raises(TrainingError):
        train(Scripted([math.nan]), settings, RandomBits(0), progress=listener)
    assert listener.closed == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("patience", 0),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("weight_decay", -1e-3),
        ("weight_decay", math.nan),
        ("schedule", "linear"),
        ("clip_norm", 0.0),
        ("clip_norm", math.nan),
    ],
)
def test_wrong_settings_are_named(name: str, value: object) -> None:
    with pytest.raises((ParameterError, UnknownNameError), match=name):
        TrainingSettings(**{name: value})  # type: ignore[arg-type]
