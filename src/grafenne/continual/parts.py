"""Which nodes of a changing graph train, validate and test.

A node has one part for good, also if it leaves and comes back or loses its label for a while. A
new node's part is decided by a keyed hash of its id, so it never depends on what else is in the
graph or on when the node arrived.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grafenne.data.labels import plain
from grafenne.data.split import Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.estimators.node_estimator import GrafenneNodeEstimator
    from grafenne.training.label_features import LabelFeatures

Fractions = tuple[float, float, float]

TRAIN, VALIDATION, TEST, NONE = 0, 1, 2, 3


def stable_parts(
    node_ids: Iterable[Hashable], fractions: Fractions = (0.6, 0.2, 0.2), seed: int = 0
) -> NDArray[np.int64]:
    """The part of each node: 0 train, 1 validation, 2 test, 3 none of them.

    Args:
        node_ids: The nodes.
        fractions: Shares of train, validation and test.
        seed: Another seed gives other parts.
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares >= 0).all() or shares.sum() > 1 + 1e-9:
        raise ParameterError(
            f"fractions must be three numbers from 0 that sum to at most 1, got {fractions!r}."
        )
    key = str(seed).encode()[:64]
    drawn = [
        int.from_bytes(
            hashlib.blake2b(
                repr(plain(node)).encode("utf-8", "surrogatepass"), digest_size=8, key=key
            ).digest(),
            "big",
        )
        for node in node_ids
    ]
    place = np.array(drawn, dtype=np.float64) / 2.0**64
    # A sum that falls short of 1 by rounding alone must leave nobody out.
    bounds = np.cumsum(shares)
    bounds[bounds > 1 - 1e-9] = 1.0 + 1e-9
    return np.searchsorted(bounds, place, side="right")


@dataclass(frozen=True)
class StreamSplit:
    """A rule that gives the split of every snapshot of a stream.

    A node that has a label is in one part for good. Its label becomes known to a learner in the
    snapshot in which the node has one and only if it trains or validates; a test node's never.

    Attributes:
        fractions: Shares of train, validation and test.
        seed: Seed of the hash.
        first: The split of the first snapshot, if it is not to be hashed.
        first_nodes: The nodes of the first snapshot; needed with the two around it.
        new_fractions: Other shares for nodes that are not in ``first_nodes``, for instance
            ``(0.1, 0.1, 0.8)`` where few of the new nodes are ever labelled.
    """

    fractions: Fractions = (0.6, 0.2, 0.2)
    seed: int = 0
    first: Split | None = None
    first_nodes: Vocabulary | None = None
    new_fractions: Fractions | None = None

    def __call__(self, graph: FeatureGraph) -> Split:
        """The split of a snapshot: its labelled nodes."""
        ids = graph.nodes
        if self.first is not None and self.first_nodes is not None:
            parts = known_parts(self.first, self.first_nodes, ids)
        else:
            parts = stable_parts(ids, self.fractions, self.seed)
        if self.first_nodes is not None:
            new = np.flatnonzero(self.first_nodes.find(ids) < 0)
            fractions = self.new_fractions or self.fractions
            parts[new] = stable_parts(ids.take(new), fractions, self.seed)
        return split_of_parts(parts, graph)


def known_parts(split: Split, nodes: Vocabulary, wanted: Vocabulary) -> NDArray[np.int64]:
    """The part that each of the ``wanted`` nodes has in a split of ``nodes``."""
    found = nodes.find(wanted)
    parts = np.full(len(wanted), NONE)
    for code, name in ((TRAIN, "train"), (VALIDATION, "validation"), (TEST, "test")):
        parts[np.isin(found, getattr(split, name))] = code
    return parts


def split_of_parts(parts: NDArray[np.int64], graph: FeatureGraph) -> Split:
    """The split of the labelled nodes with these parts."""
    known = np.zeros(graph.num_nodes, dtype=bool) if graph.labels is None else graph.labels.known
    return Split(*(np.flatnonzero(known & (parts == code)) for code in (TRAIN, VALIDATION, TEST)))


def past_parts(estimator: GrafenneNodeEstimator) -> dict[Hashable, int]:
    """The parts of nodes that had one once and are not in the model's split now."""
    past: dict[Hashable, int] = getattr(estimator, "past_parts_", {})
    return past


def parts_left_behind(
    estimator: GrafenneNodeEstimator, after: FeatureGraph, split: Split
) -> dict[Hashable, int]:
    """:func:`past_parts` of a model whose split will be this one of ``after``."""
    known: Split | None = getattr(estimator, "split_", None)
    nodes: Vocabulary | None = getattr(estimator, "split_nodes_", None)
    before = list(past_parts(estimator).items())
    now = known_parts(split, after.nodes, Vocabulary((node for node, _ in before), kind="node"))
    past = {node: part for (node, part), new in zip(before, now, strict=True) if new == NONE}
    if known is not None and nodes is not None:
        old, now = known_parts(known, nodes, nodes), known_parts(split, after.nodes, nodes)
        left = np.flatnonzero((old != NONE) & (now == NONE))
        past.update(zip(nodes.take(left), old[left].tolist(), strict=True))
    return past


def split_after(
    estimator: GrafenneNodeEstimator, before: FeatureGraph, after: FeatureGraph, split: Split | None
) -> Split:
    """The split of the graph after the change: known nodes keep their part, others are hashed."""
    if split is not None:
        return estimator._make_split(after, split)
    known: Split | None = getattr(estimator, "split_", None)
    nodes: Vocabulary | None = getattr(estimator, "split_nodes_", None)
    parts = np.full(after.num_nodes, NONE)
    if known is not None and nodes is not None:
        parts = known_parts(known, nodes, after.nodes)
        past = past_parts(estimator)
        for place in np.flatnonzero(parts == NONE) if past else ():
            parts[place] = past.get(after.nodes[int(place)], NONE)
        labelled = np.zeros(before.num_nodes + 1, dtype=bool)
        if before.labels is not None:
            labelled[:-1] = before.labels.known
        undecided = (parts == NONE) & ~labelled[before.nodes.find(after.nodes)]
    else:
        shown: LabelFeatures | None = getattr(estimator, "label_features_", None)
        if shown is not None:
            found = after.nodes.find(shown.nodes)
            parts[found[found >= 0]] = TRAIN
        undecided = parts == NONE
    new = np.flatnonzero(undecided)
    share = float(estimator.validation_share)
    seed = int(estimator.random_state)
    parts[new] = stable_parts(after.nodes.take(new), (1 - share, share, 0.0), seed)
    return split_of_parts(parts, after)
