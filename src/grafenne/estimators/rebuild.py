"""From the files of a saved model to a fitted estimator.

Nothing of a network is allocated before the file is known to hold weights of its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grafenne.data.scaling import FeatureScaler
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ModelFileError, ParameterError, shown
from grafenne.estimators.model_files import (
    ABOUT,
    BY_CLASS,
    WEIGHTS,
    Header,
    compare,
    read_header,
    read_memory,
    read_tensors,
)
from grafenne.estimators.parameters import check_device, is_reach
from grafenne.estimators.registry import ESTIMATORS, estimator_kind
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.features import make_features
from grafenne.nn.given_features import GivenFeatures
from grafenne.ops import Dropout
from grafenne.tasks.shown_labels import ShownLabels
from grafenne.tasks.smoothing import Smoothing
from grafenne.training.label_features import LabelFeatures
from grafenne.training.loop import History

_LAYER = re.compile(r"network\.encoder\.layers\.(\d+)\.")
_NONE = np.empty(0, dtype=np.int64)


def rebuild_estimator(about: dict[str, Any], folder: Path, overrides: dict[str, Any]) -> Any:
    """A fitted estimator from what the files say.

    Args:
        about: The content of ``model.json``.
        folder: The model's folder.
        overrides: Settings to replace.
    """
    from grafenne.continual.memory import check_memory, recall_memory, recall_updates

    if about["estimator"] not in tuple(ESTIMATORS):  # it may be anything, not even hashable
        raise ModelFileError(
            f"{folder / ABOUT} names an unknown estimator {shown(about['estimator'])}."
        )
    kind = estimator_kind(about["estimator"])
    known = {field.name for field in fields(kind)}
    for name in overrides:
        if name not in known & {"device", "verbose", "features", "backbone"}:
            raise ParameterError(f"load takes no setting {name!r}; it is part of the model.")
    settings = dict(about["settings"])
    if strange := sorted(settings.keys() - known):
        raise ModelFileError(
            f"{folder / ABOUT} has the setting {strange[0]!r}, which this version of grafenne does "
            f"not know; the model was saved by version {shown(about.get('grafenne'))}."
        )
    for name in BY_CLASS:
        if isinstance(settings.get(name), list):
            settings[name] = dict(settings[name])
    estimator: Any = kind(**{**settings, **overrides})
    check_device(estimator.device)
    if "backbone" in known - overrides.keys():
        estimator.backbone = _backbone(estimator.backbone, folder)
    if "reach" in known:
        estimator.reach_ = _read_reach(about, folder)
        estimator.direct_ = _read_direct(about, folder)
    header, memory = read_header(folder), read_memory(folder, about["memory"])
    check_memory(memory, header, folder)
    estimator.scaler_ = FeatureScaler.from_dict(about["scaler"])
    estimator._task_from_dict(about)
    names = Vocabulary(about["features"], kind="feature")
    estimator.feature_names_in_ = np.array(list(names), dtype=object)
    estimator.n_features_in_ = len(names)
    if about.get("label_features") is not None:
        # What they show is read with the tensors; the network's shape needs the names alone.
        labels = LabelFeatures(estimator.task_.classes, about["label_features"]["nodes"], _NONE)
        estimator.label_features_ = labels
        names = names.extended(labels.names)
    source = _feature_source(estimator, header, overrides, folder)

    network = _checked_network(estimator, source, names, about["feature_edges"], header, folder)
    tensors = read_tensors(folder)
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
        told = _read_labels(estimator, about["label_features"], tensors, "label_codes", folder)
        estimator.label_features_ = LabelFeatures(estimator.task_.classes, told.nodes, told.codes)
    if about.get("smoothing") is not None:
        estimator.smoothing_ = Smoothing(
            _read_share(about["smoothing"]["share"], folder),
            _read_labels(estimator, about["smoothing"], tensors, "smoothing_codes", folder),
        )
    estimator.network_ = network.to(estimator.device).eval()
    estimator.history_ = _read_history(about["history"])
    recall_memory(estimator, memory, tensors)
    recall_updates(estimator, about)
    _check_digest(estimator, about, known, folder)
    return estimator


def _read_reach(about: dict[str, Any], folder: Path) -> int:
    reach = about.get("reach", 0)
    if not is_reach(reach) or reach is None:
        raise ModelFileError(f"{folder / ABOUT} has a reach that is no number of steps.")
    return int(reach)


def _read_direct(about: dict[str, Any], folder: Path) -> bool:
    direct = about.get("direct", False)
    if not isinstance(direct, bool):
        raise ModelFileError(f"{folder / ABOUT} has a 'direct' that is neither true nor false.")
    return direct


def _check_digest(estimator: Any, about: dict[str, Any], known: set[str], folder: Path) -> None:
    """Raises unless the model is, bit for bit, the one that was saved.

    A flipped bit in a weight would otherwise go unnoticed. The digest covers the settings by name,
    so it says nothing where another version of the package had other ones.
    """
    from grafenne.continual.lineage import model_digest

    stored = about.get("digest")
    if stored is None or about["settings"].keys() != known:
        return
    if stored != model_digest(estimator):
        raise ModelFileError(
            f"The model in {folder} is damaged: its weights, names or settings are not those that "
            "were saved."
        )


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
    layers = {found[1] for name in header if (found := _LAYER.match(name))}
    if len(layers) + estimator._count_bare_layers() != estimator._num_layers:
        raise ModelFileError(
            f"{folder / WEIGHTS} does not fit {ABOUT}: num_layers is {estimator._num_layers!r}, "
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
    compare(trial, header, folder, without="node_to_node" if own else None)
    with torch.random.fork_rng(devices=[]):
        network = estimator._rebuild_network(source(), names, feature_edges)
    compare(network, header, folder)
    return network


def _read_history(told: dict[str, Any]) -> History:
    history = History(**told)
    history.epochs = [tuple(float(number) for number in entry) for entry in history.epochs]  # type: ignore[misc]
    if any(len(entry) != 3 for entry in history.epochs):
        raise ValueError("an epoch of its history does not tell three numbers")
    history.best_epoch, history.best_loss = int(history.best_epoch), float(history.best_loss)
    return history


def _read_share(share: Any, folder: Path) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise ModelFileError(f"{folder / ABOUT} has a smoothing that is no share.")
    return float(share)


def _read_labels(
    estimator: Any, told: dict[str, Any], tensors: dict[str, Tensor], name: str, folder: Path
) -> ShownLabels:
    from grafenne.continual.memory import check_ids

    codes = tensors[name].numpy()
    nodes = check_ids(told["nodes"], len(codes))
    if codes.dtype != np.int64 or codes.shape != (len(nodes),):
        raise ModelFileError(f"{folder / WEIGHTS} and {ABOUT} disagree on the shown labels.")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(estimator.task_.classes):
        raise ModelFileError(f"{folder / WEIGHTS} has a label that is not among the classes.")
    return ShownLabels(nodes, codes)


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
