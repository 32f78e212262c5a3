"""Saving a training run so that it can go on as if nothing had happened."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from grafenne.data.atomic import atomic_folder, remove_leftovers
from grafenne.errors import DataError, ModelFileError
from grafenne.ops import RandomBits
from grafenne.training.distributed import bytes_of_main, of_main, world
from grafenne.training.tensor_file import write_tensors

if TYPE_CHECKING:
    from grafenne.training.loop import History, Inside, Kept

FORMAT = 3
ABOUT, TENSORS = "checkpoint.json", "checkpoint.safetensors"
EVERY = 30.0
"""Seconds between two checkpoints, unless a run says otherwise."""

_kept: ContextVar[bool] = ContextVar("kept", default=False)


@contextmanager
def checkpoints_kept() -> Iterator[None]:
    """Runs that are finished in the block leave their checkpoint to whoever began the block.

    A fitted model is lost with its process until it is saved, and the checkpoint is all there is
    to make it from again.
    """
    before = _kept.set(True)
    try:
        yield
    finally:
        _kept.reset(before)


class Checkpoint:
    """A folder with the weights, the optimizer's state, the best weights and the randomness.

    Args:
        folder: Where to keep it; replaced as a whole each time, so it is never half-written.
        identity: What the run is (settings, data, seed). A checkpoint of another run is refused.
        every: Seconds between two checkpoints; :data:`EVERY` by default.
    """

    def __init__(
        self, folder: Path | str, identity: dict[str, Any], every: float | None = None
    ) -> None:
        self.folder = Path(folder)
        self.identity = json.loads(json.dumps(identity, default=str))
        self.every = EVERY if every is None else every
        self._last = time.monotonic()
        self._check_folder()

    def _check_folder(self) -> None:
        """Refuses other people's folders now, rather than when the first checkpoint is due."""
        if self.folder.exists() and not self.folder.is_dir():
            raise DataError(f"{self.folder} cannot hold a checkpoint: it is a file.")
        others = self.folder.iterdir() if self.folder.is_dir() else ()
        for entry in sorted(others):
            if entry.name not in (ABOUT, TENSORS):
                raise DataError(
                    f"{self.folder} cannot hold a checkpoint: it has {entry.name!r} in it, which "
                    "would be lost."
                )

    def exists(self) -> bool:
        """Whether there is one to go on from; of several processes, the first one tells."""
        return bool(of_main((self.folder / ABOUT).is_file())[0])

    def is_due(self) -> bool:
        """Whether it is time for another, and this is the process that writes it."""
        return world().is_main and time.monotonic() - self._last >= self.every

    def remove(self) -> None:
        """Deletes the checkpoint, which a finished run needs no longer; see `checkpoints_kept`."""
        if not world().is_main or _kept.get():
            return
        for name in (ABOUT, TENSORS):
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # somebody put a file of their own there meanwhile
            self.folder.rmdir()
        remove_leftovers(self.folder)

    def save(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        bits: RandomBits,
        history: History,
        kept: Kept,
        inside: Inside | None = None,
    ) -> None:
        """Writes the state of the run; of several processes, the first one does.

        Args:
            network: The network.
            optimizer: Its optimizer.
            bits: The randomness.
            history: The epochs that are done.
            kept: The best weights so far, and their mean.
            inside: How far the present epoch is; ``None`` between two epochs.
        """
        if not world().is_main:
            return
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in kept.best.items()}
        tensors |= {f"mean.{name}": value for name, value in (kept.mean or {}).items()}
        for number, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{number}.{name}"] = torch.as_tensor(value)
        about = {
            "format": FORMAT,
            "identity": self.identity,
            "history": history.to_dict(),
            "bits": bits.state(),
            "inside": None if inside is None else asdict(inside),
        }
        with atomic_folder(
            self.folder, replaceable=lambda name: name in (ABOUT, TENSORS)
        ) as folder:
            # Tensors that share storage must be copied for safetensors.
            whole = {name: value.detach().cpu().clone() for name, value in tensors.items()}
            write_tensors(whole, folder / TENSORS)
            (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        self._last = time.monotonic()

    def restore(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, bits: RandomBits
    ) -> tuple[History, Kept, Inside | None]:
        """Puts everything back.

        Returns:
            The epochs that are done, the best weights so far and their mean, and how far the
            present epoch is.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load

        from grafenne.training.loop import History, Inside, Kept

        try:
            about = json.loads(bytes_of_main((self.folder / ABOUT).read_bytes).decode("utf-8"))
            tensors = load(bytes_of_main((self.folder / TENSORS).read_bytes))
            if about["format"] != FORMAT:
                raise ModelFileError(f"{self.folder} is a checkpoint of another version.")
            if about["identity"] != self.identity:
                raise ModelFileError(
                    f"{self.folder} is a checkpoint of another run ({_difference(about, self)}); "
                    "name another folder or delete it."
                )
            network.load_state_dict(_part(tensors, "network."))
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _part(tensors, "optimizer.").items():
                number, key = name.split(".", 1)
                state.setdefault(int(number), {})[key] = value
            optimizer.load_state_dict(
                {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
            )
            bits.set_state(about["bits"])
            history = History(**about["history"])
            history.epochs = [tuple(entry) for entry in history.epochs]  # type: ignore[misc]
            inside = None if about["inside"] is None else Inside(**about["inside"])
            if inside is not None:
                RandomBits(0).set_state(inside.random)  # refuses what is no state
                inside = replace(inside, steps=int(inside.steps), total=float(inside.total))
            kept = Kept(_part(tensors, "best."), _part(tensors, "mean.") or None)
            for weights in (kept.best, kept.mean):
                if weights is not None and weights.keys() != network.state_dict().keys():
                    raise ValueError("it lacks some of the best weights")
        except ModelFileError:
            raise
        except (OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
                RuntimeError, SafetensorError) as error:  # fmt: skip
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".:")
            raise ModelFileError(f"The checkpoint in {self.folder} is damaged: {reason}.") from None
        return history, kept, inside


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)
    }


def _difference(about: dict[str, Any], checkpoint: Checkpoint) -> str:
    stored, wanted = about["identity"], checkpoint.identity
    for name in sorted(stored.keys() | wanted.keys()):
        if stored.get(name) != wanted.get(name):
            return f"{name} was {stored.get(name)!r}, now {wanted.get(name)!r}"
    return "other settings"
