"""The files of a saved model: their names, how they are read, and what they must agree on."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from grafenne.errors import ModelFileError, shown

FORMAT = 4
ABOUT, WEIGHTS, MEMORY = "model.json", "model.safetensors", "memory.json"
FILES = (ABOUT, WEIGHTS, MEMORY)
"""All that a model's folder may hold."""

BY_CLASS = ("class_weight", "class_shares")
"""Settings that may be a mapping from classes; they are kept as lists of pairs."""

Form = tuple[str, tuple[int, ...]]
Header = dict[str, Form]
"""Number type and shape of each tensor in a file."""

_DTYPES = {"F32": "float32", "F64": "float64", "I64": "int64", "BOOL": "bool"}


def read_about(folder: Path) -> dict[str, Any]:
    """What ``model.json`` says."""
    path = folder / ABOUT
    if not os.path.isfile(path):  # unlike Path.is_file it takes names that no system has
        raise ModelFileError(f"{folder} is not a saved model: it has no {ABOUT}.")
    about = _read_json(path)
    if not isinstance(about, dict) or "format" not in about:
        raise ModelFileError(f"{path} does not describe a grafenne model.")
    if about["format"] != FORMAT:
        raise ModelFileError(
            f"{path} has format {shown(about['format'])}; this version of grafenne reads {FORMAT}."
        )
    return about


def memory_digest(content: bytes) -> str:
    """What ``model.json`` says of the content of ``memory.json``."""
    return hashlib.sha256(content).hexdigest()


def read_memory(folder: Path, digest: Any) -> dict[str, Any] | None:
    """What ``memory.json`` says; ``None`` for a model that was saved without one.

    Args:
        folder: The model's folder.
        digest: What ``model.json`` says of it: a model that took its test nodes for others
            would train on them.
    """
    path = folder / MEMORY
    if digest is None:
        return None
    try:
        same = memory_digest(path.read_bytes()) == digest
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {short(error)}.") from None
    if not same:
        raise ModelFileError(f"{path} is damaged, or belongs to another model.")
    memory = _read_json(path)
    if not isinstance(memory, dict):
        raise ModelFileError(f"{path} does not tell what a model has learnt from.")
    return memory


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} cannot be read: {short(error)}.") from None


def read_header(folder: Path) -> Header:
    """The form of each tensor, without reading any."""
    from safetensors import SafetensorError, safe_open

    path = folder / WEIGHTS
    header: Header = {}
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                part = file.get_slice(name)
                kind = _DTYPES.get(part.get_dtype(), part.get_dtype())
                header[name] = (kind, tuple(part.get_shape()))
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path} cannot be read: {short(error)}.") from None
    return header


def read_tensors(folder: Path, prefix: str = "") -> dict[str, Tensor]:
    """All tensors whose names begin so; they must be finite."""
    from safetensors import safe_open

    with safe_open(folder / WEIGHTS, framework="pt") as file:
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
        tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in names}
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ModelFileError(f"{folder / WEIGHTS} holds numbers that are not finite in {name}.")
    # Kernels take another path for unaligned memory, which would change the last digit.
    return {name: tensor.clone() for name, tensor in tensors.items()}


def compare(network: nn.Module, header: Header, folder: Path, without: str | None = None) -> None:
    """Raises unless the file holds exactly the weights of a network.

    Args:
        network: The network, which may be without memory.
        header: The file's tensors.
        folder: For messages.
        without: A part of the network that is not compared.
    """
    wanted = {f"network.{name}": form_of(tensor) for name, tensor in network.state_dict().items()}
    stored = {name: form for name, form in header.items() if name.startswith("network.")}
    for name in sorted(wanted.keys() | stored.keys()):
        if without is not None and f".{without}." in name:
            continue
        check_form(name, wanted.get(name), stored.get(name), folder)


def check_form(name: str, wanted: Form | None, found: Form | None, folder: Path) -> None:
    """Raises unless a tensor in the file is what it should be."""
    if wanted != found:
        raise ModelFileError(
            f"{folder / WEIGHTS} does not fit {ABOUT}: {name} should be {_told(wanted)}, found "
            f"{_told(found)}."
        )


def form_of(tensor: Tensor) -> Form:
    """Number type and shape of a tensor."""
    return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)


def _told(form: Form | None) -> str:
    return "absent" if form is None else f"{form[0]} of shape {list(form[1])}"


def short(error: Exception) -> str:
    """The first line of an error, without its full stop."""
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
