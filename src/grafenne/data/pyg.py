"""Graphs from PyTorch Geometric's ``Data``, and back."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grafenne.data.edges import EdgeList, is_symmetric, one_way
from grafenne.data.feature_graph import FeatureGraph, feature_vocabulary
from grafenne.data.labels import Labels
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import Data, HeteroData

Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def graph_to_pyg(graph: FeatureGraph) -> Data:
    """What :meth:`FeatureGraph.to_pyg` does."""
    import torch
    from torch_geometric.data import Data

    values = graph.values
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        x = torch.sparse_csr_tensor(
            torch.from_numpy(values.indptr.copy()),
            torch.from_numpy(values.indices.astype(np.int64)),
            torch.from_numpy(values.data.copy()),
            size=(graph.num_nodes, graph.num_features),
            check_invariants=True,
        )
    data = Data(x=x)
    data.edge_index, weight = _edge_tensors(graph.edges)
    if weight is not None:
        data.edge_weight = weight
    _add_labels(data, graph)
    data.node_ids = list(graph.nodes)
    data.feature_names = list(graph.features)
    data.directed = graph.directed
    if len(graph.feature_edges) or graph.feature_edges.weights is not None:
        data.feature_edge_index, weight = _edge_tensors(graph.feature_edges)
        if weight is not None:
            data.feature_edge_weight = weight
    return data


def graph_to_pyg_hetero(graph: FeatureGraph) -> HeteroData:
    """What :meth:`FeatureGraph.to_pyg_hetero` does."""
    import torch
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data["node"].num_nodes = graph.num_nodes
    data["node"].node_ids = list(graph.nodes)
    _add_labels(data["node"], graph)
    data["feature"].num_nodes = graph.num_features
    data["feature"].feature_names = list(graph.features)

    node = torch.from_numpy(graph.values.rows.astype(np.int64))
    feature = torch.from_numpy(graph.values.indices.astype(np.int64))
    value = torch.from_numpy(graph.values.data.copy()).unsqueeze(1)  # [num_values, 1]
    data["feature", "of", "node"].edge_index = torch.stack((feature, node))
    data["feature", "of", "node"].edge_attr = value
    data["node", "has", "feature"].edge_index = torch.stack((node, feature))
    data["node", "has", "feature"].edge_attr = value
    stores = [(data["node", "to", "node"], graph.edges)]
    if len(graph.feature_edges):
        stores.append((data["feature", "to", "feature"], graph.feature_edges))
    for store, edges in stores:
        store.edge_index, weight = _edge_tensors(edges)
        if weight is not None:
            store.edge_weight = weight
    return data


def graph_from_pyg(
    data: Data,
    mask: torch.Tensor | None,
    observed_zeros: bool,
    directed: bool | None,
    *,
    duplicates: str,
) -> FeatureGraph:
    """What :meth:`FeatureGraph.from_pyg` does."""
    from torch_geometric.data import Data as PygData

    if not isinstance(data, PygData):
        raise ParameterError(
            f"data must be a torch_geometric Data object, got a {type(data).__name__}."
        )
    x = data.get("x")
    count = int(data.num_nodes or 0)
    width = 0
    cells: Cells = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    if x is not None:
        if x.dim() != 2:
            raise DataError(f"data.x must have two dimensions, got the shape {tuple(x.shape)}.")
        count, width = x.shape
        cells = _observed(x, mask, observed_zeros)
    elif mask is not None:
        raise ParameterError("A mask needs data.x.")
    nodes = Vocabulary(_names(data, "node_ids", count, range(count)), kind="node")
    default = [f"f{place}" for place in range(width)]
    features = feature_vocabulary(_names(data, "feature_names", width, default))
    source, target, weight = _read_edges(data, "edge", len(nodes))
    if directed is None:
        directed = data.get("directed")
    both_ways = is_symmetric(source, target, weight, len(nodes))
    if directed is None:
        directed = not both_ways
    if both_ways and not directed:
        source, target, weight = one_way(source, target, weight)
    return FeatureGraph(
        nodes,
        features,
        FeatureValues.build(*cells, nodes=nodes, features=features),
        EdgeList.build(
            source, target, weight, names=nodes, directed=bool(directed), duplicates=duplicates
        ),
        _read_labels(data, nodes),
        _feature_edge_list(data, features),
    )


def _edge_tensors(edges: EdgeList) -> tuple[torch.Tensor, torch.Tensor | None]:
    """``[2, num_messages]`` and the weights; undirected edges both ways, sorted."""
    import torch

    source, target, weight = edges.sources, edges.targets, edges.weights
    if not edges.directed:
        back = source != target
        source, target = (
            np.concatenate((source, target[back])),
            np.concatenate((target, source[back])),
        )
        weight = None if weight is None else np.concatenate((weight, weight[back]))
    order = np.lexsort((target, source))
    index = torch.from_numpy(np.stack((source[order], target[order])))
    return index, None if weight is None else torch.from_numpy(weight[order])


def _add_labels(store: Any, graph: FeatureGraph) -> None:
    import torch

    if graph.labels is not None:
        store.y = torch.from_numpy(graph.labels.values.copy())
        if graph.labels.kind == "class":
            store.classes = list(graph.labels.classes)


def _observed(x: torch.Tensor, mask: torch.Tensor | None, observed_zeros: bool) -> Cells:
    """The observed cells of ``x``: their rows, columns and values."""
    import torch

    if mask is not None:
        if mask.dtype != torch.bool:
            raise ParameterError(f"mask must hold truth values, got {mask.dtype}.")
        if mask.shape != x.shape:
            raise ParameterError(
                f"mask must be of the shape of data.x, {tuple(x.shape)}, got {tuple(mask.shape)}."
            )
    if x.layout != torch.strided:
        return _observed_sparse(x, mask, observed_zeros)
    if mask is None:
        mask = torch.ones_like(x, dtype=torch.bool) if observed_zeros else x != 0
    rows, columns = _true_cells(mask)
    values = _numpy(x.detach()[rows, columns])
    kept = slice(None) if observed_zeros else values != 0
    return rows.numpy()[kept], columns.numpy()[kept], values[kept]


def _observed_sparse(x: torch.Tensor, mask: torch.Tensor | None, observed_zeros: bool) -> Cells:

    cells = _as_coo(x.detach())
    rows, columns = (part.cpu().numpy() for part in cells.indices())
    values = _numpy(cells.values())
    if mask is None:
        if observed_zeros:
            raise ParameterError(
                "With a sparse data.x, observed_zeros needs a mask of the observed cells."
            )
        return rows, columns, values
    width = max(x.shape[1], 1)
    stored = rows * width + columns
    seen_rows, seen_columns = (part.numpy() for part in _true_cells(mask))
    seen = seen_rows * width + seen_columns
    kept = np.isin(stored, seen)
    rows, columns, values = rows[kept], columns[kept], values[kept]
    if observed_zeros:
        zero = ~np.isin(seen, stored)
        rows = np.concatenate((rows, seen_rows[zero]))
        columns = np.concatenate((columns, seen_columns[zero]))
        values = np.concatenate((values, np.zeros(int(zero.sum()), dtype=values.dtype)))
    return rows, columns, values


def _true_cells(mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    if mask.layout != torch.strided:
        cells = _as_coo(mask)
        index = cells.indices()[:, cells.values()]
    else:
        index = mask.nonzero().t()
    rows, columns = index.cpu()
    return rows, columns


def _as_coo(tensor: Any) -> torch.Tensor:
    merged: torch.Tensor = tensor.to_sparse_coo().coalesce()  # keeps stored zeros
    return merged


def _numpy(tensor: torch.Tensor) -> NDArray[Any]:
    import torch

    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _names(data: Data, key: str, count: int, default: Any) -> Any:
    given = data.get(key)
    if given is None:
        return default
    if len(given) != count:
        raise DataError(f"data.{key} has {len(given)} names, but there are {count} of them in x.")
    return given.tolist() if hasattr(given, "tolist") else list(given)


def _read_edges(
    data: Data, kind: str, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
    index = data.get(f"{kind}_index")
    if index is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), None
    if index.dim() != 2 or index.shape[0] != 2:
        raise DataError(f"data.{kind}_index must be [2, edges], got {tuple(index.shape)}.")
    weight = data.get(f"{kind}_weight")
    if weight is None and kind == "edge":
        attributes = data.get("edge_attr")
        if attributes is not None and attributes.numel() == index.shape[1]:
            weight = attributes.reshape(-1)  # other edge attributes are no weights
    source, target = _numpy(index)
    return source, target, None if weight is None else _numpy(weight)


def _read_labels(data: Data, nodes: Vocabulary) -> Labels | None:
    y = data.get("y")
    if y is None:
        return None
    if y.numel() != len(nodes) or (y.dim() > 1 and y.shape[1:].numel() != 1):
        raise DataError(
            f"data.y must hold one label for each of {len(nodes)} nodes, got {tuple(y.shape)}."
        )
    values = _numpy(y.reshape(-1))
    if values.dtype.kind == "f":
        return Labels.build(values.astype(np.float64), nodes, "number")
    classes = data.get("classes")
    if classes is None:
        known = values != -1
        names, codes = np.unique(values[known], return_inverse=True)
        numbers = np.full(len(nodes), -1, dtype=np.int64)
        numbers[known] = codes
        return Labels("class", numbers, tuple(names.tolist()))
    if len(values) and not -1 <= values.min() <= values.max() < len(classes):
        raise DataError(f"data.y must lie between -1 and {len(classes) - 1}, as data.classes says.")
    return Labels("class", values.astype(np.int64), tuple(classes))


def _feature_edge_list(data: Data, features: Vocabulary) -> EdgeList:
    source, target, weight = _read_edges(data, "feature_edge", len(features))
    return EdgeList.build(source, target, weight, names=features)
