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
    other: Annotated[
        str | None,
        typer.Option(metavar="ID", help="For a model of links: the node at the other end."),
    ] = None,
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
    """Explain the prediction for one node, or for the link between two, by names.

    Each number is how much the prediction (the log-odds of the class or of the link, or the
    number) falls when that feature or neighbour is taken away; a negative one spoke against it.
    """
    use_threads(threads)
    estimator = load_model(model, device)
    inner = getattr(estimator, "estimator_", estimator)  # behind an imputation
    if not hasattr(inner, "explain"):
        raise ParameterError(
            f"The model in {model} is a {type(inner).__name__}; only GRAFENNE's are explained."
        )
    links = estimator.task_name == "links"
    if links and other is None:
        raise ParameterError("A model of links explains a pair of nodes: --node and --other.")
    if not links and other is not None:
        raise ParameterError(
            f"--other is for models of links; this one is for {estimator.task_name}."
        )
    graph = load_graph(data, root=data_root, release=release, options=option)
    warn_of_strange_data(estimator, graph, data)
    asked = [resolve_node(graph, text) for text in (node, other) if text is not None]
    explanation = estimator.explain(graph, *asked, top=top)
    result = {"model": str(model), "dataset": data, **explanation.to_dict()}
    answer(str(explanation), result, as_json)
