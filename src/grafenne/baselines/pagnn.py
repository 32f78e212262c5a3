"""PaGNN: aggregation over the observed cells alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.errors import unknown_name
from grafenne.impute.base import check_sizes, neighbour_matrix
from grafenne.impute.feature_propagation import symmetric_normalised
from grafenne.impute.gathering import gather

VARIANTS = ("mean", "rescaled")


def partial_aggregation(
    graph: FeatureGraph,
    variant: str = "mean",
    direction: str = "both",
    *,
    complete: bool = False,
) -> FeatureGraph:
    r"""Each node's features as aggregated from the observed cells around it.

    Jiang & Zhang, "Incomplete Graph Representation and Learning via Partial Graph Neural
    Networks" (2020): with the normalised adjacency S of a GCN (loops included), the mask M of
    observed cells and element-wise products and quotients,

    .. math:: \text{mean: } (S (M \circ X)) \oslash (S M), \qquad
        \text{rescaled: } (S 1) \circ (S (M \circ X)) \oslash (S M)

    The first is the mean over the observed neighbours; the second keeps the size that a sum over
    all neighbours would have had, so with nothing missing it is the aggregation of a GCN. A cell
    that nobody around has stays absent. The result has no trained part and is computed once; it
    holds only the cells that are not zero.

    Args:
        graph: The graph; its stored triples are the observed cells.
        variant: ``mean`` or ``rescaled``.
        direction: Which way messages run along directed edges: ``in``, ``out`` or ``both``.
        complete: Whether nothing is missing: every absent cell is a known zero, as if it were
            stored.
    """
    if variant not in VARIANTS:
        raise unknown_name("variant", variant, VARIANTS)
    check_sizes(graph)
    matrix = neighbour_matrix(graph, weighted=True, direction=direction)
    loops = sparse.csr_array(sparse.eye_array(graph.num_nodes, format="csr"))
    matrix = sparse.csr_array(matrix + loops)
    matrix.sort_indices()
    share = symmetric_normalised(matrix)
    whole = share @ np.ones(graph.num_nodes)
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))]
    for found in gather(share, graph.values):
        cells = found.totals / (whole[found.nodes] if complete else found.weights)
        if variant == "rescaled":
            cells *= whole[found.nodes]
        there = cells != 0
        parts.append((found.nodes[there], found.features[there], cells[there]))
    node, feature, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return graph.replace(
        values=FeatureValues.build(
            node,
            feature,
            value.astype(graph.values.data.dtype),
            nodes=graph.nodes,
            features=graph.features,
        )
    )
