"""The demo's story: train on one release, meet and take in the next ones, explain a prediction."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from grafenne import FeatureGraph, GrafenneClassifier, Split
    from grafenne.estimators.explain import Explanation

RELEASES = ("bookworm", "trixie", "forky", "sid")


@dataclass(frozen=True)
class Step:
    """How two models do in one release: one that never changes, and one that is updated.

    Attributes:
        release: Its name.
        packages: Number of packages.
        new_packages: Those that the release before did not have.
        unseen_features: Features of this release that the model was not trained with.
        new_accuracy: Of the unchanged model on the new packages; ``None`` in the first release.
        held_out_accuracy: Of the unchanged model on the packages whose sections neither model has
            seen, not even to choose its epoch.
        updated_accuracy: Of the updated model on the same packages, after it took in the
            release; ``None`` in the first one.
        update_seconds: Time that taking it in took.
    """

    release: str
    packages: int
    new_packages: int
    unseen_features: int
    new_accuracy: float | None
    held_out_accuracy: float
    updated_accuracy: float | None
    update_seconds: float | None


@dataclass(frozen=True)
class Story:
    """Everything that the report tells.

    Attributes:
        first_release: Where the model was trained.
        next_release: The release whose new packages are predicted one by one.
        trained_on: Number of training packages.
        classes: Number of sections.
        seconds: Time that training took.
        common_section: The commonest section in training.
        common_share: Its share among the new packages: what a constant answer reaches.
        steps: One per release.
        predictions: The new packages of ``next_release``: ``node, label, probability,
            true_label, correct, unseen_features``.
        explanation: Of one of them.
        explained_truth: Its true section.
        losses: Per epoch: training loss, validation loss, validation accuracy.
        best_epoch: The epoch that was kept.
        model: The trained model, as it was before any update.
    """

    first_release: str
    next_release: str
    trained_on: int
    classes: int
    seconds: float
    common_section: str
    common_share: float
    steps: list[Step]
    predictions: pd.DataFrame
    explanation: Explanation
    explained_truth: str
    losses: list[tuple[float, float, float]]
    best_epoch: int
    model: GrafenneClassifier

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the model and the table."""
        plain = ("first_release", "next_release", "trained_on", "classes", "seconds",
                 "common_section", "common_share", "best_epoch")  # fmt: skip
        return {
            **{name: getattr(self, name) for name in plain},
            "epochs": len(self.losses),
            "steps": [asdict(step) for step in self.steps],
            "explanation": self.explanation.to_dict(),
        }


def run_demo(
    *,
    epochs: int = 200,
    seed: int = 0,
    tell: Callable[[str], None] = lambda text: None,
    verbose: bool = False,
) -> Story:
    """Runs the story.

    Args:
        epochs: Most epochs of training.
        seed: Seed of everything random.
        tell: Told what is going on.
        verbose: Whether training shows its progress.
    """
    from grafenne import GrafenneClassifier, random_split
    from grafenne.datasets import load_stream

    stream = load_stream("debian-mini", releases=RELEASES)
    first = stream.first
    split = random_split(first, seed)
    tell(f"{RELEASES[0]}: {first!r}")
    tell(f"Training on {len(split.train):,} of its packages ...")
    started = time.perf_counter()
    # Features of new packages are known by their names alone, so the embedding reads names.
    model = GrafenneClassifier(
        features="name", epochs=epochs, patience=40, random_state=seed, verbose=verbose
    ).fit(first, split)
    seconds = time.perf_counter() - started

    known, learnt = set(first.features), _used(first, split)
    labels = [first.label_of(node) for node in first.nodes.take(split.train)]
    common = Counter(labels).most_common(1)[0][0]
    steps = [measure(model, None, first, RELEASES[0], [], learnt, known)]
    predictions = None
    before, follower = first, copy.deepcopy(model)
    for release, (delta, graph) in zip(RELEASES[1:], stream.steps(), strict=True):
        tell(f"{release}: {graph!r}")
        new = [node for node in delta.nodes_added if graph.label_of(node) is not None]
        # Of the new packages, a hash of the name decides which may be learnt from.
        follower.update(before, delta, after=graph)
        learnt |= _used(graph, follower.split_)
        steps.append(measure(model, follower, graph, release, new, learnt, known))
        before = graph
        if predictions is None:
            predictions = predict_new(model, graph, new, known)
            explanation = telling_explanation(model, graph, predictions)
            truth = str(graph.label_of(explanation.node))
    if predictions is None:
        raise RuntimeError("the stream has a single release")
    return Story(
        first_release=RELEASES[0],
        next_release=RELEASES[1],
        trained_on=len(split.train),
        classes=len(model.classes_),
        seconds=seconds,
        common_section=str(common),
        common_share=float((predictions["true_label"] == common).mean()),
        steps=steps,
        predictions=predictions,
        explanation=explanation,
        explained_truth=truth,
        losses=model.history_.epochs,
        best_epoch=model.history_.best_epoch,
        model=model,
    )


def _used(graph: FeatureGraph, split: Split) -> set[Hashable]:
    """The nodes that training has looked at the labels of."""
    return {*graph.nodes.take(split.train), *graph.nodes.take(split.validation)}


def measure(
    model: GrafenneClassifier,
    follower: GrafenneClassifier | None,
    graph: FeatureGraph,
    release: str,
    new: list[Hashable],
    learnt: set[Hashable],
    known: set[str],
) -> Step:
    """How the models do in one release.

    Args:
        model: The model that never changes.
        follower: The one that took in this release; ``None`` in the first.
        graph: The release.
        release: Its name.
        new: The packages that the release before did not have.
        learnt: The packages that one of the models learnt from, or chose its epoch by.
        known: The features that it was trained with.
    """
    counts = graph.values.feature_counts
    used = [name for name, count in zip(graph.features, counts.tolist(), strict=True) if count]
    held_out = [node for node in graph.nodes if node not in learnt]
    return Step(
        release=release,
        packages=graph.num_nodes,
        new_packages=len(new),
        unseen_features=sum(name not in known for name in used),
        new_accuracy=model.score(graph, new) if new else None,
        held_out_accuracy=model.score(graph, held_out),
        updated_accuracy=None if follower is None else follower.score(graph, held_out),
        update_seconds=None if follower is None else follower.last_update_.seconds,
    )


def predict_new(
    model: GrafenneClassifier, graph: FeatureGraph, new: list[Hashable], known: set[str]
) -> pd.DataFrame:
    """One row per new package, with the features that the model had never seen."""
    import pandas as pd

    probabilities = model.predict_proba(graph, new)
    labels = model.classes_[probabilities.argmax(axis=1)]
    truth = [graph.label_of(node) for node in new]
    frame: pd.DataFrame = pd.DataFrame(
        {
            "node": new,
            "label": labels.tolist(),
            "probability": probabilities.max(axis=1),
            "true_label": truth,
            "correct": [label == true for label, true in zip(labels, truth, strict=True)],
            "unseen_features": [
                " ".join(name for name in graph.features_of(node) if name not in known)
                for node in new
            ],
        }
    )
    return frame


def telling_explanation(
    model: GrafenneClassifier, graph: FeatureGraph, predictions: pd.DataFrame
) -> Explanation:
    """Of a few right and fairly sure predictions, the one whose features say most.

    Only packages with unseen features and dependencies come into question, as long as there are
    any.
    """
    joined = predictions["node"].map(lambda node: len(graph.neighbors(node)) >= 3)
    strange = predictions["unseen_features"] != ""
    good = predictions[predictions["correct"] & strange & joined]
    chosen = good if len(good) else predictions
    order = (chosen["probability"] - 0.9).abs().to_numpy().argsort(kind="stable")
    told = [model.explain(graph, chosen["node"].iloc[int(place)], top=8) for place in order[:4]]
    return max(told, key=lambda one: max((part.contribution for part in one.features), default=0))


def write_predictions(story: Story, path: Path) -> None:
    """The predictions for the new packages as a table."""
    from grafenne.data.tables import write_table

    write_table(story.predictions, path)
