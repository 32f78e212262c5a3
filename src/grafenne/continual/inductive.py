"""The paper's Proposition 1 measured: features and nodes that training never saw.

A model is fitted on a part of the data, and asked for test nodes of the whole of it, four times:
with the unseen features left out (``ignored``), with them in their place (``used``), after one
update with the whole data (``updated``), and once more fitted on everything (``whole``).
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.continual.judge import hidden_labels
from grafenne.continual.parts import StreamSplit
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.seeds import seeded
from grafenne.data.split import Split, random_split
from grafenne.data.values import FeatureValues
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError, unknown_name

HIDDEN = ("cora", "citeseer", "actor", "physics", "synthetic")
"""Datasets of which a part is hidden at random."""

RELEASES = ("debian", "debian-mini")
"""Datasets in which a later release brings what is unseen."""


@dataclass(frozen=True)
class InductiveProblem:
    """A part to train on and the whole to be asked about.

    Attributes:
        part: What training sees.
        whole: What there is in the end; it begins with the nodes of ``part`` that stay.
        split: The split of ``part``, without its test nodes.
        whole_split: The split of ``whole``; its test nodes are what is asked.
        unseen: Names of the features that only ``whole`` has.
        new: Ids of the test nodes that only ``whole`` has.
    """

    part: FeatureGraph
    whole: FeatureGraph
    split: Split
    whole_split: Split
    unseen: list[str]
    new: list[Hashable]

    @property
    def shown(self) -> FeatureGraph:
        """The whole without the labels of test nodes: what a learner may see."""
        return self.whole.replace(labels=hidden_labels(self.whole.labels, self.whole_split.test))

    def accuracies(self, predicted: NDArray[Any]) -> dict[str, float]:
        """How many test nodes are right, of all and of the new ones."""
        labels, test = self.whole.labels, self.whole_split.test
        if labels is None:
            raise ParameterError("The whole graph has no labels to judge by.")
        new = set(self.new)
        right = np.array([predicted[place] == labels.label(int(place)) for place in test])
        fresh = np.array([node in new for node in self.whole.nodes.take(test)], dtype=bool)
        told = {"accuracy": float(right.mean())}
        if fresh.any():
            told["accuracy_new"] = float(right[fresh].mean())
        return told


def hide_part(
    graph: FeatureGraph, seed: int, *, features: float = 0.5, nodes: float = 0.5
) -> InductiveProblem:
    """Hides features, and some of the test nodes, at random.

    Args:
        graph: The whole graph.
        seed: Seed of the 60/20/20 split and of what is hidden.
        features: Share of the features in use that training does not see.
        nodes: Share of the test nodes that it does not see.
    """
    for name, share in (("features", features), ("nodes", nodes)):
        if not 0 <= share <= 1:
            raise ParameterError(f"{name} is a share from 0 to 1, got {share!r}.")
    generator = seeded(seed, 1)
    split = random_split(graph, seed)
    used = np.flatnonzero(graph.values.feature_counts > 0)
    hidden = generator.permutation(used)[: round(features * len(used))]
    away = generator.permutation(split.test)[: round(nodes * len(split.test))]
    left = np.setdiff1d(np.arange(graph.num_nodes), away)
    part = _forget(graph.subgraph_at(left), hidden)
    parts = {
        "train": graph.nodes.take(split.train),
        "validation": graph.nodes.take(split.validation),
    }
    test = graph.nodes.take(split.test)
    whole = part.apply(part.diff(graph))  # nodes and features of the part keep their places
    return InductiveProblem(
        _without_labels(part, [node for node in test if node in part.nodes]),
        whole,
        Split.of_ids(part, **parts),
        Split.of_ids(whole, **parts, test=test),
        graph.features.take(hidden),
        graph.nodes.take(away),
    )


def next_release(
    name: str,
    seed: int,
    *,
    releases: tuple[str, str] = ("bookworm", "trixie"),
    new_labels: float = 0.1,
    root: str | Path | None = None,
) -> InductiveProblem:
    """Trains on one release of Debian and asks about the packages that the next one brings.

    Args:
        name: ``debian`` or ``debian-mini``.
        seed: Seed of the split.
        releases: The release to train on, and the next.
        new_labels: Share of the new packages whose section an update is told; the others test.
        root: The folder with the data.
    """
    from grafenne import datasets

    stream = datasets.load_stream(name, root=root, releases=list(releases))
    part, whole = stream.first, stream.last()
    rule = StreamSplit(
        seed=seed,
        first_nodes=part.nodes,
        new_fractions=(0.8 * new_labels, 0.2 * new_labels, 1 - new_labels),
    )
    split, whole_split = rule(part), rule(whole)
    known = set(part.features)
    test = whole.nodes.take(whole_split.test)
    return InductiveProblem(
        _without_labels(part, part.nodes.take(split.test)),
        whole,
        Split(split.train, split.validation),
        whole_split,
        [feature for feature in whole.features if feature not in known],
        [node for node in test if node not in part.nodes],
    )


def inductive_run(
    dataset: str,
    features: str,
    seed: int,
    *,
    settings: Mapping[str, Any] | None = None,
    update: Mapping[str, Any] | None = None,
    hidden_features: float = 0.5,
    hidden_nodes: float = 0.5,
    new_labels: float = 0.1,
    options: Mapping[str, Any] | None = None,
    root: str | Path | None = None,
) -> list[dict[str, Any]]:
    """Fits with a part hidden and asks about the whole.

    Args:
        dataset: One of :data:`HIDDEN` or :data:`RELEASES`.
        features: Φ: ``company``, ``learned``, ``name`` or ``structural``.
        seed: Seed of everything.
        settings: Further settings of the classifier.
        update: Arguments of ``update``, such as ``strategy``.
        hidden_features: Share of the features that are hidden, see :func:`hide_part`.
        hidden_nodes: Share of the test nodes that are hidden.
        new_labels: See :func:`next_release`.
        options: Options of the dataset.
        root: The folder with the data.

    Returns:
        Rows with ``dataset, method, variant, step, seed, metric, value, seconds``. The step is
        the number of updates; that of ``whole`` is ``None``.
    """
    from grafenne import GrafenneClassifier, datasets

    if dataset in RELEASES:
        problem = next_release(
            dataset, seed, new_labels=new_labels, root=root, **dict(options or {})
        )
    elif dataset in HIDDEN:
        graph = datasets.load(dataset, root=root, **dict(options or {}))
        problem = hide_part(graph, seed, features=hidden_features, nodes=hidden_nodes)
    else:
        raise unknown_name("inductive dataset", dataset, (*HIDDEN, *RELEASES))
    made: dict[str, Any] = {**(settings or {}), "features": features, "random_state": seed}
    rows: list[dict[str, Any]] = []

    def tell(variant: str, step: int | None, predicted: NDArray[Any], seconds: float) -> None:
        for metric, value in problem.accuracies(predicted).items():
            rows.append(
                {
                    "dataset": dataset,
                    "method": features,
                    "variant": variant,
                    "step": step,
                    "seed": seed,
                    "metric": metric,
                    "value": value,
                    "seconds": round(seconds, 4),
                    "nodes": len(problem.whole_split.test if metric == "accuracy" else problem.new),
                    "unseen_features": len(problem.unseen),
                }
            )

    shown = problem.shown
    allowed = Split(problem.whole_split.train, problem.whole_split.validation)
    begin = time.perf_counter()
    model = GrafenneClassifier(**made).fit(problem.part, problem.split)
    spent = time.perf_counter() - begin
    tell("used", 0, model.predict(shown), spent)
    tell("ignored", 0, model.predict(shown.without_features(problem.unseen)), spent)
    begin = time.perf_counter()
    model.update(
        problem.part, problem.part.diff(shown), after=shown, split=allowed, **(update or {})
    )
    tell("updated", 1, model.predict(shown), time.perf_counter() - begin)
    begin = time.perf_counter()
    model = GrafenneClassifier(**made).fit(shown, allowed)
    tell("whole", None, model.predict(shown), time.perf_counter() - begin)
    return rows


def run_cell(
    *, keys: Mapping[str, Any], seed: int, config: Mapping[str, Any], root: Path | None = None
) -> dict[str, Any]:
    """One run for ``grafenne experiment inductive``: the accuracy with unseen features used.

    Args:
        keys: ``dataset`` and ``method``, which is Φ.
        seed: The seed.
        config: ``classifier``, its settings, and further arguments of :func:`inductive_run`.
        root: The folder with the data.

    Returns:
        That row, and in ``rows`` all others.
    """
    more, begin = dict(config), time.perf_counter()
    rows = inductive_run(
        keys["dataset"],
        keys["method"],
        seed,
        settings=more.pop("classifier", None),
        root=root,
        **more,
    )
    spent = round(time.perf_counter() - begin, 2)
    return {**rows.pop(0), "run_seconds": spent, "rows": rows}


def _forget(graph: FeatureGraph, hidden: NDArray[np.int64]) -> FeatureGraph:
    """The graph as if these features had never been heard of: not even their names stay."""
    kept = np.setdiff1d(np.arange(graph.num_features), hidden)
    names = Vocabulary(graph.features.take(kept), kind="feature")
    place = np.full(graph.num_features, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return graph.replace(
        features=names,
        values=FeatureValues.from_scipy(graph.values.to_scipy()[:, kept]),
        feature_edges=graph.feature_edges.renumbered(place, names),
    )


def _without_labels(graph: FeatureGraph, nodes: list[Hashable]) -> FeatureGraph:
    return graph.replace(labels=hidden_labels(graph.labels, graph.nodes.positions(nodes)))
