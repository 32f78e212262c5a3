"""What the classifier and the regressor share: fitting on nodes and answering for nodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from typing_extensions import Self

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.split import Split, random_split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, TrainingError
from grafenne.estimators.base import NetworkEstimator
from grafenne.estimators.checks import check_graph, check_outputs
from grafenne.estimators.explain import Explanation, explain_node
from grafenne.estimators.fitting import fitting_feature_decay, fitting_start_scale
from grafenne.estimators.grafenne_estimator import GrafenneEstimator
from grafenne.estimators.parameters import check_parameters
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.features import is_learned
from grafenne.nn.new_features import learn_new_features, place_new_features
from grafenne.ops import RandomBits
from grafenne.training.hiding import FeatureHiding
from grafenne.training.identity import data_checksum
from grafenne.training.label_features import FeaturesAndLabels, LabelFeatures
from grafenne.training.node_objective import (
    NodeNetwork,
    NodeObjective,
    answerable,
    outputs_in_blocks,
)

if TYPE_CHECKING:
    from grafenne.continual.strategies import Strategy
    from grafenne.data.delta import GraphDelta


@dataclass(kw_only=True, eq=False, repr=False)
class NodeEstimator(NetworkEstimator):
    """Base of the estimators that answer for nodes, GRAFENNE's and the baselines'."""

    @abstractmethod
    def _make_task(self, graph: FeatureGraph, split: Split) -> Any:
        """The task for the nodes that are learned from and chosen by."""

    def _make_label_features(
        self, graph: FeatureGraph, train: NDArray[np.int64]
    ) -> LabelFeatures | None:
        """The labels that nodes may show; none unless the estimator has them."""
        return None

    def _hiding(self, graph: AllotropicGraph, first_label: int | None) -> FeatureHiding | None:
        """What hides whole kinds of features in training; nothing unless the estimator can."""
        return None

    def _finish_fit(
        self, graph: FeatureGraph, prepared: AllotropicGraph, split: Split, targets: Tensor
    ) -> None:
        """What else is learnt once the network is trained; nothing unless the task has it."""

    def fit(
        self,
        graph: FeatureGraph,
        split: Split | None = None,
        *,
        checkpoint: Path | str | None = None,
    ) -> Self:
        """Trains on the labelled nodes of a graph.

        Args:
            graph: The graph, with labels.
            split: Which nodes to train and validate on; its test nodes are left alone. Without
                it, ``validation_share`` of the labelled nodes, drawn by the seed, validate.
            checkpoint: A folder for checkpoints. If it holds one of this very run, training goes
                on from there; it is removed when training is done.

        Raises:
            TrainingError: The loss is no longer a finite number. The model then has the best
                weights until that, if an epoch was done; else it is not fitted.
        """
        check_parameters(self)
        split = self._make_split(graph, split)
        self._begin_fit()
        bits = RandomBits(self.random_state)
        self._get_to_know(graph)
        self.task_ = self._make_task(graph, split)
        targets = self.task_.targets(graph)
        self._fit_scaler(graph, split.train)
        self.label_features_ = self._make_label_features(graph, split.train)
        prepared = self._prepare(graph)
        network = self._new_network(graph, prepared, bits, len(split.train))
        first_label = None if self.label_features_ is None else graph.num_features
        objective = NodeObjective(
            network,
            prepared,
            self.task_,
            targets.to(self.device),
            split.train,
            answerable(split.validation, targets),
            bits,
            first_label=first_label,
            hiding=self._hiding(prepared, first_label),
            sampler=self._sampler(prepared, bits),
            batch_size=getattr(self, "batch_size", None),
        )
        try:
            self.history_ = self._train(
                objective,
                bits,
                self.task_.metric,
                checkpoint,
                lambda: data_checksum(
                    prepared,
                    split.train,
                    split.validation,
                    targets.numpy()[np.concatenate((split.train, split.validation))],
                ),
                self._feature_decay(graph, len(split.train)),
            )
        except TrainingError as error:
            if error.history is not None:
                self.history_ = error.history
                self.network_, self.split_, self.split_nodes_ = network, split, graph.nodes
                self._finish_fit(graph, prepared, split, targets)
            raise
        self.network_, self.split_, self.split_nodes_ = network, split, graph.nodes
        self._learn_new_features(prepared, objective, bits)
        self._finish_fit(graph, prepared, split, targets)
        return self

    def _make_split(self, graph: FeatureGraph, split: Split | None) -> Split:
        check_graph(graph)
        if graph.labels is None or not graph.labels.known.any():
            raise DataError("The graph has no labels to learn from.")
        if split is None:
            share = self.validation_share
            split = random_split(graph, self.random_state, (1 - share, share, 0.0))
        if not isinstance(split, Split):
            raise DataError(f"A Split is needed, got {type(split).__name__}.")
        _check_split(split, graph)
        return split

    def _make_network(self, encoder: Any) -> nn.Module:
        return NodeNetwork(encoder, self.task_.output_width)

    def _see(self, graph: FeatureGraph) -> FeatureGraph:
        scaled = super()._see(graph)
        shown: LabelFeatures | None = getattr(self, "label_features_", None)
        return scaled if shown is None else shown.add_to(scaled)

    def _outputs(self, graph: FeatureGraph, nodes: Iterable[Hashable] | None) -> Tensor:
        """The network's outputs from an exact full pass, ``[nodes, output_width]``."""
        self._check_fitted()
        positions = self._positions(graph, nodes)
        outputs = self._answers(self._ready(graph), positions).cpu()
        check_outputs(outputs, graph, positions)
        return outputs

    def _answers(
        self, prepared: AllotropicGraph, positions: Tensor, keep: Tensor | None = None
    ) -> Tensor:
        """Outputs for nodes of a prepared graph; ``keep`` is 0 for triples to leave out."""
        network: NodeNetwork = self.network_.eval()
        with torch.no_grad():
            if self._in_blocks:
                return outputs_in_blocks(network, prepared, positions, keep)
            result: Tensor = network(prepared, keep)[positions]
            return result

    def _ready(self, graph: FeatureGraph) -> AllotropicGraph:
        """The prepared graph, with vectors for features that training did not see."""
        prepared = self._prepare(graph)
        every = torch.arange(prepared.num_nodes)
        place_new_features(
            self.network_, prepared, lambda keep: self._answers(prepared, every, keep)
        )
        return prepared

    def _learn_new_features(
        self, prepared: AllotropicGraph, objective: NodeObjective, bits: RandomBits
    ) -> None:
        """How vectors of features follow from what is predicted for their nodes."""
        every, asked = torch.arange(prepared.num_nodes), objective.validation
        learn_new_features(
            self.network_,
            prepared,
            lambda keep: self._answers(prepared, every, keep),
            lambda outputs: float(self.task_.loss(outputs[asked], objective.targets[asked])),
            objective.first_label,
            bits.generator(),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class GrafenneNodeEstimator(NodeEstimator, GrafenneEstimator):
    """Base of the GRAFENNE estimators that answer for nodes."""

    direct: bool | None = None
    kind_dropout: float = 0.0
    node_dropout: float = 0.0

    def _hiding(self, graph: AllotropicGraph, first_label: int | None) -> FeatureHiding | None:
        if not (self.kind_dropout or self.node_dropout):
            return None
        return FeatureHiding(
            graph,
            kind_rate=self.kind_dropout,
            node_rate=self.node_dropout,
            first_label=first_label,
        )

    def _start_scale(self, known_zeros: bool, examples: int) -> float:
        return fitting_start_scale(known_zeros, examples)

    def _feature_decay(self, graph: FeatureGraph, examples: int) -> float | None:
        # In batches nobody waits for a pass over all values; evidence was tried with a penalty.
        if self.feature_decay is not None or self.direct_ or self._in_blocks:
            return self.feature_decay
        return fitting_feature_decay(graph, examples)

    def _make_features(self, kind: Any, names: Vocabulary) -> FeatureEmbedding:
        shown: LabelFeatures | None = getattr(self, "label_features_", None)
        if shown is None or is_learned(kind):
            return super()._make_features(kind, names)
        others = Vocabulary(names[: len(names) - len(shown.names)], kind="feature")
        return FeaturesAndLabels(super()._make_features(kind, others), shown.names)

    def update(
        self,
        graph: FeatureGraph,
        change: GraphDelta | FeatureGraph,
        *,
        strategy: str | Strategy = "ewc",
        after: FeatureGraph | None = None,
        split: Split | None = None,
        states: str = "auto",
        new_classes: str = "grow",
        seed: int | None = None,
        **options: Any,
    ) -> Self:
        """Brings the fitted model up to date with a graph that has changed.

        >>> model.update(graph, delta, strategy="ewc")
        >>> model.predict(graph.apply(delta))

        The scaling stays that of ``fit``; new features and, if they may, new classes get their
        own parameters. An update that fails leaves the model as it was.

        Args:
            graph: The graph before the change.
            change: What changed, or the graph after the change; one without any labels leaves
                them as they were.
            strategy: A name from :data:`grafenne.continual.STRATEGIES`, or a strategy. A name
                that was used in the last update goes on with what that one remembered.
            after: ``graph.apply(change)``, if it is at hand.
            split: The split of the graph after the change. Without it nodes keep their part, and
                a node whose label becomes known gets one by a hash of its id:
                ``validation_share`` of them validate, the others train. A model that was saved
                without its split (because ids are neither text nor whole numbers) takes all
                labelled nodes as new.
            states: ``exact`` trains by passes over the whole graph, ``fixed`` by passes over the
                neighbourhood of the nodes trained on, with the features' states held; ``auto``
                leaves it to the strategy.
            new_classes: ``grow`` adds the classes that training nodes bring; ``error`` refuses.
            seed: Seed of the update; ``random_state`` by default. Each update of a model draws
                other numbers from it.
            options: Settings of a strategy given by name: ``epochs``, ``penalty``, ….
        """
        from grafenne.continual.update import update_estimator

        self._check_fitted()
        check_graph(graph)
        update_estimator(
            self,
            graph,
            change,
            strategy=strategy,
            after=after,
            split=split,
            states=states,
            new_classes=new_classes,
            seed=seed,
            **options,
        )
        return self

    def explain(self, graph: FeatureGraph, node: Hashable, *, top: int | None = 10) -> Explanation:
        """Which features and which neighbours decided the prediction for a node, by name.

        Args:
            graph: The graph that holds the node.
            node: Its id.
            top: How many features and neighbours to tell, the strongest first; ``None`` for all.
        """
        self._check_fitted()
        check_graph(graph)
        return explain_node(self, graph, node, top=top)

    @abstractmethod
    def _read_output(self, output: Tensor) -> tuple[Any, float | None]:
        """The prediction that one node's output stands for, and its probability."""

    def _smoothed(self, graph: FeatureGraph, node: Hashable) -> tuple[int, Any, float] | None:
        """The column, name and probability of a node's class where answers are smoothed."""
        return None


def _check_split(split: Split, graph: FeatureGraph) -> None:
    known = np.flatnonzero(graph.labels.known) if graph.labels is not None else np.empty(0)
    for name in ("train", "validation"):
        positions = getattr(split, name)
        if len(positions) and positions[-1] >= graph.num_nodes:
            raise DataError(
                f"The split's {name} part has node position {positions[-1]}, but the graph has "
                f"{graph.num_nodes} nodes."
            )
        unlabelled = positions[~np.isin(positions, known)]
        if len(unlabelled):
            node = graph.nodes[int(unlabelled[0])]
            raise DataError(f"Node {node!r} is in the split's {name} part but has no label.")
    if not len(split.train):
        raise DataError("The split has no training nodes.")
