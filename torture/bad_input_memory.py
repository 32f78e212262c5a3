"""Broken frames, arrays, matrices and splits through the Python interface."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from torture.bad_input_cases import Case

Call = Callable[[], Any]
NAN, INF = float("nan"), float("inf")


def cases() -> Iterator[Case]:
    """All broken things in memory."""
    groups = {
        "frames": _frames(),
        "labels": _labels(),
        "wide": _wide(),
        "arrays": _arrays(),
        "scipy": _matrices(),
        "networkx": _networks(),
        "pyg": _tensors(),
        "queries": _queries(),
    }
    for group, calls in groups.items():
        for name, call in calls.items():
            yield Case(f"{group}/{name}", _calling(call))


def _calling(call: Call) -> Callable[[Any, Any], Any]:
    return lambda world, folder: call()


def _frames() -> dict[str, Call]:
    import pandas as pd

    from grafenne import FeatureGraph

    def of(**parts: Any) -> Call:
        return lambda: FeatureGraph.from_frames(**parts)

    def features(**columns: Any) -> Call:
        return lambda: FeatureGraph.from_frames(pd.DataFrame(columns))

    good = {"node": ["a", "b"], "feature": ["x", "y"]}
    sound = pd.DataFrame(good)
    big = 10**400
    return {
        "number": of(features=3),
        "list": of(features=[("a", "x", 1)]),
        "array": of(features=np.zeros((2, 3))),
        "series": of(features=pd.Series([1, 2])),
        "dict": of(features={"node": ["a"]}),
        "no-rows-no-columns": of(features=pd.DataFrame()),
        "mixed-ids": features(node=["a", 1], feature=["x", "y"]),
        "mixed-ids-bool": features(node=[1, True], feature=["x", "y"]),
        "id-none": features(node=["a", None], feature=["x", "y"]),
        "id-nan": features(node=[1.0, NAN], feature=["x", "y"]),
        "id-list": features(node=[["a"], ["b"]], feature=["x", "y"]),
        "id-dict": features(node=[{}, {}], feature=["x", "y"]),
        "feature-number": features(node=["a"], feature=[7]),
        "feature-none": features(node=["a"], feature=[None]),
        "feature-tuple": features(node=["a"], feature=[("x", "y")]),
        "value-nan": features(**good, value=[1.0, NAN]),
        "value-inf": features(**good, value=[1.0, INF]),
        "value-text": features(**good, value=["1", "2"]),
        "value-none": features(**good, value=[1.0, None]),
        "value-complex": features(**good, value=[1j, 2j]),
        "value-list": features(**good, value=[[1], [2]]),
        "value-huge-int": features(**good, value=[big, 1]),
        "value-decimal-nan": features(**good, value=[decimal.Decimal("NaN"), decimal.Decimal(1)]),
        "value-decimal-huge": features(
            **good, value=[decimal.Decimal("1e400"), decimal.Decimal(1)]
        ),
        "value-date": features(**good, value=[datetime.datetime(2020, 1, 1)] * 2),
        "value-timedelta": features(**good, value=[datetime.timedelta(1)] * 2),
        "value-object": features(**good, value=[object(), object()]),
        "triple-twice": features(node=["a", "a"], feature=["x", "x"]),
        "duplicates-rule": of(features=sound, duplicates="mean"),
        "duplicates-none": of(features=sound, duplicates=None),
        "sum-overflows": lambda: FeatureGraph.from_frames(
            pd.DataFrame({"node": ["a"] * 2, "feature": ["x"] * 2, "value": [1.7e308] * 2}),
            duplicates="sum",
        ),
        "column-in-index": of(features=sound.set_index("node")),
        "columns-twice": of(features=pd.concat([sound, sound], axis=1)),
        "multi-columns": of(features=pd.DataFrame([[1, 2]], columns=[("a", "b"), ("c", "d")])),
        "edges-unknown": of(nodes=["a"], edges=pd.DataFrame({"source": ["a"], "target": ["z"]})),
        "edges-mixed": of(nodes=["a"], edges=pd.DataFrame({"source": ["a"], "target": [1]})),
        "edges-nan": of(nodes=["a"], edges=pd.DataFrame({"source": ["a"], "target": [None]})),
        "edges-weight-inf": of(
            nodes=["a"], edges=pd.DataFrame({"source": ["a"], "target": ["a"], "weight": [INF]})
        ),
        "edges-weight-text": of(
            nodes=["a"], edges=pd.DataFrame({"source": ["a"], "target": ["a"], "weight": ["x"]})
        ),
        "nodes-twice": of(nodes=["a", "a"]),
        "nodes-number": of(nodes=3),
        "nodes-none": of(nodes=["a", None]),
        "nodes-mixed": of(nodes=["a", 1]),
        "nodes-lists": of(nodes=[["a"], ["b"]]),
        "nodes-text": of(nodes="nowhere"),
        "families-differ": of(nodes=[1, 2], features=sound),
        "vocabulary-twice": of(features=sound, vocabulary=["x", "y", "x"]),
        "vocabulary-number": of(features=sound, vocabulary=[1, 2]),
        "feature-edges-unknown": of(
            features=sound, feature_edges=pd.DataFrame({"source": ["x"], "target": ["q"]})
        ),
        "path-without-ending": of(features="table"),
        "path-missing": of(features="missing.csv"),
        "path-nul": of(features="a\0b.csv"),
    }


def _labels() -> dict[str, Call]:
    import pandas as pd

    from grafenne import FeatureGraph

    def of(labels: Any, **more: Any) -> Call:
        return lambda: FeatureGraph.from_frames(nodes=["a", "b"], labels=labels, **more)

    def positions(labels: Any, kind: Any = None) -> Call:
        return lambda: FeatureGraph.from_arrays(2, 1, labels=labels, label_kind=kind)

    return {
        "of-a-stranger-in-arrays": positions({"zoe": "x"}),
        "infinite": of({"a": INF, "b": 1.0}),
        "text-as-number": of({"a": "x"}, label_kind="number"),
        "huge-as-number": of({"a": 10**400}, label_kind="number"),
        "kind": of({"a": "x"}, label_kind="colour"),
        "kind-list": of({"a": "x"}, label_kind=["class"]),
        "unhashable": of({"a": [1]}),
        "mixed": of({"a": "x", "b": 1}),
        "number": of(3),
        "frame-without-label": of(pd.DataFrame({"node": ["a"]})),
        "twice": of(pd.DataFrame({"node": ["a", "a"], "label": ["x", "y"]})),
        "too-few": positions(["x"]),
        "too-many": positions(["x", "y", "z"]),
        "array-infinite": positions(np.array([1.0, INF])),
        "array-huge": positions([10**400, 1], "number"),
        "array-unhashable": positions([[1], [2]]),
        "array-kind": positions(["x", "y"], "colour"),
        "array-text-as-number": positions(["x", "y"], "number"),
    }


def _wide() -> dict[str, Call]:
    import pandas as pd

    from grafenne import FeatureGraph

    def of(frame: Any, **more: Any) -> Call:
        return lambda: FeatureGraph.from_wide(frame, **more)

    frame = pd.DataFrame({"id": ["a", "b"], "age": [1.0, 2.0], "kind": ["x", "y"]})
    date = datetime.datetime(2020, 1, 1)
    return {
        "no-frame": of([1, 2]),
        "path": of("table.csv"),
        "columns-twice": of(pd.concat([frame, frame], axis=1)),
        "node-unknown": of(frame, node="name"),
        "label-unknown": of(frame, label="colour"),
        "column-unknown": of(frame, columns={"colour": "number"}),
        "kind-unknown": of(frame, columns={"age": "integer"}),
        "text-as-number": of(frame, node="id", columns={"kind": "number"}),
        "labels-twice": of(frame, node="id", label="kind", labels={"a": "x"}),
        "id-twice": of(frame.assign(id="a"), node="id"),
        "id-gap": of(frame.assign(id=["a", None]), node="id"),
        "infinite": of(frame.assign(age=[1.0, INF]), node="id"),
        "mixed": of(frame.assign(age=[1, "x"]), node="id"),
        "dates": of(frame.assign(when=[date, date]), node="id"),
        "complex": of(frame.assign(age=[1j, 2j]), node="id"),
        "lists": of(frame.assign(age=[[1], [2]]), node="id"),
        "huge": of(frame.assign(age=[10**400, 1]), node="id"),
        "edges-unknown": of(
            frame, node="id", edges=pd.DataFrame({"source": ["a"], "target": ["z"]})
        ),
    }


def _arrays() -> dict[str, Call]:
    from grafenne import FeatureGraph, GraphDelta

    def of(nodes: Any = 2, features: Any = 2, *more: Any, **named: Any) -> Call:
        return lambda: FeatureGraph.from_arrays(nodes, features, *more, **named)

    big = 10**400
    return {
        "node-beyond": of(2, 2, ([2], [0], [1.0])),
        "node-negative": of(2, 2, ([-1], [0], [1.0])),
        "feature-beyond": of(2, 2, ([0], [9], [1.0])),
        "feature-beyond-64-bits": of(2, 2, ([0], [2**70], [1.0])),
        "node-fraction": of(2, 2, ([0.5], [0], [1.0])),
        "node-text": of(2, 2, (["a"], [0], [1.0])),
        "lengths": of(2, 2, ([0, 1], [0], [1.0])),
        "value-nan": of(2, 2, ([0], [0], [NAN])),
        "value-text": of(2, 2, ([0], [0], ["x"])),
        "value-complex": of(2, 2, ([0], [0], [1j])),
        "value-huge": of(2, 2, ([0], [0], [big])),
        "value-ragged": of(2, 2, ([0, 1], [0, 1], [[1.0], [1.0, 2.0]])),
        "edge-beyond": of(2, 2, None, ([0], [2])),
        "edge-negative": of(2, 2, None, ([0], [-1])),
        "edge-lengths": of(2, 2, None, ([0, 1], [1])),
        "edge-fraction": of(2, 2, None, ([0.0], [1.0])),
        "edge-weight-nan": of(2, 2, None, ([0], [1], [NAN])),
        "edge-weight-text": of(2, 2, None, ([0], [1], ["heavy"])),
        "edge-weight-huge": of(2, 2, None, ([0], [1], [big])),
        "edge-weights-short": of(2, 2, None, ([0, 1], [1, 0], [1.0])),
        "edge-twice": of(2, 2, None, ([0, 0], [1, 1])),
        "nodes-negative": of(-1, 2),
        "nodes-twice": of(["a", "a"], 2),
        "nodes-unhashable": of([[], []], 2),
        "nodes-none": of(None, 2),
        "features-numbers": of(2, [1, 2]),
        "features-twice": of(2, ["x", "x"]),
        "features-none": of(2, None),
        "features-negative": of(2, -3),
        "triples-two-columns": of(2, 2, ([0], [0])),
        "delta-not-rows": lambda: GraphDelta(nodes_added=3),  # type: ignore[arg-type]
        "delta-text": lambda: GraphDelta(nodes_added="abc"),
        "delta-huge-value": lambda: GraphDelta(triples_added=[("a", "x", big)]),
        "delta-kind": lambda: GraphDelta(label_kind="colour"),  # type: ignore[arg-type]
        "delta-unhashable": lambda: GraphDelta(nodes_added=[[]]),  # type: ignore[list-item]
        "delta-short-row": lambda: GraphDelta(triples_added=[("a", "x")]),
    }


def _matrices() -> dict[str, Call]:
    from scipy import sparse

    from grafenne import FeatureGraph

    def of(matrix: Any, **more: Any) -> Call:
        return lambda: FeatureGraph.from_scipy(matrix, **more)

    sound = sparse.csr_array(np.eye(2))
    return {
        "dense": of(np.eye(2)),
        "nan": of(sparse.csr_array(np.array([[NAN, 1.0]]))),
        "complex": of(sparse.csr_array(np.array([[1j, 1.0]]))),
        "names-short": of(sound, nodes=["a"]),
        "names-twice": of(sound, nodes=["a", "a"]),
        "features-short": of(sound, features=["x"]),
        "features-numbers": of(sound, features=[1, 2]),
        "edges-other-size": of(sound, edges=sparse.csr_array(np.eye(3))),
        "edges-nan": of(sound, edges=sparse.csr_array(np.array([[0, NAN], [0, 0]]))),
        "edges-beyond": of(sound, edges=([0], [5])),
    }


def _networks() -> dict[str, Call]:
    import networkx as nx

    from grafenne import FeatureGraph

    def of(graph: Any, **more: Any) -> Call:
        return lambda: FeatureGraph.from_networkx(graph, **more)

    def node(**attributes: Any) -> Any:
        graph: Any = nx.Graph()
        graph.add_node("a", **attributes)
        return graph

    weighted: Any = nx.Graph()
    weighted.add_edge("a", "b", weight="heavy")
    infinite: Any = nx.Graph()
    infinite.add_edge("a", "b", weight=INF)
    return {
        "no-graph": of([("a", "b")]),
        "features-list": of(node(features=[1, 2])),
        "features-nan": of(node(features={"x": NAN})),
        "features-text": of(node(features={"x": "tall"})),
        "features-huge": of(node(features={"x": 10**400})),
        "features-unnamed": of(node(features={1: 1.0})),
        "weight-text": of(weighted),
        "weight-inf": of(infinite),
    }


def _tensors() -> dict[str, Call]:
    import torch
    from torch_geometric.data import Data

    from grafenne import FeatureGraph

    def of(data: Any, **more: Any) -> Call:
        return lambda: FeatureGraph.from_pyg(data, **more)

    ends = torch.tensor([[0], [1]])
    return {
        "no-data": of(3),
        "nan": of(Data(x=torch.tensor([[NAN, 1.0]]))),
        "edge-beyond": of(Data(x=torch.ones(2, 2), edge_index=ends + 5)),
        "edge-negative": of(Data(x=torch.ones(2, 2), edge_index=ends - 5)),
        "edge-shape": of(Data(x=torch.ones(2, 2), edge_index=torch.ones(3, 3).long())),
        "edge-float": of(Data(x=torch.ones(2, 2), edge_index=ends.float())),
        "labels-short": of(Data(x=torch.ones(2, 2), y=torch.tensor([1]))),
        "three-dimensions": of(Data(x=torch.ones(2, 2, 2))),
    }


def _queries() -> dict[str, Call]:
    from grafenne import Split, drop_features, random_split, split_edges
    from torture.bad_input_world import shop_graph

    graph = shop_graph(6)
    return {
        "features-of-nobody": lambda: graph.features_of("nobody"),
        "nodes-with-nothing": lambda: graph.nodes_with("nothing"),
        "neighbours-of-nobody": lambda: graph.neighbors("nobody"),
        "direction": lambda: shop_graph(6, directed=True).neighbors("i0", "up"),
        "subgraph-of-nobody": lambda: graph.subgraph(["nobody"]),
        "subgraph-twice": lambda: graph.subgraph(["i0", "i0"]),
        "with-features-nan": lambda: graph.with_features({"i0": {"watts": NAN}}),
        "with-features-text": lambda: graph.with_features({"i0": {"watts": "many"}}),
        "with-features-unnamed": lambda: graph.with_features({"i0": {3: 1.0}}),
        "with-labels-of-nobody": lambda: graph.with_labels({"nobody": "x"}),
        "rate-nan": lambda: drop_features(graph, NAN, seed=0),
        "rate-above": lambda: drop_features(graph, 1.5, seed=0),
        "rate-seed": lambda: drop_features(graph, 0.5, seed=-1),
        "split-seed": lambda: random_split(graph, -1),
        "split-seed-text": lambda: random_split(graph, "x"),  # type: ignore[arg-type]
        "pattern": lambda: drop_features(graph, 0.5, seed=0, pattern="all"),  # type: ignore[arg-type]
        "split-negative": lambda: Split([-1]),
        "split-twice": lambda: Split([1], [1]),
        "split-fractions": lambda: Split([0.5]),
        "split-text": lambda: Split(["a"]),
        "shares-nan": lambda: random_split(graph, 0, (NAN, 0.5, 0.5)),
        "shares-two": lambda: random_split(graph, 0, (0.5, 0.5)),  # type: ignore[arg-type]
        "shares-above-one": lambda: random_split(graph, 0, (0.9, 0.9, 0.9)),
        "split-without-labels": lambda: random_split(graph.with_labels(None), 0),
        "edge-shares": lambda: split_edges(graph, 0, (0.5, 0.1, 0.1)),
        "write-format": lambda: graph.write("out", format="pickle"),
    }
