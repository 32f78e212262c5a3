"""What grows when a graph brings new features and new classes: Φ, the head, shown labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError
from grafenne.nn.learned_features import LearnedFeatures
from grafenne.nn.name_features import NameFeatures
from grafenne.nn.structural_features import StructuralFeatures
from grafenne.tasks.classification import NodeClassification, check_class_names, make_classification
from grafenne.tasks.shown_labels import ShownLabels
from grafenne.tasks.smoothing import Smoothing
from grafenne.training.label_features import FeaturesAndLabels, LabelFeatures

if TYPE_CHECKING:
    from grafenne.allotrope import AllotropicGraph
    from grafenne.continual.context import UpdateContext
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.training.node_objective import NodeNetwork

RowMap = dict[str, NDArray[np.int64]]
"""By parameter name: for each of its rows the row it had before, -1 for a new one."""


@dataclass(frozen=True)
class KnownFeatures:
    """What a model knew of features before an update.

    Attributes:
        listed: Their names, as the estimator lists them.
        names: Those that Φ knows, labels included; ``None`` if it does not ask.
        weight: Their trained vectors, ``None`` if there are none.
    """

    listed: NDArray[Any]
    names: Vocabulary | None
    weight: nn.Parameter | None


def grow_features(network: NodeNetwork, names: Vocabulary, graph: AllotropicGraph) -> RowMap:
    """Gives Φ a row for each of ``names``; known features keep theirs, whatever their place.

    A new row starts where Φ puts a feature that it does not know in ``graph``. Only
    :class:`LearnedFeatures` has rows; the others take every feature as they are.

    Args:
        network: The network, changed in place.
        names: All names that are to have a row, in the order of the rows.
        graph: Where the new ones occur; its features are among ``names``.
    """
    embedding, prefix = _embedding_of(network)
    if isinstance(embedding, NameFeatures | StructuralFeatures):
        embedding.names = names  # the update trains on them, so they count fully
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


def shrink_features(context: UpdateContext) -> None:
    """Forgets what is new again: nothing was learned of it, so it goes on counting as unseen."""
    known, learner = context.known, context.learner
    if known is None:
        return
    learner.feature_names_in_, learner.n_features_in_ = known.listed, len(known.listed)
    embedding, prefix = _embedding_of(context.network)
    if known.names is not None:
        embedding.names = known.names
    if known.weight is not None:
        embedding.weight = known.weight
    context.left_rows = {name: row for name, row in context.rows.items() if name.startswith(prefix)}


def _embedding_of(network: NodeNetwork) -> tuple[Any, str]:
    """Φ without the vectors of labels, and how the names of its parameters begin."""
    embedding, prefix = network.encoder.features, "encoder.features."
    if isinstance(embedding, FeaturesAndLabels):
        return embedding.inner, prefix + "inner."
    return embedding, prefix


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
    if network.new_features is not None:
        network.new_features.grow(outputs)
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
    check_class_names(known, [labels.classes[code] for code in codes])
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


def grow_model(context: UpdateContext, new_names: list[Hashable]) -> None:
    """Room for new classes, for labels that are known now, and for new features."""
    learner, network = context.learner, context.network
    rows: RowMap = {}
    if isinstance(learner.task_, NodeClassification):
        classes = [*learner.task_.classes, *new_names]
        learner.task_ = _task(learner, classes, context)
        learner.classes_ = np.array([*classes, None], dtype=object)[:-1]
        rows.update(grow_head(network, len(classes)))
        shown: LabelFeatures | None = getattr(learner, "label_features_", None)
        if shown is not None:
            now = _shown_labels(shown, context)
            learner.label_features_ = LabelFeatures(classes, now.nodes, now.codes)
            rows.update(grow_labels(network, learner.label_features_.names))
        smoothing: Smoothing | None = getattr(learner, "smoothing_", None)
        if smoothing is not None:
            now = _shown_labels(smoothing.shown, context)
            learner.smoothing_ = Smoothing(smoothing.share, now)
    rows.update(_grow_features(context, may_shrink=not new_names))
    context.rows = rows


def _task(learner: Any, classes: list[Hashable], context: UpdateContext) -> NodeClassification:
    return make_classification(
        classes,
        learner.class_weight,
        learner.class_shares,
        context.after,
        context.train,
        context.validation,
    )


def _shown_labels(shown: ShownLabels, context: UpdateContext) -> ShownLabels:
    """The labels shown so far and those of the training nodes of now."""
    codes = dict(zip(shown.nodes, shown.codes.tolist(), strict=True))
    targets = context.learner.task_.targets(context.after).numpy()[context.train]
    codes.update(zip(context.after.nodes.take(context.train), targets.tolist(), strict=True))
    gone = set(context.delta.labels_removed)
    present = [node for node in codes if node in context.after.nodes and node not in gone]
    return ShownLabels(present, np.array([codes[n] for n in present], dtype=np.int64))


def _grow_features(context: UpdateContext, *, may_shrink: bool) -> RowMap:
    learner = context.learner
    known = Vocabulary(learner.feature_names_in_.tolist(), kind="feature")
    names = known.extended(context.after.features)
    if len(names) > len(known):
        _ = context.at_start
        if may_shrink:
            embedding, _ = _embedding_of(context.network)
            context.known = KnownFeatures(
                learner.feature_names_in_,
                getattr(embedding, "names", None),
                embedding.weight if isinstance(embedding, LearnedFeatures) else None,
            )
    learner.feature_names_in_ = np.array(list(names), dtype=object)
    learner.n_features_in_ = len(names)
    shown: LabelFeatures | None = getattr(learner, "label_features_", None)
    separate = hasattr(context.network.encoder.features, "inner")
    if shown is not None and not separate:
        names = names.extended(shown.names)
    if names == context.prepared.features:
        names = context.prepared.features
    return grow_features(context.network, names, context.prepared)


def _appended(known: int, count: int) -> NDArray[np.int64]:
    rows = np.arange(count)
    rows[known:] = -1
    return rows


def _with_mean_rows(tensor: Tensor, count: int) -> Tensor:
    mean = tensor.sum(dim=0, keepdim=True) / max(len(tensor), 1)
    return torch.cat((tensor, mean.expand(count - len(tensor), *tensor.shape[1:])))
