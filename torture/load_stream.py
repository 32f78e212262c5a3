"""An endless stream of small changes to a graph that stays of the same size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grafenne import FeatureGraph, GraphDelta

NEW_NAME_EVERY = 10
"""One change in so many brings a feature that was never there before."""


def small_changes(graph: FeatureGraph, count: int, seed: int) -> Iterator[GraphDelta]:
    """Changes to be applied one after another.

    Each adds a labelled node with a few features and edges, takes away the one that the change
    before added, and gives one node of the graph a feature or takes it away again.

    Args:
        graph: The graph before the first change.
        count: How many.
        seed: Which nodes and features.
    """
    rng = np.random.default_rng(seed)
    ids, names = list(graph.nodes), list(graph.features)
    labels = [label for node in ids if (label := graph.label_of(node)) is not None]
    for number in range(count):
        node = f"arrival {number}"
        chosen = [names[place] for place in rng.choice(len(names), size=3, replace=False)]
        if number % NEW_NAME_EVERY == 0:
            chosen.append(f"novelty:{number}")
        friends = [ids[place] for place in rng.choice(len(ids), size=2, replace=False)]
        yield GraphDelta(
            nodes_added=[node],
            nodes_removed=[f"arrival {number - 1}"] if number else [],
            labels_set=[(node, labels[int(rng.integers(len(labels)))])],
            triples_added=[(node, name, 1.0) for name in chosen],
            edges_added=[(node, friend) for friend in friends],
        )
