"""Link prediction."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import nn
from typing_extensions import Self

from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import DataError, ParameterError, TrainingError, unknown_name
from grafenne.estimators.base import NetworkEstimator
from grafenne.estimators.checks import check_graph, check_outputs
from grafenne.estimators.explain_link import LinkExplanation, explain_link
from grafenne.estimators.fitting import fitting_hidden_share
from grafenne.estimators.grafenne_estimator import GrafenneEstimator
from grafenne.estimators.parameters import check_parameters
from grafenne.estimators.suggestions import link_frame, most_likely
from grafenne.ops import RandomBits
from grafenne.tasks.edge_parts import EdgeParts
from grafenne.tasks.links import EdgeSplit, link_metrics, split_edges
from grafenne.training.identity import data_checksum
from grafenne.training.link_objective import LinkNetwork, LinkObjective

if TYPE_CHECKING:
    import pandas as pd

NodePairs = Iterable[tuple[Hashable, Hashable]]


@dataclass(kw_only=True, eq=False, repr=False)
class LinkPredictor(NetworkEstimator):
    """Base of the link predictors, GRAFENNE's and the baselines'."""

    task_name: ClassVar[str] = "links"

    hidden_share: float | None = None

    def fit(
        self,
        graph: FeatureGraph,
        split: EdgeSplit | None = None,
        *,
        checkpoint: Path | str | None = None,
    ) -> Self:
        """Trains on the edges of a graph; labels play no part.

        Args:
            graph: The graph.
            split: A split of its edges (:func:`~grafenne.tasks.links.split_edges`). The network
                sees the split's training edges and nothing else. Without it,
                ``validation_share`` of the edges validate.
            checkpoint: As in :meth:`GrafenneClassifier.fit`.
        """
        check_parameters(self)
        check_graph(graph)
        if getattr(self, "batch_size", None) is not None:
            raise ParameterError(
                "Link prediction trains on the whole graph; leave batch_size at None."
            )
        if split is None:
            share = self.validation_share
            split = split_edges(graph, self.random_state, (1 - share, share, 0.0))
        if not isinstance(split, EdgeSplit):
            raise DataError(f"An EdgeSplit is needed, got {type(split).__name__}.")
        if split.graph.num_nodes != graph.num_nodes:
            raise DataError(
                f"The edge split is of a graph with {split.graph.num_nodes} nodes, but this one "
                f"has {graph.num_nodes}."
            )
        if not len(split.validation):
            raise DataError("The edge split has no validation edges to choose the best epoch by.")
        self._begin_fit()
        self._get_to_know(split.graph)  # an imputation may have added some
        bits = RandomBits(self.random_state)
        self._fit_scaler(split.graph, np.arange(graph.num_nodes))
        views = [self._prepare(view) for view in split.views]
        prepared = self._prepare(split.graph)
        self.directed_ = graph.directed
        network: Any = self._new_network(split.graph, prepared, bits, len(split.train))
        network.centre_on(prepared)
        hidden = self.hidden_share
        hidden = fitting_hidden_share(split.graph) if hidden is None else hidden
        objective = LinkObjective(network, prepared, split, bits, views, hidden)
        try:
            self.history_ = self._train(
                objective,
                bits,
                "auc",
                checkpoint,
                lambda: data_checksum(
                    prepared, split.train, split.validation, split.validation_negatives
                ),
                self._feature_decay(split.graph, len(split.train)),
            )
        except TrainingError as error:
            if error.history is not None:
                self.history_ = error.history
                self._keep(network, split)
            raise
        self._keep(network, split)
        return self

    def _keep(self, network: Any, split: EdgeSplit) -> None:
        self.network_, self.split_, self.edge_parts_ = network, split, EdgeParts.of(split)

    def decision_function(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.float64]:
        """Log-odds that each pair of node ids is an edge, given the edges of ``graph``."""
        self._check_fitted()
        check_graph(graph)
        pairs = list(pairs)
        for pair in pairs:
            if isinstance(pair, str) or not isinstance(pair, Sized) or len(pair) != 2:
                raise DataError(f"Pairs of two node ids are needed, got {pair!r}.")
        ends = [graph.nodes.positions([pair[end] for pair in pairs]) for end in (0, 1)]
        return self._scores(graph, np.stack(ends, axis=1))

    def predict_proba(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.float64]:
        """Probability that each pair of node ids is an edge."""
        probabilities: NDArray[np.float64] = expit(self.decision_function(graph, pairs))
        return probabilities

    def predict(self, graph: FeatureGraph, pairs: NodePairs) -> NDArray[np.bool_]:
        """Whether each pair is more likely an edge than not."""
        return self.decision_function(graph, pairs) > 0

    def suggest(
        self, graph: FeatureGraph, nodes: Iterable[Hashable] | None = None, *, top: int = 10
    ) -> pd.DataFrame:
        """The most likely links that are not there: ``source, target, probability``.

        >>> model.suggest(graph, ["ann"], top=3)

        Args:
            graph: The graph; a pair that it joins already is not suggested.
            nodes: For which nodes, with direction as sources; all by default.
            top: How many for each node, the most likely first.
        """
        self._check_fitted()
        check_graph(graph)
        self._check_direction(graph)
        if top < 1:
            raise ParameterError(f"top must be at least 1, got {top}.")
        asked = self._positions(graph, nodes).numpy()
        network: LinkNetwork = self.network_.eval()
        with torch.no_grad():
            states = network.encoder(self._prepare(graph)).nodes
            check_outputs(states.cpu(), graph, torch.arange(graph.num_nodes))
            sources, targets, odds = most_likely(network, states, graph, asked, top)
        return link_frame(graph, sources, targets, expit(odds))

    def score(self, split: EdgeSplit) -> float:
        """AUC on the test edges of a split and their negatives."""
        return float(self.evaluate(split)["auc"])

    def evaluate(self, split: EdgeSplit, part: str = "test") -> dict[str, float | int]:
        """AUC, average precision and hits@k on the ``test`` or ``validation`` part of a split."""
        self._check_fitted()
        if not isinstance(split, EdgeSplit):
            raise DataError(f"An EdgeSplit is needed, got {type(split).__name__}.")
        if part not in ("test", "validation"):
            raise unknown_name("part of an edge split", part, ("test", "validation"))
        edges, others = getattr(split, part), getattr(split, f"{part}_negatives")
        if not len(edges):
            raise DataError(f"The edge split has no {part} edges.")
        scores = self._scores(split.graph, np.concatenate((edges, others)))
        return link_metrics(scores[: len(edges)], scores[len(edges) :])

    def _make_network(self, encoder: Any) -> nn.Module:
        return LinkNetwork(encoder, directed=self.directed_)

    def _task_to_dict(self) -> dict[str, Any]:
        return {"directed": self.directed_}

    def _task_from_dict(self, about: dict[str, Any]) -> None:
        self.directed_ = bool(about["directed"])

    def _check_direction(self, graph: FeatureGraph) -> None:
        if graph.directed != self.directed_:
            kinds = {True: "directed", False: "undirected"}
            raise DataError(
                f"The model learnt {kinds[self.directed_]} links, but this graph is "
                f"{kinds[graph.directed]}."
            )

    def _scores(self, graph: FeatureGraph, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        self._check_fitted()
        self._check_direction(graph)
        network: LinkNetwork = self.network_.eval()
        with torch.no_grad():
            scores = network(self._prepare(graph), torch.from_numpy(positions))
        check_outputs(scores.cpu(), graph, torch.from_numpy(positions[:, 0]))
        numbers: NDArray[np.float64] = scores.cpu().double().numpy()
        return numbers


@dataclass(kw_only=True, eq=False, repr=False)
class GrafenneLinkPredictor(LinkPredictor, GrafenneEstimator):
    """Predicts which pairs of nodes are joined by an edge.

    >>> model = GrafenneLinkPredictor().fit(graph)
    >>> model.predict_proba(graph, [("ann", "bob"), ("ann", "cid")])

    Parameters are those of :class:`~grafenne.GrafenneClassifier`, without the ones about classes;
    ``validation_share`` is a share of the edges. ``hidden_share`` is the share of the training
    edges that each step hides and asks for; by default one that fits the graph.

    Attributes:
        network_: The trained network.
        history_: What happened in training.
        split_: The edges trained and validated on.
        edge_parts_: The same by the ids of their ends, which a saved model keeps;
            ``edge_parts_.split(graph)`` divides a graph as it was divided for training.
    """

    shared_start: ClassVar[bool] = False

    dropout: float = 0.0
    feature_dropout: float | None = 0.5
    validation_share: float = 0.1

    def explain(
        self, graph: FeatureGraph, source: Hashable, target: Hashable, *, top: int | None = 10
    ) -> LinkExplanation:
        """Which features and neighbours of two nodes speak for a link between them, by name.

        Args:
            graph: The graph that holds the nodes.
            source: Id of one node.
            target: Id of the other.
            top: How many features and neighbours of each to tell, the strongest first; ``None``
                for all.
        """
        self._check_fitted()
        check_graph(graph)
        self._check_direction(graph)
        return explain_link(self, graph, source, target, top=top)
