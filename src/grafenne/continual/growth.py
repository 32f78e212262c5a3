"""What grows when a graph brings new features and new classes: Φ, the head, shown labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError
from grafenne.nn.features import LearnedFeatures
from grafenne.training.label_features import FeaturesAndLabels

if TYPE_CHECKING:
    from grafenne.allotrope import AllotropicGraph
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.training.node_objective import NodeNetwork

RowMap = dict[str, NDArray[np.int64]]
"""By parameter name: for each of its rows the row it had before, -1 for a new one."""


def grow_features(network: NodeNetwork, names: Vocabulary, graph: AllotropicGraph) -> RowMap:
    """Gives Φ a row for each of ``names``; known features keep theirs, whatever their place.

    A new row starts where Φ puts a feature that it does not know: at the mean of the features
    that it occurs with in ``graph``. Only :class:`LearnedFeatures` has rows; the others take
    every feature as they are.

    Args:
        network: The network, changed in place.
        names: All names that are to have a row, in the order of the rows.
        graph: Where the new ones occur; its features are among ``names``.
    """
    embedding = network.encoder.features
    prefix = "encoder.features."
    if isinstance(embedding, FeaturesAndLabels):
        embedding, prefix = embedding.inner, prefix + "inner."
    if not isinstance(embedding, LearnedFeatures):
        return {}
    place = embedding.names.find(names)
    if embedding.names == names:
        embedding.names = names  # one object for both is compared at once
        return {}
    weight = embedding.weight
    with torch.no_grad():
        rows = weight[torch.from_numpy(place).clamp(min=0).to(weight.device)].clone()
        new = np.flatnonzero(place < 0)
        if len(new):
            starts = embedding(graph)  # rows of the graph's features, by the rule for unseen ones
            found = graph.features.find(names.take(new))
            rows[torch.from_numpy(new)] = starts[torch.from_numpy(found)]
    embedding.names = names
    embedding.weight = nn.Parameter(rows)
    return {f"{prefix}weight": place}


def grow_head(network: NodeNetwork, outputs: int) -> RowMap:
    """Gives the head rows for new classes; the old ones stay as they are.

    A new row starts at the mean of the old ones, so that a new class is neither likelier nor
    less likely than the others.
    """
    old = network.head
    known = old.out_features
    if outputs == known:
        return {}
    head = nn.Linear(old.in_features, outputs, device=old.weight.device, dtype=old.weight.dtype)
    with torch.no_grad():
        head.weight.copy_(_with_mean_rows(old.weight, outputs))
        head.bias.copy_(_with_mean_rows(old.bias, outputs))
    network.head = head
    rows = _appended(known, outputs)
    return {"head.weight": rows, "head.bias": rows}


def grow_labels(network: NodeNetwork, names: Sequence[str]) -> RowMap:
    """Gives labels as features a vector for each new class, where Φ keeps them apart."""
    embedding = network.encoder.features
    if not isinstance(embedding, FeaturesAndLabels) or len(names) == len(embedding.names):
        return {}
    known = len(embedding.names)
    with torch.no_grad():
        grown = _with_mean_rows(embedding.labels, len(names))
    embedding.labels, embedding.names = nn.Parameter(grown), list(names)
    return {"encoder.features.labels": _appended(known, len(names))}


def new_class_names(
    known: Sequence[Hashable], graph: FeatureGraph, train: NDArray[np.int64], new_classes: str
) -> list[Hashable]:
    """Classes of training nodes that the model does not know, or an error if it may not grow."""
    labels = graph.labels
    if labels is None or labels.kind != "class":
        return []
    codes = np.unique(labels.values[train].astype(np.int64))
    old = set(known)
    names = [labels.classes[code] for code in codes if labels.classes[code] not in old]
    if names and new_classes == "error":
        shown = labels.values[train] == labels.classes.index(names[0])
        node = graph.nodes[int(train[np.argmax(shown)])]
        raise DataError(
            f"Node {node!r} has the class {names[0]!r}, which the model does not know; "
            "new_classes='grow' would add it."
        )
    return names


def _appended(known: int, count: int) -> NDArray[np.int64]:
    rows = np.arange(count)
    rows[known:] = -1
    return rows


def _with_mean_rows(tensor: Tensor, count: int) -> Tensor:
    mean = tensor.mean(dim=0, keepdim=True) if len(tensor) else tensor.new_zeros(1, *tensor.shape[1:])
    return torch.cat((tensor, mean.expand(count - len(tensor), *tensor.shape[1:])))
