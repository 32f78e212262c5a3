"""The data of a seed: which cells are missing and what is trained, validated and tested on.

Everything here depends on the dataset, the missing rate and the seed alone, so all methods get
the same splits and the same missing cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grafenne.data.missing import drop_features
from grafenne.data.split import Split, equal_classes_split, few_label_split, random_split
from grafenne.errors import unknown_name
from grafenne.tasks.links import EdgeSplit, split_edges

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.impute.base import Imputer

MASK_SEED = 10_000
"""Added to a run's seed, so that the missing cells do not follow the same draws as the split."""

DEFAULT_DATA: dict[str, Any] = {
    "split": "nodes",
    "observed_zeros": False,
    "pattern": "uniform",
    "shift": 0.0,
    "largest_component": False,
    "leaked": False,
    "options": {},
}
"""How data is made unless a cell says otherwise.

``split``: ``nodes`` (60/20/20), ``edges`` (60/20/20), ``equal-classes`` (60/20/20 in all, as many
training nodes of each class where it has them) or ``few-labels`` (20 nodes per class to learn from,
1,500 to choose by, the others to judge by). ``observed_zeros``: whether the zeros
that are not missing are stored too. ``pattern``: ``uniform`` drops cells one by one,
``structural`` all cells of a node at once. ``shift``: what is added to each value that is left.
``largest_component``: whether all other parts of the graph are left out. ``leaked``: whether
features are filled in along edges that are tested. ``options``: those of the dataset.
"""


@dataclass(frozen=True)
class Problem:
    """What a method is given.

    Attributes:
        graph: The graph with its missing cells.
        split: Positions of nodes, or edges.
    """

    graph: FeatureGraph
    split: Split | EdgeSplit

    def filled(self, imputer: Imputer, *, leaked: bool = False) -> Problem:
        """The same with missing cells filled in.

        Args:
            imputer: What fills them in. Where edges are split, it sees those for training only.
            leaked: Lets it see all edges, those that are tested too, as the paper does. Figures
                made in this way are too good.
        """
        if not isinstance(self.split, EdgeSplit):
            return replace(self, graph=imputer.transform(self.graph))
        from grafenne.impute.links import fill_split

        leak = self.graph if leaked else None
        return Problem(self.graph, fill_split(imputer, self.split, leaked_by=leak))


def make_problem(
    dataset: str, p: float, seed: int, data: Mapping[str, Any], root: Path | None = None
) -> Problem:
    """The data of a seed.

    Args:
        dataset: Name of the dataset.
        p: Share of the features that are missing.
        seed: Seed of the split; the missing cells are drawn by a seed derived from it.
        data: Settings as in :data:`DEFAULT_DATA`, all of them optional.
        root: Where the files of the dataset are.
    """
    from grafenne.datasets import load

    for name in data:
        if name not in DEFAULT_DATA:
            raise unknown_name("data setting", name, DEFAULT_DATA)
    chosen = {**DEFAULT_DATA, **data}
    graph = load(dataset, root=root, **chosen["options"])
    if chosen["largest_component"]:
        graph = largest_component(graph)
    split = chosen["split"]
    seen = drop_features(
        graph,
        p,
        seed=MASK_SEED + seed,
        pattern=chosen["pattern"],
        observed_zeros=chosen["observed_zeros"],
    )
    if chosen["shift"]:
        seen = shifted(seen, chosen["shift"])
    if split == "nodes":
        return Problem(seen, random_split(seen, seed))
    if split == "equal-classes":
        return Problem(seen, equal_classes_split(seen, seed))
    if split == "edges":
        return Problem(seen, split_edges(seen, seed))
    if split == "few-labels":
        return Problem(seen, few_label_split(seen, seed, per_class=20, validation=1500))
    raise unknown_name("split", split, ("nodes", "equal-classes", "edges", "few-labels"))


def largest_component(graph: FeatureGraph) -> FeatureGraph:
    """The part of the graph with the most nodes that are joined, in whatever direction."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(graph.edges.incoming("both"), directed=False)
    sizes = np.bincount(part, minlength=1)
    return graph.subgraph_at(np.flatnonzero(part == sizes.argmax()))


def shifted(graph: FeatureGraph, by: float) -> FeatureGraph:
    """The graph with the same number added to each value; absent cells stay absent."""
    from grafenne.data.values import FeatureValues

    old = graph.values
    data = (old.data + by).astype(old.data.dtype)
    return graph.replace(values=FeatureValues(old.indptr, old.indices, data, old.num_features))
