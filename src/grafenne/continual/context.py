"""All that a strategy may see of one update."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.continual.fixed_states import FixedStates
from grafenne.continual.growth import RowMap
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
from grafenne.training.node_objective import NodeNetwork


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
        """The graph after the change as the network sees it."""
        prepared: AllotropicGraph = self.learner._prepare(self.after)
        # That of a model trained by batches stays in main memory, wherever the network is.
        return prepared.to(self.learner.device) if self.learner._in_blocks else prepared

    @cached_property
    def targets(self) -> Tensor:
        """Target of each node after the change."""
        targets: Tensor = self.task.targets(self.after)
        return targets.to(self.learner.device)

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
