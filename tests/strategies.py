"""Small random graphs for property-based tests, the degenerate ones included."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from grafenne import FeatureGraph

# Surrogates are not text that any file can hold.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
whole_numbers = st.integers(min_value=-(2**63), max_value=2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.sampled_from([0.0, -0.0, 1.0]), finite)


@st.composite
def pairs(draw: st.DrawFn, size: int, directed: bool, weighted: bool) -> tuple[Any, ...]:
    """Edges over ``size`` nodes by position, each of them once, self-loops included."""
    if not size:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) + (
            (np.empty(0),) if weighted else ()
        )
    end = st.integers(0, size - 1)
    pair = st.tuples(end, end)
    unique = pair if directed else pair.map(lambda ends: (min(ends), max(ends)))
    chosen = draw(st.lists(unique, unique=True, max_size=6))
    array = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    if not weighted:
        return array[:, 0], array[:, 1]
    weights = draw(st.lists(finite, min_size=len(chosen), max_size=len(chosen)))
    return array[:, 0], array[:, 1], np.array(weights, dtype=np.float64)


@st.composite
def labels(draw: st.DrawFn, nodes: list[Any]) -> tuple[dict[Any, Any] | None, str | None]:
    """Labels of some of the nodes and their kind: names, whole numbers, truth values, numbers."""
    kind = draw(st.sampled_from([None, "text", "whole", "truth", "number"]))
    if kind is None:
        return None, None
    label = {"text": names, "whole": whole_numbers, "truth": st.booleans(), "number": finite}[kind]
    given = {node: draw(label) for node in nodes if draw(st.booleans())}
    return given, "number" if kind == "number" else "class"


@st.composite
def feature_graphs(
    draw: st.DrawFn,
    *,
    max_nodes: int = 5,
    max_features: int = 5,
    directed: bool | None = None,
    ids: st.SearchStrategy[list[Any]] | None = None,
) -> FeatureGraph:
    """Graphs with any or none of: nodes, edges, weights, features, labels, feature edges.

    Some nodes have no features, some feature names have no node, some values are observed
    zeros, some graphs hold 32-bit values.

    Args:
        draw: Given by hypothesis.
        max_nodes: Most nodes.
        max_features: Most feature names.
        directed: Only graphs of this kind; both kinds by default.
        ids: Strategy for the list of node ids; text, whole numbers or 0, 1, 2, … by default.
    """
    if ids is None:
        ids = st.one_of(
            st.lists(names, unique=True, max_size=max_nodes),
            st.lists(whole_numbers, unique=True, max_size=max_nodes),
            st.integers(0, max_nodes).map(lambda count: list(range(count))),
        )
    nodes = draw(ids)
    features = draw(st.lists(names, unique=True, max_size=max_features))
    direction = draw(st.booleans()) if directed is None else directed
    cells = [(node, feature) for node in range(len(nodes)) for feature in range(len(features))]
    chosen = draw(st.lists(st.sampled_from(cells), unique=True)) if cells else []
    array = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    single = draw(st.booleans())
    number = st.floats(width=32, allow_nan=False, allow_infinity=False) if single else values
    data = draw(st.lists(number, min_size=len(chosen), max_size=len(chosen)))
    given, kind = draw(labels(nodes))
    return FeatureGraph.from_arrays(
        nodes,
        features,
        (array[:, 0], array[:, 1], np.array(data, dtype=np.float32 if single else np.float64)),
        draw(pairs(len(nodes), direction, draw(st.booleans()))),
        directed=direction,
        labels=given,
        label_kind=kind,  # type: ignore[arg-type]
        feature_edges=draw(pairs(len(features), False, draw(st.booleans()))),
    )
