"""Graphs from networkx, and back."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grafenne.data.edges import EdgeList
from grafenne.data.feature_graph import FeatureGraph, feature_vocabulary
from grafenne.data.label_column import with_classes
from grafenne.data.labels import LabelKind, Labels, as_float, is_missing, plain
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    import networkx as nx

NOTES = "grafenne"


def graph_to_networkx(graph: FeatureGraph) -> nx.Graph[Any]:
    """What :meth:`FeatureGraph.to_networkx` does."""
    import networkx as nx

    result: nx.Graph[Any] = nx.DiGraph() if graph.directed else nx.Graph()
    names = graph.features.take(graph.values.indices)
    values, starts = graph.values.data.tolist(), graph.values.indptr.tolist()
    for place, node in enumerate(graph.nodes):
        span = slice(starts[place], starts[place + 1])
        features = dict(zip(names[span], values[span], strict=True))
        result.add_node(node, features=features)
        label = None if graph.labels is None else graph.labels.label(place)
        if label is not None:
            result.nodes[node]["label"] = label
    for source, target, *weight in _named_edges(graph.edges, graph.nodes):
        result.add_edge(source, target, **({"weight": weight[0]} if weight else {}))
    result.graph[NOTES] = {
        "features": list(graph.features),
        "value_type": str(graph.values.data.dtype),
        "weighted": graph.edges.weights is not None,
        "label_kind": None if graph.labels is None else graph.labels.kind,
        "classes": [] if graph.labels is None else list(graph.labels.classes),
        "feature_edges": _named_edges(graph.feature_edges, graph.features),
        "weighted_feature_edges": graph.feature_edges.weights is not None,
    }
    return result


def graph_from_networkx(
    graph: nx.Graph[Any],
    label: str | None,
    *,
    weight: str,
    label_kind: LabelKind | None,
    duplicates: str,
) -> FeatureGraph:
    """What :meth:`FeatureGraph.from_networkx` does."""
    import networkx as nx

    if not isinstance(graph, nx.Graph):
        raise ParameterError(f"graph must be a networkx graph, got a {type(graph).__name__}.")
    notes: Mapping[str, Any] = graph.graph.get(NOTES, {})
    if label is None and notes.get("label_kind") is not None:
        label, label_kind = "label", label_kind or notes["label_kind"]
    nodes = Vocabulary(graph.nodes, kind="node")
    rows: list[int] = []
    names: list[str] = []
    values: list[float] = []
    for place, (node, attributes) in enumerate(graph.nodes(data=True)):
        for name, value in _features(node, attributes, label):
            rows.append(place)
            names.append(name)
            values.append(value)
    features = feature_vocabulary(names, feature_vocabulary(notes.get("features", ())))
    labels = None
    if label is not None:
        given = [attributes.get(label) for _, attributes in graph.nodes(data=True)]
        labels = with_classes(Labels.build(given, nodes, label_kind), notes.get("classes", ()))
    return FeatureGraph(
        nodes,
        features,
        FeatureValues.build(
            rows,
            features.positions(names),
            np.array(values, dtype=notes.get("value_type", np.float64)),
            nodes=nodes,
            features=features,
        ),
        _edges(graph, nodes, weight, notes.get("weighted", False), duplicates),
        labels,
        _feature_edges(notes, features),
    )


def _features(
    node: Any, attributes: Mapping[Any, Any], label: str | None
) -> Iterator[tuple[str, float]]:
    """The features that the attributes of a node stand for."""
    for name, value in attributes.items():
        value = plain(value)
        if name == label or is_missing(value):
            continue
        if name == "features" and isinstance(value, Mapping):
            for feature, number in value.items():
                if not isinstance(number, numbers.Real):
                    raise DataError(
                        f"Node {node!r} has {number!r} for feature {feature!r}, not a number."
                    )
                yield feature, as_float(number)
        elif isinstance(value, str | bool):
            yield f"{name}={value}", 1.0
        elif isinstance(value, numbers.Real):
            yield str(name), as_float(value)
        else:
            raise DataError(
                f"The attribute {name!r} of node {node!r} is a {type(value).__name__}; features "
                "are numbers, text, or truth values."
            )


def _edges(
    graph: nx.Graph[Any], nodes: Vocabulary, weight: str, weighted: bool, duplicates: str
) -> EdgeList:
    edges: list[tuple[Any, Any, Any]] = list(graph.edges(data=weight))
    weights = None
    if weighted or any(value is not None for _, _, value in edges):
        weights = [_weight(*edge) for edge in edges]
    return EdgeList.build(
        nodes.positions([source for source, _, _ in edges]),
        nodes.positions([target for _, target, _ in edges]),
        weights,
        names=nodes,
        directed=graph.is_directed(),
        duplicates=duplicates,
    )


def _weight(source: Any, target: Any, value: Any) -> float:
    if value is None:
        return 1.0
    if not isinstance(value, numbers.Real):
        raise DataError(
            f"The weight of the edge from {source!r} to {target!r} is {value!r}, not a number."
        )
    return as_float(value)


def _named_edges(edges: EdgeList, names: Vocabulary) -> list[tuple[Any, ...]]:
    columns = [names.take(edges.sources), names.take(edges.targets)]
    if edges.weights is not None:
        columns.append(edges.weights.tolist())
    return list(zip(*columns, strict=True))


def _feature_edges(notes: Mapping[str, Any], features: Vocabulary) -> EdgeList:
    edges = notes.get("feature_edges", ())
    weighted = notes.get("weighted_feature_edges", False)
    return EdgeList.build(
        features.positions([edge[0] for edge in edges]),
        features.positions([edge[1] for edge in edges]),
        [edge[2] for edge in edges] if weighted else None,
        names=features,
    )
