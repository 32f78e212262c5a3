"""Settings that fit a graph, for those that the user leaves open."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from grafenne.allotrope import AllotropicGraph
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.feature_kinds import feature_kinds

MANY_EXAMPLES = 10_000
"""With more nodes to learn from than that, other settings fit."""

FEW_FEATURES, MANY_NEIGHBOURS = 4, 10
"""Values that tell something, and neighbours, of an average node."""


def fitting_reach(graph: FeatureGraph) -> int:
    """How far to reach for features when the user does not say.

    Ten steps where nodes have fewer than four values that tell something on average, else none: see
    :class:`~grafenne.nn.reach.Reach` for what it gains. Three where nodes have ten neighbours or
    more on average: a thousand nodes are then within three steps, and within ten all of them, so
    that what comes from there is the same for every node (Physics, one seed, validation loss with
    ten and with three steps, one cell in a hundred known: 0.190 and 0.178).
    """
    if not has_few_features(graph) or not len(graph.edges):
        return 0
    return 3 if 2 * len(graph.edges) >= MANY_NEIGHBOURS * graph.num_nodes else 10


def has_few_features(graph: FeatureGraph) -> bool:
    """Whether nodes have fewer than four values that tell something on average."""
    return _telling_per_node(graph) < FEW_FEATURES


def fitting_start_scale(known_zeros: bool, examples: int) -> float:
    """The scale at which feature vectors start.

    A tenth where more than ten thousand nodes are told apart by known zeros: nothing is known of
    such vectors before training, and the less they say at first the less there is to unlearn
    (Physics, one cell in a thousand known, one seed, validation: loss 0.204, 94.2 % from unit
    scale, 0.194, 94.8 % from a tenth).

    Args:
        known_zeros: Whether nearly all values are known zeros.
        examples: How many nodes there are to learn from.
    """
    return 0.1 if known_zeros and examples > MANY_EXAMPLES else 1.0


def fitting_feature_decay(graph: FeatureGraph, examples: int) -> float | None:
    """The L2 penalty of feature vectors when the user does not say; ``None`` for the usual one.

    None of it where nodes have few features and more than ten thousand of them teach. The loss is a
    mean over these, so what one node says about a vector is a ten-thousandth of it, while the
    penalty is the same however many there are: vectors that few nodes speak for fade away before
    anything is learned. Physics, one seed, validation, with a penalty and without: one cell in a
    hundred known 0.178, 94.6 % and 0.171, 94.9 %; one in a thousand 1.356, which is chance, and
    0.194, 94.8 %. With all features it is needed (0.097, 96.7 % and 0.108, 96.3 %), and on small
    graphs (Cora, half of the cells known, three seeds: 0.376 and 0.393; Actor 1.33 and 1.40).
    """
    return 0.0 if examples > MANY_EXAMPLES and has_few_features(graph) else None


def fitting_hidden_share(graph: FeatureGraph) -> float:
    """The share of the edges to hide and ask for in each step when the user does not say.

    Half, but a fifth where nodes have less than one value that tells something on average: the
    edges are then what there is to go by, and a network that has only ever seen half of them is
    asked about a graph that has them all. Validation AUC of two seeds with a half and with a fifth,
    one cell in a hundred known: Cora 0.808 and 0.814 (GraphSAGE 0.694 and 0.713), CiteSeer 0.726
    and 0.758 (0.675 and 0.713); half of the cells known: Cora 0.900 and 0.891 (0.895 and 0.889).
    """
    return 0.2 if _telling_per_node(graph) < 1 else 0.5


def _telling_per_node(graph: FeatureGraph) -> float:
    telling = telling_values(graph.values.data)
    count = len(graph.values.data) if telling is None else int(telling.sum())
    return count / max(graph.num_nodes, 1)


def telling_values(values: NDArray[np.floating]) -> NDArray[np.bool_] | None:
    """Which values tell something: not one that more than nine in ten of them are, if there is.

    ``None`` where all of them do.

    A 1 always does: it is how presence is written, and a word that occurs once in a text says as
    much as one that occurs twice.

    That a word is known to be missing from a text says little. With one cell in a hundred known,
    a paper of Cora or CiteSeer has 14 or 37 values, of which 0.2 or 0.3 are ones and the others
    zeros; a reach raises the accuracy on validation data from 84.1 to 86.5 % and from 66.4 to
    67.5 % there (three seeds). Nothing changes if ten is added to all values.
    """
    if not len(values):
        return None
    middle = len(values) // 2
    usual = np.partition(values, middle)[middle]  # any value that most of them are
    others: NDArray[np.bool_] = values != usual
    return others if usual != 1 and 0 < int(others.sum()) < len(values) / 10 else None


def telling_triples(graph: FeatureGraph, prepared: AllotropicGraph) -> NDArray[np.bool_] | None:
    """The same for the triples of a graph that was prepared for a network; ``None`` for all.

    Labels that are shown come after the features of each node, and all of them tell something.
    """
    telling = telling_values(graph.values.data)
    if telling is None:
        return None
    every = np.ones(prepared.incidence.num_entries, dtype=bool)
    every[prepared.incidence.indices.cpu().numpy() < graph.num_features] = telling
    return every


def holds_records(names: Iterable[str]) -> bool:
    """Whether features are the fields of records rather than the words of texts.

    So it is taken where most names begin with a kind, ``maintainer:…`` or ``priority=…``, and
    there are at least two kinds with several features each.
    """
    kinds, codes = feature_kinds(names)
    sizes = np.bincount(codes, minlength=len(kinds))
    several = sizes[sizes > 1]
    return len(several) > 1 and 2 * int(several.sum()) > len(codes)


def fitting_feature_dropout(
    graph: AllotropicGraph,
    examples: int,
    *,
    direct: bool = False,
    reach: int = 0,
    known_zeros: bool = False,
) -> float:
    """The share of feature values to hide in training when the user does not say.

    So much that about four features of an average node with any stay, at most 0.8. By validation
    loss over three seeds, hiding 0.7 was better than 0.5 for the 18 and 32 words of a Cora or
    CiteSeer paper, and worse for the 5 of an Actor page. Where each feature gives evidence of its
    own, at most 0.3: the fields of a record do not stand in for each other as words do
    (debian-mini, five seeds, validation: 85.8 % instead of 85.1 % with 0.7). Where features are
    heard from afar, at least 0.3: a node hears many even if it has none (Cora with one cell in a
    hundred, three seeds, validation loss: 0.51 without, 0.46 with a quarter, 0.47 with a half).
    Where there are more than ten thousand nodes to learn from, at most 0.5: there is less to guard
    against (Physics, one seed, validation: loss 0.112, 96.1 % with 0.8; 0.097, 96.7 % with 0.5;
    0.096, 96.7 % with 0.3). If nearly all values are known zeros as well, 0.8: which cells are
    known is then how nodes are told apart, and all of them would be learned by heart (one cell in
    10^3 known: 0.208, 95.2 % with 0.5, 0.194, 94.8 % with 0.8).
    """
    if known_zeros and examples > MANY_EXAMPLES:
        return 0.8
    counts = graph.incidence.counts
    mean = float(counts.sum()) / max(int((counts > 0).sum()), 1)
    least, most = (0.3 if reach else 0.0), (0.5 if examples > MANY_EXAMPLES else 0.8)
    most = 0.3 if direct else most
    return min(max(1 - 4 / max(mean, 1e-9), least), most)
