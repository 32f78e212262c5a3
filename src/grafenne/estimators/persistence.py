"""Saving and loading a fitted estimator: a folder of safetensors and JSON, never a pickle.

``model.json`` holds what a person may want to read: the settings, the class names, the feature
names, the scaler, versions and seed. ``model.safetensors`` holds the weights. A loaded model
predicts the same numbers bit for bit.
"""

from __future__ import annotations

import json
import platform
from dataclasses import fields
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from grafenne.data.atomic import atomic_folder
from grafenne.data.labels import plain
from grafenne.data.scaling import FeatureScaler
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import GrafenneError, ModelFileError, ParameterError
from grafenne.nn.features import GivenFeatures, LearnedFeatures
from grafenne.training.label_features import LabelFeatures
from grafenne.training.loop import History
from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.estimators.base import GrafenneEstimator

FORMAT = 1
ABOUT, WEIGHTS = "model.json", "model.safetensors"


def save_estimator(estimator: GrafenneEstimator, folder: Path | str) -> None:
    """Writes a fitted estimator; an older model of that name is replaced as a whole."""
    from safetensors.torch import save_file

    about, tensors = _describe(estimator)
    text = json.dumps(about, indent=1, ensure_ascii=False)
    with atomic_folder(folder, replaceable=lambda name: name in (ABOUT, WEIGHTS)) as beside:
        save_file(
            {name: t.detach().cpu().contiguous() for name, t in tensors.items()}, beside / WEIGHTS
        )
        (beside / ABOUT).write_text(text + "\n", encoding="utf-8")


def load_estimator(folder: Path | str, **overrides: Any) -> GrafenneEstimator:
    """Reads a saved estimator of any kind.

    Args:
        folder: The folder that ``save`` wrote.
        overrides: Settings to replace: ``device``, ``verbose``, or ``features`` and ``backbone``
            for a model that was trained with your own callable or layer.
    """
    folder = Path(folder)
    about = _read_about(folder)
    try:
        return _rebuild(about, folder, overrides)
    except GrafenneError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError) as error:
        raise ModelFileError(f"The model in {folder} is damaged: {_short(error)}.") from None


# ---- writing ---------------------------------------------------------------------------------


def _describe(estimator: GrafenneEstimator) -> tuple[dict[str, Any], dict[str, Tensor]]:
    import sklearn

    network: nn.Module = estimator.network_
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    settings = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    settings["backbone"] = _backbone_name(settings["backbone"])
    embedding = estimator.network_.encoder.features
    about: dict[str, Any] = {
        "format": FORMAT,
        "grafenne": __version__,
        "estimator": type(estimator).__name__,
        "settings": settings,
        "scaler": estimator.scaler_.to_dict(),
        "feature_edges": any("neighbour" in name and "node_to_feature" in name for name in tensors),
        "history": estimator.history_.to_dict(),
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        **estimator._task_to_dict(),
    }
    if isinstance(embedding, LearnedFeatures):
        about["features"] = list(embedding.names)
    if isinstance(embedding, GivenFeatures):
        names = [str(name) for name in estimator.feature_names_in_]
        about["features"] = names
        about["settings"]["features"] = "given"
        tensors["given"] = embedding._vectors(names)
    labels = getattr(estimator, "label_features_", None)
    if labels is not None:
        about["label_features"] = {"nodes": _json_ids(labels.nodes)}
        tensors["label_codes"] = torch.from_numpy(labels.codes)
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


def _json_ids(ids: list[Any]) -> list[Any]:
    for node in ids:
        if not isinstance(node, str | int):
            raise ParameterError(
                f"A model with labels as features is saved with the ids of its training nodes, "
                f"which must be text or whole numbers; {node!r} is neither."
            )
    return ids


# ---- reading ---------------------------------------------------------------------------------


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    if not folder.is_dir() or not path.is_file():
        raise ModelFileError(f"{folder} is not a saved model: it has no {ABOUT}.")
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {_short(error)}.") from None
    if not isinstance(about, dict) or "format" not in about:
        raise ModelFileError(f"{path} does not describe a grafenne model.")
    if about["format"] != FORMAT:
        raise ModelFileError(
            f"{path} has format {about['format']!r}; this version of grafenne reads {FORMAT}."
        )
    return about


def _rebuild(about: dict[str, Any], folder: Path, overrides: dict[str, Any]) -> GrafenneEstimator:
    from grafenne import estimators

    if about["estimator"] not in estimators.__all__:
        raise ModelFileError(f"{folder / ABOUT} names an unknown estimator {about['estimator']!r}.")
    kind = getattr(estimators, about["estimator"])
    known = {field.name for field in fields(kind)}
    for name in overrides:
        if name not in ("device", "verbose", "features", "backbone"):
            raise ParameterError(f"load takes no setting {name!r}; it is part of the model.")
    settings = {name: value for name, value in about["settings"].items() if name in known}
    estimator: GrafenneEstimator = kind(**{**settings, **overrides})
    if "backbone" not in overrides:
        estimator.backbone = _backbone(estimator.backbone, folder)
    header = _read_header(folder)
    names = Vocabulary(about.get("features", ()), kind="feature")
    given = None
    if settings["features"] == "given":
        width = header["given"][1]
        given = torch.empty(0, width)
    estimator.scaler_ = FeatureScaler.from_dict(about["scaler"])
    estimator._task_from_dict(about)
    # On the meta device the network takes no memory: what the file holds is compared with what
    # the settings ask for before anything is allocated.
    with torch.device("meta"):
        network: Any = estimator._rebuild_network(names, given, about["feature_edges"])
    wanted = {f"network.{name}": tuple(t.shape) for name, t in network.state_dict().items()}
    stored = {name: shape for name, shape in header.items() if name.startswith("network.")}
    if wanted != stored:
        raise ModelFileError(
            f"{folder / WEIGHTS} does not fit {ABOUT}: {_first_difference(wanted, stored)}."
        )
    tensors = _read_tensors(folder)
    state = {name.removeprefix("network."): t for name, t in tensors.items() if name in wanted}
    network.load_state_dict(state, assign=True)
    if given is not None and "features" not in overrides:
        table = dict(zip(names, tensors["given"].numpy(), strict=True))
        network.encoder.features.source = table
        estimator.features = table
    elif given is not None:
        network.encoder.features.source = estimator.features
    if about.get("label_features") is not None:
        codes = tensors["label_codes"].numpy()
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(estimator.task_.classes):
            raise ModelFileError(f"{folder / WEIGHTS} has a label that is not among the classes.")
        nodes = about["label_features"]["nodes"]
        if len(nodes) != len(codes):
            raise ModelFileError(f"{folder / WEIGHTS} and {ABOUT} disagree on the shown labels.")
        estimator.label_features_ = LabelFeatures(estimator.task_.classes, nodes, codes)
    estimator.network_ = network.to(estimator.device).eval()
    history = History(**about["history"])
    history.epochs = [tuple(entry) for entry in history.epochs]  # type: ignore[misc]
    estimator.history_ = history
    estimator.feature_names_in_ = np.array(list(names), dtype=object)
    return estimator


def _backbone(name: Any, folder: Path) -> Any:
    if name == "own":
        raise ModelFileError(
            f"The model in {folder} was trained with a phase-2 layer of its own; pass it again: "
            "load(folder, backbone=...)."
        )
    if isinstance(name, str) and name.startswith("pyg:"):
        import torch_geometric.nn as pyg

        layer = getattr(pyg, name.removeprefix("pyg:"), None)
        if not (isinstance(layer, type) and issubclass(layer, pyg.MessagePassing)):
            raise ModelFileError(f"PyTorch Geometric has no message passing layer {name[4:]!r}.")
        return layer
    return name


def _read_header(folder: Path) -> dict[str, tuple[int, ...]]:
    from safetensors import SafetensorError, safe_open

    path = folder / WEIGHTS
    try:
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path} cannot be read: {_short(error)}.") from None


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = load_file(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ModelFileError(f"{folder / WEIGHTS} holds numbers that are not finite in {name}.")
    # Kernels take another path for unaligned memory, which would change the last digit.
    return {name: tensor.clone() for name, tensor in tensors.items()}


def _first_difference(wanted: dict[str, Any], stored: dict[str, Any]) -> str:
    for name in sorted(wanted.keys() | stored.keys()):
        if wanted.get(name) != stored.get(name):
            return f"{name} should be {wanted.get(name)}, found {stored.get(name)}"
    return "other tensors"


def _short(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
