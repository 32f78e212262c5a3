"""``grafenne predict``: answers for nodes (or pairs of nodes), new ones included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli.inputs import load_graph, read_nodes, read_pairs
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
    use_threads,
)
from grafenne.cli.output import answer, emit
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from grafenne.data.feature_graph import FeatureGraph


def predict(
    model: ModelArgument,
    data: DataArgument = DEFAULT_DATA,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table to write (.csv, .tsv, .parquet); without it, CSV on standard output.",
        ),
    ] = None,
    nodes: NodesOption = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For a model of links: a table with the columns source, target."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="For a model of links: instead of --pairs, the N most likely new links of every "
            "node, or of --nodes.",
        ),
    ] = None,
    all_classes: Annotated[
        bool, typer.Option("--all-classes", help="Add a column probability=CLASS per class.")
    ] = False,
    as_json: JsonOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
) -> None:
    """Predict for every node of a graph; its nodes and features may be new to the model.

    Columns: node, label, probability for classes; node, value for numbers; source, target,
    probability for links. Labels in DATA are not looked at.
    """
    check_table(out)
    use_threads(threads)
    estimator = load_model(model, device)
    graph = load_graph(data, root=data_root, release=release, options=option)
    warn_of_strange_data(estimator, graph, data)
    frame = _predictions(estimator, graph, nodes, pairs, top, all_classes)
    summary: dict[str, Any] = {"model": str(model), "dataset": data, "rows": len(frame)}
    if out is not None:
        from grafenne.data.tables import write_table

        write_table(frame, out)
        answer(f"{len(frame):,} predictions in {out}", {**summary, "out": str(out)}, as_json)
    elif as_json:
        answer("", {**summary, "predictions": frame.to_dict("records")}, as_json)
    else:
        emit(frame.to_csv(index=False))


def _predictions(
    estimator: Any,
    graph: FeatureGraph,
    nodes: list[str] | None,
    pairs: Path | None,
    top: int | None,
    all_classes: bool,
) -> pd.DataFrame:
    import pandas as pd

    from grafenne.data.columns import names_column

    task = estimator.task_name
    if task == "links":
        if (pairs is None) == (top is None) or (pairs is not None and nodes):
            raise ParameterError(
                "A model of links needs --pairs FILE, or --top N with or without --nodes."
            )
        if pairs is None:
            chosen = None if not nodes else read_nodes(graph, nodes)
            links: pd.DataFrame = estimator.suggest(graph, chosen, top=top)
            return links
        asked = read_pairs(graph, pairs)
        frame: pd.DataFrame = pd.DataFrame(
            {
                "source": names_column([pair[0] for pair in asked]),
                "target": names_column([pair[1] for pair in asked]),
                "probability": estimator.predict_proba(graph, asked) if asked else [],
            }
        )
        return frame
    for name, given in (("--pairs", pairs), ("--top", top)):
        if given is not None:
            raise ParameterError(f"{name} is for models of links; this one is for {task}.")
    chosen = None if not nodes else read_nodes(graph, nodes)
    names = names_column(graph.nodes if chosen is None else chosen)
    if task == "regression":
        values: pd.DataFrame = pd.DataFrame(
            {"node": names, "value": estimator.predict(graph, chosen)}
        )
        return values
    probabilities = estimator.predict_proba(graph, chosen)
    columns = {
        "node": names,
        "label": names_column(estimator.classes_[probabilities.argmax(axis=1)].tolist()),
        "probability": probabilities.max(axis=1),
    }
    if all_classes:
        for place, name in enumerate(estimator.classes_):
            columns[f"probability={name}"] = probabilities[:, place]
    classes: pd.DataFrame = pd.DataFrame(columns)
    return classes
