"""The ways into and out of a :class:`FeatureGraph`, gathered on one base class."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import torch
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse
    from torch_geometric.data import Data, HeteroData

    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.frames import GraphFrames
    from grafenne.data.labels import LabelKind

    PathLike = str | os.PathLike[str]
    TableLike = pd.DataFrame | PathLike
    LabelsLike = TableLike | pd.Series[Any] | Mapping[Any, Any]
    ArrayEdges = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike]


class Conversions:
    """In from frames, files, SciPy, networkx and PyG, and out again.

    Column names are fixed: ``node, feature, value`` for features, ``source, target`` and
    optionally ``weight`` for edges, ``node, label`` for labels, ``node`` for nodes.
    """

    # ---- frames ------------------------------------------------------------------------------

    @classmethod
    def from_frames(
        cls,
        features: TableLike | None = None,
        edges: TableLike | None = None,
        labels: LabelsLike | None = None,
        nodes: TableLike | Iterable[Hashable] | None = None,
        feature_edges: TableLike | None = None,
        *,
        vocabulary: TableLike | Iterable[str] | None = None,
        directed: bool = False,
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from long tables: the front door.

        Every table is a pandas frame or the path of a CSV, TSV or Parquet file. Ids keep their
        type; in text files they are text. Other columns are ignored.

        The nodes are those of ``nodes``, ``features`` and ``labels``, in this order of first
        appearance. An edge to any other node is an error, so that a misspelt id does not go
        unnoticed; only where neither ``nodes`` nor ``features`` is given the edges say which
        nodes there are.

        Args:
            features: ``node, feature, value``; without the column ``value`` every value is 1. A
                triple that is not listed is absent, a listed zero is an observed value.
            edges: ``source, target`` and optionally ``weight``.
            labels: ``node, label``, a Series indexed by node, or ``{node: label}``. Fractions are
                numbers, everything else class names; a missing label is unknown.
            nodes: ``node``, or any collection of ids; for nodes that have neither features nor
                labels, or to fix their order.
            feature_edges: ``source, target`` and optionally ``weight``, between features.
            vocabulary: ``feature``, or any collection of feature names; to fix their order, or
                to keep names that no node has.
            directed: Whether the edges have a direction.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            duplicates: What a triple or edge listed twice means: ``error``, ``first``, ``last``,
                ``sum``.

        Example:
            >>> import pandas as pd
            >>> features = pd.DataFrame(
            ...     {"node": ["ann", "ann", "bob"], "feature": ["age", "plays=chess", "age"],
            ...      "value": [31.0, 1.0, 27.0]}
            ... )
            >>> edges = pd.DataFrame({"source": ["ann"], "target": ["bob"]})
            >>> FeatureGraph.from_frames(features, edges, labels={"ann": "staff"})
            FeatureGraph(2 nodes, 1 edges, 2 features, 3 values, 1 classes)
        """
        from grafenne.data.frames import graph_from_frames

        parts = {
            "features": features,
            "edges": edges,
            "labels": labels,
            "nodes": nodes,
            "feature_edges": feature_edges,
            "vocabulary": vocabulary,
        }
        return graph_from_frames(
            parts, directed=directed, label_kind=label_kind, duplicates=duplicates
        )

    @classmethod
    def from_wide(
        cls,
        frame: TableLike,
        edges: TableLike | None = None,
        labels: LabelsLike | None = None,
        *,
        node: Hashable | None = None,
        label: Hashable | None = None,
        columns: Mapping[Any, str] | None = None,
        directed: bool = False,
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from a frame with a row per node and a column per attribute.

        A missing cell is an absent feature. A column of numbers becomes one feature of that
        name; categories, text and truth values become features ``column=value`` with value 1.

        Args:
            frame: The frame, or the path of a CSV, TSV or Parquet file. In a text file a column
                holds numbers if all of its cells are numbers; codes with leading zeros are text.
            edges: ``source, target`` and optionally ``weight``.
            labels: As in :meth:`from_frames`, unless ``label`` is given.
            node: Column with the ids; by default the index, of a file the column ``node``.
            label: Column with the labels.
            columns: What a column is, where the rule above is not what is meant: ``number``,
                ``category``, ``text`` (every distinct word of it, in lower case, becomes a
                feature ``column:word``) or ``ignore``.
            directed: Whether the edges have a direction.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            duplicates: What an edge listed twice means.
        """
        from grafenne.data.wide import graph_from_wide

        return graph_from_wide(
            frame,
            edges,
            labels,
            node=node,
            label=label,
            columns=columns or {},
            directed=directed,
            label_kind=label_kind,
            duplicates=duplicates,
        )

    def to_frames(self) -> GraphFrames:
        """The graph as long frames, a named tuple that :meth:`from_frames` takes back."""
        from grafenne.data.frames import graph_to_frames

        return graph_to_frames(cast("FeatureGraph", self))

    # ---- folders -----------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        folder: PathLike,
        *,
        directed: bool | None = None,
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from a folder of tables.

        The tables are ``features.*``, ``edges.*``, and where needed ``labels.*``, ``nodes.*``,
        ``feature_edges.*`` and ``vocabulary.*``, with the columns of :meth:`from_frames`, each as
        ``.csv``, ``.tsv`` (both also with ``.gz``) or ``.parquet``. A folder that :meth:`write`
        made comes back exactly. In CSV files of other origin ids are text, and labels are class
        names unless they are fractions.

        Args:
            folder: The folder.
            directed: Whether the edges have a direction; by default what ``graph.json`` says, or
                no.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            duplicates: What a triple or edge listed twice means.
        """
        from grafenne.data.folder import read_folder

        return read_folder(folder, directed=directed, label_kind=label_kind, duplicates=duplicates)

    def write(self, folder: PathLike, format: str = "parquet") -> None:
        """Writes the graph as a folder of tables that :meth:`read` takes back exactly.

        The folder appears whole or not at all; one that holds anything but an older graph is
        refused. Ids must be all text or all whole numbers.

        Args:
            folder: The folder.
            format: ``parquet``, ``csv`` or ``tsv``; or ``mapped`` for arrays that are mapped
                into memory rather than read (:mod:`grafenne.data.mapped`).
        """
        from grafenne.data.folder import write_folder

        write_folder(cast("FeatureGraph", self), folder, format)

    # ---- other libraries ---------------------------------------------------------------------

    @classmethod
    def from_scipy(
        cls,
        matrix: sparse.sparray | sparse.spmatrix,
        *,
        nodes: Iterable[Hashable] | None = None,
        features: Iterable[str] | None = None,
        edges: sparse.sparray | sparse.spmatrix | ArrayEdges | None = None,
        labels: Mapping[Hashable, Any] | Sequence[Any] | NDArray[Any] | None = None,
        directed: bool = False,
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from a sparse matrix with a row per node and a column per feature.

        Args:
            matrix: The values; stored zeros are observed zeros.
            nodes: Ids of the rows, 0, 1, 2, … by default.
            features: Names of the columns, ``f0``, ``f1``, … by default.
            edges: A sparse adjacency matrix, whose entry ``[i, j]`` is the weight of the edge
                from ``i`` to ``j`` (entries that are all 1 are no weights), or a pair of arrays of
                positions, optionally with weights.
            labels: ``{node: label}`` or one label per node.
            directed: Whether the edges have a direction.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            duplicates: What a cell or edge stored twice means.
        """
        from grafenne.data.matrices import graph_from_scipy

        return graph_from_scipy(
            matrix,
            nodes=nodes,
            features=features,
            edges=edges,
            labels=labels,
            directed=directed,
            label_kind=label_kind,
            duplicates=duplicates,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph[Any],
        label: str | None = None,
        *,
        weight: str = "weight",
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from networkx, whose node attributes are the features.

        A number becomes a feature of that name, text and truth values become ``attribute=value``
        with value 1, ``None`` and NaN are absent. An attribute ``features`` that is a mapping is
        taken as ``{feature: value}``; that is how :meth:`to_networkx` stores them.

        Args:
            graph: The graph; a ``DiGraph`` has directed edges.
            label: Node attribute that holds the label.
            weight: Edge attribute that holds the weight; an edge without it counts 1 if others
                have it.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            duplicates: What parallel edges of a multigraph mean.
        """
        from grafenne.data.networkx_graphs import graph_from_networkx

        return graph_from_networkx(
            graph, label, weight=weight, label_kind=label_kind, duplicates=duplicates
        )

    def to_networkx(self) -> nx.Graph[Any]:
        """A networkx ``Graph`` or ``DiGraph`` that :meth:`from_networkx` takes back exactly.

        Each node has an attribute ``features``, ``{feature: value}``, and where known ``label``;
        edges may have a ``weight``. ``graph.graph["grafenne"]`` holds the rest.
        """
        from grafenne.data.networkx_graphs import graph_to_networkx

        return graph_to_networkx(cast("FeatureGraph", self))

    @classmethod
    def from_pyg(
        cls,
        data: Data,
        mask: torch.Tensor | None = None,
        observed_zeros: bool = False,
        directed: bool | None = None,
        *,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from PyG ``Data``.

        ``node_ids`` and ``feature_names`` are used where ``data`` has them. A ``y`` of whole
        numbers holds class names (positions in ``data.classes`` where it has them, -1 for
        unknown), one of fractions holds numbers (NaN for unknown).

        Args:
            data: ``x`` dense or sparse, ``edge_index``, and optionally ``edge_weight`` (or an
                ``edge_attr`` of one column) and ``y``.
            mask: Truth values, ``[num_nodes, num_features]``: the cells that were observed.
            observed_zeros: Whether zeros among the observed cells are values too. Zeros that a
                sparse ``x`` stores always are.
            directed: Whether the edges have a direction; by default what ``data.directed`` says,
                or whether some edge lacks its reverse.
            duplicates: What an edge listed twice means.
        """
        from grafenne.data.pyg import graph_from_pyg

        return graph_from_pyg(data, mask, observed_zeros, directed, duplicates=duplicates)

    def to_pyg(self) -> Data:
        """PyG ``Data`` that :meth:`from_pyg` takes back exactly.

        ``x`` is a sparse CSR tensor, ``[num_nodes, num_features]``; ``edge_index`` holds
        undirected edges both ways, ``edge_weight`` the weights; ``y`` the position in ``classes``
        (-1 for unknown) or the number (NaN for unknown). ``node_ids``, ``feature_names`` and
        ``directed`` are attributes too.
        """
        from grafenne.data.pyg import graph_to_pyg

        return graph_to_pyg(cast("FeatureGraph", self))

    def to_pyg_hetero(self) -> HeteroData:
        """PyG ``HeteroData`` with nodes and features as two types of nodes.

        The edge types are ``('node', 'to', 'node')``, ``('feature', 'of', 'node')`` and
        ``('node', 'has', 'feature')`` with the values as ``edge_attr``, ``[num_values, 1]``, and
        ``('feature', 'to', 'feature')`` where there are such edges.
        """
        from grafenne.data.pyg import graph_to_pyg_hetero

        return graph_to_pyg_hetero(cast("FeatureGraph", self))
