"""What features say by themselves: the sums against a loop, and what they are for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from grafenne import FeatureGraph, GrafenneClassifier, GrafenneLinkPredictor
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.split import Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ModelFileError, ParameterError
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.nn.block import whole_graph_blocks
from grafenne.nn.evidence import direct_evidence, parted
from tests.reference import adjacency_edges
from tests.small_graphs import random_graph

WIDTH = 3


def by_loops(graph: AllotropicGraph, evidence: Tensor, keep: Tensor) -> Tensor:
    """The equations of the function, triple by triple and edge by edge."""
    values = graph.edge_values(torch.double)
    numbers = torch.ones(len(keep)).double() if values is None else values
    own, around = torch.zeros(2, graph.num_nodes, WIDTH).double()
    own, around = list(own), list(around)
    starts = graph.incidence.indptr.tolist()
    for node in range(graph.num_nodes):
        for place in range(starts[node], starts[node + 1]):
            vector = evidence[int(graph.incidence.indices[place])]
            weight = numbers[place] * keep[place]
            own[node] = own[node] + weight * vector[:WIDTH]
            around[node] = around[node] + weight * vector[WIDTH:]
    edges = adjacency_edges(graph.adjacency)
    result = []
    for node in range(graph.num_nodes):
        heard = [(sender, weight) for receiver, sender, weight in edges if receiver == node]
        total = sum(weight for _, weight in heard)
        result.append(own[node] + sum(weight / total * around[s] for s, weight in heard))
    return torch.stack(result)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("values", ["continuous", "binary"])
def test_equals_the_loop_in_values_and_gradients(weighted: bool, values: str) -> None:
    graph = to_allotropic(random_graph(3, nodes=8, weighted=weighted, values=values))
    (block,) = whole_graph_blocks(graph, 1, torch.double)
    evidence = torch.randn(graph.num_features, 2 * WIDTH, dtype=torch.double, requires_grad=True)
    keep = torch.rand(graph.incidence.num_entries).double() * (
        torch.arange(graph.incidence.num_entries) % 3 > 0
    )
    torch.testing.assert_close(
        direct_evidence(block, evidence, keep), by_loops(graph, evidence, keep)
    )
    torch.testing.assert_close(
        direct_evidence(block, evidence), by_loops(graph, evidence, torch.ones_like(keep))
    )
    assert torch.autograd.gradcheck(lambda x: direct_evidence(block, x, keep), (evidence,))


def test_states_and_evidence_stand_side_by_side() -> None:
    graph = to_allotropic(random_graph(3, nodes=8))
    plain = LearnedFeatures(graph.features, 4)
    rich = LearnedFeatures(graph.features, 4, evidence=True)
    assert parted(plain(graph), 4)[1] is None
    states, evidence = parted(rich(graph), 4)
    assert evidence is not None
    assert states.shape == (graph.num_features, 4)
    assert evidence.shape == (graph.num_features, 8)
    assert evidence.abs().max() <= graph.num_features**-0.5  # near nothing, beside unit scale
    assert 0.5 < states.std() < 2


def test_without_vectors_it_is_the_same_network() -> None:
    graph = to_allotropic(random_graph(4, nodes=10))
    model = Grafenne(LearnedFeatures(graph.features, 4, evidence=True), width=4).eval()
    with torch.no_grad():
        model.features.weight[:, 4:] = 0
    cut = LearnedFeatures(graph.features, 4)
    cut.weight.data = model.features.weight[:, :4].detach().clone()
    with_evidence = model(graph).nodes
    model.features = cut
    torch.testing.assert_close(with_evidence, model(graph).nodes)


def records(seed: int = 0, nodes: int = 60) -> FeatureGraph:
    """Fields of two kinds, one of which tells the class."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(3, size=nodes)
    owner, shape = (
        classes * 4 + generator.integers(4, size=nodes),
        generator.integers(5, size=nodes),
    )
    names = [*(f"owner:{n}" for n in range(12)), *(f"shape={n}" for n in range(5))]
    rows = np.tile(np.arange(nodes), 2)
    ends = generator.integers(nodes, size=(2, nodes))
    return FeatureGraph.from_arrays(
        nodes,
        names,
        (rows, np.concatenate((owner, 12 + shape)), np.ones(2 * nodes)),
        (ends[0], ends[1]),
        labels=np.array(["a", "b", "c"], dtype=object)[classes],
        duplicates="first",
    )


SMALL = {"width": 4, "epochs": 1}


def test_it_is_chosen_where_nodes_are_records() -> None:
    graph = records()
    model = GrafenneClassifier(**SMALL).fit(graph)
    assert model.direct_
    assert model.network_.encoder.feature_dropout.rate <= 0.3
    assert not GrafenneClassifier(**SMALL, features="name").fit(graph).direct_
    assert not GrafenneClassifier(**SMALL, mode="paper").fit(graph).direct_
    assert not GrafenneClassifier(**SMALL, direct=False).fit(graph).direct_
    assert not GrafenneLinkPredictor(**SMALL).fit(graph).direct_
    plain = random_graph(2, nodes=12, features=12)
    plain = plain.with_labels([str(number % 2) for number in range(12)])
    assert not GrafenneClassifier(**SMALL).fit(plain).direct_
    assert GrafenneClassifier(**SMALL, direct=True).fit(plain).direct_


def test_labels_as_features_do_not_make_records_of_texts() -> None:
    graph = random_graph(2, nodes=12, features=12)
    words = graph.replace(features=Vocabulary([f"word:{number}" for number in range(12)]))
    words = words.with_labels([str(number % 2) for number in range(12)])
    assert not GrafenneClassifier(**SMALL, labels_as_features=True).fit(words).direct_


@pytest.mark.parametrize("direct", [1, "yes"])
def test_what_is_neither_true_nor_false_is_refused(direct: object) -> None:
    with pytest.raises(ParameterError, match="direct is True, False or None"):
        GrafenneClassifier(direct=direct).fit(records())


def test_other_embeddings_have_no_evidence() -> None:
    with pytest.raises(ParameterError, match="direct is for features='learned'"):
        GrafenneClassifier(direct=True, features="name").fit(records())


@pytest.mark.parametrize("more", [{}, {"batch_size": 16}, {"labels_as_features": True}])
def test_a_model_with_evidence_learns_is_kept_explained_and_updated(
    more: dict[str, object], tmp_path: Path
) -> None:
    graph = records()
    split = Split(train=np.arange(40), validation=np.arange(40, 50), test=np.arange(50, 60))
    model = GrafenneClassifier(width=8, epochs=100, random_state=1, **more).fit(graph, split)
    assert model.direct_
    assert model.evaluate(graph)["accuracy"] > 0.8
    assert model.embed(graph, of="features").shape == (graph.num_features, 8)
    model.save(tmp_path / "model")
    loaded = GrafenneClassifier.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    right = model.predict(graph) == np.array([graph.label_of(node) for node in graph.nodes])
    node = graph.nodes[int(split.test[right[split.test]][-1])]
    told = loaded.explain(graph, node)
    assert told.probability == pytest.approx(model.predict_proba(graph, [node]).max(), abs=1e-5)
    assert max(told.features, key=lambda part: part.contribution).name.startswith("owner:")

    after = records(seed=1, nodes=66)  # six more nodes, and other fields of the old ones
    for states in ("fixed", "exact"):
        loaded = GrafenneClassifier.load(tmp_path / "model")
        loaded.update(graph, after, strategy="ewc", states=states, epochs=2)
        assert np.isfinite(loaded.predict_proba(after)).all()

    about = json.loads((tmp_path / "model" / "model.json").read_text())
    for wrong in (False, "no"):
        about["direct"] = wrong
        (tmp_path / "model" / "model.json").write_text(json.dumps(about))
        with pytest.raises(ModelFileError):
            GrafenneClassifier.load(tmp_path / "model")
