"""Saving and loading a fitted estimator: a folder of safetensors and JSON, never a pickle.

``model.json`` holds what a person may want to read: the settings, the class names, the feature
names, the scaler, versions and seed. ``model.safetensors`` holds the weights. A loaded model
predicts the same numbers bit for bit.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Mapping
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
from grafenne.estimators.parameters import check_device
from grafenne.estimators.registry import ESTIMATORS, estimator_kind, wrapper_kind
from grafenne.nn.features import FeatureEmbedding, GivenFeatures, make_features
from grafenne.ops import Dropout
from grafenne.training.label_features import FeaturesAndLabels, LabelFeatures
from grafenne.training.loop import History
from grafenne.version import __version__

if TYPE_CHECKING:
    from grafenne.estimators.base import NetworkEstimator

FORMAT = 1
ABOUT, WEIGHTS = "model.json", "model.safetensors"

Header = dict[str, tuple[str, tuple[int, ...]]]
"""Number type and shape of each tensor in a file."""

_DTYPES = {"F32": "float32", "F64": "float64", "I64": "int64"}
_LAYER = re.compile(r"network\.encoder\.layers\.(\d+)\.")
_NONE = np.empty(0, dtype=np.int64)


def save_estimator(
    estimator: NetworkEstimator, folder: Path | str, wrapper: Mapping[str, Any] | None = None
) -> None:
    """Writes a fitted estimator; an older model of that name is replaced as a whole.

    Args:
        estimator: The estimator.
        folder: Where to.
        wrapper: What stands in front of it: the ``kind`` of the wrapper, and what its
            ``_unfold`` needs to make it again.
    """
    from safetensors.torch import save_file

    about, tensors = _describe(estimator)
    if wrapper is not None:
        about["wrapper"] = dict(wrapper)
    text = json.dumps(about, indent=1, ensure_ascii=False)
    with atomic_folder(folder, replaceable=lambda name: name in (ABOUT, WEIGHTS)) as beside:
        save_file(
            {name: t.detach().cpu().contiguous() for name, t in tensors.items()}, beside / WEIGHTS
        )
        (beside / ABOUT).write_text(text + "\n", encoding="utf-8")


def load_estimator(folder: Path | str, **overrides: Any) -> Any:
    """Reads a saved estimator of any kind, with what stands in front of it.

    Args:
        folder: The folder that ``save`` wrote.
        overrides: Settings to replace: ``device``, ``verbose``, or ``features`` and ``backbone``
            for a model that was trained with your own callable or layer.
    """
    folder = Path(folder)
    about = _read_about(folder)
    try:
        model = _rebuild(about, folder, overrides)
        if about.get("wrapper") is None:
            return model
        return wrapper_kind(about["wrapper"]["kind"])._unfold(model, about["wrapper"])
    except ModelFileError:
        raise
    except GrafenneError as error:
        if overrides:  # they may be what is wrong
            raise
        raise ModelFileError(f"The model in {folder} is damaged: {_short(error)}.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
            RuntimeError) as error:  # fmt: skip
        raise ModelFileError(f"The model in {folder} is damaged: {_short(error)}.") from None


# ---- writing ---------------------------------------------------------------------------------


def _describe(estimator: NetworkEstimator) -> tuple[dict[str, Any], dict[str, Tensor]]:
    import sklearn

    network: nn.Module = estimator.network_
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    settings = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    given = None
    if "backbone" in settings:
        settings["backbone"] = _backbone_name(settings["backbone"])
    if "features" in settings:
        settings["features"], given = _features_name(estimator)
    if isinstance(settings.get("class_weight"), Mapping):  # JSON would turn all keys into text
        settings["class_weight"] = [list(pair) for pair in settings["class_weight"].items()]
    about: dict[str, Any] = {
        "format": FORMAT,
        "grafenne": __version__,
        "estimator": type(estimator).__name__,
        "settings": settings,
        "features": [str(name) for name in estimator.feature_names_in_],
        "scaler": estimator.scaler_.to_dict(),
        "feature_dropout": estimator.network_.encoder.feature_dropout.rate,
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
    if given is not None:
        about["given"] = list(given.source)  # type: ignore[arg-type]
        tensors["given"] = given._vectors(about["given"])
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


def _features_name(estimator: Any) -> tuple[str, GivenFeatures | None]:
    """How Φ is told in the file, and the embedding whose vectors go with it."""
    if isinstance(estimator.features, str):
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
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} cannot be read: {_short(error)}.") from None
    if not isinstance(about, dict) or "format" not in about:
        raise ModelFileError(f"{path} does not describe a grafenne model.")
    if about["format"] != FORMAT:
        raise ModelFileError(
            f"{path} has format {about['format']!r}; this version of grafenne reads {FORMAT}."
        )
    return about


def _rebuild(about: dict[str, Any], folder: Path, overrides: dict[str, Any]) -> Any:
    if about["estimator"] not in tuple(ESTIMATORS):  # it may be anything, not even hashable
        raise ModelFileError(f"{folder / ABOUT} names an unknown estimator {about['estimator']!r}.")
    kind = estimator_kind(about["estimator"])
    known = {field.name for field in fields(kind)}
    for name in overrides:
        if name not in known & {"device", "verbose", "features", "backbone"}:
            raise ParameterError(f"load takes no setting {name!r}; it is part of the model.")
    settings = {name: value for name, value in about["settings"].items() if name in known}
    if isinstance(settings.get("class_weight"), list):
        settings["class_weight"] = dict(settings["class_weight"])
    estimator: Any = kind(**{**settings, **overrides})
    check_device(estimator.device)
    if "backbone" in known - overrides.keys():
        estimator.backbone = _backbone(estimator.backbone, folder)
    header = _read_header(folder)
    estimator.scaler_ = FeatureScaler.from_dict(about["scaler"])
    estimator._task_from_dict(about)
    names = Vocabulary(about["features"], kind="feature")
    estimator.feature_names_in_ = np.array(list(names), dtype=object)
    estimator.n_features_in_ = len(names)
    if about.get("label_features") is not None:
        # What they show is read with the tensors; the network's shape needs the names alone.
        shown = LabelFeatures(estimator.task_.classes, about["label_features"]["nodes"], _NONE)
        estimator.label_features_ = shown
        names = names.extended(shown.names)
    source = _feature_source(estimator, header, overrides, folder)

    network = _checked_network(estimator, source, names, about["feature_edges"], header, folder)
    tensors = _read_tensors(folder)
    wanted = network.state_dict()
    network.load_state_dict({name: tensors[f"network.{name}"] for name in wanted})
    network.encoder.feature_dropout.rate = Dropout(about["feature_dropout"]).rate  # checked
    given = getattr(estimator, "features", None)
    if isinstance(given, str) and given == "given":
        table = dict(zip(about["given"], tensors["given"].numpy(), strict=True))
        embedding = network.encoder.features
        getattr(embedding, "inner", embedding).source = table
        estimator.features = table
    if about.get("label_features") is not None:
        estimator.label_features_ = _read_labels(estimator, about, tensors, folder)
    estimator.network_ = network.to(estimator.device).eval()
    history = History(**about["history"])
    history.epochs = [tuple(entry) for entry in history.epochs]  # type: ignore[misc]
    estimator.history_ = history
    return estimator


def _feature_source(
    estimator: Any, header: Header, overrides: dict[str, Any], folder: Path
) -> Callable[[], Any]:
    """Makes Φ, or says which it is; called once for a trial on no memory and once for real."""
    kind = getattr(estimator, "features", None)
    if kind is None:  # a method without feature embeddings
        return lambda: None
    if isinstance(kind, str) and kind == "own":
        raise ModelFileError(
            f"The model in {folder} was trained with a feature embedding of its own; pass it "
            "again: load(folder, features=...)."
        )
    if "features" not in overrides and kind == "given":
        width = header["given"][1][1]
        return lambda: GivenFeatures({}, estimator.width, width)
    if isinstance(kind, str | FeatureEmbedding):
        return lambda: kind
    names = Vocabulary(estimator.feature_names_in_.tolist(), kind="feature")
    probe: Any = make_features(kind, names, 1)
    return lambda: GivenFeatures(probe.source, estimator.width, probe.linear.in_features)


def _checked_network(
    estimator: Any,
    source: Callable[[], Any],
    names: Vocabulary,
    feature_edges: bool,
    header: Header,
    folder: Path,
) -> Any:
    """An untrained network, built only if the file really holds weights of its shape."""
    stored = {name: form for name, form in header.items() if name.startswith("network.")}
    layers = {found[1] for name in stored if (found := _LAYER.match(name))}
    if len(layers) + estimator._count_bare_layers() != estimator.num_layers:
        raise ModelFileError(
            f"{folder / WEIGHTS} does not fit {ABOUT}: num_layers is {estimator.num_layers!r}, "
            f"found {len(layers)} layers."
        )
    backbone = getattr(estimator, "backbone", "")
    own = not isinstance(backbone, str)
    try:
        # On the meta device the network takes no memory. Layers from elsewhere may not know that
        # device, so another one stands in and they are compared afterwards.
        if own:
            estimator.backbone = "sage"
        with torch.device("meta"):
            trial: Any = estimator._rebuild_network(source(), names, feature_edges)
    finally:
        if own:
            estimator.backbone = backbone
    _compare(trial, stored, folder, without="node_to_node" if own else None)
    with torch.random.fork_rng(devices=[]):
        network = estimator._rebuild_network(source(), names, feature_edges)
    _compare(network, stored, folder)
    return network


def _compare(network: nn.Module, stored: Header, folder: Path, without: str | None = None) -> None:
    wanted = {
        f"network.{name}": (str(t.dtype).removeprefix("torch."), tuple(t.shape))
        for name, t in network.state_dict().items()
    }
    for name in sorted(wanted.keys() | stored.keys()):
        if without is not None and f".{without}." in name:
            continue
        if wanted.get(name) != stored.get(name):
            raise ModelFileError(
                f"{folder / WEIGHTS} does not fit {ABOUT}: {name} should be "
                f"{_form(wanted.get(name))}, found {_form(stored.get(name))}."
            )


def _form(form: tuple[str, tuple[int, ...]] | None) -> str:
    return "absent" if form is None else f"{form[0]} of shape {list(form[1])}"


def _read_labels(
    estimator: Any, about: dict[str, Any], tensors: dict[str, Tensor], folder: Path
) -> LabelFeatures:
    codes = tensors["label_codes"].numpy()
    nodes = about["label_features"]["nodes"]
    if codes.dtype != np.int64 or codes.shape != (len(nodes),):
        raise ModelFileError(f"{folder / WEIGHTS} and {ABOUT} disagree on the shown labels.")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(estimator.task_.classes):
        raise ModelFileError(f"{folder / WEIGHTS} has a label that is not among the classes.")
    return LabelFeatures(estimator.task_.classes, nodes, codes)


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


def _read_header(folder: Path) -> Header:
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
        raise ModelFileError(f"{path} cannot be read: {_short(error)}.") from None
    return header


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = load_file(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ModelFileError(f"{folder / WEIGHTS} holds numbers that are not finite in {name}.")
    # Kernels take another path for unaligned memory, which would change the last digit.
    return {name: tensor.clone() for name, tensor in tensors.items()}


def _short(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
