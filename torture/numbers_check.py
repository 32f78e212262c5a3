"""What must hold of an estimator whatever finite numbers it is given."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grafenne import FeatureGraph, GraphDelta
from grafenne.errors import GrafenneError, TrainingError
from torture.numbers_subjects import Subject

ANSWERED, REFUSED = "answered", "refused"


class BrokenPromiseError(Exception):
    """Something that must not happen did: a number that is not finite, or a foreign error."""


def check_fit(subject: Subject, graph: FeatureGraph, folder: Path | None = None) -> str:
    """Fits on a graph and uses the model in every way.

    Returns:
        ``answered`` or ``refused``, both being as promised.

    Raises:
        BrokenPromiseError: Anything else.
    """
    model = subject.make()
    refusal = _attempt(subject, lambda: model.fit(graph))
    if refusal is not None:
        _check_after_refusal(subject, model, graph, refusal)
        return REFUSED
    return _check_model(subject, model, graph, folder)


def check_use(subject: Subject, model: Any, graph: FeatureGraph) -> str:
    """Asks a model about a graph it was not fitted on; as :func:`check_fit`."""
    return _check_answers(subject, model, graph)


def check_update(subject: Subject, model: Any, before: FeatureGraph, after: FeatureGraph) -> str:
    """Updates a model to a changed graph; one that is refused leaves the model as it was."""
    known = numbers_of(subject, model, before)
    change: GraphDelta = before.diff(after)
    refusal = _attempt(subject, lambda: model.update(before, change, epochs=2))
    if refusal is not None:
        with quiet(subject):
            again = numbers_of(subject, model, before)
        if not np.array_equal(known, again):
            raise BrokenPromiseError(f"{subject}: an update that was refused changed the model")
        return REFUSED
    return _check_model(subject, model, after, None)


def _check_model(subject: Subject, model: Any, graph: FeatureGraph, folder: Path | None) -> str:
    """Weights and history are finite; so are answers, or they are refused."""
    for name, tensor in model.network_.state_dict().items():
        if not bool(torch.isfinite(tensor).all()):
            raise BrokenPromiseError(f"{subject}: weight {name} is not finite")
    for epoch in model.history_.epochs:
        if not all(map(math.isfinite, epoch)):
            raise BrokenPromiseError(f"{subject}: the history has {epoch}")
    outcome = _check_answers(subject, model, graph)
    if folder is not None:
        _check_saving(subject, model, graph if outcome == ANSWERED else None, folder)
    return outcome


def _check_saving(subject: Subject, model: Any, graph: FeatureGraph | None, folder: Path) -> None:
    def there_and_back() -> None:
        model.save(folder / "model")
        again = type(model).load(folder / "model")
        if graph is not None and not np.array_equal(
            numbers_of(subject, model, graph), numbers_of(subject, again, graph)
        ):
            raise BrokenPromiseError(f"{subject}: the loaded model predicts something else")

    refusal = _attempt(subject, there_and_back)
    if refusal is not None:
        raise BrokenPromiseError(f"{subject}: cannot be saved and loaded: {refusal}")


def _check_answers(subject: Subject, model: Any, graph: FeatureGraph) -> str:
    """Predictions, embeddings, metrics and an explanation: each finite, or refused."""
    refused = False

    def ask(what: str, use: Callable[[], Any]) -> None:
        nonlocal refused

        def checked() -> None:
            for number in _numbers(use()):
                if not np.isfinite(number).all():
                    raise BrokenPromiseError(f"{subject}: {what} gives {number}")

        refused = _attempt(subject, checked) is not None or refused

    ask("predict", lambda: numbers_of(subject, model, graph))
    ask("embed", lambda: model.embed(graph))
    if subject.is_grafenne:
        ask("embed features", lambda: model.embed(graph, of="features"))
    if subject.task != "links":
        ask("evaluate", lambda: model.evaluate(graph))
        if subject.is_grafenne and max(graph.values.counts, default=0) < 100:
            ask("explain", lambda: model.explain(graph, graph.nodes[0]).to_dict())
    return REFUSED if refused else ANSWERED


def _check_after_refusal(
    subject: Subject, model: Any, graph: FeatureGraph, refusal: GrafenneError
) -> None:
    """A fit that failed leaves nothing, or the weights of its best epoch."""
    kept = hasattr(model, "network_")
    if kept and not isinstance(refusal, TrainingError):
        raise BrokenPromiseError(f"{subject}: refused ({refusal}) but looks fitted")
    if kept:
        _check_model(subject, model, graph, None)


def numbers_of(subject: Subject, model: Any, graph: FeatureGraph) -> Any:
    """The probabilities or numbers that a model predicts; their sums are checked."""
    if subject.task == "regression":
        return model.predict(graph)
    if subject.task == "links":
        ids = list(graph.nodes)
        pairs = list(zip(ids, ids[1:] + ids[:1], strict=True))
        found = model.predict_proba(graph, pairs)
    else:
        found = model.predict_proba(graph)
        if not np.allclose(found.sum(axis=1), 1):
            raise BrokenPromiseError(f"{subject}: probabilities sum to {found.sum(axis=1)}")
    if not ((found >= 0) & (found <= 1)).all():
        raise BrokenPromiseError(f"{subject}: probabilities are {found}")
    return found


def _attempt(subject: Subject, act: Callable[[], Any]) -> GrafenneError | None:
    """The error of our own family that an act ends in; any other ending is broken."""
    try:
        with quiet(subject):
            act()
    except GrafenneError as error:
        sentence = str(error).strip()
        if not sentence.endswith(".") or "\n" in sentence:
            raise BrokenPromiseError(f"{subject}: not a sentence: {sentence!r}") from error
        return error
    return None


@contextmanager
def quiet(subject: Subject) -> Iterator[None]:
    """No warning and no foreign error may come from inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            yield
        except (GrafenneError, BrokenPromiseError):
            raise
        except Exception as error:
            raise BrokenPromiseError(f"{subject}: {type(error).__name__}: {error}") from error


def _numbers(told: Any) -> Iterator[Any]:
    """The numbers inside plain data; text and nothing have none."""
    if isinstance(told, dict):
        for part in told.values():
            yield from _numbers(part)
    elif isinstance(told, list | tuple):
        for part in told:
            yield from _numbers(part)
    elif isinstance(told, float | np.floating) or (
        isinstance(told, np.ndarray) and told.dtype.kind == "f"
    ):
        yield told
