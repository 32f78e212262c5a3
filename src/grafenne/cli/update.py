"""``grafenne update``: a saved model follows a change of its graph."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grafenne.cli.changes import load_both
from grafenne.cli.models import check_graph_folder, check_model_folder, load_model
from grafenne.cli.options import (
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    ReleaseOption,
    RootOption,
    ThreadsOption,
    choose,
    use_threads,
)
from grafenne.cli.output import answer, pairs_text, say
from grafenne.cli.strategies import (
    EpochsOption,
    SetOption,
    StrengthOption,
    make_strategies,
)
from grafenne.errors import DataError, ModelFileError, ParameterError

if TYPE_CHECKING:
    from grafenne.continual.strategies import Strategy
    from grafenne.data.delta import GraphDelta
    from grafenne.data.feature_graph import FeatureGraph

NEW_CLASSES = {"grow": "grow", "refuse": "error"}


def update(
    model: ModelArgument,
    change: Annotated[
        str,
        typer.Argument(
            metavar="CHANGE",
            help="A .jsonl file of events, a folder with a delta, or the graph after the change: "
            "a folder of tables or the name of a dataset.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to save the updated model; may be MODEL.")
    ],
    before: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="The graph before the change: a folder of tables or the name of a dataset.",
            rich_help_panel="Data",
        ),
    ] = None,
    before_release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Release of the graph before the change; of CHANGE's dataset without --before.",
            rich_help_panel="Data",
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="ewc, finetune, replay, contgnn, ewc-replay, online-ewc, warm-start, retrain or "
            "frozen.",
        ),
    ] = "ewc",
    epochs: EpochsOption = None,
    strength: StrengthOption = None,
    set_: SetOption = None,
    new_classes: Annotated[
        str,
        typer.Option(
            metavar="grow|refuse", help="Whether classes that the model does not know are added."
        ),
    ] = "grow",
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Seed of the update; by default the model's own."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Update even if this very update has been done already."),
    ] = False,
    write_graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the graph after the change, as the next update's --before.",
            rich_help_panel="Data",
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    data_root: RootOption = None,
) -> None:
    """Bring a saved model up to date with a graph that has changed.

    The model is replaced whole: whenever the command is stopped, the old or the new one is
    there, and giving the command again finishes the work or tells that it is done. Nodes keep
    their part; a newly labelled one trains or validates by a hash of its id; test nodes never
    train.
    """
    choose("value of --new-classes", new_classes, NEW_CLASSES)
    plan = make_strategies([strategy], epochs, strength, set_)[0]
    check_model_folder(out)
    if write_graph is not None:
        if before is not None and write_graph.resolve() == Path(before).resolve():
            raise ParameterError("--write-graph must not be --before, which a repetition needs.")
        check_graph_folder(write_graph)
    use_threads(threads)
    from grafenne.data.atomic import reserved

    with reserved(out, write_graph):  # from before the model is read: no update is lost
        estimator = load_model(model, device)
        if not hasattr(estimator, "update"):
            raise ParameterError(
                f"The model in {model} is a {type(estimator).__name__}, which cannot be updated; "
                "train it again."
            )
        if not hasattr(estimator, "split_") and not quiet:
            say(f"{model} does not tell its split: all labelled nodes count as new.")
        graph, delta = load_both(
            before,
            change,
            root=data_root,
            before_release=before_release,
            release=release,
            options=option,
        )
        strange = _strange_nodes(estimator, graph)
        if strange and not quiet:
            say(
                f"{strange} of the nodes before the change are unknown to the model; --before is "
                "the graph that it was trained with."
            )
        if not quiet:
            say(f"{delta!r}")
        settings = {"new_classes": NEW_CLASSES[new_classes], "seed": seed}
        done = None if again else _done(model, out, estimator, delta, plan, settings)
        after = graph.apply(delta)
        old = copy.copy(estimator)
        if done is None:
            estimator.update(graph, delta, strategy=plan, after=after, **settings)
        if write_graph is not None:  # before the model: if this fails, nothing has happened
            after.write(write_graph)
        if done is None:
            estimator.save(out)
            result = {**_told(estimator, out), **_judged(old, estimator, after), "repeated": False}
        else:
            result = {**_told(done, out), "repeated": True}
            if not quiet:
                say(f"{out} has taken in this change already (--again does it again).")
    result = {"model": str(model), "out": str(out), **result}
    result["graph"] = None if write_graph is None else str(write_graph)
    human = ((name.replace("_", " "), _text(value)) for name, value in result.items())
    answer(pairs_text(human), result, as_json)


def _strange_nodes(estimator: Any, before: FeatureGraph) -> int:
    """How many nodes of the graph before the change the model has not been trained with."""
    known = getattr(estimator, "split_nodes_", None)
    return 0 if known is None else int((known.find(before.nodes) < 0).sum())


def _done(
    model: Path,
    out: Path,
    estimator: Any,
    delta: GraphDelta,
    plan: Strategy,
    settings: dict[str, Any],
) -> Any:
    """The updated model, if an earlier run of this command left it in its place."""
    from grafenne.continual.lineage import lineage_entry, same_update

    seed = estimator.random_state if settings["seed"] is None else settings["seed"]
    wanted = lineage_entry(
        estimator,
        delta.digest(),
        plan,
        states="auto",
        new_classes=settings["new_classes"],
        seed=int(seed),
    )
    found = estimator
    if out.resolve() == model.resolve():
        # The parent has been overwritten: the change alone tells.
        wanted["parent"] = (getattr(estimator, "lineage_", None) or [{}])[-1].get("parent")
    elif out.is_dir():
        try:
            found = load_model(out)
        except ModelFileError:
            return None
    lineage = getattr(found, "lineage_", None)
    return found if lineage and same_update(lineage[-1], wanted) else None


def _told(estimator: Any, out: Path) -> dict[str, Any]:
    """What the last update of a model did."""
    from grafenne.continual.lineage import model_digest

    entry = estimator.lineage_[-1]
    return {
        **estimator.last_update_.to_dict(),
        "updates": len(estimator.lineage_),
        "parent": entry["parent"],
        "delta": entry["delta"],
        "digest": model_digest(estimator),
    }


def _judged(old: Any, new: Any, after: FeatureGraph) -> dict[str, Any]:
    """How good the model was and is on the test nodes of the graph after the change."""
    nodes = after.nodes.take(new.split_.test)
    if not nodes:
        return {}
    metric = "accuracy" if new.task_name == "classification" else "mae"
    try:
        was, now = (model.evaluate(after, nodes)[metric] for model in (old, new))
    except DataError:  # no label of a test node is left
        return {}
    return {f"test_{metric}_before": was, f"test_{metric}": now, "test_nodes": len(nodes)}


def _text(value: Any) -> Any:
    return ", ".join(map(str, value)) or None if isinstance(value, tuple | list) else value
