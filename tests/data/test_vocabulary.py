from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, UnknownNameError


def test_names_have_positions() -> None:
    words = Vocabulary(["tea", "milk", ("a", 1)], kind="word")
    assert len(words) == 3
    assert words[0] == "tea"
    assert words[-1] == ("a", 1)
    assert words[1:] == ["milk", ("a", 1)]
    assert words.position("milk") == 1
    assert words.index("milk") == 1
    assert words.find(["milk", "beer", "tea"]).tolist() == [1, -1, 0]
    assert words.positions(["milk", "tea"]).tolist() == [1, 0]
    assert words.positions([]).tolist() == []
    assert words.take([2, 0]) == [("a", 1), "tea"]
    assert "tea" in words
    assert "beer" not in words
    assert list(words) == ["tea", "milk", ("a", 1)]
    assert repr(words) == "Vocabulary(3 words: 'tea', 'milk', ('a', 1))"
    assert repr(Vocabulary()) == "Vocabulary()"


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    words = Vocabulary(["alpha", "beta"], kind="feature")
    with pytest.raises(UnknownNameError, match=r"Unknown feature 'alpah'\. Did you mean 'alpha'"):
        words.position("alpah")
    with pytest.raises(UnknownNameError, match="Unknown feature 'zzz'"):
        words.positions(["beta", "zzz"])
    with pytest.raises(DataError, match="list of features is needed, got 'beta' alone"):
        words.positions("beta")
    with pytest.raises(DataError, match=r"single feature is needed, got \['beta'\]"):
        words.position(["beta"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Each feature must be hashable"):
        words.positions([["beta"]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'zzz' is not in"):
        words.index("zzz")
    with pytest.raises(ValueError, match="'alpha' is not in"):
        words.index("alpha", 1)


def test_positions_out_of_range_are_refused() -> None:
    words = Vocabulary(["a", "b"])
    longer = words.extended(["c"])
    for position in (2, -3):
        with pytest.raises(IndexError):
            words[position]
    for position in (2, -1):  # what a longer vocabulary stores behind is not ours
        with pytest.raises(IndexError):
            words.take([position])
    assert longer.take([2]) == ["c"]


def test_names_must_be_distinct_and_hashable() -> None:
    with pytest.raises(DataError, match="The node 'a' is listed twice") as caught:
        Vocabulary(["a", "b", "a"], kind="node")
    assert caught.value.row == 2
    with pytest.raises(DataError, match="Each node must be hashable"):
        Vocabulary([["a"]], kind="node")  # type: ignore[list-item]


def test_growing_keeps_every_position_and_leaves_the_old_one_alone() -> None:
    short = Vocabulary(["a", "b"], kind="feature")
    long = short.extended(["c", "a", "c", "d"])
    assert list(long) == ["a", "b", "c", "d"]
    assert long.kind == "feature"
    assert list(short) == ["a", "b"]
    assert len(short) == 2
    assert "c" not in short
    assert short.find(["c", "b"]).tolist() == [-1, 1]
    assert short.find(long).tolist() == [0, 1, -1, -1]
    assert long.find(short).tolist() == [0, 1]
    assert short[:] == ["a", "b"]
    assert short != long
    with pytest.raises(UnknownNameError):
        short.position("c")


def test_growing_twice_from_the_same_vocabulary_forks() -> None:
    root = Vocabulary(["a"])
    left, right = root.extended(["b", "x"]), root.extended(["c", "b"])
    again = left.extended(["d"])
    assert list(root) == ["a"]
    assert list(left) == ["a", "b", "x"]
    assert list(right) == ["a", "c", "b"]
    assert list(again) == ["a", "b", "x", "d"]
    assert left.position("b") == 1
    assert right.position("b") == 2
    assert left.find(right).tolist() == [0, -1, 1]
    assert "d" not in left
    assert "c" not in again


def test_growing_by_nothing_new_is_the_same_vocabulary() -> None:
    words = Vocabulary(["a"])
    assert words.extended(["a"]) is words
    assert words.extended([]) is words


def test_numbered_names_store_nothing_and_behave_the_same() -> None:
    numbers, listed = Vocabulary(range(5), kind="node"), Vocabulary([0, 1, 2, 3, 4], kind="node")
    assert numbers.is_range
    assert not listed.is_range
    assert numbers == listed
    assert hash(numbers) == hash(listed)
    for names in ([3, 0], [np.int64(2)], [5, -1], ["3"], [2.0, 2.5, np.float32(1)], [True]):
        assert numbers.find(names).tolist() == listed.find(names).tolist()
    assert numbers.find(Vocabulary(range(7))).tolist() == [0, 1, 2, 3, 4, -1, -1]
    assert numbers.find(listed).tolist() == [0, 1, 2, 3, 4]
    assert numbers[-1] == 4
    assert numbers[1:3] == [1, 2]


def test_numbered_names_grow() -> None:
    numbers = Vocabulary(range(3))
    assert numbers.extended([3, 4]).is_range
    assert list(numbers.extended([3, 4])) == [0, 1, 2, 3, 4]
    mixed = numbers.extended([1, "a", 9])
    assert list(mixed) == [0, 1, 2, "a", 9]
    assert mixed.position(9) == 4
    assert list(numbers) == [0, 1, 2]
    assert list(Vocabulary(range(2, 4))) == [2, 3]
    assert Vocabulary(range(2, 4)).position(3) == 1


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=4), max_size=6), st.data())
def test_any_tree_of_growth_agrees_with_plain_lists(
    steps: list[list[str]], data: st.DataObject
) -> None:
    grown: list[tuple[Vocabulary, list[str]]] = [(Vocabulary(), [])]
    for names in steps:
        parent, expected = data.draw(st.sampled_from(grown))
        new = [name for name in dict.fromkeys(names) if name not in expected]
        grown.append((parent.extended(names), expected + new))
    for vocabulary, expected in grown:
        assert list(vocabulary) == expected
        assert vocabulary == Vocabulary(expected)
        assert vocabulary.find("abcdefgh").tolist() == [
            expected.index(name) if name in expected else -1 for name in "abcdefgh"
        ]
