"""``grafenne train --impute``: filled graphs, through every command that reads the model."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from grafenne import FeatureGraph, datasets
from tests.cli.conftest import Run


def test_an_imputed_model_is_trained_saved_and_used(run: Run, tmp_path: Path) -> None:
    graph: FeatureGraph = datasets.synthetic(60, 20, 2, values_per_node=3, degree=4, seed=0)
    data, model = str(tmp_path / "data"), str(tmp_path / "model")
    graph.write(data)
    settings = ("--width", "8", "--epochs", "5", "--quiet", "--json")
    trained = run("train", data, "--out", model, "--impute", "neighbourhood-mean", *settings)
    assert trained.code == 0, trained.err
    told = trained.json
    assert told["impute"] == "neighbourhood-mean"
    assert told["settings"]["width"] == 8

    out = tmp_path / "predictions.csv"
    assert run("predict", model, data, "--out", str(out)).code == 0
    predicted = pd.read_csv(out)
    assert list(predicted.columns) == ["node", "label", "probability"]
    assert len(predicted) == graph.num_nodes

    again = run("evaluate", model, data, "--part", "test", "--json")
    assert again.json["accuracy"] == told["test_accuracy"]
    explained = run("explain", model, data, "--node", str(graph.nodes[0]), "--json")
    assert explained.code == 0, explained.err


def test_an_unknown_imputer_gets_a_suggestion(run: Run) -> None:
    failed = run("train", "debian-mini", "--impute", "neighborhood-mean")
    assert failed.code == 2
    assert "neighbourhood-mean" in failed.err
