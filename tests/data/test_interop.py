"""SciPy, networkx and PyG in and out."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from scipy import sparse
from torch_geometric.data import Data

from grafenne import FeatureGraph
from grafenne.errors import DataError, ParameterError
from tests.data.identical import assert_identical
from tests.strategies import feature_graphs


def small(directed: bool = False) -> FeatureGraph:
    """Three nodes, one without features; an observed zero; weights; a partly known class."""
    return FeatureGraph.from_arrays(
        ["a", "b", "c"],
        ["x", "y", "unused"],
        ([0, 0, 1], [0, 1, 1], [2.0, 0.0, -1.5]),
        ([0, 1, 2], [1, 2, 2], [0.5, 2.0, 3.0]),
        directed=directed,
        labels={"a": "red", "c": "blue"},
        feature_edges=([0], [1]),
    )


# ---- SciPy ---------------------------------------------------------------------------------------


@given(feature_graphs())
def test_scipy_round_trip_is_exact(graph: FeatureGraph) -> None:
    weights = () if graph.edges.weights is None else (graph.edges.weights,)
    expected = graph.replace(labels=None, feature_edges=None)
    found = FeatureGraph.from_scipy(
        graph.to_scipy(),
        nodes=graph.nodes,
        features=graph.features,
        edges=(graph.edges.sources, graph.edges.targets, *weights),
        directed=graph.directed,
    )
    assert_identical(found, expected)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_scipy_stored_zeros_are_observed(kind: type) -> None:
    matrix = kind((np.array([0.0, 3.0]), ([0, 1], [1, 0])), shape=(2, 2))
    graph = FeatureGraph.from_scipy(matrix, labels=[4, None])
    assert graph.features_of(0) == {"f1": 0.0}
    assert graph.features_of(1) == {"f0": 3.0}
    assert graph.label_of(0) == 4


def test_scipy_adjacency() -> None:
    matrix = sparse.csr_array((3, 1))
    ones = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    graph = FeatureGraph.from_scipy(matrix, edges=ones)
    assert (graph.num_edges, graph.edges.weights) == (2, None)
    graph = FeatureGraph.from_scipy(matrix, edges=ones * 2.0, directed=True)
    assert graph.num_edges == 4
    assert graph.edges.weights is not None
    assert graph.edges.weights.tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": ["a"]}, "1 node names but 2 rows"),
        ({"features": ["x", "y"]}, "2 feature names but 1 columns"),
        ({"edges": sparse.csr_array((3, 3))}, "2 x 2, got 3 x 3"),
        ({"edges": sparse.csr_array(np.array([[0, 1.5], [2, 0]]))}, "two different weights"),
        ({"edges": ([0], [2])}, "target position 2"),
        ({"labels": [1]}, "2 nodes but 1 labels"),
    ],
)
def test_scipy_bad_input(arguments: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        FeatureGraph.from_scipy(sparse.csr_array((2, 1)), **arguments)


def test_scipy_wants_sparse_matrices_without_repeated_or_infinite_cells() -> None:
    with pytest.raises(ParameterError, match="sparse matrix, got a ndarray"):
        FeatureGraph.from_scipy(np.eye(2))  # type: ignore[arg-type]
    twice = sparse.coo_array((np.ones(2), ([0, 0], [0, 0])), shape=(1, 1))
    with pytest.raises(DataError, match="Node 0 has feature 'f0' twice"):
        FeatureGraph.from_scipy(twice)
    infinite = sparse.coo_array((np.array([np.inf]), ([0], [0])), shape=(1, 1))
    with pytest.raises(DataError, match="Node 0 has the value inf for feature 'f0'"):
        FeatureGraph.from_scipy(infinite)


# ---- networkx ------------------------------------------------------------------------------------


@given(feature_graphs())
def test_networkx_round_trip_is_exact(graph: FeatureGraph) -> None:
    assert_identical(FeatureGraph.from_networkx(graph.to_networkx()), graph)


def test_networkx_scheme() -> None:
    graph = small().to_networkx()
    assert dict(graph.nodes(data=True)) == {
        "a": {"features": {"x": 2.0, "y": 0.0}, "label": "red"},
        "b": {"features": {"y": -1.5}},
        "c": {"features": {}, "label": "blue"},
    }
    assert list(graph.edges(data=True)) == [
        ("a", "b", {"weight": 0.5}),
        ("b", "c", {"weight": 2.0}),
        ("c", "c", {"weight": 3.0}),
    ]
    assert small(directed=True).to_networkx().is_directed()


def test_networkx_attributes_are_features() -> None:
    given = nx.DiGraph()
    given.add_node("a", age=3, team="red", member=True, gone=None, hole=float("nan"), kind="u")
    given.add_node("b", age=np.float32(0), kind="v")
    given.add_edge("a", "b")
    graph = FeatureGraph.from_networkx(given, label="kind")
    assert graph.features_of("a") == {"age": 3.0, "team=red": 1.0, "member=True": 1.0}
    assert graph.features_of("b") == {"age": 0.0}
    assert graph.directed
    assert graph.edges.weights is None
    assert [graph.label_of(node) for node in "ab"] == ["u", "v"]


def test_networkx_edge_without_weight_counts_one_among_weighted_edges() -> None:
    given = nx.Graph()
    given.add_edge("a", "b", cost=2.5)
    given.add_edge("b", "c")
    weights = FeatureGraph.from_networkx(given, weight="cost").edges.weights
    assert weights is not None
    assert weights.tolist() == [2.5, 1.0]


def test_networkx_parallel_edges_follow_the_rule() -> None:
    given = nx.MultiGraph([("a", "b", {"weight": 1.0}), ("a", "b", {"weight": 2.0})])
    with pytest.raises(DataError, match="'a' to 'b' is listed twice"):
        FeatureGraph.from_networkx(given)
    weights = FeatureGraph.from_networkx(given, duplicates="sum").edges.weights
    assert weights is not None
    assert weights.tolist() == [3.0]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"tags": ["a"]}, "attribute 'tags' of node 1 is a list"),
        ({"age": float("inf")}, "Node 1 has the value inf for feature 'age'"),
        ({"features": {"x": "tall"}}, "Node 1 has 'tall' for feature 'x'"),
    ],
)
def test_networkx_bad_attributes(attributes: dict, message: str) -> None:
    given = nx.Graph()
    given.add_node(1, **attributes)
    with pytest.raises(DataError, match=message):
        FeatureGraph.from_networkx(given)


def test_networkx_wants_a_graph_and_numeric_weights() -> None:
    with pytest.raises(ParameterError, match="got a dict"):
        FeatureGraph.from_networkx({})  # type: ignore[arg-type]
    with pytest.raises(DataError, match="edge from 1 to 2 is 'heavy'"):
        FeatureGraph.from_networkx(nx.Graph([(1, 2, {"weight": "heavy"})]))


# ---- PyG -----------------------------------------------------------------------------------------


@given(feature_graphs())
@settings(deadline=None)
def test_pyg_round_trip_is_exact(graph: FeatureGraph) -> None:
    assert_identical(FeatureGraph.from_pyg(graph.to_pyg()), graph)


def test_pyg_data_by_hand() -> None:
    data = small().to_pyg()
    assert data.x.layout == torch.sparse_csr
    assert data.x.crow_indices().tolist() == [0, 2, 3, 3]
    assert data.x.col_indices().tolist() == [0, 1, 1]
    assert data.x.values().tolist() == [2.0, 0.0, -1.5]
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]]
    assert data.edge_weight.tolist() == [0.5, 0.5, 2.0, 2.0, 3.0]
    assert data.y.tolist() == [1, -1, 0]
    assert data.classes == ["blue", "red"]
    assert (data.num_nodes, data.num_features) == (3, 3)
    assert small(directed=True).to_pyg().edge_index.tolist() == [[0, 1, 2], [1, 2, 2]]


def test_pyg_hetero_by_hand() -> None:
    data = small().to_pyg_hetero()
    data.validate()
    assert data["node"].num_nodes == 3
    assert data["node"].y.tolist() == [1, -1, 0]
    assert data["feature"].feature_names == ["x", "y", "unused"]
    assert data["feature", "of", "node"].edge_index.tolist() == [[0, 1, 1], [0, 0, 1]]
    assert data["node", "has", "feature"].edge_index.tolist() == [[0, 0, 1], [0, 1, 1]]
    assert data["node", "has", "feature"].edge_attr.tolist() == [[2.0], [0.0], [-1.5]]
    assert data["node", "to", "node"].edge_weight.tolist() == [0.5, 0.5, 2.0, 2.0, 3.0]
    assert data["feature", "to", "feature"].edge_index.tolist() == [[0, 1], [1, 0]]


DENSE = torch.tensor([[1.0, 0.0], [float("nan"), 2.0]])
MASK = torch.tensor([[True, True], [False, True]])


@pytest.mark.parametrize("sparse_mask", [False, True])
@pytest.mark.parametrize("sparse_x", [False, True])
def test_pyg_mask_says_which_cells_were_observed(sparse_x: bool, sparse_mask: bool) -> None:
    data = Data(x=DENSE.to_sparse() if sparse_x else DENSE)
    mask = MASK.to_sparse() if sparse_mask else MASK
    graph = FeatureGraph.from_pyg(data, mask)
    assert [graph.features_of(node) for node in (0, 1)] == [{"f0": 1.0}, {"f1": 2.0}]
    graph = FeatureGraph.from_pyg(data, mask, observed_zeros=True)
    assert [graph.features_of(node) for node in (0, 1)] == [{"f0": 1.0, "f1": 0.0}, {"f1": 2.0}]


def test_pyg_zeros_of_a_dense_matrix() -> None:
    data = Data(x=torch.tensor([[1, 0]]))
    assert FeatureGraph.from_pyg(data).features_of(0) == {"f0": 1.0}
    assert FeatureGraph.from_pyg(data, observed_zeros=True).features_of(0) == {"f0": 1, "f1": 0}


def test_pyg_direction_is_found_out() -> None:
    both = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert not FeatureGraph.from_pyg(both).directed
    assert FeatureGraph.from_pyg(both, directed=True).num_edges == 2
    both.edge_attr = torch.tensor([[1.0], [2.0]])
    assert FeatureGraph.from_pyg(both).directed
    one = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]))
    assert FeatureGraph.from_pyg(one).directed


def test_edges_that_are_listed_both_ways_are_not_summed_with_themselves() -> None:
    matrix = sparse.csr_array(np.array([[5.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 0.0]]))
    graph = FeatureGraph.from_scipy(
        sparse.csr_array((3, 1)), edges=matrix, duplicates="sum", directed=False
    )
    assert graph.edges.weights is not None
    assert graph.edges.weights.tolist() == [5.0, 2.0, 3.0]
    ends = torch.tensor([[0, 0, 1, 1, 2], [1, 1, 0, 0, 2]])
    data = Data(x=torch.ones(3, 1), edge_index=ends, edge_weight=torch.tensor([1.0, 2, 1, 2, 7]))
    for directed in (None, False):
        graph = FeatureGraph.from_pyg(data, directed=directed, duplicates="sum")
        assert not graph.directed
        assert graph.edges.weights is not None
        assert graph.edges.weights.tolist() == [3.0, 7.0]


def test_pyg_labels() -> None:
    graph = FeatureGraph.from_pyg(Data(x=torch.zeros(2, 1), y=torch.tensor([[3], [-1]])))
    assert [graph.label_of(node) for node in (0, 1)] == [3, None]
    graph = FeatureGraph.from_pyg(Data(x=torch.zeros(2, 1), y=torch.tensor([0.5, float("nan")])))
    assert [graph.label_of(node) for node in (0, 1)] == [0.5, None]


def test_pyg_without_features() -> None:
    graph = FeatureGraph.from_pyg(Data(edge_index=torch.tensor([[0], [2]]), num_nodes=3))
    assert (graph.num_nodes, graph.num_features, graph.num_edges) == (3, 0, 1)


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (Data(x=torch.zeros(2)), {}, r"two dimensions, got the shape \(2,\)"),
        (Data(x=DENSE), {}, "Node 1 has the value nan for feature 'f0'"),
        (Data(x=DENSE), {"mask": MASK[:1]}, r"shape of data.x, \(2, 2\), got \(1, 2\)"),
        (Data(x=DENSE), {"mask": MASK.float()}, "mask must hold truth values"),
        (Data(x=DENSE.to_sparse()), {"observed_zeros": True}, "needs a mask"),
        (Data(num_nodes=1), {"mask": MASK}, "A mask needs data.x"),
        (Data(x=torch.ones(2, 1), y=torch.ones(2, 2)), {}, r"2 nodes, got \(2, 2\)"),
        (Data(x=torch.ones(2, 1), node_ids=["a"]), {}, "node_ids has 1 names"),
        (Data(x=torch.ones(1, 1), edge_index=torch.tensor([[0], [1]])), {}, "target position 1"),
        (Data(x=torch.ones(1, 1), edge_index=torch.tensor([0, 0])), {}, r"must be \[2, edges\]"),
        (
            Data(x=torch.ones(1, 1), y=torch.tensor([2]), classes=["a"]),
            {},
            "between -1 and 0",
        ),
    ],
)
def test_pyg_bad_input(data: Data, arguments: dict, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        FeatureGraph.from_pyg(data, **arguments)
