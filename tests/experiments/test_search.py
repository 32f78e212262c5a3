from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grafenne.experiments.cells import Cell
from grafenne.experiments.chosen import PACKAGED, ChosenSettings
from grafenne.experiments.configuration import configure
from grafenne.experiments.cost import SIZES
from grafenne.experiments.registry import experiments, get_experiment
from grafenne.experiments.runner import Options, make_plan
from grafenne.experiments.search import (
    SEARCH_SEEDS,
    best_trial,
    deciding,
    expected_trials,
    finalists,
    group_of,
    searched_cells,
    trials_of,
    try_settings,
    worth_trying,
)
from grafenne.experiments.search_runner import make_search_plan, run_search
from grafenne.experiments.selection import select
from grafenne.experiments.space import space_of
from grafenne.experiments.store import ResultFile
from tests.experiments.tiny import register_tiny

ROUNDING = 1e-6
"""A loss is a mean of 32-bit numbers, here of all nodes and there of two halves."""


def paper_cells() -> list[Cell]:
    names = ("node-classification", "backbones", "link-prediction", "physics", "fate", "few-labels")
    return searched_cells(cell for name in names for cell in get_experiment(name).cells)


def test_all_methods_are_searched_in_spaces_of_the_same_size() -> None:
    sizes = {math.prod(map(len, space_of(cell).values())) for cell in paper_cells()}
    assert sizes == {5184}


def test_all_methods_get_the_same_number_of_trials() -> None:
    counts: dict[tuple[str | None, str, float], set[tuple[int, ...]]] = {}
    for cell in paper_cells():
        seeds = tuple(trial.seed for trial in trials_of(cell))
        counts.setdefault((cell.search, cell.dataset, cell.p), set()).add(seeds)
    for (search, dataset, _), found in counts.items():
        if search == "links" or dataset == "physics":
            assert found == {(100,) * 4}
            continue
        number = 4 if search == "backbones" else 8
        small = dataset in ("cora", "citeseer") and str(search).partition("-")[0] != "few"
        seeds = (100, *range(100, 105)) if small else (100, 101)
        assert found == {tuple(seed for seed in seeds for _ in range(number))}


def test_the_first_trial_is_the_defaults_and_no_other_is() -> None:
    for cell in paper_cells()[:8]:
        trials = trials_of(cell, 4)
        assert trials[0].config == configure(cell)
        seeds = (SEARCH_SEEDS[0], *SEARCH_SEEDS)
        assert [trial.seed for trial in trials] == [seed for seed in seeds for _ in range(4)]
        assert [trial.number for trial in trials] == [0, 1, 2, 3] * 6
        assert len({trial.identity for trial in trials}) == 24


def test_trials_train_by_the_rule_of_their_protocol_whatever_the_method() -> None:
    """Physics is cut short where cells are missing."""
    rules: dict[tuple[bool, bool], set[tuple[int, int, str]]] = {}
    for cell in paper_cells():
        if cell.dataset in ("cora", "physics"):
            few = cell.data.get("split") == "few-labels"
            short = cell.dataset == "physics" and cell.p > 0
            for trial in trials_of(cell, 2):
                settings = trial.config["settings"]
                rule = (settings["epochs"], settings["patience"], settings.get("select", "loss"))
                rules.setdefault((few, short), set()).add(rule)
    assert rules == {
        (False, False): {(500, 60, "loss")},
        (True, False): {(1000, 200, "metric")},
        (False, True): {(150, 25, "loss")},
    }


def test_the_seed_of_the_search_is_not_reported() -> None:
    assert all(experiment.seeds <= min(SEARCH_SEEDS) for experiment in experiments().values())


def test_cells_with_the_same_question_share_a_search() -> None:
    cells = [*get_experiment("message-passing").cells, *get_experiment("fate").cells]
    shared = [cell for cell in searched_cells(cells) if cell.method == "grafenne"]
    assert len(shared) == 12  # four datasets at three rates, once each


def test_the_lowest_loss_wins() -> None:
    rows: list[dict[str, Any]] = [
        {"trial": 0, "loss": 0.5, "metric": 0.9, "settings": {"a": 0}},
        {"trial": 1, "loss": None, "metric": None, "settings": {"a": 1}},
        {"trial": 2, "loss": 0.25, "metric": 0.7, "settings": {"a": 2}},
        {"trial": 3, "loss": 0.375, "metric": 0.75, "settings": {"a": 3}},
        {"trial": 0, "loss": 0.5, "metric": 0.9, "settings": {"a": 0}},
        {"trial": 1, "loss": 0.1, "metric": 0.9, "settings": {"a": 1}},
        {"trial": 2, "loss": 0.5, "metric": 0.7, "settings": {"a": 2}},
        {"trial": 3, "loss": 0.375, "metric": 0.75, "settings": {"a": 3}},
    ]
    # Settings 2 and 3 have the same mean loss, the third the better metric; one failed once.
    assert best_trial(rows) == {"trial": 3, "settings": {"a": 3}, "loss": 0.375, "metric": 0.75}
    assert best_trial(rows[1:2]) is None


def test_the_best_metric_wins_where_runs_are_chosen_by_it() -> None:
    rows = [
        {"trial": 0, "loss": 0.5, "metric": 0.75, "settings": {"a": 0}},
        {"trial": 1, "loss": 0.25, "metric": 0.5, "settings": {"a": 1}},
        {"trial": 2, "loss": 0.375, "metric": 0.75, "settings": {"a": 2}},
    ]
    best = best_trial(rows, "metric")
    assert best is not None
    assert best["trial"] == 2  # as good as the first, and less sure of what is wrong

    plain = trials_of(paper_cells()[0], 4)
    chosen = {**plain[0].config["settings"], "select": "metric"}
    trials = [
        replace(trial, config={**trial.config, "settings": {**chosen, "width": trial.number}})
        for trial in plain
    ]
    scores = [(0.1, 0.2), (0.2, 0.4), (0.3, 0.4), (0.4, 0.6)]
    for group, kept in ((plain, {0, 1, 2}), (trials, {1, 2, 3})):
        found = {
            trial.identity: dict(zip(("loss", "metric"), scores[trial.number], strict=True))
            for trial in group
        }
        assert finalists(group, found) == kept


def test_only_the_best_of_the_first_seed_are_tried_again() -> None:
    trials = trials_of(paper_cells()[0], 6)
    first = trials[:6]
    losses = [0.5, None, 0.2, 0.4, float("nan"), 0.3]
    found: dict[str, Any] = {}
    for trial, loss in zip(first, losses, strict=True):
        assert worth_trying(trials, found) == first
        assert len(expected_trials(trials, found)) == 6 + 3 * 5
        found[trial.identity] = {"loss": loss, "metric": 0.5}
    finals = [trial for trial in trials[6:] if trial.number in (2, 3, 5)]
    assert worth_trying(trials, found) == first + finals
    assert expected_trials(trials, found) == worth_trying(trials, found)

    for trial in first:
        found[trial.identity] = {"loss": None, "metric": None}
    assert worth_trying(trials, found) == first


def test_small_graphs_are_judged_apart_and_nothing_else_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register_tiny()
    cell = get_experiment("tiny").cells[0]
    assert not any(trial.apart for trial in trials_of(cell, 2, epochs=6))
    monkeypatch.setitem(SIZES, cell.dataset, (80, 30, 300))
    trials = trials_of(cell, 4, epochs=40)
    assert all(trial.apart == trial.final for trial in trials)

    told: dict[str, Any] = {}
    try_settings(
        trials=trials, found={}, root=None, tell=lambda row: told.update({row["identity"]: row})
    )
    last = deciding(trials, told)
    assert [trial.seed for trial in last] == [seed for seed in SEARCH_SEEDS for _ in range(3)]
    assert all(trial.apart for trial in last)
    first = {trial.number: trial for trial in trials if not trial.final}
    pairs = [
        (told[trial.identity]["loss"], told[first[trial.number].identity]["loss"])
        for trial in last
        if trial.seed == SEARCH_SEEDS[0]
    ]
    # The same training; the best epoch of all the nodes is no longer what is told.
    assert all(apart >= best - ROUNDING for apart, best in pairs)
    assert any(apart > best + ROUNDING for apart, best in pairs)


@pytest.fixture
def options(tmp_path: Path) -> Options:
    register_tiny()
    return Options(
        results=tmp_path / "results", settings=tmp_path / "settings.json", epochs=2, quiet=True
    )


def test_a_search_goes_on_where_it_was_and_its_choice_is_used(options: Options) -> None:
    tiny = get_experiment("tiny")
    cells = [cell for cell in tiny.cells if cell.p == 0.99]
    plan = make_search_plan(cells, options, trials=2)
    assert (len(plan.left), len(plan.costs)) == (6, 12)  # the second seed's come after these
    assert run_search(plan, options) == []
    log = ResultFile(options.results / "search.jsonl")
    rows = log.read()
    assert sorted((row["method"], row["trial"], row["seed"]) for row in rows) == [
        (method, trial, seed)
        for method in ("fp+sage", "grafenne", "sage")
        for trial in (0, 1)
        for seed in SEARCH_SEEDS[:2]
    ]

    # As if it had been killed before the last trials.
    lines = log.path.read_text().splitlines(keepends=True)
    log.path.write_text("".join(lines[:10]) + lines[10][:30])
    again = make_search_plan(cells, options, trials=2)
    assert len(again.left) == 2
    assert run_search(again, options) == []
    assert [(row["identity"], row["loss"]) for row in log.read()] == [
        (row["identity"], row["loss"]) for row in rows
    ]
    assert make_search_plan(cells, options, trials=2).left == []
    more = make_search_plan(cells, options, trials=3)
    assert (len(more.left), len(more.costs)) == (3, 6)

    kept = json.loads(options.settings.read_text())["tiny"]["synthetic"]["0.99"]
    for cell in cells:
        own = [row for row in rows if row["method"] == cell.method]
        means = [sum(row["loss"] for row in own if row["trial"] == trial) for trial in (0, 1)]
        best = next(row for row in own if row["trial"] == (0 if means[0] <= means[1] else 1))
        assert kept[cell.method]["settings"] == best["settings"]
        assert kept[cell.method]["trials"] == 2
    runs = make_plan(tiny, select(tiny, (), seeds=1), options).runs
    assert {(run.cell.p, run.settings) for run in runs} == {(0.5, "default"), (0.99, "searched")}
    for run in runs:
        if run.settings == "searched":
            chosen = dict(kept[run.cell.method]["settings"])
            zeros = chosen.pop("observed_zeros", run.config["data"]["observed_zeros"])
            assert chosen.items() <= run.config["settings"].items()
            assert run.config["data"]["observed_zeros"] == zeros


def test_the_packaged_settings_fit_the_cells_they_are_for() -> None:
    packaged = ChosenSettings(PACKAGED)
    for cell in paper_cells():
        chosen = packaged.of(cell)
        if chosen is not None:
            assert chosen.keys() in [trial.settings.keys() for trial in trials_of(cell)]
            configure(cell, chosen=chosen)


@pytest.mark.parametrize(
    ("experiment", "plain", "setting"),
    [
        ("smoothed", ("node-classification",), ("smoothing", "auto")),
        ("few-labels-smoothed", ("few-labels",), ("smoothing", "auto")),
        ("averaged", ("node-classification", "backbones"), ("averaging", 0.25)),
    ],
)
def test_rows_with_one_more_setting_are_the_plain_ones_but_for_it(
    experiment: str, plain: tuple[str, ...], setting: tuple[str, Any]
) -> None:
    packaged = ChosenSettings(PACKAGED)
    name, value = setting
    others = {cell.describe(): cell for one in plain for cell in get_experiment(one).cells}
    cells = get_experiment(experiment).cells
    repeated = {cell.describe() for cell in cells}
    assert {cell.describe() for cell in get_experiment(plain[0]).cells} <= repeated
    for cell in cells:
        rival = others[cell.describe()]
        chosen = packaged.of(cell)
        assert chosen == packaged.of(rival)
        config, expected = configure(cell, chosen=chosen), configure(rival, chosen=chosen)
        assert config["settings"].pop(name) == value
        assert config == expected
        (asked,) = searched_cells([cell])
        trials = [[trial.identity for trial in trials_of(one)] for one in (asked, rival)]
        assert trials[0] == trials[1]


@pytest.mark.parametrize(
    ("experiment", "key", "value"),
    [("link-prediction", "leaked", True), ("translation", "variant", "translated")],
)
def test_settings_are_searched_on_the_plain_data(experiment: str, key: str, value: Any) -> None:
    """Else a search for leaked rows would choose what the honest ones are run with."""
    cells = get_experiment(experiment).cells
    varied = [cell for cell in cells if cell.extra.get(key) == value]
    plain = {group_of(cell): cell for cell in cells if not cell.extra.get(key)}
    found = searched_cells(varied)
    assert len(found) == len(varied) > 0
    for cell in found:
        expected = trials_of(plain[group_of(cell)])
        assert [trial.identity for trial in trials_of(cell)] == [t.identity for t in expected]


def test_splits_with_equal_classes_are_run_with_what_random_ones_chose() -> None:
    names = ("node-classification", "backbones")
    plain = {group_of(cell): cell for name in names for cell in get_experiment(name).cells}
    cells = get_experiment("equal-classes").cells
    found = searched_cells(cells)
    assert len(found) == len(cells) / 2
    for cell in found:
        expected = trials_of(plain[group_of(cell)])
        assert [trial.identity for trial in trials_of(cell)] == [t.identity for t in expected]
