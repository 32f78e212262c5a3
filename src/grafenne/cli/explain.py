"""``grafenne explain``: which features and neighbours decided a prediction."""

from __future__ import annotations

from typing import Annotated

import typer

from grafenne.cli.inputs import load_graph, resolve_node
from grafenne.cli.models import load_model, warn_of_strange_data
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    ModelArgument,
    ReleaseOption,
    RootOption,
    ThreadsOption,
    use_threads,
)
from grafenne.cli.output import answer
from grafenne.errors import ParameterError


def explain(
    model: ModelArgument,
    node: Annotated[str, typer.Option(metavar="ID", help="The node to explain.")],
    data: DataArgument = DEFAULT_DATA,
    top: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many features and neighbours to tell.")
    ] = 10,
    as_json: JsonOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
) -> None:
    """Explain the prediction for one node, by the names of its features and neighbours.

    Each number is how much the prediction (the log-odds of the class, or the number) falls when
    that feature or neighbour is taken away; a negative one spoke against it.
    """
    use_threads(threads)
    estimator = load_model(model, device)
    if estimator.task_name == "links":
        raise ParameterError("Explanations are for models of nodes; this one is for links.")
    graph = load_graph(data, root=data_root, release=release, options=option)
    warn_of_strange_data(estimator, graph, data)
    explanation = estimator.explain(graph, resolve_node(graph, node), top=top)
    result = {"model": str(model), "dataset": data, **explanation.to_dict()}
    answer(str(explanation), result, as_json)
