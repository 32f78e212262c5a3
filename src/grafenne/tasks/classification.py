"""Node classification: labels, loss and metrics."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from grafenne.data.columns import family_of
from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import DataError, ParameterError, unknown_name
from grafenne.tasks.class_shares import Shares, log_ratio, shares_in_use


def check_class_names(known: Sequence[Hashable], classes: Sequence[Hashable]) -> None:
    """Raises where no class of a graph is known because all are, say, text instead of numbers."""
    ours, theirs = ({family_of(type(name)) for name in names} for names in (known, classes))
    if ours and theirs and not ours & theirs:
        raise DataError(
            f"The model's classes are {' or '.join(sorted(ours))}, such as {known[0]!r}, but the "
            f"graph's are {' or '.join(sorted(theirs))}, such as {classes[0]!r}."
        )


class NodeClassification:
    """Choosing one of several classes for a node.

    Args:
        classes: The class names, in the order of the outputs.
        class_weight: ``None``, ``balanced`` (each class counts the same in total) or a mapping
            from class names to weights.
        counts: Training nodes per class, for ``balanced`` and for ``in_use``.
        in_use: Shares of the classes where answers are asked for
            (:mod:`~grafenne.tasks.class_shares`); ``None`` for those in training.
    """

    metric = "accuracy"

    def __init__(
        self,
        classes: Sequence[Hashable],
        class_weight: str | Mapping[Hashable, float] | None = None,
        counts: NDArray[np.int64] | None = None,
        in_use: Shares | None = None,
    ) -> None:
        self.classes = tuple(classes)
        self.output_width = len(self.classes)
        self.weight = _class_weights(self.classes, class_weight, counts)
        self.shift: Tensor | None = None
        if in_use is not None and counts is not None:
            weight = None if self.weight is None else self.weight.numpy()
            self.shift = torch.from_numpy(log_ratio(counts, weight, in_use))

    def targets(self, graph: FeatureGraph) -> Tensor:
        """Class of each node as a position in ``classes``, -1 where it is not known."""
        if graph.labels is None:
            raise DataError("The graph has no labels.")
        if graph.labels.kind != "class":
            raise DataError(
                "The labels of the graph are numbers; use a regressor for them, or read them as "
                "names with label_kind='class' (on the command line --option label_kind=class)."
            )
        place = {name: position for position, name in enumerate(self.classes)}
        code = np.array([place.get(name, -1) for name in graph.labels.classes] + [-1])
        return torch.from_numpy(code[graph.labels.values])

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross entropy, averaged over the nodes."""
        weight = None if self.weight is None else self.weight.to(outputs)
        return functional.cross_entropy(outputs, targets, weight=weight)

    def training_loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of training nodes, whose classes may be more or less frequent than in use."""
        shifted = outputs if self.shift is None else outputs + self.shift.to(outputs)
        return self.loss(shifted, targets)

    def quick_metric(self, outputs: Tensor, targets: Tensor) -> float:
        """Accuracy; cheap enough for every epoch."""
        return float((outputs.argmax(dim=1) == targets).cpu().double().mean())


def make_classification(
    classes: Sequence[Hashable],
    class_weight: str | Mapping[Hashable, float] | None,
    class_shares: str | Mapping[Hashable, float] | None,
    graph: FeatureGraph,
    train: NDArray[np.int64],
    validation: NDArray[np.int64],
) -> NodeClassification:
    """The task of telling classes apart, with what its loss needs to know of the nodes.

    Args:
        classes: The class names, in the order of the outputs.
        class_weight: As for :class:`NodeClassification`.
        class_shares: ``None``, ``validation`` or a mapping from class names to shares.
        graph: The graph with the labels.
        train: Positions of the nodes to learn from.
        validation: Positions of the nodes to choose by.
    """
    codes = NodeClassification(classes).targets(graph).numpy()
    learned, chosen_by = (codes[part][codes[part] >= 0] for part in (train, validation))
    counts = np.bincount(learned, minlength=len(classes))
    in_use = shares_in_use(class_shares, classes, chosen_by)
    return NodeClassification(classes, class_weight, counts, in_use)


def classification_metrics(
    truth: NDArray[np.int64], probabilities: NDArray[np.floating], classes: Sequence[Hashable]
) -> dict[str, Any]:
    """Accuracy, macro-averaged F1, AUC and a report per class.

    Args:
        truth: True class of each node, as a position in ``classes``.
        probabilities: ``[nodes, classes]``.
        classes: The class names.

    Returns:
        ``accuracy``, ``macro_f1``, ``auc`` (one against the rest, averaged over the classes that
        occur; ``None`` if fewer than two do), ``nodes`` and ``per_class``.
    """
    from sklearn.metrics import f1_score, precision_recall_fscore_support, roc_auc_score

    if not len(truth):
        raise DataError("There is no labelled node to evaluate on.")
    predicted = probabilities.argmax(axis=1)
    present = np.unique(np.concatenate((truth, predicted)))
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, predicted, labels=np.arange(len(classes)), zero_division=0
    )
    areas = [
        roc_auc_score(truth == position, probabilities[:, position])
        for position in np.unique(truth)
        if 0 < (truth == position).sum() < len(truth)
    ]
    return {
        "accuracy": float((predicted == truth).mean()),
        "macro_f1": float(f1_score(truth, predicted, labels=present, average="macro")),
        "auc": float(np.mean(areas)) if areas else None,
        "nodes": len(truth),
        "per_class": {
            str(name): {
                "precision": float(precision[position]),
                "recall": float(recall[position]),
                "f1": float(f1[position]),
                "nodes": int(support[position]),
            }
            for position, name in enumerate(classes)
        },
    }


def _class_weights(
    classes: tuple[Hashable, ...],
    class_weight: str | Mapping[Hashable, float] | None,
    counts: NDArray[np.int64] | None,
) -> Tensor | None:
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        for name in class_weight:
            if name not in classes:
                raise unknown_name("class in class_weight", name, classes)
        for name, weight in class_weight.items():
            # With weight zero a batch of such nodes alone would have no mean.
            if not (isinstance(weight, Real) and 0 < weight < np.inf):
                raise ParameterError(
                    f"class_weight of {name!r} must be a number above 0, got {weight!r}."
                )
        return torch.tensor([float(class_weight.get(name, 1.0)) for name in classes])
    if class_weight != "balanced" or counts is None:
        raise ParameterError(
            f"class_weight is None, 'balanced' or a mapping from classes to weights, "
            f"got {class_weight!r}."
        )
    share = counts.sum() / (len(classes) * np.maximum(counts, 1))
    return torch.from_numpy(share).float()
