"""What a command takes in as a change of a graph: events, a delta, or the graph afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grafenne.cli.inputs import load_graph
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph


def load_before(
    before: str | None,
    change: str,
    *,
    root: Path | None = None,
    release: str | None = None,
    options: Iterable[str] | None = None,
) -> FeatureGraph:
    """The graph before a change.

    Args:
        before: A dataset or a folder of tables; by default the dataset of ``change``.
        change: What the user gave as the change.
        root: Where the files of named datasets are.
        release: The release before.
        options: Further options of a named dataset.
    """
    from grafenne.datasets import dataset_names

    named = change in dataset_names()
    if before is None and not (named and release is not None):
        hint = "--before-release names it" if named else "--before names it"
        raise ParameterError(f"A model does not keep the graph before the change; {hint}.")
    data = change if before is None else before
    return load_graph(
        data, root=root, release=release, options=options if data in dataset_names() else None
    )


def load_change(
    change: str,
    before: FeatureGraph,
    *,
    root: Path | None = None,
    release: str | None = None,
    options: Iterable[str] | None = None,
    named_before: bool = False,
) -> GraphDelta:
    """A change, read or found by comparing.

    Args:
        change: A ``.jsonl`` file of events, a folder with a delta, a folder with the graph
            afterwards, or the name of a dataset that is the graph afterwards.
        before: The graph before.
        root: Where the files of named datasets are.
        release: The release afterwards.
        options: Further options of a named dataset.
        named_before: Whether the graph before is a named dataset, which the options are for too.
    """
    from grafenne.data.delta import GraphDelta
    from grafenne.data.stream import is_delta
    from grafenne.datasets import dataset_names

    path = Path(change)
    if path.suffix.lower() == ".jsonl" and not path.exists():
        raise DataError(f"There is no file {change}.")
    if change not in dataset_names() and path.exists() and is_delta(path):
        if path.is_file() and path.suffix.lower() != ".jsonl":
            raise DataError(
                f"{change} is no change: events are in a .jsonl file, tables in a folder."
            )
        if release is not None:
            raise ParameterError(f"--release is for named datasets, but {change} holds a change.")
        if options and not named_before:
            raise ParameterError("--option is for named datasets, but there is none.")
        return GraphDelta.read(path)
    after = load_graph(change, root=root, release=release, options=options)
    return before.diff(after)
