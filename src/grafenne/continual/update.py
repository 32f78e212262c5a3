"""Brings a fitted model up to date with a graph that has changed."""

from __future__ import annotations

import copy
import time
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grafenne.continual.context import UpdateContext
from grafenne.continual.growth import grow_model, new_class_names, shrink_features
from grafenne.continual.lineage import lineage_entry
from grafenne.continual.objectives import UpdateObjective
from grafenne.continual.parts import parts_left_behind, split_after
from grafenne.continual.registry import make_strategy
from grafenne.continual.strategies import Strategy
from grafenne.data.delta import GraphDelta
from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.label_changes import labels_kept
from grafenne.data.split import Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, unknown_name
from grafenne.ops import RandomBits, set_random_bits
from grafenne.training.loop import History, TrainingSettings, train

if TYPE_CHECKING:
    from grafenne.estimators.node_estimator import GrafenneNodeEstimator

STATES = ("auto", "exact", "fixed")
NEW_CLASSES = ("grow", "error")
SLOWER = 0.2
"""Share of the estimator's learning rate that an update uses."""
VALIDATE_EVERY = 5


@dataclass(frozen=True)
class UpdateReport:
    """What an update did.

    Attributes:
        strategy: Name of the strategy.
        affected: Number of nodes that the change touched.
        trained_on: Number of nodes trained on.
        states: ``exact`` or ``fixed``; empty where nothing was trained.
        kept_start: Whether no epoch was better than the start on the validation nodes, so that
            the parameters stayed and new features go on counting as unseen.
        penalty: λ, where the strategy has one.
        new_features: Number of features that the model did not know.
        new_classes: Names of the classes that were added.
        epochs: Number of epochs.
        seconds: Time of the whole update.
    """

    strategy: str
    affected: int
    trained_on: int
    states: str
    kept_start: bool
    penalty: float | None
    new_features: int
    new_classes: tuple[Hashable, ...]
    epochs: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def update_estimator(
    estimator: GrafenneNodeEstimator,
    graph: FeatureGraph,
    change: GraphDelta | FeatureGraph,
    *,
    strategy: str | Strategy = "ewc",
    after: FeatureGraph | None = None,
    split: Split | None = None,
    states: str = "auto",
    new_classes: str = "grow",
    seed: int | None = None,
    **options: Any,
) -> None:
    """Updates ``estimator`` in place; :meth:`grafenne.GrafenneClassifier.update` explains all.

    The work is done on a copy, so an update that fails leaves the model as it was.
    """
    started = time.perf_counter()
    if states not in STATES:
        raise unknown_name("states", states, STATES)
    if new_classes not in NEW_CLASSES:
        raise unknown_name("new_classes", new_classes, NEW_CLASSES)
    plan = _strategy_of(estimator, strategy, options)
    delta, after = _resolve(graph, change, after)
    parts = split_after(estimator, graph, after, split)
    number = getattr(estimator, "updates_", 0) + 1
    root = estimator.random_state if seed is None else seed
    entry = lineage_entry(
        estimator, delta.digest(), plan, states=states, new_classes=new_classes, seed=int(root)
    )
    learner = copy.copy(estimator)
    learner.__dict__.pop("_prepared", None)
    learner.network_ = copy.deepcopy(estimator.network_)
    bits = RandomBits(int(np.random.SeedSequence([root, number]).generate_state(1)[0]))
    set_random_bits(learner.network_, bits)
    context = UpdateContext(
        learner=learner,
        before=graph,
        after=after,
        delta=delta,
        affected=_touched(graph, after, delta),
        train=parts.train,
        validation=parts.validation,
        old_train=_old_train(estimator, graph),
        states=_states_of(learner, plan, states),
        bits=bits,
    )
    names: list[Hashable] = []
    if plan.kind != "keep":
        known = getattr(learner.task_, "classes", ())
        names = new_class_names(known, after, parts.train, new_classes)
    asked, plan = plan, copy.deepcopy(plan)  # what it remembers changes with the model, or not
    if plan.kind == "restart":
        learner = _retrained(estimator, after, parts, root)
        trained, outcome = len(parts.train), None
        epochs, kept = len(learner.history_.epochs), False
    else:
        if plan.kind == "continue":
            grow_model(context, names)
        trained, outcome, kept = _train(context, plan)
        epochs = 0 if outcome is None else len(outcome.epochs)
    penalty: float | None = getattr(plan, "chosen_", None)
    learner.past_parts_ = parts_left_behind(estimator, after, parts)
    learner.split_, learner.split_nodes_ = parts, after.nodes
    learner.updates_, learner.strategy_ = number, asked
    learner.lineage_ = [*getattr(estimator, "lineage_", []), entry]
    learner.last_update_ = UpdateReport(
        strategy=plan.name,
        affected=len(context.affected),
        trained_on=trained,
        states=context.states if outcome is not None else "",
        kept_start=kept,
        penalty=penalty if outcome is not None else None,
        new_features=_count_new(estimator, after),
        new_classes=tuple(names),
        epochs=epochs,
        seconds=time.perf_counter() - started,
    )
    asked.__dict__.update(vars(plan))
    estimator.__dict__ = learner.__dict__


# ---- who and what --------------------------------------------------------------------------------


def _strategy_of(
    estimator: GrafenneNodeEstimator, strategy: str | Strategy, options: dict[str, Any]
) -> Strategy:
    """The strategy; the one of the last update, with its memory, if it is asked for again."""
    made = make_strategy(strategy, **options)
    last = getattr(estimator, "strategy_", None)
    if isinstance(strategy, str) and type(last) is type(made):
        settings = [n for n in vars(made) if not n.startswith("_") and not n.endswith("_")]
        if all(getattr(made, name) == getattr(last, name) for name in settings):
            return last
    return made


def _states_of(learner: GrafenneNodeEstimator, plan: Strategy, states: str) -> str:
    """How a step computes; parts of a graph are no use to a network that needs the whole."""
    local = learner.network_.encoder.local
    if states == "fixed" and not local:
        raise ParameterError(
            "states='fixed' computes neighbourhoods, but with this model's backbone a node depends "
            "on more than the edges into it: take 'auto' or 'exact'."
        )
    return (plan.states if local else "exact") if states == "auto" else states


def _resolve(
    graph: FeatureGraph, change: GraphDelta | FeatureGraph, after: FeatureGraph | None
) -> tuple[GraphDelta, FeatureGraph]:
    if isinstance(change, FeatureGraph):
        if after is not None:
            raise ParameterError("after is for a change given as a delta; this one is a graph.")
        change = graph.diff(labels_kept(graph, change))
    if not isinstance(change, GraphDelta):
        raise DataError(f"A GraphDelta or a FeatureGraph is needed, got {type(change).__name__}.")
    return change, graph.apply(change) if after is None else after


def _old_train(estimator: GrafenneNodeEstimator, before: FeatureGraph) -> list[Hashable]:
    """Ids of the nodes that have trained so far."""
    known: Split | None = getattr(estimator, "split_", None)
    nodes: Vocabulary | None = getattr(estimator, "split_nodes_", None)
    if known is not None and nodes is not None:
        return nodes.take(known.train)
    split = split_after(estimator, before, before, None)
    return before.nodes.take(split.train)


def _count_new(estimator: GrafenneNodeEstimator, after: FeatureGraph) -> int:
    known = Vocabulary(estimator.feature_names_in_.tolist(), kind="feature")
    return int((known.find(after.features) < 0).sum())


def _touched(graph: FeatureGraph, after: FeatureGraph, delta: GraphDelta) -> NDArray[np.int64]:
    """Affected nodes, and those whose label was set: there is something to learn from them."""
    nodes = {*delta.affected_nodes(graph), *delta.labels_set.ids("node")}
    return np.sort(after.nodes.positions(list(nodes)))


# ---- training --------------------------------------------------------------------------------


def _retrained(
    estimator: GrafenneNodeEstimator, after: FeatureGraph, split: Split, seed: int
) -> Any:
    from sklearn.base import clone

    fresh = clone(estimator).set_params(random_state=seed).fit(after, split)
    return fresh.set_params(random_state=estimator.random_state)  # that of the next update


def _train(context: UpdateContext, plan: Strategy) -> tuple[int, History | None, bool]:
    """Trains by the plan; leaves the best weights on the validation nodes, the start included."""
    if plan.kind == "keep":
        return 0, None, False
    _ = context.start
    plan.before_step(context)
    nodes = plan.training_nodes(context)
    if not len(nodes) or not len(context.affected):
        shrink_features(context)
        plan.after_step(context)
        return 0, None, False
    learner, network = context.learner, context.network
    settings = TrainingSettings(
        epochs=plan.epochs,
        patience=plan.epochs,
        learning_rate=plan.learning_rate or SLOWER * learner.learning_rate,
        weight_decay=learner.weight_decay if plan.weight_decay else 0.0,
        feature_decay=(
            learner._feature_decay(context.after, len(nodes)) if plan.weight_decay else None
        ),
        clip_norm=learner.clip_norm,
    )
    begin = copy.deepcopy(network.state_dict())
    judged = len(context.validation) > 0
    if not judged and len(list(plan.trials())) > 1:
        raise ParameterError("penalty='auto' needs validation nodes to choose by.")
    objective = UpdateObjective(context, plan, nodes, min(VALIDATE_EVERY, plan.epochs))
    best: tuple[float, dict[str, Tensor], History, float | None] | None = None
    for trial in plan.trials():
        network.load_state_dict(begin)
        objective.restart()
        history = train(objective, settings, context.bits)
        if best is None or history.best_loss < best[0]:
            best = (history.best_loss, copy.deepcopy(network.state_dict()), history, trial)
    if best is None:
        raise ParameterError(f"The strategy {plan.name!r} has nothing to try.")
    kept = judged and not best[0] < context.at_start[0]
    network.load_state_dict(begin if kept else best[1])
    if kept:
        shrink_features(context)
    if hasattr(plan, "chosen_"):
        plan.chosen_ = best[3]
    network.eval()
    with torch.no_grad():
        plan.after_step(context)
    return len(nodes), best[2], kept
