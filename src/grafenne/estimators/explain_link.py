"""Which features and which neighbours of two nodes decided whether a link is expected.

As in :mod:`grafenne.estimators.explain`, each of them is taken away in turn; its contribution is
how much the log-odds of the link fall without it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from scipy.special import expit

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import ParameterError
from grafenne.estimators.checks import check_outputs
from grafenne.estimators.explain import Parts, check_top, parts_frame, parts_text
from grafenne.estimators.surroundings import Contribution, Surroundings

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.estimators.link_predictor import GrafenneLinkPredictor
    from grafenne.training.link_objective import LinkNetwork


@dataclass(frozen=True)
class LinkExplanation:
    """Why a link is expected, or not.

    Attributes:
        source: One node.
        target: The other.
        probability: That they are joined.
        source_features: Features of the source, strongest first.
        target_features: Features of the target.
        source_neighbours: Nodes joined to the source.
        target_neighbours: Nodes joined to the target.
    """

    source: Hashable
    target: Hashable
    probability: float
    source_features: list[Contribution]
    target_features: list[Contribution]
    source_neighbours: list[Contribution]
    target_neighbours: list[Contribution]

    def _kinds(self) -> Parts:
        for part in ("features", "neighbours"):
            for end in ("source", "target"):
                yield f"{end}_{part}", getattr(self, f"{end}_{part}")

    def to_frame(self) -> pd.DataFrame:
        """One row per feature and neighbour."""
        return parts_frame((kind.removesuffix("s"), parts) for kind, parts in self._kinds())

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "source": self.source,
            "target": self.target,
            "probability": self.probability,
            **{kind: [vars(part) for part in parts] for kind, parts in self._kinds()},
        }

    def __str__(self) -> str:
        names = {"source": self.source, "target": self.target}
        told = []
        for kind, parts in self._kinds():
            end, _, what = kind.partition("_")
            told.append((f"{what} of {names[end]}", parts))
        head = f"{self.source} - {self.target}: a link with probability {self.probability:.2f}"
        return f"{head}\n{parts_text(told)}"


def explain_link(
    estimator: GrafenneLinkPredictor,
    graph: FeatureGraph,
    source: Hashable,
    target: Hashable,
    *,
    top: int | None = 10,
) -> LinkExplanation:
    """Explains the score of one pair of nodes.

    Args:
        estimator: A fitted link predictor.
        graph: The graph that holds the nodes.
        source: Id of one node.
        target: Id of the other.
        top: How many features and neighbours of each to keep; ``None`` for all.
    """
    check_top(top)
    positions = graph.nodes.positions([source, target])
    if positions[0] == positions[1]:
        raise ParameterError(f"A link is between two nodes, got {source!r} twice.")
    around = Surroundings(estimator, graph, positions.tolist())
    network: LinkNetwork = estimator.network_.eval()
    pair = torch.tensor([[0, 1]], device=estimator.device)

    def answer(part: AllotropicGraph) -> float:
        with torch.no_grad():
            score = network.score(around.states(part), pair)
        check_outputs(score.cpu(), graph, torch.from_numpy(positions[:1]))
        return float(score)

    base = answer(around.part)
    of_source, of_target = (around.contributions(end, answer, base, top) for end in (0, 1))
    return LinkExplanation(
        source,
        target,
        float(expit(base)),
        source_features=of_source[0],
        target_features=of_target[0],
        source_neighbours=of_source[1],
        target_neighbours=of_target[1],
    )
