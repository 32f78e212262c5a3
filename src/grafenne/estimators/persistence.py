"""Saving and loading a fitted estimator: a folder of safetensors and JSON, never a pickle.

``model.json`` holds what a person may want to read: the settings, the class names, the feature
names, the scaler, versions and seed, and the updates that made it. ``model.safetensors`` holds
the weights. ``memory.json`` holds who trained, and what a strategy remembers for the next update.
A loaded model predicts the same numbers bit for bit, and an update changes it in the same way.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.data.atomic import atomic_folder, read_whole
from grafenne.data.labels import plain
from grafenne.errors import GrafenneError, ModelFileError, ParameterError
from grafenne.estimators.model_files import (
    ABOUT,
    BY_CLASS,
    FILES,
    FORMAT,
    MEMORY,
    WEIGHTS,
    memory_digest,
    read_about,
    read_tensors,
    short,
)
from grafenne.estimators.rebuild import rebuild_estimator
from grafenne.estimators.registry import wrapper_kind
from grafenne.nn.given_features import GivenFeatures
from grafenne.training.label_features import FeaturesAndLabels
from grafenne.training.tensor_file import write_tensors
from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.estimators.base import NetworkEstimator

WRAPPER = "wrapper."
"""How the names of tensors begin that belong to what stands in front of an estimator."""


def save_estimator(
    estimator: NetworkEstimator,
    folder: Path | str,
    wrapper: Mapping[str, Any] | None = None,
    arrays: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Writes a fitted estimator; an older model of that name is replaced as a whole.

    Whoever loads it meanwhile gets the old one or the new one. Of two processes that write one
    folder at the same time, one is told so by an error.

    Args:
        estimator: The estimator.
        folder: Where to.
        wrapper: What stands in front of it: the ``kind`` of the wrapper, and what its
            ``_unfold`` needs to make it again.
        arrays: What it needs besides, by name.
    """
    from grafenne.continual.memory import describe_memory

    about, tensors = _describe(estimator)
    memory, remembered = describe_memory(estimator)
    tensors |= remembered
    if wrapper is not None:
        about["wrapper"] = dict(wrapper)
    for name, array in (arrays or {}).items():
        tensors[f"{WRAPPER}{name}"] = torch.from_numpy(array)
    content = None
    if memory is not None:  # without line breaks: nobody reads the list of all nodes
        listed = json.dumps(memory, ensure_ascii=False, separators=(",", ":"))
        content = f"{listed}\n".encode()
    about["memory"] = None if content is None else memory_digest(content)
    text = json.dumps(about, indent=1, ensure_ascii=False)
    with atomic_folder(folder, replaceable=lambda name: name in FILES) as beside:
        write_tensors(tensors, beside / WEIGHTS)
        if content is not None:
            (beside / MEMORY).write_bytes(content)
        (beside / ABOUT).write_text(text + "\n", encoding="utf-8")


def load_estimator(folder: Path | str, **overrides: Any) -> Any:
    """Reads a saved estimator of any kind, with what stands in front of it.

    Args:
        folder: The folder that ``save`` wrote.
        overrides: Settings to replace: ``device``, ``verbose``, or ``features`` and ``backbone``
            for a model that was trained with your own callable or layer.
    """
    folder = Path(folder)
    return read_whole(folder, lambda: _load(folder, overrides))


def _load(folder: Path, overrides: dict[str, Any]) -> Any:
    about = read_about(folder)
    try:
        model = rebuild_estimator(about, folder, overrides)
        if about.get("wrapper") is None:
            return model
        kept = {
            name.removeprefix(WRAPPER): tensor.numpy()
            for name, tensor in read_tensors(folder, WRAPPER).items()
        }
        return wrapper_kind(about["wrapper"]["kind"])._unfold(model, about["wrapper"], kept)
    except ModelFileError:
        raise
    except GrafenneError as error:
        if overrides:  # they may be what is wrong
            raise
        raise ModelFileError(f"The model in {folder} is damaged: {short(error)}.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            RuntimeError) as error:  # fmt: skip
        raise ModelFileError(f"The model in {folder} is damaged: {short(error)}.") from None


# ---- writing ---------------------------------------------------------------------------------


def _describe(estimator: NetworkEstimator) -> tuple[dict[str, Any], dict[str, Tensor]]:
    import sklearn

    from grafenne.continual.lineage import model_digest
    from grafenne.continual.memory import describe_updates

    network: nn.Module = estimator.network_
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    settings = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    given = None
    if "backbone" in settings:
        settings["backbone"] = _backbone_name(settings["backbone"])
    if "features" in settings:
        settings["features"], given = _features_name(estimator)
    for name in BY_CLASS:
        if isinstance(settings.get(name), Mapping):  # JSON would turn all keys into text
            settings[name] = [list(pair) for pair in settings[name].items()]
    about: dict[str, Any] = {
        "format": FORMAT,
        "grafenne": __version__,
        "estimator": type(estimator).__name__,
        "settings": settings,
        "features": [str(name) for name in estimator.feature_names_in_],
        "scaler": estimator.scaler_.to_dict(),
        "feature_dropout": estimator.network_.encoder.feature_dropout.rate,
        "reach": getattr(estimator, "reach_", 0),
        "direct": getattr(estimator, "direct_", False),
        "feature_edges": any("neighbour" in name and "node_to_feature" in name for name in tensors),
        "history": estimator.history_.to_dict(),
        "digest": model_digest(estimator),
        **describe_updates(estimator),
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        **estimator._task_to_dict(),
    }
    if given is not None:
        about["given"] = list(given.source)  # type: ignore[arg-type]
        tensors["given"] = given._vectors(about["given"])
    labels = getattr(estimator, "label_features_", None)
    if labels is not None:
        about["label_features"] = {"nodes": _json_ids(labels.nodes)}
        tensors["label_codes"] = torch.from_numpy(labels.codes)
    smoothing = getattr(estimator, "smoothing_", None)
    if smoothing is not None:
        nodes = _json_ids(smoothing.shown.nodes)
        about["smoothing"] = {"share": smoothing.share, "nodes": nodes}
        tensors["smoothing_codes"] = torch.from_numpy(smoothing.shown.codes)
    return about, tensors


def _backbone_name(backbone: Any) -> str:
    if isinstance(backbone, str):
        return backbone
    import torch_geometric.nn as pyg

    name = getattr(backbone, "__name__", "")
    if isinstance(backbone, type) and getattr(pyg, name, None) is backbone:
        return f"pyg:{name}"
    # An instance or a class of the user's own cannot be rebuilt from a name.
    return "own"


def _features_name(estimator: Any) -> tuple[str | None, GivenFeatures | None]:
    """How Φ is told in the file, and the embedding whose vectors go with it."""
    if estimator.features is None or isinstance(estimator.features, str):
        return estimator.features, None
    embedding: Any = estimator.network_.encoder.features
    embedding = embedding.inner if isinstance(embedding, FeaturesAndLabels) else embedding
    if isinstance(embedding, GivenFeatures) and not callable(embedding.source):
        return "given", embedding
    # A callable knows vectors for names that nobody asked for yet: it cannot be stored.
    return "own", None


def _json_ids(ids: list[Any]) -> list[Any]:
    for node in ids:
        if not isinstance(node, str | int):
            raise ParameterError(
                f"A model that shows labels (as features, or for smoothing) is saved with the ids "
                f"of its training nodes, which must be text or whole numbers; {node!r} is neither."
            )
    return ids
