"""Graphs from pandas frames, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grafenne.data.assemble import OPTIONAL, REQUIRED, encode_names, graph_from_tables, value_column
from grafenne.data.columns import Table, check_columns, names_column, object_column
from grafenne.data.label_column import label_frame, typed_labels
from grafenne.data.tables import is_text_table, read_table
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.edges import EdgeList
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.labels import LabelKind


class GraphFrames(NamedTuple):
    """A graph as frames; ``from_frames(**frames._asdict(), directed=...)`` is the way back.

    Attributes:
        features: ``node, feature, value``, one row per triple.
        edges: ``source, target`` and, for weighted edges, ``weight``.
        labels: ``node, label`` of the labelled nodes, class names as pandas categories; ``None``
            for a graph without labels.
        nodes: ``node``, every node in order.
        feature_edges: Edges among features, like ``edges``; ``None`` when there are none.
        vocabulary: ``feature``, every feature name in order, used or not.
    """

    features: pd.DataFrame
    edges: pd.DataFrame
    labels: pd.DataFrame | None
    nodes: pd.DataFrame
    feature_edges: pd.DataFrame | None
    vocabulary: pd.DataFrame


def graph_from_frames(
    parts: Mapping[str, Any],
    *,
    directed: bool = False,
    label_kind: LabelKind | None = None,
    duplicates: str = "error",
) -> FeatureGraph:
    """What :meth:`FeatureGraph.from_frames` does; ``parts`` are its tables by name."""
    return graph_from_tables(
        {
            name: as_table(part, name, label_kind)
            for name, part in parts.items()
            if part is not None
        },
        directed=directed,
        label_kind=label_kind,
        duplicates=duplicates,
    )


def graph_to_frames(graph: FeatureGraph) -> GraphFrames:
    """What :meth:`FeatureGraph.to_frames` does."""
    import pandas as pd

    nodes, features = names_column(graph.nodes), names_column(graph.features)
    triples = {
        "node": _take(nodes, graph.values.rows),
        "feature": _take(features, graph.values.indices),
        "value": graph.values.data,
    }
    among_features = graph.feature_edges
    with_feature_edges = len(among_features) > 0 or among_features.weights is not None
    return GraphFrames(
        features=pd.DataFrame(triples),
        edges=_edge_frame(graph.edges, nodes),
        labels=None if graph.labels is None else label_frame(graph.labels, nodes),
        nodes=pd.DataFrame({"node": nodes}),
        feature_edges=_edge_frame(among_features, features) if with_feature_edges else None,
        vocabulary=pd.DataFrame({"feature": features}),
    )


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, str, float]]:
    """The rows of a features frame as ``(node, feature, value)`` in Python's own types.

    Args:
        frame: A frame with the columns ``node, feature`` and, unless every value is 1, ``value``.
    """
    table = as_table(frame, "features")
    columns = encode_names({"features": table})
    node, feature = columns["features", "node"], columns["features", "feature"]
    values = value_column(table).astype(np.float64).tolist()
    places = zip(node.codes.tolist(), feature.codes.tolist(), values, strict=True)
    return [(node.names[i], feature.names[j], value) for i, j, value in places]


def as_table(part: Any, name: str, label_kind: LabelKind | None = None) -> Table:
    """A frame or the path of a file as a table that can say where a row is.

    Args:
        part: A frame or a path. Labels may be a Series indexed by node or a mapping from node to
            label; nodes and vocabulary may be any collection of names.
        name: Which of the tables of a graph it is.
        label_kind: What labels in a text file are, where that is known.
    """
    import pandas as pd

    if isinstance(part, str | os.PathLike):
        table = read_part(part, name)
        if name == "labels" and is_text_table(table.path):
            frame = table.frame.assign(label=typed_labels(table.frame["label"], label_kind))
            return replace(table, frame=frame)
        return table
    if isinstance(part, pd.DataFrame):
        return _frame_table(part, name)
    if name == "labels" and isinstance(part, pd.Series):
        nodes = object_column(part.index) if part.index.nlevels > 1 else part.index
        return _frame_table(pd.DataFrame({"node": nodes, "label": part.array}), name)
    if name == "labels" and isinstance(part, Mapping):
        columns = {"node": object_column(part), "label": object_column(part.values())}
        return _frame_table(pd.DataFrame(columns, dtype=object), name)
    if name in ("nodes", "vocabulary") and hasattr(part, "__iter__"):
        column = part if isinstance(part, pd.Series | pd.Index) else object_column(part)
        return _frame_table(pd.DataFrame({REQUIRED[name][0]: column}), name)
    raise ParameterError(
        f"{name} must be a pandas DataFrame or the path of a file, got a {type(part).__name__}."
    )


def read_part(path: str | os.PathLike[str], name: str) -> Table:
    """One of the tables of a graph from a file; in a text file everything but numbers is text."""
    return read_table(path, REQUIRED[name], OPTIONAL.get(name, ()), encoded=True)


def _frame_table(frame: pd.DataFrame, name: str) -> Table:
    wanted = REQUIRED[name] + tuple(
        column for column in OPTIONAL.get(name, ()) if column in frame.columns
    )
    check_columns(frame.columns, wanted, f"the {name} table", index=list(frame.index.names))
    return Table(frame, name, columns=tuple(frame.columns))


def _take(names: pd.Series[Any], positions: NDArray[np.integer]) -> pd.Series[Any]:
    taken: pd.Series[Any] = names.take(positions).reset_index(drop=True)
    return taken


def _edge_frame(edges: EdgeList, names: pd.Series[Any]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {
        "source": _take(names, edges.sources),
        "target": _take(names, edges.targets),
    }
    if edges.weights is not None:
        columns["weight"] = edges.weights
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame
