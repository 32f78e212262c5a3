from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grafenne import GrafenneClassifier, GraphDelta, Split
from grafenne.continual import StreamSplit, stable_parts
from grafenne.errors import ParameterError
from tests.continual.cases import fitted, small_change, small_graph, small_split


def test_a_part_depends_on_the_node_alone() -> None:
    ids = [f"node {number}" for number in range(200)]
    parts = dict(zip(ids, stable_parts(ids, seed=3), strict=True))
    some = ids[::-7]
    assert stable_parts(some, seed=3).tolist() == [parts[node] for node in some]
    assert stable_parts(ids, seed=4).tolist() != list(parts.values())


def test_shares_are_as_asked() -> None:
    parts = stable_parts(range(20_000), (0.5, 0.2, 0.1), seed=0)
    shares = np.bincount(parts, minlength=4) / 20_000
    np.testing.assert_allclose(shares, [0.5, 0.2, 0.1, 0.2], atol=0.02)
    assert stable_parts(range(5_000), (0.6, 0.2, 0.2)).max() == 2


def test_numbers_and_text_are_different_nodes() -> None:
    assert stable_parts(range(64)).tolist() != stable_parts([str(n) for n in range(64)]).tolist()


@pytest.mark.parametrize("fractions", [(0.9, 0.2, 0.0), (1.1, -0.1, 0.0), (1.0, 0.0)])
def test_bad_fractions(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="fractions"):
        stable_parts(["a"], fractions)  # type: ignore[arg-type]


def test_a_stream_keeps_the_first_split_and_hashes_new_nodes() -> None:
    graph = small_graph()
    first = small_split(graph)
    rule = StreamSplit(first=first, first_nodes=graph.nodes, new_fractions=(0.0, 0.0, 1.0))
    after = graph.apply(small_change())
    split = rule(after)
    assert rule(graph) == first
    assert set(after.nodes.take(split.test)) == {*graph.nodes.take(first.test), "n42"}
    assert set(after.nodes.take(split.train)) == {*graph.nodes.take(first.train)} - {"n9"}


def test_unlabelled_nodes_have_no_part() -> None:
    graph = small_graph().apply(GraphDelta(nodes_added=["dark"]))
    split = StreamSplit()(graph)
    assert sum(map(len, (split.train, split.validation, split.test))) == 40


def test_known_nodes_keep_their_part_in_an_update() -> None:
    model, graph, delta = fitted(), small_graph(), small_change()
    model.update(graph, delta, strategy="finetune", epochs=1)
    after, old = graph.apply(delta), small_split(graph)
    now: Split = model.split_
    for part in ("train", "validation", "test"):
        kept = set(after.nodes.take(getattr(now, part))) - {"n42"}
        assert kept == set(graph.nodes.take(getattr(old, part))) - {"n9"}
    assert 40 - 1 in np.concatenate((now.train, now.validation))  # n42 got a part


def test_a_node_that_comes_back_has_the_part_it_had(tmp_path: Path) -> None:
    """Else a test node would train after it was away for a while."""
    graph = small_graph()
    test = graph.nodes.take(small_split(graph).test)
    away = [*test[:2], *graph.nodes.take(small_split(graph).train[:2])]
    unlabelled = test[2:4]
    labels = [(node, graph.label_of(node)) for node in (*away, *unlabelled)]
    model = fitted()
    leaves = GraphDelta(nodes_removed=away, labels_removed=unlabelled)
    middle = graph.apply(leaves)
    model.update(graph, leaves, strategy="finetune", epochs=1)
    model.save(tmp_path / "model")
    model = GrafenneClassifier.load(tmp_path / "model")
    back = GraphDelta(nodes_added=away, labels_set=labels)
    after = middle.apply(back)
    model.update(middle, back, strategy="finetune", epochs=1)
    for part in ("train", "validation", "test"):
        now = after.nodes.take(getattr(model.split_, part))
        assert set(now) == set(graph.nodes.take(getattr(small_split(graph), part)))
    assert not model.past_parts_
