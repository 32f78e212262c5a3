from __future__ import annotations

import json
from pathlib import Path

import pytest

from grafenne import (
    FeatureGraph,
    GrafenneClassifier,
    GrafenneLinkPredictor,
    Split,
    random_split,
    split_edges,
)
from grafenne.baselines.methods import make_method
from grafenne.datasets import synthetic
from grafenne.errors import DataError, ParameterError, TrainingError, UnknownNameError
from grafenne.estimators.tune import DEFAULT_SPACE, default_space, tune

SPACE = {"width": (4, 8, 12), "dropout": (0.0, 0.3)}


@pytest.fixture(scope="module")
def graph() -> FeatureGraph:
    return synthetic(num_nodes=60, num_features=20, num_classes=3, seed=1)


@pytest.fixture
def estimator() -> GrafenneClassifier:
    return GrafenneClassifier(epochs=3, width=6, random_state=2)


def test_the_lowest_validation_loss_wins(
    graph: FeatureGraph, estimator: GrafenneClassifier
) -> None:
    found = tune(estimator, graph, trials=4, space=SPACE)
    assert len(found.table) == 4
    assert found.best_score == found.table["loss"].min()
    best = found.table.loc[found.table["loss"].idxmin()]
    assert {name: best[name] for name in SPACE} == found.best_settings
    again = GrafenneClassifier(epochs=3, random_state=2).set_params(**found.best_settings)
    assert again.fit(graph).history_.best_loss == found.best_score


def test_the_first_trial_is_the_estimator_as_it_is(
    graph: FeatureGraph, estimator: GrafenneClassifier
) -> None:
    before = estimator.get_params()
    found = tune(estimator, graph, trials=1)
    assert found.best_settings == {name: before[name] for name in DEFAULT_SPACE}
    assert found.best_score == GrafenneClassifier(**before).fit(graph).history_.best_loss
    assert estimator.get_params() == before
    assert not hasattr(estimator, "network_")


def test_no_setting_is_tried_twice(graph: FeatureGraph, estimator: GrafenneClassifier) -> None:
    found = tune(estimator, graph, trials=50, space={"width": (4, 6, 8)})
    assert sorted(found.table["width"]) == [4, 6, 8]


def test_test_labels_are_never_looked_at(
    graph: FeatureGraph, estimator: GrafenneClassifier
) -> None:
    split = random_split(graph, 0)
    assert graph.labels is not None
    labels = [graph.labels.label(position) for position in range(graph.num_nodes)]
    for position in split.test:
        labels[position] = "class_0" if labels[position] != "class_0" else "class_1"
    flipped = graph.with_labels(labels)
    estimator.labels_as_features = True
    one, other = (tune(estimator, g, split, trials=3, space=SPACE) for g in (graph, flipped))
    columns = ["width", "dropout", "loss", "metric"]
    assert one.table[columns].equals(other.table[columns])


def test_the_same_seed_draws_the_same_trials(
    graph: FeatureGraph, estimator: GrafenneClassifier
) -> None:
    one, same, other = (
        tune(estimator, graph, trials=3, seed=seed).table[list(DEFAULT_SPACE)] for seed in (0, 0, 1)
    )
    assert one.equals(same)
    assert not one.equals(other)


def test_a_log_is_continued(
    graph: FeatureGraph, estimator: GrafenneClassifier, tmp_path: Path
) -> None:
    log = tmp_path / "trials.jsonl"
    done: list[int] = []
    tune(estimator, graph, trials=2, space=SPACE, log=log)
    more = tune(
        estimator,
        graph,
        trials=4,
        space=SPACE,
        log=log,
        on_trial=lambda row: done.append(row["trial"]),
    )
    assert done == [2, 3]
    whole = tune(estimator, graph, trials=4, space=SPACE)
    columns = ["trial", "width", "dropout", "loss"]
    assert more.table[columns].equals(whole.table[columns])
    assert [json.loads(line)["trial"] for line in log.read_text().splitlines()[1:]] == [0, 1, 2, 3]


def test_a_log_of_another_search_is_refused(
    graph: FeatureGraph, estimator: GrafenneClassifier, tmp_path: Path
) -> None:
    log = tmp_path / "trials.jsonl"
    tune(estimator, graph, trials=1, space=SPACE, log=log)
    text = log.read_text()
    other_graph = synthetic(num_nodes=60, num_features=20, num_classes=3, seed=9)
    with pytest.raises(DataError, match=r"another search \(the data"):
        tune(estimator, other_graph, trials=2, space=SPACE, log=log)
    with pytest.raises(DataError, match=r"another search \(the seed"):
        tune(estimator, graph, trials=2, space=SPACE, seed=5, log=log)
    with pytest.raises(DataError, match=r"another search \(the data"):
        tune(estimator, graph, Split(range(30), range(30, 60)), trials=2, space=SPACE, log=log)
    assert log.read_text() == text
    log.write_text("not json\n")
    with pytest.raises(DataError, match=r"trials\.jsonl"):
        tune(estimator, graph, trials=2, space=SPACE, log=log)


def test_links_are_tuned_on_training_edges(graph: FeatureGraph) -> None:
    estimator = GrafenneLinkPredictor(epochs=2, width=4)
    found = tune(estimator, graph, split_edges(graph, 0), trials=2, space=SPACE)
    assert len(found.table) == 2


def test_a_trial_that_fails_does_not_end_the_search(
    graph: FeatureGraph, estimator: GrafenneClassifier
) -> None:
    space = {"learning_rate": (1e30,)}
    found = tune(estimator, graph, trials=2, space=space)
    assert found.table["loss"].isna().tolist() == [False, True]
    estimator.learning_rate = 1e30
    with pytest.raises(TrainingError, match="every trial"):
        tune(estimator, graph, trials=1, space=space)


def test_estimators_behind_an_imputation_are_tuned_by_the_names_of_their_parts(
    graph: FeatureGraph,
) -> None:
    estimator = make_method("fp+sage", epochs=2, width=4)
    space = {"estimator__width": (4, 8), "imputer__keep": (2, 16)}
    found = tune(estimator, graph, trials=4, space=space)
    settings = found.table[list(space)].to_numpy().tolist()
    assert settings[0] == [4, 128]  # as it is
    assert len({tuple(one) for one in settings}) == 4
    again = estimator.set_params(**found.best_settings).fit(graph)
    assert again.history_.best_loss == found.best_score


@pytest.mark.parametrize("name", ["sage", "gcnmf", "pagnn", "fate", "traditional", "nm+grafenne"])
def test_any_method_can_be_tuned(graph: FeatureGraph, name: str, tmp_path: Path) -> None:
    estimator = make_method(name, epochs=1, width=4)
    log = tmp_path / "trials.jsonl"
    found = tune(estimator, graph, trials=2, log=log)
    drawn = {setting.removeprefix("estimator__") for setting in found.best_settings}
    assert {"learning_rate", "dropout", "width"} <= drawn <= set(DEFAULT_SPACE)
    assert len(tune(estimator, graph, trials=3, log=log).table) == 3


def test_features_that_must_be_learned_are_not_drawn() -> None:
    assert "features" in default_space(GrafenneClassifier())
    assert "features" not in default_space(GrafenneClassifier(direct=True))
    assert "estimator__features" not in default_space(make_method("fp+grafenne"))
    assert "estimator__width" in default_space(make_method("fp+grafenne"))


def test_mistakes_are_named(graph: FeatureGraph, estimator: GrafenneClassifier) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'dropout'"):
        tune(estimator, graph, space={"dropuot": (0.1,)})
    with pytest.raises(ParameterError, match="width"):
        tune(estimator, graph, space={"width": ()})
    with pytest.raises(ParameterError, match="trials"):
        tune(estimator, graph, trials=0)
    with pytest.raises(ParameterError, match="empty"):
        tune(estimator, graph, space={})
