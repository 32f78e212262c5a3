"""``grafenne train``: fit a model, judge it on held-out data, keep it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grafenne.cli import train_options as given
from grafenne.cli.inputs import drop_missing, load_graph, read_split
from grafenne.cli.models import (
    NOT_FOR_FILES,
    TASKS,
    behind_imputer,
    check_model_folder,
    choose_task,
    make_estimator,
    read_settings,
)
from grafenne.cli.options import (
    DEFAULT_DATA,
    DataArgument,
    DataOptionsOption,
    DeviceOption,
    JsonOption,
    MissingOption,
    MissingSeedOption,
    QuietOption,
    ReleaseOption,
    RootOption,
    SplitOption,
    ThreadsOption,
    ZerosOption,
    choose,
    use_threads,
)
from grafenne.cli.output import STOPPED, answer, pairs_text, peak_megabytes, say
from grafenne.errors import ModelFileError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph


def train(
    data: DataArgument = DEFAULT_DATA,
    out: given.OutOption = None,
    seed: given.SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    device: DeviceOption = None,
    threads: ThreadsOption = None,
    checkpoint: given.CheckpointOption = None,
    fresh: given.FreshOption = False,
    task: given.TaskOption = None,
    impute: given.ImputeOption = None,
    backbone: given.BackboneOption = None,
    features: given.FeaturesOption = None,
    labels_as_features: given.LabelsOption = False,
    smoothing: given.SmoothingOption = None,
    width: given.WidthOption = None,
    layers: given.LayersOption = None,
    reach: given.ReachOption = None,
    heads: given.HeadsOption = None,
    mode: given.ModeOption = None,
    aggregation: given.AggregationOption = None,
    class_weight: given.ClassWeightOption = None,
    set_: given.SetOption = None,
    settings: given.SettingsOption = None,
    epochs: given.EpochsOption = None,
    patience: given.PatienceOption = None,
    learning_rate: given.LearningRateOption = None,
    weight_decay: given.WeightDecayOption = None,
    dropout: given.DropoutOption = None,
    feature_dropout: given.FeatureDropoutOption = None,
    batch_size: given.BatchSizeOption = None,
    neighbours: given.NeighboursOption = None,
    release: ReleaseOption = None,
    option: DataOptionsOption = None,
    missing: MissingOption = 0.0,
    observed_zeros: ZerosOption = False,
    missing_seed: MissingSeedOption = None,
    split: SplitOption = None,
    data_root: RootOption = None,
) -> None:
    """Train a model and tell how good it is on data that it did not see.

    The labelled nodes are split 60/20/20 at random by --seed into training, validation (which
    chooses the epoch) and test; with --task links the edges are. A run that was interrupted goes
    on when the same command is given again. With --batch-size, torchrun may start several
    processes that train one model: torchrun --nproc-per-node=2 -m grafenne train ...
    """
    chosen = {
        "backbone": backbone,
        "features": features,
        "width": width,
        "num_layers": layers,
        "reach": reach,
        "heads": heads,
        "mode": mode,
        "aggregation": aggregation,
        "epochs": epochs,
        "patience": patience,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "dropout": dropout,
        "feature_dropout": feature_dropout,
        "batch_size": batch_size,
        "neighbours": neighbours,
        "class_weight": class_weight,
        "labels_as_features": labels_as_features or None,
        "random_state": seed,
        "device": device,
    }
    if task is not None:
        choose("task", task, TASKS)
    if out is not None:
        check_model_folder(out)
    if "WORLD_SIZE" in os.environ:  # each process of torchrun would warn about idle parameters
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    use_threads(threads)
    from grafenne.data.atomic import reserved
    from grafenne.training.checkpoint import Checkpoint
    from grafenne.training.distributed import joined

    folder = checkpoint if checkpoint is not None else _beside(out)
    if out is not None and folder is not None and folder.resolve() == out.resolve():
        raise ParameterError(f"--checkpoint must not be --out, got {folder} for both.")
    with joined(device) as around, reserved(*((out, folder) if around.is_main else ())):
        quiet = quiet or not around.is_main  # one log, of the first process
        graph = load_graph(data, root=data_root, release=release, options=option)
        task = choose_task(task, graph)
        spoken = {name: value for name, value in chosen.items() if value is not None}
        more = [*(set_ or ()), *([] if smoothing is None else [f"smoothing={smoothing}"])]
        estimator = make_estimator(task, {**read_settings(settings), **spoken}, more)
        estimator.verbose = not quiet
        if impute is not None:
            estimator = behind_imputer(estimator, impute)
        if not quiet:
            say(f"{data}: {graph!r}")
        graph = drop_missing(
            graph,
            missing,
            observed_zeros=observed_zeros,
            seed=seed if missing_seed is None else missing_seed,
        )
        parts = make_split(task, graph, split, seed)
        fit(estimator, graph, parts, folder, fresh=fresh)
        found = scores(task, estimator, graph, parts)
        if not around.is_main:
            return
        if out is not None:
            estimator.save(out)
        if folder is not None:  # not before the model is safe
            Checkpoint(folder, {}).remove()
    result = {
        "dataset": data,
        "task": task,
        "seed": seed,
        **found,
        "epochs": len(estimator.history_.epochs),
        "best_epoch": estimator.history_.best_epoch,
        "stopped": estimator.history_.stopped,
        "seconds": estimator.history_.seconds,
        "seconds_per_epoch": estimator.history_.seconds_per_epoch,
        "peak_mb": peak_megabytes(),
        "processes": around.size,
        "parameters": estimator.num_parameters_,
        "missing": missing,
        "impute": impute,
        "smoothing": _smoothing_of(estimator),
        "settings": {
            name: value
            for name, value in _settings_of(estimator).items()
            if name not in NOT_FOR_FILES
        },
        "model": None if out is None else str(out),
    }
    told = [(name.replace("_", " "), value) for name, value in result.items() if name != "settings"]
    answer(pairs_text(told), result, as_json)


def make_split(task: str, graph: FeatureGraph, file: Path | None, seed: int) -> Any:
    """The split of the nodes, or for links of the edges."""
    from grafenne import random_split, split_edges

    if task == "links":
        if file is not None:
            raise ParameterError("--split divides nodes; with --task links the edges are divided.")
        return split_edges(graph, seed)
    return random_split(graph, seed) if file is None else read_split(graph, file)


def fit(estimator: Any, graph: FeatureGraph, split: Any, folder: Path | None, fresh: bool) -> None:
    """Trains, going on from the checkpoint in ``folder`` if there is one of this run.

    The checkpoint stays when training is done, until the model is saved.

    Args:
        estimator: What to train.
        graph: The graph.
        split: Its split.
        folder: Where checkpoints go; ``None`` for none.
        fresh: Whether to throw an older checkpoint away.
    """
    from grafenne.training.checkpoint import Checkpoint, checkpoints_kept
    from grafenne.training.distributed import is_restarted, wait_for_all, world

    kept = None if folder is None else Checkpoint(folder, {})
    if kept is not None and kept.exists():
        if fresh and not is_restarted():  # then the checkpoint is this run's own
            kept.remove()
        elif world().is_main:
            say(f"Going on from the checkpoint in {folder}.")
        wait_for_all()
    try:
        with checkpoints_kept():
            estimator.fit(graph, split, checkpoint=folder)
    except ModelFileError as error:
        raise ModelFileError(f"{error} (--fresh starts over.)") from None
    except KeyboardInterrupt:
        if kept is not None and kept.exists():
            say(f"Stopped; the state is in {folder}. Give the same command again to go on.")
        elif kept is not None:
            say("Stopped before the first epoch; there is nothing to keep yet.")
        else:
            say("Stopped; nothing was kept (--out or --checkpoint keep the state of a run).")
        raise typer.Exit(STOPPED) from None


def scores(task: str, estimator: Any, graph: FeatureGraph, split: Any) -> dict[str, Any]:
    """How good the model is on the validation and the test part, by the names of the task."""
    told: dict[str, Any] = {}
    for part, prefix in (("test", "test"), ("validation", "val")):
        if task == "links":
            if len(getattr(split, part)):
                found = estimator.evaluate(split, part)
                told.update({f"{prefix}_{name}": value for name, value in found.items()})
            continue
        nodes = graph.nodes.take(getattr(split, part))
        if not nodes:
            continue
        found = estimator.evaluate(graph, nodes)
        told.update(
            {f"{prefix}_{name}": value for name, value in found.items() if name != "per_class"}
        )
    return told


def _settings_of(estimator: Any) -> dict[str, Any]:
    """The settings of the network, also where an imputer stands before it."""
    inner = getattr(estimator, "estimator", estimator)
    settings: dict[str, Any] = inner.get_params()
    return settings


def _smoothing_of(estimator: Any) -> float | None:
    """How much of an answer comes from around, as given or as chosen."""
    inner = getattr(estimator, "estimator_", estimator)
    smoothing = getattr(inner, "smoothing_", None)
    return None if smoothing is None else float(smoothing.share)


def _beside(out: Path | None) -> Path | None:
    return None if out is None else out.with_name(f"{out.name}.checkpoint")
