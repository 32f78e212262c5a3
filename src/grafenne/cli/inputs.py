"""What commands read: graphs by name or folder, nodes, splits and pairs from files."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grafenne.cli.options import parse_pairs
from grafenne.errors import DataError, ParameterError, did_you_mean, unknown_name

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.split import Split

PARTS = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "valid": "validation",
    "test": "test",
}


TABLE_OPTIONS = {"directed": False, "duplicates": "error", "label_kind": ""}
"""How a folder of tables may be read, as :meth:`FeatureGraph.read` has it."""


def load_graph(
    data: str,
    *,
    root: Path | None = None,
    release: str | None = None,
    options: Iterable[str] | None = None,
) -> FeatureGraph:
    """A graph by name, from a folder of tables or mapped arrays, or from a table of nodes.

    A registered name goes before a folder of the same name; write ``./cora`` for the folder.

    Args:
        data: The name, the folder or the file.
        root: Where the files of named datasets are.
        release: The dataset's option ``release``.
        options: ``name=value`` texts for the dataset's other options, or for how to read tables.
    """
    from grafenne import FeatureGraph
    from grafenne.data.mapped import open_mapped
    from grafenne.data.mapped_notes import is_mapped
    from grafenne.datasets import dataset_names, load

    given = list(options or ())
    known, what = graph_options(data)
    if data in dataset_names():
        pairs = [*([] if release is None else [f"release={release}"]), *given]
        return load(data, root=root, **parse_pairs(pairs, known, what))
    if release is not None:
        raise ParameterError(f"Only named datasets have releases, and {data!r} is none.")
    how: dict[str, Any] = parse_pairs(given, known, what)
    if _is_table(data):
        kinds = _column_kinds(how)
        return FeatureGraph.from_wide(data, how.pop("edges", None), columns=kinds, **how)
    if is_mapped(Path(data)):
        # Of the processes that torchrun starts on a machine one reads the files for all.
        return open_mapped(data, verify=os.environ.get("LOCAL_RANK", "0") == "0")
    return FeatureGraph.read(data, **how)


def graph_options(data: str) -> tuple[dict[str, Any], str]:
    """The options that a graph may be read with and their defaults, and what to call it."""
    from grafenne.data.mapped_notes import is_mapped
    from grafenne.data.wide import KINDS
    from grafenne.datasets import dataset_info, dataset_names

    if data in dataset_names():
        parameters = inspect.signature(dataset_info(data).loader).parameters
        defaults = {name: about.default for name, about in parameters.items() if name != "root"}
        return defaults, f"the dataset {data!r}"
    if _is_table(data):
        columns: dict[str, Any] = {"node": "", "label": "", "edges": "", **dict.fromkeys(KINDS, ())}
        return {**columns, **TABLE_OPTIONS}, f"the table {data!r}"
    _check_is_folder(data, dataset_names())
    if is_mapped(Path(data)):
        return {}, f"the mapped folder {data!r}"
    return TABLE_OPTIONS, f"the folder {data!r}"


def _is_table(data: str) -> bool:
    """Whether a table with a row per node is meant."""
    from grafenne.data.tables import ending_of

    return Path(data).is_file() and ending_of(Path(data)) is not None


def _column_kinds(how: dict[str, Any]) -> dict[str, str]:
    """What columns are said to be; takes these entries out of ``how``."""
    from grafenne.data.wide import KINDS

    kinds: dict[str, str] = {}
    for kind in KINDS:
        for column in how.pop(kind, ()):
            if column in kinds:
                raise ParameterError(
                    f"The column {column!r} is said to be {kinds[column]} and {kind}."
                )
            kinds[column] = kind
    return kinds


def _check_is_folder(data: str, names: list[str]) -> None:
    path = Path(data)
    if path.is_dir():
        return
    if path.exists():
        raise DataError(
            f"{data} is a file, but no table; name a dataset, a folder of tables, or a table with "
            "a row per node."
        )
    if os.sep in data or (os.altsep and os.altsep in data):
        raise DataError(f"There is no folder {data}.")
    hint = did_you_mean(data, names) or " 'grafenne datasets' lists the datasets."
    raise DataError(f"There is neither a dataset nor a folder called {data!r}.{hint}")


def drop_missing(
    graph: FeatureGraph, rate: float, *, observed_zeros: bool, seed: int
) -> FeatureGraph:
    """The graph with features missing at random, as ``--missing`` asks."""
    from grafenne import drop_features

    if not 0 <= rate <= 1:
        raise ParameterError(f"--missing is a probability from 0 to 1, got {rate}.")
    if rate == 0 and not observed_zeros:
        return graph
    return drop_features(graph, rate, seed=seed, observed_zeros=observed_zeros)


def resolve_node(graph: FeatureGraph, text: Hashable) -> Hashable:
    """The node that a text names: ids on a command line are text, those of a graph may not be."""
    if text in graph.nodes:
        return text
    try:
        number = int(str(text))
    except ValueError:
        number = None
    if number is not None and number in graph.nodes:
        return number
    raise unknown_name("node", text, graph.nodes)


def read_nodes(graph: FeatureGraph, given: Iterable[str]) -> list[Hashable]:
    """The nodes that ``--nodes`` names, each once, in order."""
    from grafenne.data.tables import ending_of

    found: list[Hashable] = []
    for text in given:
        path = Path(text)
        if text not in graph.nodes and ending_of(path) is not None:
            found.extend(_column_of_nodes(graph, path, ("node",))[0])
        elif text not in graph.nodes and path.suffix.lower() == ".txt":
            found.extend(resolve_node(graph, line) for line in _lines(path))
        elif text in graph.nodes:
            found.append(text)
        else:
            found.extend(resolve_node(graph, part) for part in text.split(",") if part)
    return list(dict.fromkeys(found))


def read_pairs(graph: FeatureGraph, path: Path) -> list[tuple[Hashable, Hashable]]:
    """The pairs of nodes in a table with the columns ``source, target``."""
    sources, targets = _column_of_nodes(graph, path, ("source", "target"))
    return list(zip(sources, targets, strict=True))


def read_split(graph: FeatureGraph, path: Path) -> Split:
    """A split from a table with the columns ``node, part``."""
    from grafenne import Split
    from grafenne.data.tables import read_table

    table = read_table(path, ("node", "part"))
    parts: dict[str, list[Hashable]] = {"train": [], "validation": [], "test": []}
    seen: set[Hashable] = set()
    for row, (name, part) in enumerate(zip(table.frame["node"], table.frame["part"], strict=True)):
        where = table.place
        if part not in PARTS:
            raise DataError(f"The part in {where(row)} is {part!r}; use train, validation or test.")
        node = _located(graph, name, where, row)
        if node in seen:
            raise DataError(f"The node {node!r} in {where(row)} is listed twice.")
        seen.add(node)
        parts[PARTS[part]].append(node)
    return Split.of_ids(graph, **parts)


def _column_of_nodes(
    graph: FeatureGraph, path: Path, columns: tuple[str, ...]
) -> list[list[Hashable]]:
    from grafenne.data.tables import read_table

    table = read_table(path, columns)
    return [
        [_located(graph, name, table.place, row) for row, name in enumerate(table.frame[column])]
        for column in columns
    ]


def _located(graph: FeatureGraph, name: Any, place: Any, row: int) -> Hashable:
    try:
        return resolve_node(graph, name.item() if hasattr(name, "item") else name)
    except DataError as error:
        raise DataError(f"In {place(row)}: {error}") from None


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"Cannot read {path}: it does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read {path}: {error}.") from None
    return [line.strip() for line in lines if line.strip()]
