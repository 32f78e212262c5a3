"""A graph that changes over time: a first graph and the changes that follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from os.path import isdir
from pathlib import Path

from grafenne.data.delta import GraphDelta
from grafenne.data.delta_rows import PARTS
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.label_changes import labels_kept
from grafenne.data.labels import LabelKind
from grafenne.errors import DataError, ParameterError


class GraphStream:
    """Snapshots G_0, G_1, …, G_T of one graph, each made from the one before it.

    Iterating gives the snapshots, :meth:`steps` the changes along with them. Whatever a stream
    is made from, a node that stays keeps its place among the others, and a feature never
    changes its position. Snapshots are made one at a time while iterating, so a long stream
    needs no more memory than two graphs; iterating twice gives the same twice.

    Example:
        >>> before = stream.first
        >>> for delta, graph in stream.steps():
        ...     model.update(before, delta, after=graph)
        ...     before = graph

    Args:
        first: The graph at the beginning.
        next_delta: Called with the step (0, 1, …) and the graph before it; returns the change.
            It must return the same change each time it is asked for the same.
        num_steps: How many changes there are.
    """

    def __init__(
        self,
        first: FeatureGraph,
        next_delta: Callable[[int, FeatureGraph], GraphDelta],
        num_steps: int,
    ) -> None:
        if num_steps < 0:
            raise ParameterError(f"A stream cannot have {num_steps} steps.")
        self.first = first
        self.num_steps = num_steps
        self._next_delta = next_delta
        self._places: list[Path] = []  # where each step was read from

    @classmethod
    def from_deltas(cls, first: FeatureGraph, deltas: Iterable[GraphDelta]) -> GraphStream:
        """From a graph and the changes to it, in order."""
        known = list(deltas)
        return cls(first, lambda step, _: known[step], len(known))

    @classmethod
    def from_snapshots(cls, snapshots: Iterable[FeatureGraph]) -> GraphStream:
        """From graphs in order; the changes between them are found when they are asked for.

        The snapshots that the stream gives back are equal to these, with the nodes and features
        of earlier snapshots in their places.
        """
        known = list(snapshots)
        if not known:
            raise DataError("A stream needs at least one snapshot.")
        return cls(known[0], lambda step, graph: graph.diff(known[step + 1]), len(known) - 1)

    def __len__(self) -> int:
        """Number of snapshots, the first one included."""
        return self.num_steps + 1

    def __iter__(self) -> Iterator[FeatureGraph]:
        yield self.first
        for _, graph in self.steps():
            yield graph

    def steps(self) -> Iterator[tuple[GraphDelta, FeatureGraph]]:
        """Each change with the graph after it; the graph before all of them is ``first``."""
        graph = self.first
        for step in range(self.num_steps):
            try:
                delta = self._next_delta(step, graph)
                graph = graph.apply(delta)
            except DataError as error:
                where = f" ({self._places[step]})" if self._places else ""
                raise DataError(
                    f"Step {step + 1} of the stream{where} does not fit: {error}"
                ) from None
            yield delta, graph

    def deltas(self) -> Iterator[GraphDelta]:
        """The changes alone."""
        return (delta for delta, _ in self.steps())

    def last(self) -> FeatureGraph:
        """The last snapshot."""
        graph = self.first
        for _, following in self.steps():
            graph = following
        return graph

    def __repr__(self) -> str:
        return f"GraphStream({len(self)} snapshots, first {self.first!r})"

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        directed: bool | None = None,
        label_kind: LabelKind | None = None,
        duplicates: str = "error",
    ) -> GraphStream:
        """From a folder whose entries, sorted by name, are the steps; 2 goes before 10.

        The first entry is a folder with a graph (``000/``). Each of the others is a delta, as
        ``001.jsonl`` or as a folder of tables, or a folder with the next snapshot as a graph. A
        snapshot without a table of labels leaves them as they were. All entries are read once to
        find out what is wrong with them, and again, one at a time, when they are asked for.

        Args:
            path: The folder.
            directed: How the graphs are read, as in :meth:`FeatureGraph.read`.
            label_kind: Likewise.
            duplicates: Likewise.
        """
        folder = Path(path)
        if not isdir(folder):  # unlike Path.is_dir it takes names that no system has
            raise DataError(f"Cannot read the stream {folder}: it is not a folder.")
        seen = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
        entries = sorted(seen, key=_counted)
        if not entries or not entries[0].is_dir() or is_delta(entries[0]):
            raise DataError(f"The stream {folder} must begin with a folder that holds a graph.")

        def read_graph(entry: Path) -> FeatureGraph:
            return FeatureGraph.read(
                entry, directed=directed, label_kind=label_kind, duplicates=duplicates
            )

        def next_delta(step: int, graph: FeatureGraph) -> GraphDelta:
            entry = entries[step + 1]
            if is_delta(entry):
                return GraphDelta.read(entry)
            return graph.diff(labels_kept(graph, read_graph(entry)))

        first = read_graph(entries[0])
        for entry in entries[1:]:
            if not entry.is_dir() and entry.suffix.lower() != ".jsonl":
                raise DataError(f"The file {entry} is neither a folder nor a .jsonl file.")
            _ = GraphDelta.read(entry) if is_delta(entry) else read_graph(entry)
        stream = cls(first, next_delta, len(entries) - 1)
        stream._places = entries[1:]
        return stream

    def write(self, path: str | PathLike[str]) -> None:
        """To a folder: the first graph as ``000/``, then the changes as ``001.jsonl``, ….

        The folder appears whole or not at all; one that exists must be empty.
        """
        from grafenne.data.atomic import atomic_folder

        width = max(3, len(str(self.num_steps)))  # so that names sort like numbers
        with atomic_folder(path) as beside:
            self.first.write(beside / "0".zfill(width))
            for step, delta in enumerate(self.deltas(), start=1):
                delta.write(beside / f"{step:0{width}}.jsonl")


def _counted(entry: Path) -> list[tuple[str, int]]:
    """A key to sort names by in which numbers count as numbers."""
    pieces = re.split(r"([0-9]+)", entry.name)
    return [("", int(piece)) if place % 2 else (piece, 0) for place, piece in enumerate(pieces)]


def is_delta(entry: Path) -> bool:
    """Whether an entry holds a change rather than a graph; an empty folder changes nothing."""
    if not entry.is_dir():
        return True
    files = [file.name for file in entry.iterdir() if not file.name.startswith(".")]
    return not files or any(name.partition(".")[0] in PARTS for name in files)
