"""What a reader may return for input that it accepts: only what is sound through and through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_result(result: Any) -> str | None:
    """What is wrong with what a reader returned, ``None`` if nothing is."""
    from grafenne import FeatureGraph, GraphDelta, GraphStream

    try:
        if isinstance(result, FeatureGraph):
            check_graph(result)
        elif isinstance(result, GraphStream):
            for graph in result:
                check_graph(graph)
        elif isinstance(result, GraphDelta):
            check_delta(result)
        elif hasattr(result, "predict"):
            check_model(result)
    except AssertionError as error:
        return f"what was read is not sound: {error}"
    return None


def check_graph(graph: Any) -> None:
    """Raises ``AssertionError`` unless a graph keeps every rule and says one thing only."""
    values, labels = graph.values, graph.labels
    names, features = list(graph.nodes), list(graph.features)
    _require(len(set(names)) == len(names) == graph.num_nodes, "node ids are not distinct")
    _require(len(set(features)) == len(features) == graph.num_features, "features not distinct")
    _require(all(isinstance(name, str) for name in features), "a feature's name is not text")
    _require(bool(np.isfinite(values.data).all()), "a value is not finite")
    _check_rows(values.indptr, values.indices, graph.num_features, "values")
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(values.indptr))
    by_feature = values.by_feature
    _check_rows(by_feature.indptr, by_feature.indices, graph.num_nodes, "values by feature")
    column = np.repeat(np.arange(graph.num_features), np.diff(by_feature.indptr))
    place = by_feature.data
    _require(bool((values.indices[place] == column).all()), "the two orders of values disagree")
    _require(bool((rows[place] == by_feature.indices).all()), "the two orders of values disagree")
    _require(values.is_binary == bool((values.data == 1).all()), "is_binary is wrong")
    for edges, size in ((graph.edges, graph.num_nodes), (graph.feature_edges, graph.num_features)):
        _check_edges(edges, size)
    if labels is not None:
        if labels.kind == "class":
            found = labels.values
            _require(bool(((found >= -1) & (found < len(labels.classes))).all()), "label range")
            _require(len(set(labels.classes)) == len(labels.classes), "classes not distinct")
        else:
            _require(not np.isinf(labels.values).any(), "a label is infinite")


def _check_edges(edges: Any, size: int) -> None:
    from grafenne.data.edges import EdgeList

    _require(edges.size == size, "edges of another size")
    if edges.weights is not None:
        _require(bool(np.isfinite(edges.weights).all()), "a weight is not finite")
    for ends in (edges.sources, edges.targets):
        _require(bool(((ends >= 0) & (ends < size)).all()), "an edge's end is out of range")
    fresh = EdgeList(edges.sources, edges.targets, edges.weights, size, edges.directed)
    for direction in ("in", "out", "both"):
        found, wanted = edges.incoming(direction), fresh.incoming(direction)
        _require(
            found.shape == wanted.shape and (found != wanted).nnz == 0 and found.nnz == wanted.nnz,
            f"the messages ({direction}) are not those of the edges",
        )


def _check_rows(indptr: NDArray[Any], indices: NDArray[Any], columns: int, what: str) -> None:
    _require(indptr[0] == 0 and indptr[-1] == len(indices), f"{what} do not add up")
    _require(bool((np.diff(indptr) >= 0).all()), f"rows of {what} overlap")
    _require(bool(((indices >= 0) & (indices < columns)).all()), f"{what} are out of range")
    rises = np.diff(indices) > 0
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
    _require(bool(rises.all()), f"{what} of one row are repeated or out of order")


def check_delta(delta: Any) -> None:
    """Raises ``AssertionError`` unless a change has finite numbers and a digest."""
    for part in ("triples_added", "triples_changed"):
        numbers = np.asarray(delta.parts[part].column("value"), dtype=float)
        _require(bool(np.isfinite(numbers).all()), f"{part} has a value that is not finite")
    _require(len(delta.digest()) > 0, "the change has no digest")


def check_model(model: Any) -> None:
    """Raises ``AssertionError`` unless a model predicts finite numbers."""
    from torture.bad_input_world import shop_graph

    graph = shop_graph(8)
    if model.task_name == "links":
        found = model.predict_proba(graph, [("i0", "i1"), ("i2", "i0")])
    elif model.task_name == "regression":
        found = model.predict(graph)
    else:
        found = model.predict_proba(graph)
        _require(found.shape == (8, len(model.classes_)), "probabilities of the wrong shape")
        _require(bool(np.allclose(found.sum(axis=1), 1, atol=1e-4)), "they do not sum to 1")
    _require(bool(np.isfinite(found).all()), "a prediction is not finite")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)
