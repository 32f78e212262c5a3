"""``grafenne convert``: a graph in another format on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grafenne.cli.inputs import load_graph
from grafenne.cli.models import check_writable
from grafenne.cli.options import (
    DataOptionsOption,
    JsonOption,
    ReleaseOption,
    RootOption,
    choose,
    complete_dataset,
)
from grafenne.cli.output import answer


def convert(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="The name of a dataset (see 'grafenne datasets') or a folder with a graph.",
            autocompletion=complete_dataset,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder to write; an older graph there is replaced."),
    ],
    format: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="mapped (arrays that processes share without reading them), parquet, csv or tsv.",
        ),
    ] = "mapped",
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a graph as a folder in another format, which every command reads.

    The format 'mapped' is for large graphs: opening one takes no time and no memory, several
    processes share one copy, and it may be larger than the memory.
    """
    from grafenne.data.folder import FORMATS

    choose("format", format, FORMATS)
    check_writable(out)
    graph = load_graph(data, root=data_root, release=release, options=option)
    graph.write(out, format=format)
    size = sum(path.stat().st_size for path in out.iterdir())
    told = {"dataset": data, "out": str(out), "format": format, "megabytes": round(size / 1e6, 3)}
    answer(f"{graph!r} in {out} ({size / 1e6:,.1f} MB)", told, as_json)
