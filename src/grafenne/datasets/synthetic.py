"""Graphs of any size with planted classes, so that accuracy means something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafenne.datasets.planted import Planted, Recipe
from grafenne.datasets.registry import Dataset, register, without_root
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.stream import GraphStream


def synthetic(
    num_nodes: int = 1000,
    num_features: int = 200,
    num_classes: int = 4,
    *,
    values_per_node: float = 10.0,
    degree: float = 5.0,
    homophily: float = 0.8,
    signal: float = 0.5,
    continuous: bool = False,
    noise: float = 0.5,
    observed: float = 1.0,
    feature_edges: float = 0.0,
    seed: int = 0,
) -> FeatureGraph:
    """A random graph in which edges and features tell the class of a node.

    Each node and each feature belongs to a class. Binary values: a node has a random set of
    features, and each of them is one of its own class's with probability ``signal`` (and any
    feature otherwise). Continuous values: which features a node has tells nothing, but the
    values of a feature lie around a different mean for each class.

    The work is a few passes over the values, in parts: ten million values take seconds, and no
    more memory than the result and a part.

    Args:
        num_nodes: Number of nodes; their ids are 0, 1, 2, …
        num_features: Number of features, ``f0``, ``f1``, …
        num_classes: Number of classes, ``class_0``, ``class_1``, …
        values_per_node: Mean number of features of a node, before repeated ones are merged.
        degree: Mean number of edges of a node, before repeated ones are merged.
        homophily: Share of the edges that join nodes of the same class.
        signal: How much the features tell: 0 nothing, 1 everything.
        continuous: Whether values are numbers; otherwise every value is 1.
        noise: Standard deviation of continuous values around their mean.
        observed: Share of the values that are observed; the others are absent.
        feature_edges: Mean number of edges of a feature to features of the same class.
        seed: The only source of randomness.
    """
    recipe = Recipe(
        num_nodes=num_nodes,
        num_features=num_features,
        num_classes=num_classes,
        values_per_node=values_per_node,
        degree=degree,
        homophily=homophily,
        signal=signal,
        continuous=continuous,
        noise=noise,
        observed=observed,
        feature_edges=feature_edges,
    )
    return Planted(recipe, seed).graph()


def synthetic_stream(
    num_nodes: int = 1000,
    num_features: int = 200,
    num_classes: int = 4,
    *,
    steps: int = 5,
    drift: float = 0.2,
    node_churn: float = 0.05,
    edge_churn: float = 0.05,
    values_per_node: float = 10.0,
    degree: float = 5.0,
    homophily: float = 0.8,
    signal: float = 0.5,
    continuous: bool = False,
    noise: float = 0.5,
    observed: float = 1.0,
    seed: int = 0,
) -> GraphStream:
    """A planted graph that changes: features vanish, and new ones tell the class in their place.

    At each step a share ``drift`` of the features vanishes from all nodes. As many new features
    appear, and every node that lost values gets values of new features instead, drawn by the
    same rule. A share of the nodes leaves and as many arrive, and likewise with the edges.

    Args:
        num_nodes: Number of nodes at every step.
        num_features: Number of features in use at every step.
        num_classes: Number of classes.
        steps: Number of snapshots, the first one included.
        drift: Share of the features that is replaced at each step.
        node_churn: Share of the nodes that is replaced at each step.
        edge_churn: Share of the edges that is replaced at each step, beyond those of the nodes.
        values_per_node: See :func:`synthetic`, as for the arguments that follow.
        degree: Mean number of edges of a node.
        homophily: Share of the edges that join nodes of the same class.
        signal: How much the features tell.
        continuous: Whether values are numbers.
        noise: Standard deviation of continuous values around their mean.
        observed: Share of the values that are observed.
        seed: The only source of randomness.
    """
    from grafenne.data.stream import GraphStream

    if steps < 1:
        raise ParameterError(f"steps must be at least 1, got {steps}.")
    for name, share in (("drift", drift), ("node_churn", node_churn), ("edge_churn", edge_churn)):
        if not 0 <= share <= 1:
            raise ParameterError(f"{name} must lie between 0 and 1, got {share}.")
    recipe = Recipe(
        num_nodes=num_nodes,
        num_features=num_features,
        num_classes=num_classes,
        values_per_node=values_per_node,
        degree=degree,
        homophily=homophily,
        signal=signal,
        continuous=continuous,
        noise=noise,
        observed=observed,
    )
    planted = Planted(recipe, seed)
    snapshots = [planted.graph()]
    for _ in range(steps - 1):
        planted.replace_features(drift)
        planted.replace_nodes(node_churn)
        planted.replace_edges(edge_churn)
        snapshots.append(planted.graph())
    return GraphStream.from_snapshots(snapshots)


register(
    Dataset(
        name="synthetic",
        title="Synthetic: planted classes, any size",
        description="A random graph whose edges and features tell the class as much as you say.",
        task="The planted class of a node.",
        source="Generated; nothing is read.",
        loader=without_root(synthetic),
        streamer=without_root(synthetic_stream),
    )
)
