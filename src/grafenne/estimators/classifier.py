"""Node classification."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split
from grafenne.errors import DataError, ParameterError
from grafenne.estimators.checks import check_graph
from grafenne.estimators.node_estimator import GrafenneNodeEstimator, NodeEstimator
from grafenne.tasks.classification import (
    NodeClassification,
    check_class_names,
    classification_metrics,
    make_classification,
)
from grafenne.tasks.shown_labels import ShownLabels
from grafenne.tasks.smoothing import Smoothing, choose_smoothing
from grafenne.training.label_features import LabelFeatures
from grafenne.training.node_objective import answerable


@dataclass(kw_only=True, eq=False, repr=False)
class NodeClassifier(NodeEstimator):
    """Base of the classifiers of nodes, GRAFENNE's and the baselines'."""

    task_name: ClassVar[str] = "classification"

    class_weight: str | Mapping[Hashable, float] | None = None
    class_shares: str | Mapping[Hashable, float] | None = None
    smoothing: str | float | None = None

    def _make_task(self, graph: FeatureGraph, split: Split) -> NodeClassification:
        if graph.labels is None or graph.labels.kind != "class":
            return NodeClassification(())  # raises the fitting error when asked for targets
        codes = graph.labels.values[split.train].astype(np.int64)
        names = graph.labels.classes
        counts = np.bincount(codes, minlength=len(names))
        present = [name for name, count in zip(names, counts, strict=True) if count]
        self.classes_ = _as_objects(present)
        return make_classification(
            present, self.class_weight, self.class_shares, graph, split.train, split.validation
        )

    def _make_label_features(
        self, graph: FeatureGraph, train: NDArray[np.int64]
    ) -> LabelFeatures | None:
        if not getattr(self, "labels_as_features", False):
            return None
        codes = self.task_.targets(graph).numpy()[train]
        return LabelFeatures(self.task_.classes, graph.nodes.take(train), codes)

    def _finish_fit(
        self, graph: FeatureGraph, prepared: AllotropicGraph, split: Split, targets: Tensor
    ) -> None:
        if not self.smoothing:
            return
        codes = targets.numpy()
        shown = ShownLabels(graph.nodes.take(split.train), codes[split.train])
        if isinstance(self.smoothing, str):
            asked = answerable(split.validation, targets)
            answers = _probabilities(self._answers(prepared, torch.arange(graph.num_nodes)).cpu())
            self.smoothing_ = choose_smoothing(
                graph, answers, shown, asked, codes[asked], self.select
            )
        else:
            self.smoothing_ = Smoothing(float(self.smoothing), shown)

    def predict_proba(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> NDArray[np.float64]:
        """Probability of each class, ``[nodes, classes]``, columns in the order of ``classes_``."""
        smoothing: Smoothing | None = getattr(self, "smoothing_", None)
        if smoothing is None or not smoothing.share:
            return _probabilities(self._outputs(graph, nodes))
        self._check_fitted()
        positions = self._positions(graph, nodes).numpy()
        smoothed = smoothing.smooth(graph, _probabilities(self._outputs(graph, None)))
        return np.take(smoothed, positions, axis=0)

    def predict(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None) -> NDArray[Any]:
        """The likeliest class of each node, in the graph's order or that of ``nodes``."""
        best = self.predict_proba(graph, nodes).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def score(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None) -> float:
        """Accuracy on the labelled nodes among ``nodes`` (all by default)."""
        return float(self.evaluate(graph, nodes)["accuracy"])

    def evaluate(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None
    ) -> dict[str, Any]:
        """Accuracy, macro-F1, AUC and a report per class, on the labelled nodes among ``nodes``.

        A node whose class was not there in training counts as an error.
        """
        self._check_fitted()
        check_graph(graph)
        if graph.labels is None or graph.labels.kind != "class":
            raise DataError("The graph has no class labels to evaluate on.")
        positions = self._positions(graph, nodes).numpy()
        positions = positions[graph.labels.known[positions]]
        probabilities = self.predict_proba(graph, graph.nodes.take(positions))
        known = list(self.classes_)
        asked = [graph.labels.label(int(position)) for position in positions]
        check_class_names(known, asked)
        new = [name for name in graph.labels.classes if name not in set(known)]
        place = {name: position for position, name in enumerate(known + new)}
        truth = np.array([place[label] for label in asked], dtype=np.int64)
        padded = np.pad(probabilities, ((0, 0), (0, len(new))))
        return classification_metrics(truth, padded, known + new)

    def _task_to_dict(self) -> dict[str, Any]:
        for name in self.classes_:
            if not isinstance(name, str | int | float):
                raise ParameterError(
                    f"Class names must be text or numbers to be saved; {name!r} is neither."
                )
        return {"classes": list(self.classes_)}

    def _task_from_dict(self, about: dict[str, Any]) -> None:
        self.classes_ = _as_objects(about["classes"])
        self.task_ = NodeClassification(about["classes"])


@dataclass(kw_only=True, eq=False, repr=False)
class GrafenneClassifier(NodeClassifier, GrafenneNodeEstimator):
    """Predicts the class of nodes in a graph whose nodes have different features.

    >>> model = GrafenneClassifier().fit(graph)
    >>> model.predict(other_graph)  # new nodes and new features are welcome

    Args:
        width: Width of all hidden states.
        num_layers: Number of three-phase layers; how many steps away a node can be seen. ``None``
            for 2, or 3 where labels are features.
        backbone: The GNN of phase 2: ``sage``, ``gat``, ``gin``, ``gcn``, ``graph``, or a PyG
            ``MessagePassing`` class or instance. With ``batch_size`` it must be one that needs
            the edges into a node only, which those by name are and ``GCNConv`` is not.
        features: How features are embedded, Φ: ``company`` (a trained vector each, from a start by
            the features that it occurs with), ``learned`` (from a random start), ``name``,
            ``structural``, or vectors of your own (a mapping from names, an array with a row per
            feature, or a callable from names to an array). ``None`` for ``company``, or
            ``learned`` with ``direct`` and when training in batches.
        mode: ``value`` lets messages depend on values; ``paper`` is the printed equations.
        aggregation: ``attention``, ``mean`` or ``sum`` over features, and over nodes.
        heads: Number of attention heads.
        normalisation: ``layer``, ``batch`` or ``none``.
        skip: Whether the first phase 1 and every layer reach the output directly.
        reach: From how many edges away a node hears the features of others in its first phase 1,
            beside what the layers bring. ``None`` for 10 where nodes have fewer than four
            features on average (3 if they have ten neighbours or more, none when training in
            batches), else 0; known zeros do not count where nearly all values are zero.
        direct: Whether each feature also has two vectors that are simply added up, for the nodes
            that have it and for their neighbours (:func:`~grafenne.nn.evidence.direct_evidence`);
            for ``learned`` features. ``None`` to do so where features are fields of records: most
            names begin with a kind (``maintainer:…``, ``priority=…``), and there are several.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of feature values hidden in training, which prepares for nodes
            with few of them; by default so many that an average node keeps about four, at least
            0.3 where there is a ``reach``, at most 0.3 where ``direct`` adds them up, and at most
            0.5 where more than ten thousand nodes teach (0.8 if nearly all values are zero).
        feature_decay: L2 penalty of trained feature vectors; ``None`` for ``weight_decay``, or 0
            where nodes have fewer than four features on average and more than ten thousand teach.
        kind_dropout: Probability that a node lacks all its features of a kind in a training
            step, for each kind (what stands before the first ``:`` or ``=`` of their names):
            for nodes that will lack a kind that the training nodes have.
        node_dropout: Probability that a node lacks all its features in a training step.
        feature_edges: Whether edges among features, if there are any, carry messages.
        scaling: ``standard``, ``robust`` or ``none``, per feature.
        direction: Which way messages run along directed edges: ``both``, ``in``, ``out``.
        learning_rate: Step size of Adam.
        weight_decay: L2 penalty.
        epochs: Most passes over the training nodes.
        patience: Epochs without a better one before training stops.
        schedule: ``constant`` or ``cosine`` learning rate.
        clip_norm: Largest norm of a gradient.
        averaging: Share of the training so far over which weights are averaged; the mean is what
            is validated and kept (:mod:`~grafenne.training.averaging`). 0 for single epochs.
        select: Which epoch is kept: that of the lowest validation ``loss``, or of the best
            validation ``metric`` (accuracy, AUC, or RMSE).
        validation_share: Share of the labelled nodes set aside for validation when ``fit`` is
            given no split.
        batch_size: Nodes per training step; ``None`` trains on the whole graph at once. With it,
            the graph stays in main memory, and validation and prediction are exact passes in
            blocks of nodes.
        neighbours: With ``batch_size``: most neighbours per node, one number or one per layer.
        features_per_node: With ``batch_size``: most features per node in phase 1, likewise.
        nodes_per_feature: With ``batch_size``: most nodes per feature in phase 3, likewise.
        random_state: Seed of all randomness.
        device: Where to compute: ``cpu``, ``cuda``, ``mps``.
        verbose: Whether to show progress on standard error.
        labels_as_features: Whether training nodes show their label as one more feature.
        class_weight: ``None``, ``balanced`` or a mapping from classes to weights.
        class_shares: How frequent each class is where the model is used, if not as frequent as
            among the training nodes: a mapping from classes to shares, or ``validation`` to go by
            the validation nodes. For training nodes that were picked class by class. ``None`` for
            the shares in training.
        smoothing: How much of an answer comes from the answers around it, from 0 to below 1, with
            training nodes answering by their label (:class:`~grafenne.tasks.smoothing.Smoothing`);
            ``auto`` to let validation data choose, none among the choices. For graphs whose edges
            join nodes of a class, where features are few or uncertain. ``None`` for none.

    Attributes:
        classes_: The class names, in the order of the probabilities' columns.
        smoothing_: With ``smoothing``: the share that was chosen, and the labels that are shown.
        network_: The trained network.
        history_: What happened in training.
        split_: The nodes trained and validated on.
    """

    labels_as_features: bool = False

    def _read_output(self, output: Tensor) -> tuple[Any, float | None]:
        probabilities = torch.softmax(output.cpu().double(), dim=0)
        best = int(probabilities.argmax())
        return self.classes_[best], float(probabilities[best])

    def _smoothed(self, graph: FeatureGraph, node: Hashable) -> tuple[int, Any, float] | None:
        if getattr(self, "smoothing_", None) is None:
            return None
        probabilities = self.predict_proba(graph, [node])[0]
        best = int(probabilities.argmax())
        return best, self.classes_[best], float(probabilities[best])


def _probabilities(outputs: Tensor) -> NDArray[np.float64]:
    probabilities: NDArray[np.float64] = torch.softmax(outputs.double(), dim=1).numpy()
    return probabilities


def _as_objects(names: Sequence[Hashable]) -> NDArray[Any]:
    """A flat array, also of names that are sequences themselves."""
    array = np.empty(len(names), dtype=object)
    for position, name in enumerate(names):
        array[position] = name
    return array
