"""``grafenne embed``: vectors of nodes or features, for use elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grafenne.cli.inputs import load_graph, read_nodes
from grafenne.cli.models import check_table, load_model, warn_of_strange_data
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    ModelArgument,
    NodesOption,
    ReleaseOption,
    RootOption,
    ThreadsOption,
    choose,
    use_threads,
)
from grafenne.cli.output import answer
from grafenne.errors import ParameterError


def embed(
    model: ModelArgument,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Table to write (.csv, .tsv or .parquet).")
    ],
    data: DataArgument = DEFAULT_DATA,
    of: Annotated[str, typer.Option(metavar="NAME", help="nodes or features.")] = "nodes",
    nodes: NodesOption = None,
    as_json: JsonOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
) -> None:
    """Write the embeddings of nodes or features: a name and the columns e0, e1, ….

    The columns of nodes are the outputs of all layers side by side; those of features are their
    states before the last layer reads them.
    """
    choose("kind of embedding", of, ("nodes", "features"))
    check_table(out)
    if nodes and of == "features":
        raise ParameterError("--nodes goes with --of nodes.")
    use_threads(threads)
    estimator = load_model(model, device)
    graph = load_graph(data, root=data_root, release=release, options=option)
    warn_of_strange_data(estimator, graph, data)

    import pandas as pd

    from grafenne.data.columns import names_column
    from grafenne.data.tables import write_table

    chosen = read_nodes(graph, nodes) if nodes else None
    vectors = estimator.embed(graph, chosen, of=of)
    names = graph.features if of == "features" else (graph.nodes if chosen is None else chosen)
    columns = {of.removesuffix("s"): names_column(names)}
    frame = pd.concat(
        (
            pd.DataFrame(columns),
            pd.DataFrame(vectors, columns=[f"e{place}" for place in range(vectors.shape[1])]),
        ),
        axis=1,
    )
    write_table(frame, out)
    rows, width = vectors.shape
    result = {
        "model": str(model),
        "dataset": data,
        "of": of,
        "rows": rows,
        "width": width,
        "out": str(out),
    }
    answer(f"{rows:,} {of} of width {width} in {out}", result, as_json)
