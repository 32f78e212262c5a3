"""A graph whose nodes have different features (the paper's Definition 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from grafenne.data import summary
from grafenne.data.conversions import Conversions
from grafenne.data.edges import EdgeList
from grafenne.data.labels import LabelKind, Labels
from grafenne.data.values import FeatureValues, as_values
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, shown

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.delta import GraphDelta

Triples = tuple[ArrayLike, ArrayLike, ArrayLike]


class FeatureGraph(Conversions):
    """Nodes, edges, and triples *(node, feature, value)* with named features.

    Every node ``v`` has its own set of features ``F_v``. A feature that a node does not have is
    *absent*, which is neither zero nor NaN: there is simply no triple. The graph never changes;
    the methods that alter it return a new one and share what stays the same.

    Most graphs come from tables, by :meth:`from_frames` or :meth:`read`; this constructor takes
    parts that are already checked.

    Two graphs are equal when they say the same about the same nodes, in whatever order.

    Args:
        nodes: Node ids.
        features: Feature names. It may hold names that no node has (any more).
        values: The triples.
        edges: Edges among the nodes.
        labels: What is known about the nodes.
        feature_edges: Edges among the features, for data that has them.
    """

    def __init__(
        self,
        nodes: Vocabulary,
        features: Vocabulary,
        values: FeatureValues,
        edges: EdgeList | None = None,
        labels: Labels | None = None,
        feature_edges: EdgeList | None = None,
    ) -> None:
        self.nodes = nodes
        self.features = features
        self.values = values
        self.edges = edges if edges is not None else EdgeList.empty(len(nodes))
        self.labels = labels
        self.feature_edges = (
            feature_edges if feature_edges is not None else EdgeList.empty(len(features))
        )
        if self.feature_edges.directed:
            raise DataError("Edges among features have no direction.")
        sizes: dict[str, tuple[int, ...]] = {
            "nodes": (len(nodes), values.num_nodes, self.edges.size),
            "features": (len(features), values.num_features, self.feature_edges.size),
        }
        if labels is not None:
            sizes["nodes"] += (len(labels.values),)
        for kind, counts in sizes.items():
            if len(set(counts)) > 1:
                raise DataError(f"The parts of a graph disagree on the number of {kind}: {counts}.")

    @classmethod
    def from_arrays(
        cls,
        nodes: int | Iterable[Hashable],
        features: int | Iterable[str],
        triples: Triples | None = None,
        edges: tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        *,
        directed: bool = False,
        labels: Mapping[Hashable, Any] | Sequence[Any] | NDArray[Any] | None = None,
        label_kind: LabelKind | None = None,
        feature_edges: tuple[ArrayLike, ...] | None = None,
        duplicates: str = "error",
    ) -> FeatureGraph:
        """A graph from positions: the fastest way in, and what every other way ends in.

        Args:
            nodes: Node ids, or how many nodes there are (their ids are then 0, 1, 2, …).
            features: Feature names, or how many there are (``f0``, ``f1``, …).
            triples: ``(node positions, feature positions, values)``.
            edges: ``(source positions, target positions)``, optionally with weights.
            directed: Whether the edges have a direction.
            labels: ``{node: label}`` or one label per node.
            label_kind: ``class`` or ``number``, where the labels leave a doubt.
            feature_edges: Edges among features, like ``edges``; never directed.
            duplicates: What a repeated triple or edge means: ``error``, ``first``, ``last``,
                ``sum``.
        """
        _check_names("nodes", nodes)
        _check_names("features", features)
        for what, arrays, counts in (("triples", triples, (3,)), ("edges", edges, (2, 3))):
            if arrays is not None and len(arrays) not in counts:
                allowed = " or ".join(map(str, counts))
                raise ParameterError(f"{what} are {allowed} arrays, got {len(arrays)}.")
        node_names = Vocabulary(range(nodes) if isinstance(nodes, int) else nodes, kind="node")
        names = (f"f{i}" for i in range(features)) if isinstance(features, int) else features
        feature_names = feature_vocabulary(names)
        if triples is None:
            values = FeatureValues.empty(len(node_names), len(feature_names))
        else:
            values = FeatureValues.build(
                *triples, nodes=node_names, features=feature_names, duplicates=duplicates
            )
        return cls(
            node_names,
            feature_names,
            values,
            EdgeList.build(
                *(([], []) if edges is None else edges),
                names=node_names,
                directed=directed,
                duplicates=duplicates,
            ),
            None if labels is None else Labels.build(labels, node_names, label_kind),
            EdgeList.build(
                *(([], []) if feature_edges is None else feature_edges), names=feature_names
            ),
        )

    # ---- counts and queries ------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """Number of nodes, |V|."""
        return len(self.nodes)

    @property
    def num_features(self) -> int:
        """Number of known feature names, used or not."""
        return len(self.features)

    @cached_property
    def num_used_features(self) -> int:
        """Number of features that at least one node has, the paper's |F|."""
        return int((self.values.feature_counts > 0).sum())

    @property
    def num_values(self) -> int:
        """Number of triples."""
        return len(self.values)

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return len(self.edges)

    @property
    def directed(self) -> bool:
        """Whether the edges have a direction."""
        return self.edges.directed

    def features_of(self, node: Hashable) -> dict[str, float]:
        """The features of a node with their values, F_v and x_v."""
        position = self.nodes.position(node)
        span = slice(self.values.indptr[position], self.values.indptr[position + 1])
        names = self.features.take(self.values.indices[span])
        return dict(zip(names, self.values.data[span].tolist(), strict=True))

    def nodes_with(self, feature: str) -> dict[Hashable, float]:
        """The nodes that have a feature, with their values."""
        position = self.features.position(feature)
        columns = self.values.by_feature
        span = slice(columns.indptr[position], columns.indptr[position + 1])
        names = self.nodes.take(columns.indices[span])
        return dict(zip(names, self.values.data[columns.data[span]].tolist(), strict=True))

    def neighbors(self, node: Hashable, direction: str = "both") -> list[Hashable]:
        """The nodes joined to ``node``: ``in``, ``out`` or ``both`` for directed edges."""
        position = self.nodes.position(node)
        reach = self.edges.incoming(direction)
        return self.nodes.take(reach.indices[reach.indptr[position] : reach.indptr[position + 1]])

    def label_of(self, node: Hashable) -> Any:
        """The label of a node, ``None`` if it has none."""
        position = self.nodes.position(node)
        return None if self.labels is None else self.labels.label(position)

    def describe(self) -> pd.DataFrame:
        """A table of counts, degrees and sparsity."""
        return summary.describe(self)

    def __repr__(self) -> str:
        return summary.one_line(self)

    # ---- equality ----------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureGraph):
            return NotImplemented
        return self is other or summary.same_content(self, other)

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.num_used_features, self.num_values, self.num_edges))

    # ---- altered copies ----------------------------------------------------------------------

    def replace(self, **parts: Any) -> FeatureGraph:
        """A copy with some parts replaced (``values``, ``edges``, ``labels``, …)."""
        names = ("nodes", "features", "values", "edges", "labels", "feature_edges")
        unknown = set(parts) - set(names)
        if unknown:
            raise TypeError(f"a graph has no part called {unknown.pop()!r}")
        return FeatureGraph(**{name: parts.get(name, getattr(self, name)) for name in names})

    def subgraph(self, nodes: Iterable[Hashable]) -> FeatureGraph:
        """The given nodes, in that order, with their features, labels and mutual edges."""
        kept = self.nodes.positions(list(nodes))
        return self.subgraph_at(kept)

    def subgraph_at(self, positions: NDArray[np.int64]) -> FeatureGraph:
        """:meth:`subgraph` by position."""
        names = Vocabulary(self.nodes.take(positions), kind="node")
        new_position = np.full(self.num_nodes, -1, dtype=np.int64)
        new_position[positions] = np.arange(len(positions))
        return FeatureGraph(
            names,
            self.features,
            FeatureValues.from_scipy(self.values.to_scipy()[positions]),
            self.edges.renumbered(new_position, names),
            None if self.labels is None else self.labels.take(positions),
            self.feature_edges,
        )

    def with_features(
        self, triples: pd.DataFrame | Mapping[Hashable, Mapping[str, float]]
    ) -> FeatureGraph:
        """A copy with more triples, or new values for triples it has.

        Args:
            triples: A frame with the columns ``node, feature, value``, or
                ``{node: {feature: value}}``.
        """
        if isinstance(triples, Mapping):
            rows = [(n, f, v) for n, values in triples.items() for f, v in values.items()]
        else:
            from grafenne.data.frames import rows_of

            rows = rows_of(triples)
        features = feature_vocabulary([row[1] for row in rows], self.features)
        node = self.nodes.positions([row[0] for row in rows])
        feature = features.positions([row[1] for row in rows])
        if len(np.unique(node * len(features) + feature)) < len(rows):
            FeatureValues.build(  # names the triple that is given twice
                node, feature, [row[2] for row in rows], nodes=self.nodes, features=features
            )
        values = FeatureValues.build(
            np.concatenate((self.values.rows, node)),
            np.concatenate((self.values.indices, feature)),
            np.concatenate((self.values.data, as_values([row[2] for row in rows]))),
            nodes=self.nodes,
            features=features,
            duplicates="last",
        )
        return self.replace(
            features=features,
            values=values,
            feature_edges=self.feature_edges.resized(len(features)),
        )

    def without_features(
        self, features: Iterable[str], nodes: Iterable[Hashable] | None = None
    ) -> FeatureGraph:
        """A copy without the triples of these features (at these nodes only, where given).

        The names stay in the vocabulary, so no other feature is renumbered.
        """
        features = [features] if isinstance(features, str) else list(features)
        dropped = np.zeros(self.num_features, dtype=bool)
        dropped[self.features.positions(features)] = True
        out = dropped[self.values.indices]
        if nodes is not None:
            touched = np.zeros(self.num_nodes, dtype=bool)
            touched[self.nodes.positions(list(nodes))] = True
            out &= touched[self.values.rows]
        return self.replace(values=self.values.take(~out))

    def with_labels(
        self,
        labels: Mapping[Hashable, Any] | Sequence[Any] | NDArray[Any] | None,
        kind: LabelKind | None = None,
    ) -> FeatureGraph:
        """A copy with other labels, or with none."""
        built = None if labels is None else Labels.build(labels, self.nodes, kind)
        return self.replace(labels=built)

    # ---- change ------------------------------------------------------------------------------

    def apply(self, delta: GraphDelta) -> FeatureGraph:
        """The graph after a change; a change that does not fit raises an error."""
        from grafenne.data.apply import apply_delta

        return apply_delta(self, delta)

    def diff(self, other: FeatureGraph) -> GraphDelta:
        """The change that turns this graph into ``other``: ``a.apply(a.diff(b)) == b``."""
        from grafenne.data.apply import diff_graphs

        return diff_graphs(self, other)

    def to_scipy(self) -> sparse.csr_array:
        """The triples as a SciPy CSR matrix; stored zeros are observed zeros."""
        copy: sparse.csr_array = self.values.to_scipy().copy()
        return copy


def _check_names(what: str, names: object) -> None:
    if isinstance(names, int) and names < 0:
        raise ParameterError(f"The number of {what} must not be negative, got {names}.")
    if not isinstance(names, int | Iterable):
        raise ParameterError(f"{what} must be names or their number, got {shown(names)}.")


def feature_vocabulary(names: Iterable[str], known: Vocabulary | None = None) -> Vocabulary:
    """A vocabulary of feature names, grown from ``known`` where given; names are text."""
    names = list(names)
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"Feature names must be text, got {name!r}.")
    return Vocabulary(names, kind="feature") if known is None else known.extended(names)
