"""The streams that strategies are compared on, each with its rule for labels of new nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grafenne.continual.parts import Fractions, StreamSplit
from grafenne.data.churn import PAPER_CHURN, churn
from grafenne.data.split import random_split
from grafenne.data.stream import GraphStream
from grafenne.errors import unknown_name


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
