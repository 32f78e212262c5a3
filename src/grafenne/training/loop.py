"""The one training loop: every estimator and baseline goes through it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from grafenne.errors import ParameterError, TrainingError, unknown_name
from grafenne.nn.learned_features import LearnedFeatures
from grafenne.ops import RandomBits
from grafenne.ops.memory import kept_memory
from grafenne.training.averaging import Weights, averaged, lent, weights_of
from grafenne.training.checkpoint import Checkpoint
from grafenne.training.distributed import mean_of_all, of_main, parallel
from grafenne.training.progress import Progress

SCHEDULES = ("constant", "cosine")
SELECTIONS = ("loss", "metric")
LARGEST = 1e30
"""Adam computes with 32-bit numbers, and divides by what may be as small as 1e-3."""
STEP_OF_SEEDS = 0x9E3779B97F4A7C15
"""Sets apart the seeds of the steps of an epoch."""


@dataclass(frozen=True)
class TrainingSettings:
    """How to train.

    Attributes:
        epochs: Most passes over the training nodes.
        patience: Epochs without a better one before training stops.
        learning_rate: Step size of Adam.
        weight_decay: L2 penalty of Adam.
        feature_decay: The same of trained feature vectors; ``None`` for ``weight_decay``.
        schedule: ``constant``, or ``cosine`` to bring the learning rate down to zero over
            ``epochs``.
        clip_norm: Largest norm of a gradient; ``None`` for no bound.
        select: Which epoch is the best: that of the lowest validation ``loss``, or of the best
            validation ``metric``, and among equal ones of the lowest loss.
        metric_falls: Whether a lower metric is better.
        averaging: Share of the training so far over which weights are averaged
            (:mod:`~grafenne.training.averaging`); the mean is what is validated and kept. 0 for
            the weights of single epochs.
    """

    epochs: int = 300
    patience: int = 50
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    feature_decay: float | None = None
    schedule: str = "constant"
    clip_norm: float | None = 5.0
    select: str = "loss"
    metric_falls: bool = False
    averaging: float = 0.0

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ParameterError(f"epochs must be at least 1, got {self.epochs}.")
        if self.patience < 1:
            raise ParameterError(f"patience must be at least 1, got {self.patience}.")
        if not 0 < self.learning_rate <= LARGEST:
            raise ParameterError(
                f"learning_rate must be above 0 and at most {LARGEST:g}, got {self.learning_rate}."
            )
        for name in ("weight_decay", "feature_decay"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= LARGEST:
                raise ParameterError(f"{name} must be from 0 to {LARGEST:g}, got {value}.")
        if not 0 <= self.averaging <= 1:
            raise ParameterError(f"averaging must be from 0 to 1, got {self.averaging}.")
        if self.schedule not in SCHEDULES:
            raise unknown_name("schedule", self.schedule, SCHEDULES)
        if self.select not in SELECTIONS:
            raise unknown_name("select", self.select, SELECTIONS)
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ParameterError(f"clip_norm must be above 0, or None, got {self.clip_norm}.")

    def rate_at(self, epoch: int) -> float:
        """The learning rate of an epoch."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))

    def rank(self, loss: float, metric: float) -> tuple[float, float]:
        """What epochs are compared by, from their validation loss and metric: lower is better."""
        if self.select == "loss":
            return (loss, 0.0)
        if math.isnan(metric):  # such as the AUC of pairs that are all edges
            return (math.inf, loss)
        return (metric if self.metric_falls else -metric, loss)


class Objective(Protocol):
    """What a network is trained for."""

    @property
    def network(self) -> nn.Module:
        """What is trained."""

    def batches(self) -> Iterator[Callable[[], Tensor]]:
        """The losses of one epoch, each computed when called."""

    def validate(self) -> tuple[float, float]:
        """Validation loss and metric, in evaluation mode."""


@dataclass(frozen=True)
class Inside:
    """Where a run is inside an epoch.

    Attributes:
        random: State of the randomness when the epoch began, from which its batches are drawn.
        steps: Number of steps done.
        total: Sum of their losses.
    """

    random: dict[str, Any]
    steps: int = 0
    total: float = 0.0


@dataclass(frozen=True)
class Kept:
    """What is kept of a network beside the weights that are trained.

    Attributes:
        best: The weights of the best epoch.
        mean: The mean of the weights so far, where they are averaged.
    """

    best: Weights
    mean: Weights | None = None


@dataclass
class History:
    """What happened in training.

    Attributes:
        epochs: Per epoch: training loss, validation loss, validation metric.
        best_epoch: Epoch whose weights were kept.
        best_loss: Its validation loss.
        seconds: Time spent in all epochs.
        stopped: ``patience``, ``epochs``, or ``not finite`` where the loss stopped being a number.
    """

    epochs: list[tuple[float, float, float]] = field(default_factory=list)
    best_epoch: int = -1
    best_loss: float = math.inf
    seconds: float = 0.0
    stopped: str = ""

    @property
    def seconds_per_epoch(self) -> float:
        """Mean time of an epoch, training and validation."""
        return self.seconds / max(len(self.epochs), 1)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@kept_memory()
def train(
    objective: Objective,
    settings: TrainingSettings,
    bits: RandomBits,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Trains ``objective.network`` and leaves the weights of the best epoch in it.

    Args:
        objective: The losses.
        settings: How to train.
        bits: Source of all randomness; its state goes into checkpoints.
        progress: Told after each epoch.
        checkpoint: Where to save now and then and on Ctrl-C; if one is there, training goes on
            from it and ends in the same weights as without the interruption.

    Raises:
        TrainingError: A loss or a weight is no longer a finite number. The network has the best
            weights until then.
    """
    network = objective.network
    optimizer = torch.optim.Adam(_groups(network, settings), lr=settings.learning_rate)
    history, kept = History(), Kept(weights_of(network))
    inside: Inside | None = None
    boundary: _Boundary | None = None

    def save(now: Inside | None = None) -> None:
        """Keeps the state when it is time; it is then what Ctrl-C would have to keep."""
        nonlocal boundary
        if checkpoint is not None and checkpoint.is_due():
            checkpoint.save(network, optimizer, bits, history, kept, now)
            boundary = None

    try:
        if checkpoint is not None and checkpoint.exists():
            history, kept, inside = checkpoint.restore(network, optimizer, bits)
        compute_loss = parallel(network)
        while _goes_on(history, settings):
            started = time.perf_counter()
            if checkpoint is not None:
                boundary = _Boundary(network, optimizer, bits, history, kept, inside)
            for group in optimizer.param_groups:
                group["lr"] = settings.rate_at(len(history.epochs))
            epoch = _Epoch(objective, optimizer, settings, bits, compute_loss)
            loss = mean_of_all(epoch.run(inside, save))
            inside = None
            if settings.averaging:
                epoch_number = len(history.epochs) + 1
                mean = averaged(kept.mean, network, epoch_number, settings.averaging)
                kept = replace(kept, mean=mean)
            with lent(network, kept.mean):
                validation, metric = of_main(*objective.validate())
                if not math.isfinite(validation):
                    raise NotFiniteError("validation loss")
                if _is_best(history, settings, validation, metric):
                    _check_weights(network)
                    history.best_epoch, history.best_loss = len(history.epochs), validation
                    kept = replace(kept, best=weights_of(network))
            history.epochs.append((loss, validation, metric))
            history.seconds += time.perf_counter() - started
            save()
            if progress is not None:
                progress.epoch(history, settings.epochs)
    except NotFiniteError as error:
        network.load_state_dict(kept.best)
        network.eval()
        raise _stopped(str(error), history, settings) from None
    except KeyboardInterrupt:
        if checkpoint is not None and boundary is not None:
            boundary.save(checkpoint)
        network.load_state_dict(kept.best)
        raise
    finally:
        if progress is not None:
            progress.close()
    network.load_state_dict(kept.best)
    network.eval()
    return history


def _groups(network: nn.Module, settings: TrainingSettings) -> list[dict[str, Any]]:
    """The parameters of a network by their L2 penalty."""
    usual, vectors = settings.weight_decay, settings.feature_decay
    if vectors is None or vectors == usual:
        return [{"params": list(network.parameters()), "weight_decay": usual}]
    learned = [part.weight for part in network.modules() if isinstance(part, LearnedFeatures)]
    apart = {id(parameter) for parameter in learned}
    others = [each for each in network.parameters() if id(each) not in apart]
    return [
        {"params": others, "weight_decay": usual},
        {"params": learned, "weight_decay": vectors},
    ]


class _Boundary:
    """The run as it was between two epochs, or where it went on inside one.

    Ctrl-C comes anywhere inside an epoch, after a step or half-way through the random numbers of
    one; going on from there would not end in the same weights.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        bits: RandomBits,
        history: History,
        kept: Kept,
        inside: Inside | None,
    ) -> None:
        self.network, self.optimizer, self.bits = network, optimizer, bits
        self.weights, self.kept, self.inside = weights_of(network), kept, inside
        self.state, self.random = deepcopy(optimizer.state_dict()), bits.state()
        self.history = replace(history, epochs=list(history.epochs))

    def save(self, checkpoint: Checkpoint) -> None:
        """Puts everything back to where the epoch began and saves that."""
        self.network.load_state_dict(self.weights)
        self.optimizer.load_state_dict(self.state)
        self.bits.set_state(self.random)
        checkpoint.save(
            self.network, self.optimizer, self.bits, self.history, self.kept, self.inside
        )


def _is_best(history: History, settings: TrainingSettings, loss: float, metric: float) -> bool:
    """Whether an epoch is better than all before it."""
    if history.best_epoch < 0:
        return True
    _, best_loss, best_metric = history.epochs[history.best_epoch]
    return settings.rank(loss, metric) < settings.rank(best_loss, best_metric)


def _goes_on(history: History, settings: TrainingSettings) -> bool:
    done = len(history.epochs)
    if done >= settings.epochs:
        history.stopped = "epochs"
    elif done and done - 1 - history.best_epoch >= settings.patience:
        history.stopped = "patience"
    else:
        return True
    return False


class _Epoch:
    """The steps of one epoch."""

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        settings: TrainingSettings,
        bits: RandomBits,
        compute_loss: Callable[[Callable[[], Tensor]], Tensor],
    ) -> None:
        self.objective, self.optimizer, self.settings = objective, optimizer, settings
        self.bits, self.compute_loss = bits, compute_loss

    def run(self, begun: Inside | None, after_step: Callable[[Inside], None]) -> float:
        """The mean loss.

        Args:
            begun: Where an interrupted epoch goes on; ``None`` for a new one.
            after_step: Told after each step how far the epoch is.
        """
        self.objective.network.train()
        now = begun or Inside(self.bits.state())
        batches = self.objective.batches()
        if begun is not None:  # the batches are drawn again as they were; those done are skipped
            reached = self.bits.state()
            self.bits.set_state(begun.random)
            deque(islice(batches, begun.steps), maxlen=0)
            self.bits.set_state(reached)
        # Layers from elsewhere (a PyG layer with dropout) draw from torch's global generator:
        # within an epoch it follows our seed, and afterwards it is as it was.
        with torch.random.fork_rng(devices=[]):
            for compute in batches:
                seed = now.random["state"][0] + now.steps * STEP_OF_SEEDS
                torch.default_generator.manual_seed(seed % 2**64)
                now = Inside(now.random, now.steps + 1, now.total + self._step(compute))
                after_step(now)
        return now.total / max(now.steps, 1)

    def _step(self, compute: Callable[[], Tensor]) -> float:
        network = self.objective.network
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compute_loss(compute)
        if not bool(torch.isfinite(loss)):
            raise NotFiniteError("training loss")
        loss.backward()  # type: ignore[no-untyped-call]
        if self.settings.clip_norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), self.settings.clip_norm)
        self.optimizer.step()
        return float(loss.detach())


class NotFiniteError(Exception):
    """Something in training is no longer a finite number; told by name, never leaves the loop."""


def _check_weights(network: nn.Module) -> None:
    # A loss tells of what its nodes see: a weight that only others see may be undefined.
    for tensor in network.state_dict().values():
        if not bool(torch.isfinite(tensor).all()):
            raise NotFiniteError("size of a weight")


def _stopped(what: str, history: History, settings: TrainingSettings) -> TrainingError:
    history.stopped = "not finite"
    return TrainingError(
        f"Training stopped in epoch {len(history.epochs) + 1} because the {what} is no longer a "
        f"finite number. Try a lower learning_rate (now {settings.learning_rate}) or "
        "scaling='standard' for the features, and look for values, edge weights or targets of "
        "extreme size.",
        history=history if history.best_epoch >= 0 else None,
    )
