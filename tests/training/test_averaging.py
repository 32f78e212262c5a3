"""Weights that are averaged over epochs: the mean by hand, and what training makes of it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grafenne import GrafenneClassifier
from grafenne.errors import ParameterError
from grafenne.training.averaging import averaged, lent, weights_of
from tests.estimators.cases import graph_for
from tests.training.test_loop import Scripted, run


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, [-0.1, -0.15, -0.2, -0.25]),  # the plain mean
        # Parts 1, 3/4, 5/9, 7/16 of the way to the weights -0.1, -0.2, -0.3, -0.4.
        (0.5, [-0.1, -0.175, -0.244444, -0.3125]),
        (0.0, [-0.1, -0.2, -0.3, -0.4]),
    ],
)
def test_the_mean_is_validated_and_kept_while_training_goes_on_from_the_weights(
    share: float, expected: list[float]
) -> None:
    objective = Scripted([4.0, 3.0, 1.0, 2.0])
    history = run(objective, epochs=4, patience=9, averaging=share)
    assert objective.after == pytest.approx(expected, abs=1e-5)
    assert history.best_epoch == 2
    assert float(objective.network.weight.detach()) == pytest.approx(expected[2], abs=1e-5)


def test_late_epochs_weigh_by_the_power_that_the_docs_tell() -> None:
    network, share, epochs = nn.Linear(1, 1, bias=False), 0.25, 400
    mean = None
    for epoch in range(1, epochs + 1):
        nn.init.constant_(network.weight, epoch)
        mean = averaged(mean, network, epoch, share)
    power = torch.arange(1, epochs + 1, dtype=torch.float64) ** (1 / share - 1)
    expected = float((power * torch.arange(1, epochs + 1)).sum() / power.sum())
    assert mean is not None
    assert float(mean["weight"]) == pytest.approx(expected, rel=2e-3)


def test_a_mean_is_made_anew_and_counts_are_those_of_now() -> None:
    network = nn.BatchNorm1d(2)
    first = averaged(None, network, 1, 0.5)
    network(torch.randn(4, 2))
    second = averaged(first, network, 2, 0.5)
    assert int(first["num_batches_tracked"]) == 0
    assert int(second["num_batches_tracked"]) == 1
    assert torch.equal(first["running_mean"], torch.zeros(2))
    assert torch.allclose(second["running_mean"], 0.75 * network.running_mean)


def test_weights_are_lent_and_given_back_whatever_happens() -> None:
    network = nn.Linear(1, 1)
    own = weights_of(network)

    def fail_meanwhile() -> None:
        with lent(network, {**own, "bias": own["bias"] + 1}):
            raise KeyboardInterrupt(float(network.bias.detach()))

    with pytest.raises(KeyboardInterrupt) as caught:
        fail_meanwhile()
    assert caught.value.args == (float(own["bias"]) + 1,)
    assert torch.equal(network.bias, own["bias"])
    with lent(network, None):
        assert torch.equal(network.bias, own["bias"])


def test_an_estimator_averages_when_it_is_told_to() -> None:
    graph = graph_for("classifier")
    models = [GrafenneClassifier(width=8, epochs=6, averaging=share) for share in (0.0, 0.5)]
    plain, mean = (model.fit(graph).history_.epochs for model in models)
    assert [epoch[0] for epoch in plain] == [epoch[0] for epoch in mean]  # training is the same
    assert plain[0] == mean[0]
    assert all(plain[number][1] != mean[number][1] for number in range(1, 6))
    with pytest.raises(ParameterError, match=r"averaging must be from 0 to 1, got 1\.5"):
        GrafenneClassifier(averaging=1.5).fit(graph)
