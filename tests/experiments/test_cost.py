"""What an experiment will take is told before it starts; streams count their updates."""

from __future__ import annotations

import pytest

from grafenne.experiments.cells import Cell
from grafenne.experiments.cost import CostModel
from grafenne.experiments.registry import get_experiment


def stream_cell(strategy: str, dataset: str = "cora") -> Cell:
    for cell in get_experiment("continual").cells:
        if (cell.dataset, cell.extra["strategy"]) == (dataset, strategy):
            return cell
    raise LookupError(strategy)


def expected(model: CostModel, cell: Cell) -> float:
    told = get_experiment(cell.experiment)
    return model.seconds(cell, told.configuration(cell, None, None))


def test_training_again_at_each_step_costs_a_training_each() -> None:
    model = CostModel()
    once, again = expected(model, stream_cell("ewc")), expected(model, stream_cell("retrain"))
    assert once > 5
    assert again > 5 * once
    assert expected(model, stream_cell("ewc", "debian")) > 10 * once


def test_what_a_stream_took_tells_what_it_will_take() -> None:
    row = {"experiment": "continual", "dataset": "cora", "method": "grafenne", "strategy": "ewc"}
    model = CostModel([{**row, "run_seconds": 40.0}, {**row, "run_seconds": 60.0}])
    assert expected(model, stream_cell("ewc")) == pytest.approx(50)
    assert expected(model, stream_cell("retrain")) != pytest.approx(50)


def test_every_stream_and_every_unseen_feature_has_an_estimate() -> None:
    model = CostModel()
    for name in ("continual", "inductive"):
        for cell in get_experiment(name).cells:
            assert expected(model, cell) > 1


def test_runs_with_the_same_settings_tell_before_others_do() -> None:
    experiment = get_experiment("node-classification")
    cell = next(cell for cell in experiment.cells if cell.describe() == "cora, gcnmf, p=0.5")
    row = {"dataset": "cora", "method": "gcnmf", "p": 0.5, "epochs": 10}
    few = {**row, "settings": {"components": 1, "width": 32}, "seconds": 1.0}
    many = {**row, "settings": {"components": 5, "width": 64}, "seconds": 20.0}
    model = CostModel([few, many])
    times = {
        components: model.seconds(
            cell, experiment.configuration(cell, {"components": components, "width": width}, 100)
        )
        for components, width in ((1, 32), (5, 64), (3, 64))
    }
    assert times[5] == pytest.approx(20 * times[1])
    assert times[3] == pytest.approx((times[1] + times[5]) / 2)
