from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grafenne import FeatureGraph
from grafenne.data.labels import Labels
from grafenne.data.split import Split, equal_classes_split, few_label_split, random_split
from grafenne.errors import DataError, ParameterError, UnknownNameError


def labels_of(counts: dict[str, int], unlabelled: int = 0) -> Labels:
    names = [name for name, count in counts.items() for _ in range(count)]
    graph = FeatureGraph.from_arrays(len(names) + unlabelled, 0)
    return Labels.build([*names, *[None] * unlabelled], graph.nodes)


def test_a_split_is_sorted_and_disjoint() -> None:
    split = Split([3, 1], [2], [])
    assert split.train.tolist() == [1, 3]
    assert split.train.dtype == np.int64
    assert repr(split) == "Split(train=2, validation=1, test=0)"
    with pytest.raises(DataError, match="position 2 is in train and test"):
        Split([1, 2], [], [2])
    with pytest.raises(DataError, match="position 1 is in validation twice"):
        Split([], [1, 1])
    with pytest.raises(DataError, match="whole numbers"):
        Split([0.5])
    with pytest.raises(DataError, match="negative"):
        Split([-1])
    with pytest.raises(DataError, match="whole numbers, got bool"):
        Split(np.array([True, False]))


def test_a_split_does_not_change() -> None:
    given_positions = np.array([2, 1])
    split = Split(given_positions)
    given_positions[0] = 9
    assert split.train.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 5


def test_a_split_is_stored_as_lists() -> None:
    split = Split([0, 2], [1], [3])
    stored = json.loads(json.dumps(split.to_dict()))
    assert stored == {"train": [0, 2], "validation": [1], "test": [3]}
    assert Split(**stored) == split
    assert hash(Split(**stored)) == hash(split)
    assert split != Split([0, 2], [1], [4])
    assert split != "split"


def test_a_split_by_ids() -> None:
    graph = FeatureGraph.from_arrays(["a", "b", "c"], 0)
    assert Split.of_ids(graph, train=["c", "a"], test=["b"]) == Split([0, 2], [], [1])
    with pytest.raises(UnknownNameError, match="'z'"):
        Split.of_ids(graph, train=["z"])
    with pytest.raises(DataError, match="The node 'c' is in train and test;"):
        Split.of_ids(graph, train=["a", "c"], test=["c"])
    with pytest.raises(DataError, match="The node 'a' is in validation twice;"):
        Split.of_ids(graph, train=["b"], validation=["a", "c", "a"])


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 20), st.integers(0, 100))
def test_fractions_that_sum_to_one_use_every_labelled_node(
    labelled: int, unlabelled: int, seed: int
) -> None:
    labels = labels_of({"a": labelled}, unlabelled)
    split = random_split(labels, seed)
    used = np.concatenate((split.train, split.validation, split.test))
    assert sorted(used.tolist()) == list(range(labelled))
    for part, share in ((split.train, 0.6), (split.validation, 0.2), (split.test, 0.2)):
        assert abs(len(part) - share * labelled) <= 1


def test_sizes_by_hand() -> None:
    labels = labels_of({"a": 10})
    assert repr(random_split(labels, 0)) == "Split(train=6, validation=2, test=2)"
    half = random_split(labels, 0, (0.5, 0.0, 0.3))
    assert repr(half) == "Split(train=5, validation=0, test=3)"
    seventh = random_split(labels_of({"a": 2708}), 0, (0.6, 0.2, 0.2))
    assert repr(seventh) == "Split(train=1,625, validation=541, test=542)"


def test_the_seed_decides() -> None:
    labels = labels_of({"a": 50})
    assert random_split(labels, 1) == random_split(labels, 1)
    assert random_split(labels, 1) != random_split(labels, 2)
    graph = FeatureGraph.from_arrays(50, 0, labels=["a"] * 50)
    assert random_split(graph, 1) == random_split(labels, 1)
    assert few_label_split(labels, 1, 5, 5) == few_label_split(graph, 1, 5, 5)
    assert few_label_split(labels, 1, 5, 5) != few_label_split(labels, 2, 5, 5)


@pytest.mark.parametrize(
    "fractions", [(0.6, 0.3, 0.2), (-0.1, 0.5, 0.5), (0.5, 0.5), (float("nan"), 0, 0)]
)
def test_fractions_are_checked(fractions: tuple[float, float, float]) -> None:
    with pytest.raises(ParameterError, match="fractions"):
        random_split(labels_of({"a": 5}), 0, fractions)


def test_a_split_needs_labels() -> None:
    with pytest.raises(DataError, match="has no labels"):
        random_split(FeatureGraph.from_arrays(3, 0), 0)
    with pytest.raises(DataError, match="no node has a label"):
        random_split(labels_of({}, 3), 0)


def test_few_labels_per_class() -> None:
    labels = labels_of({"large": 100, "middle": 50, "small": 5}, unlabelled=10)
    split = few_label_split(labels, 0, per_class=20, validation=30)
    counts = np.bincount(labels.values[split.train].astype(int))
    assert counts.tolist() == [20, 20, 3]
    assert len(split.validation) == 30
    assert len(split.test) == 155 - 43 - 30
    assert max(split.test.max(), split.validation.max()) < 155
    assert len(few_label_split(labels, 0, per_class=20, validation=30, test=7).test) == 7


def test_few_labels_are_drawn_evenly() -> None:
    labels = labels_of({"a": 10, "b": 10})
    hits = np.zeros(20)
    for seed in range(500):
        hits[few_label_split(labels, seed, per_class=3, validation=0).train] += 1
    assert (abs(hits - 150) < 6 * (500 * 0.3 * 0.7) ** 0.5).all()


def test_few_label_splits_are_checked() -> None:
    labels = labels_of({"a": 30})
    with pytest.raises(ParameterError, match="only 15 labelled ones"):
        few_label_split(labels, 0, validation=16)
    with pytest.raises(ParameterError, match="per_class"):
        few_label_split(labels, 0, per_class=0)
    numbers = FeatureGraph.from_arrays(2, 0, labels=[0.5, 1.5])
    with pytest.raises(DataError, match="needs class labels"):
        few_label_split(numbers, 0)


def test_equal_classes_leave_small_ones_out_of_validation_and_test() -> None:
    """100 labelled nodes of 4 classes: 15 of each train, 20 validate."""
    labels = labels_of({"a": 50, "b": 25, "c": 15, "d": 10}, unlabelled=7)
    split = equal_classes_split(labels, 0)
    code = labels.values
    assert np.bincount(code[split.train].astype(int)).tolist() == [15, 15, 15, 10]
    assert (len(split.validation), len(split.test)) == (20, 25)
    judged = np.concatenate((split.validation, split.test))
    assert sorted(set(code[judged])) == [0, 1]
    assert len(set(split.train) | set(judged)) == 100


def test_equal_classes_are_drawn_by_the_seed() -> None:
    labels = labels_of({"a": 30, "b": 30})
    assert equal_classes_split(labels, 1) == equal_classes_split(labels, 1)
    assert equal_classes_split(labels, 1) != equal_classes_split(labels, 2)
    hits = np.zeros(60)
    for seed in range(300):
        hits[equal_classes_split(labels, seed, (0.5, 0.2)).train] += 1
    assert (abs(hits - 150) < 6 * (300 * 0.25) ** 0.5).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda labels, seed: equal_classes_split(labels, seed),
        lambda labels, seed: few_label_split(labels, seed, per_class=40, validation=100),
    ],
)
def test_classes_are_as_frequent_in_the_validation_part_as_in_the_test_part(
    draw: Callable[[Labels, int], Split],
) -> None:
    """Else an epoch, a setting or the shares of classes are chosen by the wrong ones."""
    labels = labels_of({"a": 200, "b": 100, "c": 60})
    shares = np.zeros((2, 3))
    for seed in range(100):
        split = draw(labels, seed)
        for part, nodes in enumerate((split.validation, split.test)):
            code = labels.values[nodes].astype(int)
            shares[part] += np.bincount(code, minlength=3) / len(nodes) / 100
    assert shares[0] == pytest.approx(shares[1], abs=0.02)


@pytest.mark.parametrize("fractions", [(0.0, 0.5), (0.7, 0.4), (0.5, -0.1), (float("nan"), 0.1)])
def test_fractions_of_equal_classes_are_checked(fractions: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="fractions"):
        equal_classes_split(labels_of({"a": 5}), 0, fractions)
    with pytest.raises(DataError, match="needs class labels"):
        equal_classes_split(FeatureGraph.from_arrays(2, 0, labels=[0.5, 1.5]), 0)
