"""The streams that strategies are compared on, each with its rule for labels of new nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from grafenne.continual.parts import Fractions, StreamSplit
from grafenne.data.churn import PAPER_CHURN, churn
from grafenne.data.split import random_split
from grafenne.data.stream import GraphStream
from grafenne.errors import ParameterError, unknown_name

CHURNED = ("cora", "citeseer", "physics")
"""Datasets that do not change by themselves, with the paper's artificial churn."""


@dataclass(frozen=True)
class ContinualTask:
    """A stream, who trains in it, and how labels become known.

    Attributes:
        name: Name for tables.
        stream: The snapshots.
        split_rule: The split of each snapshot.
        labels: How labels of new nodes become known, in words.
    """

    name: str
    stream: GraphStream
    split_rule: StreamSplit
    labels: str


def churn_task(
    name: str, seed: int = 0, *, root: str | Path | None = None, steps: int | None = None
) -> ContinualTask:
    """The paper's artificial churn on a dataset, with its probabilities and T.

    Args:
        name: A dataset with settings in :data:`grafenne.data.churn.PAPER_CHURN`.
        seed: Seed of the churn and of the 60/20/20 split.
        root: The folder that holds the data.
        steps: Another number of steps than the paper's.
    """
    from grafenne import datasets

    if name not in PAPER_CHURN:
        raise unknown_name("churn dataset", name, PAPER_CHURN)
    graph = datasets.load(name, root=root)
    settings = PAPER_CHURN[name]
    if steps is not None:
        settings = {**settings, "steps": steps}
    split = random_split(graph, seed)
    return ContinualTask(
        f"{name} churn",
        churn(graph, seed=seed, **settings),
        StreamSplit(seed=seed, first=split, first_nodes=graph.nodes),
        "No node is ever added, so none gets a label: the random 60/20/20 split of the first "
        "snapshot holds throughout, and the labels of its training nodes are known from the start.",
    )


def debian_task(
    name: str = "debian-mini",
    seed: int = 0,
    *,
    root: str | Path | None = None,
    releases: Sequence[str] | None = None,
    new_fractions: Fractions | None = None,
) -> ContinualTask:
    """Releases of Debian: packages, dependencies and features come and go.

    Args:
        name: ``debian`` or ``debian-mini``.
        seed: Seed of the split.
        root: The folder that holds the data.
        releases: Which releases, by default all five.
        new_fractions: Other shares of train, validation and test for packages that are not in
            the first release, for instance ``(0.1, 0.0, 0.9)``.
    """
    from grafenne import datasets

    options: dict[str, Any] = {} if releases is None else {"releases": releases}
    stream = datasets.load_stream(name, root=root, **options)
    first = None if new_fractions is None else stream.first.nodes
    return ContinualTask(
        name,
        stream,
        StreamSplit(seed=seed, first_nodes=first, new_fractions=new_fractions),
        "A package's part is a hash of its name. The section of a new package is known with the "
        "release that brings it if its part is training (or validation); of a test package never.",
    )


def synthetic_task(seed: int = 0, **options: Any) -> ContinualTask:
    """A planted graph in which features, nodes and edges are replaced at every step.

    Args:
        seed: Seed of the graph and of the split.
        options: See :func:`grafenne.datasets.synthetic.synthetic_stream`.
    """
    from grafenne.datasets.synthetic import synthetic_stream

    return ContinualTask(
        "synthetic",
        synthetic_stream(seed=seed, **options),
        StreamSplit(seed=seed),
        "A node's part is a hash of its id. The class of a new node is known from the snapshot "
        "in which it arrives if its part is training (or validation); of a test node never.",
    )


def dblp_task(seed: int = 0, *, root: str | Path | None = None, **options: Any) -> ContinualTask:
    """Papers and citations year by year.

    Args:
        seed: Seed of the split.
        root: The folder that holds the data.
        options: See :func:`grafenne.datasets.dblp.stream_dblp`.
    """
    from grafenne import datasets

    return ContinualTask(
        "dblp",
        datasets.load_stream("dblp", root=root, **options),
        StreamSplit(seed=seed),
        "A paper's part is a hash of its index. The class of a new paper is known with the year "
        "that brings it if its part is training (or validation); of a test paper never.",
    )


def folder_task(folder: str | Path, seed: int = 0, **options: Any) -> ContinualTask:
    """A stream of one's own, from a folder that :meth:`GraphStream.read` reads.

    Args:
        folder: The folder.
        seed: Seed of the split.
        options: How it is read: ``directed``, ``label_kind``, ``duplicates``.
    """
    return ContinualTask(
        str(folder),
        GraphStream.read(folder, **options),
        StreamSplit(seed=seed),
        "A node's part is a hash of its id. The label of a new node is known from the step that "
        "sets it if its part is training (or validation); of a test node never.",
    )


def make_task(
    name: str,
    seed: int = 0,
    *,
    root: str | Path | None = None,
    steps: int | None = None,
    new_labels: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> ContinualTask:
    """A stream by the name of a dataset, or from a folder.

    Args:
        name: A dataset that changes over time, one of :data:`CHURNED`, or a folder.
        seed: Seed of the split, and of the stream where it is drawn.
        root: The folder that holds the data of named datasets.
        steps: Only so many changes.
        new_labels: Share of the new nodes whose label becomes known, a fifth of them for
            validation; the others test.
        options: Further options of a named dataset, or how a folder is read.
    """
    from grafenne.datasets import dataset_info, dataset_names

    options = dict(options or {})
    if steps is not None and steps < 1:
        raise ParameterError(f"steps must be at least 1, got {steps}.")
    if name in CHURNED:
        if options:
            raise ParameterError(f"The churn on {name} has no option {next(iter(options))!r}.")
        if new_labels is not None:
            raise ParameterError(f"The churn on {name} adds no nodes, so new_labels is void.")
        return churn_task(name, seed, root=root, steps=steps)
    if name in ("debian", "debian-mini"):
        task = debian_task(name, seed, root=root, **options)
    elif name == "synthetic":
        task = synthetic_task(**{"seed": seed, **options})
    elif name == "dblp":
        task = dblp_task(seed, root=root, **options)
    elif name in dataset_names():
        changing = [other for other in dataset_names() if dataset_info(other).streaming]
        raise ParameterError(
            f"The dataset {name!r} does not change over time; those that do are "
            f"{', '.join(sorted({*changing, *CHURNED}))}."
        )
    else:
        task = folder_task(name, seed, **options)
    if steps is not None and steps < task.stream.num_steps:
        deltas = islice(task.stream.deltas(), steps)
        task = replace(task, stream=GraphStream.from_deltas(task.stream.first, deltas))
    return task if new_labels is None else _with_few_labels(task, new_labels)


def _with_few_labels(task: ContinualTask, share: float) -> ContinualTask:
    if not 0 <= share <= 1:
        raise ParameterError(f"new_labels is a share from 0 to 1, got {share!r}.")
    fractions = (0.8 * share, 0.2 * share, 1 - share)
    rule = replace(task.split_rule, first_nodes=task.stream.first.nodes, new_fractions=fractions)
    told = (
        f"{task.labels} Of the nodes that are not in the first snapshot, a share of {share:g} is "
        "for training and validation."
    )
    return replace(task, split_rule=rule, labels=told)
