"""Feature embeddings Φ: any feature, seen or not, gets a vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, UnknownNameError
from grafenne.nn import (
    FeatureEmbedding,
    GivenFeatures,
    Grafenne,
    LearnedFeatures,
    NameFeatures,
    StructuralFeatures,
    make_features,
)

NAMES = ["a", "b", "c"]


def graph_of(rows: dict[str, list[str]], features: list[str]) -> AllotropicGraph:
    """A graph whose nodes have the listed features, all with value 1."""
    triples = [(node, name) for node, names in enumerate(rows.values()) for name in names]
    return to_allotropic(
        FeatureGraph.from_arrays(
            list(rows),
            features,
            (
                [node for node, _ in triples],
                [features.index(name) for _, name in triples],
                np.ones(len(triples)),
            ),
        )
    )


def known() -> AllotropicGraph:
    return graph_of({"x": ["a", "b"], "y": ["b", "c"]}, NAMES)


def encode(names: list[str]) -> np.ndarray:
    """A stand-in for a text encoder."""
    return np.array([[len(name), ord(name[0]), 1.0, -1.0] for name in names])


TABLE = {"a": [1.0, 0.0, 0.0, 0.0], "b": [0.0, 3.0, 0.0, 0.0], "c": [0.0, 0.0, 5.0, 0.0]}
KINDS: dict[str, Any] = {
    "learned": "learned",
    "name": "name",
    "structural": "structural",
    "mapping": TABLE,
    "array": np.array(list(TABLE.values())),
    "callable": encode,
}


@pytest.mark.parametrize("kind", KINDS)
def test_unseen_features_need_no_new_parameters(kind: str) -> None:
    model = Grafenne(make_features(KINDS[kind], Vocabulary(NAMES), 8), width=8).eval()
    before = {name: weight.shape for name, weight in model.named_parameters()}
    later = graph_of({"x": ["a", "new"], "y": ["newer"], "z": []}, ["new", "a", "newer", "unused"])
    result = model(later).nodes
    assert result.shape == (3, model.output_width)
    assert result.isfinite().all()
    assert {name: weight.shape for name, weight in model.named_parameters()} == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_parameters_depends_on_the_features_only_if_they_are_learned(
    kind: str,
) -> None:
    counts = []
    for size in (3, 300):
        names = [f"feature {number}" for number in range(size)]
        given = KINDS[kind] if kind != "array" else np.ones((size, 4))
        model = Grafenne(make_features(given, Vocabulary(names), 8), width=8)
        counts.append(sum(weight.numel() for weight in model.parameters()))
    assert counts[1] - counts[0] == (297 * 8 if kind == "learned" else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_follow_the_names_not_the_positions(kind: str) -> None:
    features = make_features(KINDS[kind], Vocabulary(NAMES), 6)
    other = graph_of({"x": ["b", "a"], "y": ["c", "b"]}, ["c", "unused", "a", "b"])
    first, second = features(known()), features(other)
    # Sketches are sums in single precision, and here b keeps exactly average company.
    tolerance = 1e-3 if kind == "structural" else 1e-6
    torch.testing.assert_close(first, second[[2, 3, 0]], rtol=0.0, atol=tolerance)
    assert not torch.allclose(first[0], first[1])


def test_learned_vectors_are_the_weights() -> None:
    features = LearnedFeatures(NAMES, 5)
    assert features(known()) is features.weight
    features(known()).sum().backward()
    assert torch.equal(features.weight.grad, torch.ones(3, 5))
    assert "3 features, width=5" in repr(features)


def test_an_unseen_feature_starts_at_the_mean_of_its_company() -> None:
    features = LearnedFeatures(NAMES, 2)
    with torch.no_grad():
        features.weight.copy_(torch.tensor([[1.0, 0.0], [3.0, 4.0], [8.0, 8.0]]))
    later = graph_of(
        # x tells of (a + b)/2 = (2, 2), y of c = (8, 8), z knows nobody.
        {"x": ["a", "b", "new"], "y": ["c", "new"], "z": ["new", "lonely"], "w": []},
        ["a", "b", "c", "new", "lonely", "unused"],
    )
    states = features(later)
    assert states[:3].equal(features.weight)
    assert states[3].tolist() == [5.0, 5.0]
    assert states[4].tolist() == states[5].tolist() == [4.0, 4.0]  # the mean of all vectors
    states[3].sum().backward()  # and training reaches the known vectors through it
    assert features.weight.grad.tolist() == [[0.25] * 2, [0.25] * 2, [0.5] * 2]


def test_learned_from_nothing() -> None:
    features = LearnedFeatures([], 3)
    assert torch.equal(features(known()), torch.zeros(3, 3))


def test_like_names_get_like_vectors() -> None:
    names = ["uitoolkit::gtk3", "uitoolkit::gtk4", "game::puzzle", "uitoolkit::qt"]
    graph = graph_of({"x": names}, names)
    near, same_kind, far = [], [], []
    for seed in range(20):
        torch.manual_seed(seed)
        gtk3, gtk4, puzzle, qt = NameFeatures(32)(graph).detach()
        near.append(cosine_similarity(gtk3, gtk4, dim=0).item())
        same_kind.append(cosine_similarity(gtk3, qt, dim=0).item())
        far.append(cosine_similarity(gtk3, puzzle, dim=0).item())
    assert np.mean(near) > np.mean(same_kind) > np.mean(far) + 0.2
    assert np.mean(near) > 0.7
    assert abs(np.mean(far)) < 0.2


def test_what_most_names_share_does_not_make_them_alike() -> None:
    names = [f"word_{number:04}" for number in range(200)]
    graph = graph_of({"x": names}, names)
    torch.manual_seed(0)
    features = NameFeatures(64, names=Vocabulary(names, kind="feature"))
    states = features(graph).detach()
    alike = cosine_similarity(states[:100], states[100:], dim=1)
    assert alike.abs().mean() < 0.2
    torch.testing.assert_close(states.square().mean(), torch.tensor(1.0), rtol=0.1, atol=0.0)


def test_the_only_name_has_a_vector() -> None:
    graph = graph_of({"x": ["age"]}, ["age"])
    states = NameFeatures(64, names=Vocabulary(["age"], kind="feature"))(graph)
    assert states.square().mean() > 0.3


def test_more_features_do_not_move_the_vectors_of_names() -> None:
    few = ["colour red", "colour blue", "size"]
    features = NameFeatures(8, names=Vocabulary(few, kind="feature"))
    before = features(graph_of({"x": few}, few)).detach()
    many = few + [f"size {number}" for number in range(50)]
    features.names = Vocabulary(many, kind="feature")  # as an update does
    torch.testing.assert_close(features(graph_of({"x": many}, many))[:3].detach(), before)


def test_name_vectors_keep_unit_scale_whatever_the_length_of_the_name() -> None:
    names = ["x", "a rather long name of many words", "", "ü", "::"]
    torch.manual_seed(0)
    states = NameFeatures(512)(graph_of({"x": names}, names))
    scale = states.square().mean(dim=1)
    torch.testing.assert_close(scale, torch.ones(5), rtol=0.3, atol=0.0)


def test_name_vectors_do_not_depend_on_the_graph() -> None:
    features = NameFeatures(8, buckets=64)
    alone = features(graph_of({"x": ["b"]}, ["b"]))
    torch.testing.assert_close(alone[0], features(known())[1])
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        NameFeatures(8, buckets=0)


def test_features_in_like_company_get_like_vectors() -> None:
    """Two worlds of features that never meet; a new feature of each resembles its own world."""
    rng = np.random.default_rng(0)
    left, right = [f"l{i}" for i in range(8)], [f"r{i}" for i in range(8)]
    rows = {}
    for number in range(40):
        world, new = (left, "new left") if number % 2 else (right, "new right")
        rows[f"n{number}"] = [*rng.choice(world, 4, replace=False), new]
    graph = graph_of(rows, [*left, *right, "new left", "new right", "unused"])
    mine, theirs = [], []
    for seed in range(5):
        torch.manual_seed(seed)
        states = StructuralFeatures(64)(graph).detach()
        states = states - states[:16].mean(dim=0)
        mine.append(cosine_similarity(states[16], states[:8]).mean().item())
        theirs.append(cosine_similarity(states[16], states[8:16]).mean().item())
    assert np.mean(mine) > 0.5 > 0 > np.mean(theirs)


def test_new_features_do_not_move_the_structural_vectors_of_known_ones() -> None:
    features = make_features("structural", Vocabulary(NAMES), 6)
    before = features(known())
    rows = {"x": ["a", "b", "new", "twin"], "y": ["b", "c", "other"]}
    later = features(graph_of(rows, [*NAMES, "new", "twin", "other", "unused"]))
    torch.testing.assert_close(later[:3], before)
    torch.testing.assert_close(later[3], later[4])  # whatever they are called
    assert not torch.allclose(later[3], later[5])


def test_structural_vectors_ignore_names_that_no_node_has() -> None:
    features = StructuralFeatures(6)
    more = graph_of({"x": ["a", "b"], "y": ["b", "c"]}, [*NAMES, "gone", "long gone"])
    torch.testing.assert_close(features(known()), features(more)[:3])


def test_given_vectors_pass_through_a_linear_layer() -> None:
    features = make_features(TABLE, Vocabulary(NAMES), 3)
    expected = torch.tensor(list(TABLE.values())) @ features.linear.weight.T + features.linear.bias
    torch.testing.assert_close(features(known()), expected)
    torch.testing.assert_close(
        make_features(encode, Vocabulary(NAMES), 3)(known()).shape, torch.Size([3, 3])
    )


def test_features_without_a_given_vector_start_at_the_mean_of_all() -> None:
    features = make_features(TABLE, Vocabulary(NAMES), 3)
    for rows in ({"x": ["new"]}, {"x": ["new", "a"]}):  # whoever else is in the graph
        states = features(graph_of(rows, ["new", "a"]))
        mean = torch.tensor(list(TABLE.values())).mean(dim=0)
        torch.testing.assert_close(states[0], features.linear(mean))


def test_two_tables_on_one_graph_do_not_mix() -> None:
    """Even if one embedding is gone before the next is made."""
    graph = known()
    for scale in range(1, 6):
        table = {name: np.array(vector) * scale for name, vector in TABLE.items()}
        features = make_features(table, Vocabulary(NAMES), 3)
        expected = features.linear(torch.tensor(np.stack(list(table.values()))).float())
        torch.testing.assert_close(features(graph), expected)
        del features


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": [1.0, 2.0], "b": [1.0], "c": [1.0, 2.0]}, "feature 'b' has shape"),
        ({"a": [1.0], "b": [float("nan")], "c": [1.0]}, "feature 'b' .* not finite"),
        (lambda names: np.ones((1, 4)), r"shape \(1, 4\) for 3 features"),
        (lambda names: np.full((len(names), 2), np.inf), "feature 'a' .* not finite"),
    ],
)
def test_bad_vectors_are_named(source: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_features(source, Vocabulary(NAMES), 3)(known())


def test_make_features() -> None:
    names = Vocabulary(NAMES)
    assert isinstance(make_features("learned", names, 4), LearnedFeatures)
    assert isinstance(make_features("structural", names, 4), StructuralFeatures)
    assert isinstance(make_features(torch.ones(3, 2), names, 4), GivenFeatures)
    mine = NameFeatures(4)
    assert make_features(mine, names, 4) is mine
    with pytest.raises(UnknownNameError, match=r"embedding 'learnd'.+mean 'learned'"):
        make_features("learnd", names, 4)
    with pytest.raises(ParameterError, match=r"each of the 3 features, got shape \(2, 2\)"):
        make_features(np.ones((2, 2)), names, 4)
    with pytest.raises(ParameterError, match="must not be empty"):
        make_features({}, names, 4)


def test_an_embedding_must_say_how_it_embeds() -> None:
    with pytest.raises(TypeError, match="must define forward"):
        FeatureEmbedding(3)(known())


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_without_features(kind: str) -> None:
    features = make_features(KINDS[kind], Vocabulary(NAMES), 4)
    assert features(graph_of({"x": []}, [])).shape == (0, 4)
    features.reset_parameters()
    assert "embedding" not in repr(features)
