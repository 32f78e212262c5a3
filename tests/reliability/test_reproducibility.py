"""The same seed gives the same bits; another number of threads nearly the same numbers."""

from __future__ import annotations

import pytest

from torture.numbers_graphs import make_graph
from torture.numbers_subjects import KINDS, Subject
from torture.reproducibility import (
    MOST_AT_PREDICTION,
    MOST_EARLY,
    across_threads,
    fitted_digest,
)


@pytest.mark.parametrize("subject", KINDS, ids=str)
def test_the_same_seed_gives_the_same_bits(subject: Subject) -> None:
    """Weights, history, predictions and embeddings; the long form: every method, two processes."""
    first = fitted_digest(subject, seed=3)
    assert fitted_digest(subject, seed=3) == first
    assert fitted_digest(subject, seed=4) != first


def test_two_threads_train_and_predict_nearly_as_one() -> None:
    """The long form does it for more estimators and epochs, and in batches."""
    graph = make_graph("classification", nodes=300, features=40)
    trained, _, predicted = across_threads(Subject("grafenne", "classification"), graph, epochs=2)
    assert trained <= MOST_EARLY
    assert predicted <= MOST_AT_PREDICTION
