"""The paper's artificial change over time (its section on continual learning, "Setup")."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from grafenne.data.delta import GraphDelta
from grafenne.data.delta_rows import Rows
from grafenne.data.missing import draw_absent_cells, draw_distinct
from grafenne.data.seeds import seeded
from grafenne.data.sorted_keys import find_sorted
from grafenne.data.stream import GraphStream
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph


class ChurnSettings(TypedDict):
    """How much a graph changes per step; see :func:`churn`."""

    steps: int
    node_probability: float
    add_probability: float
    delete_probability: float
    edge_add_probability: float
    edge_delete_probability: float


def _settings(steps: int, node: float, add: float, delete: float, edge: float) -> ChurnSettings:
    return {
        "steps": steps,
        "node_probability": node,
        "add_probability": add,
        "delete_probability": delete,
        "edge_add_probability": edge,
        "edge_delete_probability": edge,
    }


PAPER_CHURN: dict[str, ChurnSettings] = {
    "cora": _settings(9, 0.03, 0.05, 0.4, 0.0005),
    "citeseer": _settings(9, 0.03, 0.05, 0.4, 0.0005),
    "physics": _settings(9, 0.003, 0.0001, 0.8, 0.00005),
    "dblp": _settings(9, 0.05, 0.05, 0.1, 0.0),
}
"""The paper's settings by dataset: ``churn(graph, seed=0, **PAPER_CHURN["cora"])``.

The paper states T = 9 for Cora and CiteSeer only; it is used for all. DBLP's nodes and edges
come and go with the years of the data, so none are drawn.
"""


def churn(
    graph: FeatureGraph,
    steps: int = 9,
    *,
    node_probability: float,
    add_probability: float,
    delete_probability: float,
    edge_add_probability: float = 0.0,
    edge_delete_probability: float = 0.0,
    seed: int,
    full_graph: FeatureGraph | None = None,
) -> GraphStream:
    """A stream in which features and edges come and go at random.

    At each step every node is sampled with ``node_probability``. Of a sampled node, each feature
    it has is deleted with ``delete_probability``, and each of the features in the vocabulary that
    it does not have is added with ``add_probability``: a feature can be new to a node, not only
    come back. Labels and nodes stay.

    The paper's probability of "an edge getting added" is read as a share of the edges there are:
    the number of new edges is Binomial(|E|, ``edge_add_probability``), between random nodes that
    are not linked. Taken over all pairs of nodes, the paper's 0.0005 would add some 1,800 edges
    to Cora's 5,278 at every step while deleting 3.

    Args:
        graph: The graph at the beginning.
        steps: Number of changes, the paper's T.
        node_probability: p_n.
        add_probability: p_f^add.
        delete_probability: p_f^del.
        edge_add_probability: p_e^add.
        edge_delete_probability: p_e^del.
        seed: Seed of the draw; each step has its own generator made from it.
        full_graph: Where values of added features are looked up. Without it, and for cells that
            it does not have, a value is drawn from those that the feature has in the graph at
            that time; one that no node has at all gets 1. Weights of new edges are drawn from
            the weights there are.
    """
    for name, probability in (
        ("node_probability", node_probability),
        ("add_probability", add_probability),
        ("delete_probability", delete_probability),
        ("edge_add_probability", edge_add_probability),
        ("edge_delete_probability", edge_delete_probability),
    ):
        if not 0 <= probability <= 1:
            raise ParameterError(f"{name} must be from 0 to 1, got {probability!r}.")

    def next_delta(step: int, now: FeatureGraph) -> GraphDelta:
        generator = seeded(seed, step)
        sampled = np.flatnonzero(generator.random(now.num_nodes) < node_probability)
        return GraphDelta(
            triples_removed=_deleted_values(now, sampled, delete_probability, generator),
            triples_added=_added_values(now, sampled, add_probability, generator, full_graph),
            edges_removed=_deleted_edges(now, edge_delete_probability, generator),
            edges_added=_added_edges(now, edge_add_probability, generator),
        )

    return GraphStream(graph, next_delta, steps)


def _deleted_values(
    graph: FeatureGraph,
    sampled: NDArray[np.int64],
    probability: float,
    generator: np.random.Generator,
) -> Rows:
    touched = np.zeros(graph.num_nodes, dtype=bool)
    touched[sampled] = True
    candidates = np.flatnonzero(touched[graph.values.rows])
    gone = candidates[generator.random(len(candidates)) < probability]
    nodes = graph.nodes.take(graph.values.rows[gone])
    return Rows("triples_removed", [nodes, graph.features.take(graph.values.indices[gone])])


def _added_values(
    graph: FeatureGraph,
    sampled: NDArray[np.int64],
    probability: float,
    generator: np.random.Generator,
    full_graph: FeatureGraph | None,
) -> Rows:
    node, feature = draw_absent_cells(graph.values, sampled, probability, generator)
    value = np.ones(len(node))
    if not graph.values.is_binary:
        columns = graph.values.by_feature
        count = np.diff(columns.indptr)[feature]
        drawn = columns.indptr[feature] + (generator.random(len(feature)) * count).astype(np.int64)
        seen = count > 0
        value[seen] = graph.values.data[columns.data[drawn[seen]]]
    names = [graph.nodes.take(node), graph.features.take(feature)]
    if full_graph is not None:
        full_node, full_feature = (
            full_graph.nodes.find(names[0]),
            full_graph.features.find(names[1]),
        )
        width = full_graph.num_features
        keys = full_graph.values.rows.astype(np.int64) * width + full_graph.values.indices
        place = find_sorted(keys, full_node * width + full_feature)
        known = (place >= 0) & (full_node >= 0) & (full_feature >= 0)
        value[known] = full_graph.values.data[place[known]]
    return Rows("triples_added", [*names, value])


def _deleted_edges(graph: FeatureGraph, probability: float, generator: np.random.Generator) -> Rows:
    gone = np.flatnonzero(generator.random(graph.num_edges) < probability)
    ends = (graph.edges.sources[gone], graph.edges.targets[gone])
    return Rows("edges_removed", [graph.nodes.take(end) for end in ends])


def _added_edges(graph: FeatureGraph, probability: float, generator: np.random.Generator) -> Rows:
    edges = graph.edges
    pairs = _draw_unlinked(graph, int(generator.binomial(len(edges), probability)), generator)
    weights = np.full(len(pairs), np.nan)
    if edges.weights is not None and len(edges):
        weights = edges.weights[generator.integers(0, len(edges), size=len(pairs))]
    source, target = np.divmod(pairs, max(graph.num_nodes, 1))
    return Rows("edges_added", [graph.nodes.take(source), graph.nodes.take(target), weights])


def _draw_unlinked(
    graph: FeatureGraph, wanted: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Distinct pairs ``source * nodes + target`` of different nodes without an edge."""
    size, edges = graph.num_nodes, graph.edges
    linked = edges.sources * size + edges.targets
    between = linked[edges.sources != edges.targets]
    possible = size * (size - 1) // (1 if edges.directed else 2)
    free = possible - len(between)
    if wanted == 0 or free <= 0:
        return np.empty(0, dtype=np.int64)
    if 2 * free < possible:  # crowded: listing all pairs costs no more than the edges do
        source, target = np.divmod(np.arange(size * size), size)
        pair = source != target if edges.directed else source < target
        rest = np.setdiff1d(np.flatnonzero(pair), between, assume_unique=True)
        return rest[draw_distinct(len(rest), min(wanted, free), generator)]
    drawn = np.empty(0, dtype=np.int64)
    wanted = min(wanted, free)
    while len(drawn) < wanted:
        source, target = generator.integers(0, size, size=(2, 2 * (wanted - len(drawn)) + 8))
        if not edges.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        more = (source * size + target)[source != target]
        more = more[find_sorted(between, more) < 0]
        drawn = np.unique(np.concatenate((drawn, more)))
    return drawn[draw_distinct(len(drawn), wanted, generator)]
