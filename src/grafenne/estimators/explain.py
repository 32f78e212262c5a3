"""Which features and which neighbours decided a prediction, by name.

Each feature of the node, and each of its neighbours, is taken away in turn; its contribution is
how much the log-odds of the predicted class (or the predicted number) falls without it. The
states of the feature nodes are held as they are in the whole graph, so one question costs only
the neighbourhood of the node, not the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.feature_graph import FeatureGraph
from grafenne.errors import ParameterError
from grafenne.estimators.checks import check_outputs
from grafenne.nn.block import triple_weights, whole_graph_blocks
from grafenne.ops import Adjacency, SparsePattern

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.estimators.node_estimator import NodeEstimator


@dataclass(frozen=True)
class Contribution:
    """What one feature or neighbour added.

    Attributes:
        name: Feature name or node id.
        value: Its value (of a feature) or label (of a neighbour), for the reader.
        contribution: Fall of the predicted class's log-odds, or of the predicted number, when it
            is taken away. Negative: it spoke against the prediction.
    """

    name: Hashable
    value: Any
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """Why a node was predicted as it was.

    Attributes:
        node: The node.
        prediction: The predicted class or number.
        probability: Of the predicted class; ``None`` for numbers.
        features: The node's own features, strongest first.
        neighbours: The nodes joined to it, strongest first.
    """

    node: Hashable
    prediction: Any
    probability: float | None
    features: list[Contribution]
    neighbours: list[Contribution]

    def to_frame(self) -> pd.DataFrame:
        """One row per feature and neighbour."""
        import pandas as pd

        rows = [
            (kind, part.name, part.value, part.contribution)
            for kind, parts in (("feature", self.features), ("neighbour", self.neighbours))
            for part in parts
        ]
        columns = ["kind", "name", "value", "contribution"]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=columns)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "node": self.node,
            "prediction": self.prediction,
            "probability": self.probability,
            "features": [vars(part) for part in self.features],
            "neighbours": [vars(part) for part in self.neighbours],
        }

    def __str__(self) -> str:
        sure = "" if self.probability is None else f" (probability {self.probability:.2f})"
        lines = [f"{self.node}: {self.prediction}{sure}"]
        for kind, parts in (("features", self.features), ("neighbours", self.neighbours)):
            lines.append(f"  {kind}:" if parts else f"  no {kind}")
            for part in parts:
                about = "" if part.value is None else f"  [{part.value}]"
                lines.append(f"    {part.contribution:+8.3f}  {part.name}{about}")
        return "\n".join(lines)


def explain_node(
    estimator: NodeEstimator, graph: FeatureGraph, node: Hashable, *, top: int | None = 10
) -> Explanation:
    """Explains the prediction for one node.

    Args:
        estimator: A fitted node estimator.
        graph: The graph that holds the node.
        node: Its id.
        top: How many features and neighbours to keep, the strongest first; ``None`` for all.
    """
    if top is not None and top < 1:
        raise ParameterError(f"top must be at least 1, or None for all, got {top}.")
    position = graph.nodes.position(node)
    seen = estimator._see(graph)
    with torch.no_grad():
        states = estimator._encoded(graph).feature_states
    # One step beyond the layers, where the degrees of the farthest senders come from. A layer
    # from elsewhere may take several steps at once: it gets everything that can be reached.
    blocks = estimator._network_encoder().num_blocks
    steps = blocks + 1 if isinstance(estimator.backbone, str) else seen.num_nodes
    local = _neighbourhood(seen, position, steps)
    part = to_allotropic(seen.subgraph_at(local), direction=estimator.direction)

    def check(outputs: Tensor) -> None:
        check_outputs(outputs, graph, torch.tensor([position]))

    asking = _Asking(estimator, part.to(estimator.device), states, check)
    base = asking.outputs(asking.part)
    answer = asking.answer(base)

    start, end = (int(bound) for bound in seen.values.indptr[[position, position + 1]])
    features = []
    for offset in range(end - start):  # the node is the first of the part, and so are its triples
        place = start + offset
        features.append(
            Contribution(
                seen.features[int(seen.values.indices[place])],
                _original_value(graph, seen, position, place),
                answer - asking.answer(asking.outputs(_without_triple(asking.part, offset))),
            )
        )
    neighbours = []
    for other in _joined(asking.part):
        name = part.nodes[other]
        without = asking.outputs(_without_edges(asking.part, other))
        neighbours.append(Contribution(name, graph.label_of(name), answer - asking.answer(without)))
    prediction, probability = estimator._read_output(base)
    return Explanation(
        node, prediction, probability, _strongest(features, top), _strongest(neighbours, top)
    )


class _Asking:
    """Runs the network on a part of the graph with the features' states held fixed."""

    def __init__(
        self,
        estimator: NodeEstimator,
        part: AllotropicGraph,
        states: list[Tensor],
        check: Callable[[Tensor], None],
    ) -> None:
        self.network = estimator.network_.eval()
        self.part, self.states = part, states
        self.trust = self.network.encoder.features.trust(part)
        self.estimator, self.target, self.check = estimator, -1, check

    def outputs(self, part: AllotropicGraph) -> Tensor:
        """Outputs of the first node of a part, ``[output_width]``."""
        encoder = self.network.encoder
        blocks = whole_graph_blocks(part, encoder.num_blocks, encoder.dtype)
        weights = triple_weights(part, self.trust, None, encoder.dtype)
        states = encoder.states_of_blocks(self.states)
        with torch.no_grad():
            nodes = encoder.encode_fixed(blocks, states, [weights] * len(blocks))
            outputs: Tensor = self.network.head(nodes[:1])
        self.check(outputs.cpu())
        return outputs[0]

    def answer(self, outputs: Tensor) -> float:
        """The number that contributions are measured in."""
        if self.estimator.task_name == "regression":
            return float(self.estimator._read_output(outputs)[0])
        if len(outputs) == 1:  # a single class: its odds are beyond all numbers
            return float(outputs[0])
        if self.target < 0:
            self.target = int(outputs.argmax())
        log_probability = torch.log_softmax(outputs.cpu().double(), dim=0)
        rest = torch.logsumexp(
            torch.cat((log_probability[: self.target], log_probability[self.target + 1 :])), dim=0
        )
        return float(log_probability[self.target] - rest)


def _neighbourhood(graph: FeatureGraph, position: int, steps: int) -> NDArray[np.int64]:
    """Positions within ``steps`` edges of a node, the node itself first."""
    reach = graph.edges.incoming("both")
    inside = np.zeros(graph.num_nodes, dtype=bool)
    inside[position] = True
    frontier = np.array([position])
    found = [frontier]
    for _ in range(steps):
        rows = reach[frontier]
        frontier = np.unique(rows.indices)
        frontier = frontier[~inside[frontier]]
        if not len(frontier):
            break
        inside[frontier] = True
        found.append(frontier)
    return np.concatenate(found)


def _joined(part: AllotropicGraph) -> list[int]:
    """The nodes joined to the first one, either way."""
    pattern = part.adjacency.pattern
    rows, columns = pattern.rows, pattern.indices
    others = torch.cat((columns[rows == 0], rows[columns == 0])).tolist()
    return sorted(set(others) - {0})


def _without_triple(part: AllotropicGraph, place: int) -> AllotropicGraph:
    """The part without one of the first node's triples."""
    pattern = part.incidence
    kept = torch.arange(pattern.num_entries, device=pattern.device) != place
    indptr = pattern.indptr.clone()
    indptr[1:] -= 1
    incidence = SparsePattern(indptr, pattern.indices[kept], pattern.num_columns)
    return replace(part, incidence=incidence, values=part.values[kept], _memory={})


def _without_edges(part: AllotropicGraph, other: int) -> AllotropicGraph:
    """The part without the edges between the first node and another."""
    adjacency = part.adjacency
    pattern = adjacency.pattern
    rows, columns = pattern.rows, pattern.indices
    between = ((rows == 0) & (columns == other)) | ((rows == other) & (columns == 0))
    counts = torch.bincount(rows[~between], minlength=pattern.num_rows)
    indptr = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
    weights = None if adjacency.weights is None else adjacency.weights[~between]
    left = SparsePattern(indptr, columns[~between], pattern.num_columns)
    return part.with_adjacency(Adjacency(left, weights))


def _original_value(graph: FeatureGraph, seen: FeatureGraph, position: int, place: int) -> Any:
    """The value before scaling; a shown label has none."""
    feature = int(seen.values.indices[place])
    if feature >= graph.num_features:
        return None
    offset = place - int(seen.values.indptr[position])
    return float(graph.values.data[int(graph.values.indptr[position]) + offset])


def _strongest(parts: list[Contribution], top: int | None) -> list[Contribution]:
    return sorted(parts, key=lambda part: -abs(part.contribution))[:top]
