"""Node objectives: who is asked, who shows a label, and what a batch sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph, Split, to_allotropic
from grafenne.allotrope import AllotropicGraph
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.ops import RandomBits, set_random_bits
from grafenne.sampling import Sampler
from grafenne.tasks.classification import NodeClassification
from grafenne.training.label_features import LabelFeatures
from grafenne.training.node_objective import NodeNetwork, NodeObjective
from tests.estimators.cases import graph_for

SPLIT = Split(np.arange(0, 16), np.arange(16, 22), np.arange(22, 30))


class Watching(NodeNetwork):
    """A network that notes which triples it was shown."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[Tensor | None] = []

    def forward(self, graph: AllotropicGraph, keep: Tensor | None = None) -> Tensor:
        self.seen.append(keep)
        return super().forward(graph, keep)


class Asking(NodeClassification):
    """A task that notes for which targets it was asked."""

    def __init__(self, classes: list[str]) -> None:
        super().__init__(classes)
        self.asked: list[Tensor] = []

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.asked.append(targets)
        return super().loss(outputs, targets.long() % 2)


def objective(
    split: Split = SPLIT,
    *,
    labels: bool = True,
    dropout: float = 0.5,
    aggregation: str = "attention",
    batch_size: int | None = None,
    **bounds: Any,
) -> tuple[NodeObjective, FeatureGraph]:
    """An objective whose targets are the positions of the nodes, so that they tell who is asked."""
    graph = graph_for("classifier")
    seen = graph
    if labels:
        codes = np.arange(len(split.train)) % 2
        shown = LabelFeatures(["a", "b"], graph.nodes.take(split.train), codes)
        seen = shown.add_to(graph)
    prepared = to_allotropic(seen)
    bits = RandomBits(0)
    encoder = Grafenne(
        LearnedFeatures(seen.features, 8),
        width=8,
        aggregation=aggregation,
        dropout=0.0,
        feature_dropout=dropout,
    )
    network = Watching(encoder, 2)
    set_random_bits(network, bits)
    sampler = None if batch_size is None else Sampler(prepared, 2, seed=bits.generator(), **bounds)
    made = NodeObjective(
        network,
        prepared,
        Asking(["a", "b"]),
        torch.arange(30),
        split.train,
        split.validation,
        bits,
        first_label=graph.num_features if labels else None,
        sampler=sampler,
        batch_size=batch_size,
    )
    return made, graph


def shown_nodes(made: NodeObjective, keep: Tensor | None, first_label: int) -> set[int]:
    """Which nodes show their label under a mask."""
    incidence = made.graph.incidence
    kept = torch.ones(incidence.num_entries) if keep is None else keep
    place = (incidence.indices >= first_label) & (kept > 0)
    return set(incidence.rows[place].tolist())


def test_a_node_that_is_asked_never_shows_its_label() -> None:
    made, graph = objective()
    asked_all: set[int] = set()
    for _ in range(30):
        for loss in made.batches():
            loss()
        asked = set(made.task.asked[-1].tolist())  # type: ignore[attr-defined]
        shown = shown_nodes(made, made.network.seen[-1], graph.num_features)  # type: ignore[union-attr, index]
        assert asked
        assert not asked & shown
        assert asked | shown == set(range(16))  # training nodes and nobody else
        asked_all |= asked
    assert asked_all == set(range(16))


def test_a_single_training_node_is_asked_without_its_label() -> None:
    made, graph = objective(Split([3], [20]))
    for _ in range(20):
        for loss in made.batches():
            loss()
        assert made.task.asked[-1].tolist() == [3]  # type: ignore[attr-defined]
        assert not shown_nodes(made, made.network.seen[-1], graph.num_features)  # type: ignore[union-attr, index]


def test_validation_shows_all_training_labels_and_asks_validation_nodes() -> None:
    made, graph = objective()
    made.validate()
    assert made.task.asked[-1].tolist() == list(range(16, 22))  # type: ignore[attr-defined]
    shown = shown_nodes(made, made.network.seen[-1], graph.num_features)  # type: ignore[union-attr, index]
    assert shown == set(range(16))


def test_training_nodes_that_stand_in_for_validation_hide_their_labels() -> None:
    made, graph = objective(Split(np.arange(16)))
    made.validate()
    assert made.task.asked[-1].tolist() == list(range(16))  # type: ignore[attr-defined]
    assert not shown_nodes(made, made.network.seen[-1], graph.num_features)  # type: ignore[union-attr, index]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("batch_size", [3, 100])
def test_in_a_batch_the_asked_hide_their_labels_and_the_others_show_them(
    dropout: float, batch_size: int
) -> None:
    made, graph = objective(dropout=dropout, batch_size=batch_size)
    watched: list[tuple[Any, Any]] = []
    encode = made.network.encoder.encode
    made.network.encoder.encode = (  # type: ignore[method-assign]
        lambda blocks, features, keeps: (
            watched.append((blocks, keeps)),
            encode(blocks, features, keeps),
        )[1]
    )
    asked_all: list[int] = []
    seen_others = False
    for loss in made.batches():
        loss()
        asked = made.task.asked[-1].tolist()  # type: ignore[attr-defined]
        assert len(asked) <= min(batch_size, 8)
        asked_all += asked
        blocks, keeps = watched[-1]
        for block, (keep, back) in zip(blocks, keeps, strict=True):
            for places, mask in ((block.incidence_places, keep), (block.back_places, back)):
                if places is None:
                    continue
                rows = made.graph.incidence.rows[places]
                label = made.graph.incidence.indices[places] >= graph.num_features
                own = torch.isin(rows, torch.tensor(asked))
                assert not mask[label & own].any()
                assert mask[label & ~own].all()
                seen_others |= bool((label & ~own).any())
    assert sorted(asked_all) == list(range(16))
    assert seen_others  # also when one batch could hold everybody


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("aggregation", ["attention", "sum"])
def test_an_unbounded_batch_equals_the_whole_graph(labels: bool, aggregation: str) -> None:
    made, _ = objective(labels=labels, dropout=0.0, batch_size=5, aggregation=aggregation)
    made.network.train()
    for loss in made.batches():
        sampled = loss()
        asked = made.task.asked[-1]  # type: ignore[attr-defined]
        keep = torch.ones(made.graph.incidence.num_entries)
        hidden = torch.isin(made.label_nodes, asked)
        keep[made.label_places[hidden]] = 0
        whole = made.network(made.graph, keep)[asked]
        expected = made.task.loss(whole, asked)
        assert float(sampled.detach()) == pytest.approx(float(expected.detach()), abs=1e-6)


def test_sums_over_a_drawn_part_stand_for_the_whole() -> None:
    """With the sum aggregation, what a bound leaves out is made up for on average."""
    counts = to_allotropic(graph_for("classifier")).incidence.counts
    node = int(counts.argmax())
    made, _ = objective(
        Split([node]),
        labels=False,
        dropout=0.0,
        aggregation="sum",
        batch_size=1,
        features_per_node=1,
    )
    gathered: list[Tensor] = []
    attention: Any = made.network.encoder.layers[0].feature_to_node.attention  # type: ignore[union-attr]
    attention.register_forward_hook(lambda module, given, result: gathered.append(result))
    with torch.no_grad():
        made.network(made.graph)
        whole = gathered.pop()[node]
        for _ in range(600):
            for loss in made.batches():
                loss()
    drawn = torch.stack([result[0] for result in gathered])
    error = (drawn.mean(dim=0) - whole).norm() / drawn.std(dim=0).norm()
    assert float(error) < 0.15
    assert float(drawn.std(dim=0).norm()) > 0
