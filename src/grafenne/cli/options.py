"""Arguments and options that several commands share, and ``name=value`` pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from grafenne.errors import ParameterError, did_you_mean, unknown_name

DEFAULT_DATA = "debian-mini"


def complete_dataset(incomplete: str) -> list[str]:
    """Names of datasets for the shell's completion; folders are completed by the shell."""
    from grafenne.datasets import dataset_names

    return [name for name in dataset_names() if name.startswith(incomplete)]


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The name of a dataset (see 'grafenne datasets'), a folder of tables, or a table "
        "with a row per node.",
        autocompletion=complete_dataset,
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that 'grafenne train' wrote.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object, and nothing else.")
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        "--data-root",
        metavar="FOLDER",
        help="Where the files of named datasets are; by default GRAFENNE_DATA or the user's cache.",
        rich_help_panel="Data",
    ),
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Release of debian and debian-mini: bullseye, bookworm, trixie, forky or sid.",
        rich_help_panel="Data",
    ),
]
DataOptionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Any option of the dataset, such as num_nodes=500 for synthetic; of a folder of "
        "tables: directed=true, duplicates=first, last or sum, label_kind=class or number; of a "
        "table with a row per node also node=COLUMN, label=COLUMN, edges=FILE, and text, category, "
        "number or ignore=COLUMN,… for what columns are. May be repeated.",
        rich_help_panel="Data",
    ),
]
MissingOption = Annotated[
    float,
    typer.Option(
        metavar="P",
        help="Drop each feature value with this probability first, before anything else.",
        rich_help_panel="Data",
    ),
]
ZerosOption = Annotated[
    bool,
    typer.Option(
        "--observed-zeros",
        help="With --missing: a cell without a value is an observed zero, dropped like any value.",
        rich_help_panel="Data",
    ),
]
MissingSeedOption = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="Seed of --missing; by default --seed.", rich_help_panel="Data"
    ),
]
SplitOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A table with the columns node, part (train, validation or test); without it a "
        "random 60/20/20 split of the labelled nodes (with --task links: of the edges) by --seed.",
        rich_help_panel="Data",
    ),
]
NodesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="IDS|FILE",
        help="Only these nodes: ids separated by commas, a table with the column node, or a .txt "
        "file with one id per line; may be repeated.",
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where to compute: cpu, cuda or mps."),
]
ThreadsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of processor threads to use.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="Show no progress; errors are still told.")
]


def choose(kind: str, name: str, known: Iterable[str]) -> str:
    """``name`` if it is one of the known ones, else an error with a suggestion."""
    known = list(known)
    if name not in known:
        raise unknown_name(kind, name, known)
    return name


def use_threads(threads: int | None) -> None:
    """Bounds the threads that torch computes with."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def parse_pairs(pairs: Iterable[str], defaults: Mapping[str, Any], what: str) -> dict[str, Any]:
    """``name=value`` texts as values of the type that each name's default has.

    Args:
        pairs: The texts.
        defaults: The names there are, with their default values.
        what: What the names belong to, for messages, such as ``the dataset 'cora'``.
    """
    parsed: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ParameterError(f"Write options as NAME=VALUE, got {pair!r}.")
        if name not in defaults:
            offered = f" It has {', '.join(defaults)}." if defaults else " It has none."
            hint = did_you_mean(name, defaults) or offered
            raise ParameterError(f"There is no option {name!r} of {what}.{hint}")
        if name in parsed:
            raise ParameterError(f"The option {name!r} of {what} is given twice.")
        parsed[name] = _parse(name, text.strip(), defaults[name])
    return parsed


def _parse(name: str, text: str, default: Any) -> Any:
    lowered = text.lower()
    if isinstance(default, bool):
        if lowered in ("true", "yes", "false", "no"):
            return lowered in ("true", "yes")
        raise ParameterError(f"The option {name!r} is true or false, got {text!r}.")
    if isinstance(default, int | float):
        if lowered == "none":
            return None
        kind = int if isinstance(default, int) else float
        try:
            return kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise ParameterError(f"The option {name!r} is {what}, got {text!r}.") from None
    if isinstance(default, list | tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text if isinstance(default, str) else _guess(text)


def _guess(text: str) -> Any:
    """Where nothing tells the type: none, true, false, a number, a list of them, or text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    if "," in text:
        return [_guess(part.strip()) for part in text.split(",")]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
