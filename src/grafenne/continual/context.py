"""All that a strategy may see of one update."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from sys import float_info
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.continual.fixed_states import FixedStates
from grafenne.continual.growth import KnownFeatures, RowMap
from grafenne.continual.importance import (
    Importance,
    exact_losses,
    fixed_losses,
    mean_squared_gradients,
)
from grafenne.data.delta import GraphDelta
from grafenne.data.feature_graph import FeatureGraph
from grafenne.ops import RandomBits
from grafenne.training.hiding import FeatureHiding
from grafenne.training.node_objective import NodeNetwork, NodeObjective, answerable


@dataclass
class UpdateContext:
    """One update: the graph before and after, who may train, and the network at work.

    Attributes:
        learner: A working copy of the estimator; the user's own changes when all went well.
        before: The graph before the change.
        after: The graph after it.
        delta: The change.
        affected: Positions in ``after`` of the nodes that the change touched, newly labelled
            ones included.
        train: Positions in ``after`` of all training nodes.
        validation: Positions in ``after`` of all validation nodes.
        old_train: Ids of the nodes that trained before the change.
        states: ``exact`` or ``fixed``.
        bits: Source of randomness.
        rows: Which rows of grown parameters are new.
        known: Φ before it grew, where it may shrink again.
        left_rows: Rows that were new and are gone again.
    """

    learner: Any
    before: FeatureGraph
    after: FeatureGraph
    delta: GraphDelta
    affected: NDArray[np.int64]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    old_train: list[Hashable]
    states: str
    bits: RandomBits
    rows: RowMap = field(default_factory=dict)
    known: KnownFeatures | None = None
    left_rows: RowMap = field(default_factory=dict)

    @property
    def network(self) -> NodeNetwork:
        """The network at work."""
        network: NodeNetwork = self.learner.network_
        return network

    @property
    def task(self) -> Any:
        """Loss, metric and targets."""
        return self.learner.task_

    @cached_property
    def prepared(self) -> AllotropicGraph:
        """The graph after the change as the network sees it.

        First asked for before Φ grows: new features then have the vectors of unseen ones.
        """
        prepared: AllotropicGraph = self.learner._ready(self.after)
        # That of a model trained by batches stays in main memory, wherever the network is.
        return prepared.to(self.learner.device) if self.learner._in_blocks else prepared

    @cached_property
    def targets(self) -> Tensor:
        """Target of each node after the change."""
        targets: Tensor = self.task.targets(self.after)
        return targets.to(self.learner.device)

    @cached_property
    def at_start(self) -> tuple[float, float]:
        """Loss and metric on the validation nodes of the model as it came.

        Where features are new it must be asked for before Φ grows, while they count as unseen.
        Without validation nodes any epoch beats the start: the nodes trained on cannot say that
        nothing was to be learned from them.
        """
        if not len(self.validation) and not len(self.train):
            return float_info.max, float("nan")
        loss, metric = self.objective(self.train).validate()
        return (loss if len(self.validation) else float_info.max), metric

    def objective(self, nodes: NDArray[np.int64]) -> NodeObjective:
        """Training by exact passes on some nodes; validation on the validation nodes."""
        labelled = getattr(self.learner, "label_features_", None) is not None
        return NodeObjective(
            self.network,
            self.prepared,
            self.task,
            self.targets,
            nodes,
            answerable(self.validation, self.targets),
            self.bits,
            first_label=self.first_label if labelled else None,
            sampler=self.learner._sampler(self.prepared, self.bits),
            batch_size=self.learner.batch_size,
            hiding=self.hiding,
        )

    @cached_property
    def fixed(self) -> FixedStates:
        """The network with the features' states held as the start of the update has them."""
        return FixedStates(self.network, self.prepared, self.first_label, self.hiding)

    @cached_property
    def hiding(self) -> FeatureHiding | None:
        """Hides kinds of features in training steps, as the model's own training does."""
        hiding: FeatureHiding | None = self.learner._hiding(self.prepared, self.first_label)
        return hiding

    @property
    def first_label(self) -> int:
        """Position of the first feature that is a label."""
        return self.after.num_features

    @cached_property
    def affected_train(self) -> NDArray[np.int64]:
        """The affected training nodes: those that the paper's loss is taken on."""
        return np.intersect1d(self.affected, self.train)

    @cached_property
    def start(self) -> dict[str, Tensor]:
        """The parameters before training, new rows included."""
        return {name: tensor.detach().clone() for name, tensor in self.parameters().items()}

    def parameters(self) -> dict[str, Tensor]:
        """The network's parameters by name."""
        return dict(self.network.named_parameters())

    def positions(self, nodes: list[Hashable]) -> NDArray[np.int64]:
        """Where those of ``nodes`` that still train are after the change, sorted."""
        found = self.after.nodes.find(nodes)
        return np.intersect1d(found[found >= 0], self.train)

    def importance(self, nodes: NDArray[np.int64]) -> Importance:
        """Ω over these nodes at the present parameters; zero for new rows."""
        importance = mean_squared_gradients(self._losses(nodes), self.parameters())
        for name, row in self.rows.items():
            importance[name][torch.from_numpy(row < 0)] = 0
        return importance

    def embed(self, graph: FeatureGraph, nodes: list[Hashable]) -> Tensor:
        """Embeddings of nodes in the graph before or after the change."""
        prepared = self.prepared
        if graph is not self.after:
            seen = self.learner._see(graph)
            prepared = to_allotropic(seen, direction=self.learner.direction)
            prepared = prepared.to(self.learner.device)
        self.network.eval()
        with torch.no_grad():
            embedded: Tensor = self.network.encoder(prepared).nodes
        return embedded[torch.from_numpy(graph.nodes.positions(nodes))]

    def _losses(self, nodes: NDArray[np.int64]) -> Iterator[Tensor]:
        if self.states == "fixed":
            return fixed_losses(self.fixed, self.task, self.targets, nodes)
        return exact_losses(
            self.network, self.prepared, self.task, self.targets, nodes, self.first_label
        )
