"""What a command takes in as a change of a graph: events, a delta, or the graph afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grafenne.cli.inputs import graph_options, load_graph
from grafenne.cli.output import say
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph


def load_both(
    before: str | None,
    change: str,
    *,
    root: Path | None = None,
    before_release: str | None = None,
    release: str | None = None,
    options: Iterable[str] | None = None,
) -> tuple[FeatureGraph, GraphDelta]:
    """The graph before a change, and the change, read or found by comparing.

    Args:
        before: A dataset or a folder of tables; by default the dataset of ``change``.
        change: A ``.jsonl`` file of events, a folder with a delta, a folder with the graph
            afterwards, or the name of a dataset that is the graph afterwards.
        root: Where the files of named datasets are.
        before_release: The release before.
        release: The release afterwards.
        options: ``name=value`` texts, each for those of the two graphs that have such an option.
    """
    from grafenne.data.delta import GraphDelta
    from grafenne.data.label_changes import labels_kept
    from grafenne.datasets import dataset_names

    named = change in dataset_names()
    if before is None and not (named and before_release is not None):
        hint = "--before-release names it" if named else "--before names it"
        raise ParameterError(f"A model does not keep the graph before the change; {hint}.")
    first = change if before is None else before
    given = list(options or ())
    if _holds_delta(change):
        if release is not None:
            raise ParameterError(f"--release is for named datasets, but {change} holds a change.")
        graph = load_graph(first, root=root, release=before_release, options=given)
        return graph, GraphDelta.read(Path(change))
    for_first, for_after = _shared(given, first, change)
    graph = load_graph(first, root=root, release=before_release, options=for_first)
    after = load_graph(change, root=root, release=release, options=for_after)
    if after.labels is None and graph.labels is not None:
        say(f"{change} has no labels: they are taken to be what they were.")
    return graph, graph.diff(labels_kept(graph, after))


def _holds_delta(change: str) -> bool:
    """Whether what a user gave is a change, and not the graph after it."""
    from grafenne.data.stream import is_delta
    from grafenne.data.tables import ending_of
    from grafenne.datasets import dataset_names

    path = Path(change)
    if path.suffix.lower() == ".jsonl" and not path.exists():
        raise DataError(f"There is no file {change}.")
    if change in dataset_names() or not path.exists() or not is_delta(path):
        return False
    if path.is_file() and ending_of(path) is not None:
        return False  # a table with a row per node
    if path.is_file() and path.suffix.lower() != ".jsonl":
        raise DataError(f"{change} is no change: events are in a .jsonl file, tables in a folder.")
    if path.is_dir() and not any(path.iterdir()):
        raise DataError(f"The folder {change} is empty: it holds neither a change nor a graph.")
    return True


def _shared(given: list[str], *graphs: str) -> list[list[str]]:
    """The options for each of several graphs; what none of them knows goes to all, as an error."""
    known = [graph_options(graph)[0] for graph in graphs]
    names = [text.partition("=")[0].strip().replace("-", "_") for text in given]
    every = set().union(*known)
    return [
        [text for text, name in zip(given, names, strict=True) if name in own or name not in every]
        for own in known
    ]
