from __future__ import annotations

import pytest

from grafenne.errors import GrafenneError
from grafenne.experiments.registry import get_experiment
from grafenne.experiments.selection import select


def chosen(*only: str, name: str = "node-classification", **options: bool) -> list[str]:
    found = select(get_experiment(name), only, seeds=2, **options)
    return [f"{cell.dataset} {cell.method} {cell.p}" for cell, _ in found]


def test_without_a_filter_every_honest_cell_is_taken() -> None:
    experiment = get_experiment("link-prediction")
    cells = [cell for cell, _ in select(experiment, (), seeds=5)]
    leaking = [cell for cell, _ in select(experiment, (), seeds=5, leaked=True)]
    assert cells + leaking == list(experiment.cells)
    assert all(cell.extra == {"leaked": True} for cell in leaking)
    assert not any(cell.extra for cell in cells)


def test_all_keys_of_a_filter_must_fit() -> None:
    assert chosen("dataset=cora,method=grafenne,p=0.99") == ["cora grafenne 0.99"]
    assert chosen("dataset=cora, method=sage|grafenne, p=0|0.5") == [
        "cora sage 0.0",
        "cora sage 0.5",
        "cora grafenne 0.0",
        "cora grafenne 0.5",
    ]


def test_several_filters_are_alternatives() -> None:
    assert chosen("dataset=cora,method=mlp,p=0", "dataset=actor,method=gcn,p=0.50") == [
        "cora mlp 0.0",
        "actor gcn 0.5",
    ]


def test_seeds_are_counted_or_named() -> None:
    experiment = get_experiment("node-classification")
    cell = "dataset=cora,method=mlp,p=0"
    seeds = [select(experiment, only, seeds=3)[0][1] for only in ([cell], [f"{cell},seed=7|2"])]
    assert seeds == [[0, 1, 2], [2, 7]]


def test_the_plain_variant_can_be_asked_for() -> None:
    experiment = get_experiment("translation")
    plain = select(experiment, ["method=grafenne,variant=none"], seeds=1)
    assert [cell.extra["variant"] for cell, _ in plain] == ["", "", ""]
    assert len(select(experiment, ["method=grafenne"], seeds=1)) == 6


@pytest.mark.parametrize(
    ("only", "told"),
    [
        ("dataset=coar", "Did you mean 'cora'"),
        ("method=graffene", "Did you mean 'grafenne'"),
        ("p=0.42", "Choose from 0, 0.5, 0.99"),
        ("p=few", "Choose from"),
        ("datset=cora", "Did you mean 'dataset'"),
        ("cora", "KEY=VALUE"),
        ("dataset=", "KEY=VALUE"),
        ("seed=x", "whole number"),
        ("p=0,p=0.5", "twice"),
        ("method=fp+sage,p=0", "No cell"),
    ],
)
def test_mistakes_are_told_with_a_suggestion(only: str, told: str) -> None:
    with pytest.raises(GrafenneError, match=told):
        chosen(only)


def test_only_link_prediction_leaks() -> None:
    with pytest.raises(GrafenneError, match="no cells that leak"):
        chosen(leaked=True)
