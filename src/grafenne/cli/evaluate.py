"""``grafenne evaluate``: how good a saved model is on labelled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli.inputs import drop_missing, load_graph, read_nodes
from grafenne.cli.models import load_model, warn_of_strange_data
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    MissingOption,
    MissingSeedOption,
    ModelArgument,
    NodesOption,
    ReleaseOption,
    RootOption,
    SplitOption,
    ThreadsOption,
    ZerosOption,
    choose,
    use_threads,
)
from grafenne.cli.output import answer, pairs_text, say, table_text
from grafenne.cli.train import make_split
from grafenne.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    from grafenne.data.feature_graph import FeatureGraph


def evaluate(
    model: ModelArgument,
    data: DataArgument = DEFAULT_DATA,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="all, train, validation or test; by default all labelled nodes, for links test.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Divide the data anew by this seed, as if it were new data."
        ),
    ] = None,
    nodes: NodesOption = None,
    as_json: JsonOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    missing: MissingOption = 0.0,
    observed_zeros: ZerosOption = False,
    missing_seed: MissingSeedOption = None,
    split: SplitOption = None,
    data_root: RootOption = None,
) -> None:
    """Evaluate a saved model on the labelled nodes of a graph, or for links on its edges.

    A model knows which nodes or edges it learnt from: --part test takes its own test part, wherever
    that is now, unless --seed or --split divides the data anew. All nodes include those it learnt
    from.
    """
    if part is not None:
        choose("part", part, ("all", "train", "validation", "test"))
    use_threads(threads)
    estimator = load_model(model, device)
    graph = load_graph(data, root=data_root, release=release, options=option)
    warn_of_strange_data(estimator, graph, data)
    graph = drop_missing(
        graph,
        missing,
        observed_zeros=observed_zeros,
        seed=_seed(estimator, seed) if missing_seed is None else missing_seed,
    )
    task = estimator.task_name
    found, part = _evaluate(estimator, graph, part, seed, nodes, split)
    result = {"model": str(model), "dataset": data, "task": task, "part": part, **found}
    human = pairs_text(
        (name.replace("_", " "), value) for name, value in result.items() if name != "per_class"
    )
    if "per_class" in found:
        rows = [
            (name, *(about[column] for column in ("nodes", "precision", "recall", "f1")))
            for name, about in found["per_class"].items()
        ]
        human += "\n\n" + table_text(("class", "nodes", "precision", "recall", "f1"), rows)
    answer(human, result, as_json)


def _evaluate(
    estimator: Any,
    graph: FeatureGraph,
    part: str | None,
    seed: int | None,
    nodes: list[str] | None,
    split: Path | None,
) -> tuple[dict[str, Any], str]:
    """The metrics, and what they were taken on."""
    if estimator.task_name == "links":
        if nodes or part not in (None, "validation", "test"):
            raise ParameterError("Links are evaluated on --part validation or test, without nodes.")
        return _evaluate_links(estimator, graph, part or "test", seed, split), part or "test"
    if nodes:
        if part is not None or split is not None:
            raise ParameterError("Give either --nodes or --part (with or without --split).")
        asked = read_nodes(graph, nodes)
        found: dict[str, Any] = estimator.evaluate(graph, asked)
        if found["nodes"] < len(asked):
            say(f"Note: {len(asked) - found['nodes']} of the nodes have no label and are left out.")
        return found, "nodes"
    part = part or ("all" if split is None else "test")
    if part == "all":
        return estimator.evaluate(graph), part
    if not hasattr(estimator, "split_") or split is not None or seed is not None:
        divided = make_split(estimator.task_name, graph, split, _seed(estimator, seed))
        asked = graph.nodes.take(getattr(divided, part))
        if part != "train" and hasattr(estimator, "split_"):
            trained = set(estimator.split_nodes_.take(estimator.split_.train))
            _tell_of_training(sum(node in trained for node in asked), part, "nodes")
        return estimator.evaluate(graph, asked), part
    own = estimator.split_nodes_.take(getattr(estimator.split_, part))
    positions = graph.nodes.find(own)
    positions = positions[positions >= 0]
    if graph.labels is not None:
        positions = positions[graph.labels.known[positions]]
    if not len(positions):
        raise ParameterError(
            f"The model has no {part} nodes with a label in this data; divide it anew by --seed or "
            "--split, or name nodes by --nodes."
        )
    return estimator.evaluate(graph, graph.nodes.take(positions)), part


def _evaluate_links(
    estimator: Any, graph: FeatureGraph, part: str, seed: int | None, split: Path | None
) -> dict[str, Any]:
    """The metrics on edges that the model was not trained on, unless ``seed`` divides them anew."""
    own = getattr(estimator, "edge_parts_", None)
    if seed is not None or split is not None:
        edges = make_split("links", graph, split, _seed(estimator, seed))
        if own is not None:
            trained = own.count_trained(getattr(edges, part), graph)
            _tell_of_training(trained, part, "edges")
    elif own is None:
        raise ParameterError(
            "The model does not tell which edges it was trained on; --seed divides the edges of "
            "data that it has not seen."
        )
    else:
        edges = own.split(graph)
        if not len(getattr(edges, part)):
            raise ParameterError(
                f"The model has no {part} edges in this data; --seed divides the edges anew."
            )
    found: dict[str, Any] = estimator.evaluate(edges, part)
    return found


def _tell_of_training(count: int, part: str, what: str) -> None:
    if count:
        say(f"Note: the model was trained on {count} of the {part} {what}, which flatters it.")


def _seed(estimator: Any, given: int | None) -> int:
    return int(estimator.random_state) if given is None else given
