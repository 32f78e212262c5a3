"""The datasets by name: what they are, where they come from, and how they are loaded."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from grafenne.errors import DataError, ParameterError, did_you_mean, unknown_name

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph
    from grafenne.data.stream import GraphStream

Result = TypeVar("Result")


@dataclass(frozen=True)
class Dataset:
    """One entry of the registry.

    Attributes:
        name: What it is called in :func:`load`.
        title: One line for a list.
        description: What its nodes, edges, features and labels are.
        task: What is predicted.
        source: Where the files come from.
        loader: ``loader(root, **options)`` returns the graph.
        streamer: ``streamer(root, **options)`` returns the stream, where there is one.
        paper: The counts in the paper's table of datasets, by quantity.
        notes: Where our counts differ from the paper's, and why.
    """

    name: str
    title: str
    description: str
    task: str
    source: str
    loader: Callable[..., FeatureGraph]
    streamer: Callable[..., GraphStream] | None = None
    paper: Mapping[str, int] = field(default_factory=dict)
    notes: str = ""

    @property
    def streaming(self) -> bool:
        """Whether it changes over time, so that :func:`load_stream` has it."""
        return self.streamer is not None


_DATASETS: dict[str, Dataset] = {}

MOST_FEATURES = 10_000_000
"""A file of a public dataset that claims more features is damaged; each would get a name."""


def check_features(count: int, file: str) -> None:
    """Raises when a file claims more features than any dataset has.

    Args:
        count: How many there are by what the file says.
        file: Its name.
    """
    if count > MOST_FEATURES:
        raise DataError(f"{file} is damaged: it claims {count:,} features.")


def register(dataset: Dataset) -> Dataset:
    """Adds a dataset to those that :func:`load` knows."""
    if dataset.name in _DATASETS:
        raise ParameterError(f"There is already a dataset called {dataset.name!r}.")
    _DATASETS[dataset.name] = dataset
    return dataset


def dataset_names() -> list[str]:
    """The names of all datasets, sorted."""
    return sorted(_DATASETS)


def dataset_info(name: str) -> Dataset:
    """What is known about a dataset without loading it."""
    if name not in _DATASETS:
        raise unknown_name("dataset", name, _DATASETS)
    return _DATASETS[name]


def load(name: str, *, root: str | Path | None = None, **options: Any) -> FeatureGraph:
    """A dataset as a graph.

    Args:
        name: One of :func:`dataset_names`.
        root: The folder that holds the data, see :func:`data_root`. Public files that are not
            in it are downloaded into it.
        options: What this dataset offers, for instance ``release="trixie"`` for ``debian``.
    """
    dataset = dataset_info(name)
    _check_options(dataset, dataset.loader, options)
    return dataset.loader(data_root(root), **options)


def load_stream(name: str, *, root: str | Path | None = None, **options: Any) -> GraphStream:
    """A dataset that changes over time, as a stream of snapshots; arguments as in :func:`load`."""
    dataset = dataset_info(name)
    if dataset.streamer is None:
        streams = ", ".join(other.name for other in _DATASETS.values() if other.streaming)
        raise ParameterError(
            f"The dataset {name!r} does not change over time; those that do are {streams}."
        )
    _check_options(dataset, dataset.streamer, options)
    return dataset.streamer(data_root(root), **options)


def data_root(root: str | Path | None = None) -> Path:
    """The folder with the data: the argument, else ``GRAFENNE_DATA``, else the user's cache."""
    if root is not None:
        return Path(root).expanduser()
    if named := os.environ.get("GRAFENNE_DATA"):
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "grafenne"


def without_root(function: Callable[..., Result]) -> Callable[..., Result]:
    """A loader for data that needs no files; it has the options of ``function``."""

    @wraps(function)
    def loader(root: Path, **options: Any) -> Result:
        return function(**options)

    return loader


def _check_options(
    dataset: Dataset, function: Callable[..., Any], options: Mapping[str, Any]
) -> None:
    known = [name for name in inspect.signature(function).parameters if name != "root"]
    for option in options:
        if option not in known:
            offered = f"its options are {', '.join(known)}" if known else "it has none"
            raise ParameterError(
                f"The dataset {dataset.name!r} has no option {option!r}; {offered}."
                f"{did_you_mean(option, known)}"
            )
