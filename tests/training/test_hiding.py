"""Whole kinds of features, and all of a node's, hidden in training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.errors import ParameterError
from grafenne.training.hiding import FeatureHiding

NODES, NAMES = 2000, ["tag:a", "tag:b", "word:x", "word:y", "size"]
KINDS = np.array([0, 0, 1, 1, 2])


def full() -> AllotropicGraph:
    """Every node has every feature."""
    node, feature = np.divmod(np.arange(NODES * len(NAMES)), len(NAMES))
    values = np.ones(len(node))
    return to_allotropic(FeatureGraph.from_arrays(NODES, NAMES, (node, feature, values)))


def table(kept: torch.Tensor) -> np.ndarray:
    return kept.numpy().reshape(NODES, len(NAMES))


def test_a_kind_is_hidden_as_a_whole_and_as_often_as_asked() -> None:
    kept = table(FeatureHiding(full(), kind_rate=0.25).keep(7))
    assert (kept[:, 0] == kept[:, 1]).all()
    assert (kept[:, 2] == kept[:, 3]).all()
    assert (kept[:, 0] != kept[:, 2]).any()
    assert np.allclose(1 - kept.mean(axis=0), 0.25, atol=0.04)


def test_a_node_loses_everything_or_nothing() -> None:
    kept = table(FeatureHiding(full(), node_rate=0.5).keep(7))
    assert (kept == kept[:, :1]).all()
    assert abs(kept[:, 0].mean() - 0.5) < 0.04


def test_kinds_and_nodes_are_hidden_independently() -> None:
    kept = table(FeatureHiding(full(), kind_rate=0.5, node_rate=0.5).keep(7))
    assert np.allclose(kept.mean(axis=0), 0.25, atol=0.04)


def test_a_seed_decides_for_all_and_for_some() -> None:
    hiding = FeatureHiding(full(), kind_rate=0.3, node_rate=0.1)
    whole = hiding.keep(3)
    places = torch.tensor([9, 0, 4999, 9])
    assert torch.equal(hiding.keep(3, places), whole[places])
    assert torch.equal(hiding.keep(3), whole)
    assert not torch.equal(hiding.keep(4), whole)


def test_labels_stay_and_no_rates_hide_nothing() -> None:
    kept = table(FeatureHiding(full(), node_rate=0.9, first_label=4).keep(1))
    assert kept[:, 4].all()
    assert not kept[:, 0].all()
    assert FeatureHiding(full()).keep(1).all()


@pytest.mark.parametrize("rates", [{"kind_rate": 1.0}, {"node_rate": -0.1}])
def test_rates_are_checked(rates: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="at least 0 and below 1"):
        FeatureHiding(full(), **rates)
