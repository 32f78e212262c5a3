"""What is told of a name that is not known."""

from __future__ import annotations

import pytest

from grafenne import FeatureGraph, GrafenneClassifier
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import UnknownNameError


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (["sage", "gat"], r"Unknown node 'sagee'\. Did you mean 'sage'\?$"),
        (["gin", "gcn"], r"Unknown node 'sagee'\. Choose from gin, gcn\.$"),
        ([f"n{number}" for number in range(21)], r"Unknown node 'sagee'\.$"),  # too many to list
        (["x" * 400], r"Unknown node 'sagee'\.$"),  # too long
        (["a\nb"], r"Unknown node 'sagee'\.$"),  # a message is one line
        ([], r"Unknown node 'sagee'\.$"),
    ],
)
def test_the_nearest_name_is_told_or_all_if_they_are_few(known: list[str], told: str) -> None:
    with pytest.raises(UnknownNameError, match=told):
        Vocabulary(known, kind="node").position("sagee")


def test_a_wrong_setting_tells_what_it_may_be() -> None:
    graph = FeatureGraph.from_arrays(2, 1, ([0, 1], [0, 0], [1, 1]), labels=["x", "y"])
    with pytest.raises(UnknownNameError, match="Choose from company, learned, name, structural"):
        GrafenneClassifier(features="alike").fit(graph)
