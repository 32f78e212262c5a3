"""Configurations decide which results are still valid: they must not change by themselves."""

from __future__ import annotations

import pytest

from grafenne.experiments.configuration import configure
from grafenne.experiments.registry import get_experiment

OF_ALL = {
    "class_weight", "clip_norm", "direction", "dropout", "epochs", "feature_dropout",
    "learning_rate", "num_layers", "patience", "scaling", "schedule", "validation_share",
    "weight_decay", "width",
}  # fmt: skip
OF_GRAFENNE = {
    "aggregation", "backbone", "batch_size", "feature_edges", "features", "features_per_node",
    "heads", "kind_dropout", "labels_as_features", "mode", "neighbours", "node_dropout",
    "nodes_per_feature", "normalisation", "reach", "skip",
}  # fmt: skip
OF_NETWORKS = {
    "heads", "kind", "labels_as_features", "normalisation", "normalise_rows", "observed_mask",
    "skip",
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "own"),
    [
        ("sage", OF_NETWORKS),
        ("grafenne", OF_GRAFENNE),
        ("pagnn", {"normalise_rows", "variant"}),
    ],
)
def test_a_setting_that_came_later_is_no_part_of_a_configuration_while_it_is_left_open(
    method: str, own: set[str]
) -> None:
    """Else each new setting would make all results look as if they had to be run again."""
    cells = get_experiment("node-classification").cells
    cell = next(cell for cell in cells if cell.method == method and cell.p == 0.5)
    assert set(configure(cell)["settings"]) == OF_ALL | own


@pytest.mark.parametrize(
    ("name", "value"), [("averaging", 0.25), ("class_shares", "validation"), ("smoothing", "auto")]
)
def test_a_later_setting_is_part_of_it_where_it_is_chosen(name: str, value: object) -> None:
    cell = get_experiment("node-classification").cells[0]
    assert configure(cell, chosen={name: value})["settings"][name] == value
