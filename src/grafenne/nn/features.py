"""Feature embeddings Φ: where the states of the feature nodes start (paper, "Initialization").

Φ maps any feature, seen in training or not, to a vector (condition 2 of the paper's inductivity
theorem). Only :class:`LearnedFeatures` has parameters per feature; it accepts unseen ones too.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import DataError, ParameterError, unknown_name
from grafenne.nn.company import company_of, other_company_of
from grafenne.nn.new_features import NEW_VECTORS, half_if_new
from grafenne.ops import SparsePattern, sparse_product

KINDS = ("learned", "name", "structural")


class FeatureEmbedding(nn.Module):
    """Base of all Φ.

    Args:
        width: Width of the states it gives.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states of the graph's features, ``[num_features, width]``."""
        raise TypeError(f"{type(self).__name__} must define forward")

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """How much each feature of a graph counts, ``[num_features]``; ``None`` if all do fully."""
        return None


class LearnedFeatures(FeatureEmbedding):
    r"""One trained vector per feature known at training time, :math:`h_u^0 = w_u`.

    A feature that was not there starts where :class:`~grafenne.nn.new_features.NewFeatures` put
    it, if a vector was read for it; else at the mean vector of the known features it occurs with:
    first over the features of a node, then over the nodes that have it. One that occurs with no
    known feature starts at the mean of all vectors.

    Such a feature counts half, see :func:`~grafenne.nn.new_features.half_if_new`.

    Args:
        names: The known features.
        width: Width of the vectors.
        evidence: Whether each feature has two more vectors, which the first layer adds up; see
            :func:`~grafenne.nn.evidence.direct_evidence`. They come after the others in a row.
    """

    def __init__(self, names: Iterable[str], width: int, *, evidence: bool = False) -> None:
        super().__init__(width)
        self.names = names if isinstance(names, Vocabulary) else Vocabulary(names, kind="feature")
        columns = 3 * width if evidence else width
        self.weight = nn.Parameter(torch.empty(len(self.names), columns))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new vectors: states of unit scale, as the norms that follow train best so.

        Evidence starts as the weights of a linear layer over all features would.
        """
        with torch.no_grad():
            self.weight[:, : self.width].normal_()
            bound = max(len(self.names), 1) ** -0.5
            self.weight[:, self.width :].uniform_(-bound, bound)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"{len(self.names)} features, width={self.width}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``, with evidence beside them if any."""
        if graph.features == self.names:
            return self.weight
        place = torch.from_numpy(self.names.find(graph.features)).to(self.weight.device)
        known = place >= 0
        if not len(self.names):
            return self.weight.new_zeros(len(place), self.weight.shape[1])
        states = self.weight[place.clamp(min=0)]
        if bool(known.all()):
            return states
        read = graph.recall(NEW_VECTORS)
        new = self.company(graph, states, known) if read is None else read.to(states)
        return torch.where(known.unsqueeze(1), states, new)

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """Half for the features that are new."""
        return half_if_new(graph, self.names)

    def company(self, graph: AllotropicGraph, states: Tensor, known: Tensor) -> Tensor:
        """Mean over a feature's nodes of the mean over their known features."""
        home, there = states.device, graph.incidence.device  # a large graph stays in main memory
        flag = known.to(there, states.dtype).unsqueeze(1)
        company = company_of(graph, states.to(there), flag).to(home)
        return torch.where(company[:, -1:] > 0, company[:, :-1], self.weight.mean(dim=0))


class NameFeatures(FeatureEmbedding):
    """A vector made of the parts of a feature's name, so like names get like vectors.

    The name, its words and the pieces of three to five letters of each word are hashed into a
    table of fixed size (as fastText does); a feature's vector is the scaled sum of its rows. An
    unseen ``uitoolkit::gtk4`` lands near ``uitoolkit::gtk3``. It counts half all the same, see
    :func:`~grafenne.nn.new_features.half_if_new`, and not at all while its name says nothing:
    while it shares no more with the known names than what most of them share. Numbers are not cut
    into pieces, so an unseen ``word_0341`` says nothing. (Half of Cora's words, named so, cost two
    points when they were guessed at.)

    Args:
        width: Width of the vectors.
        buckets: Rows of the table; the number of parameters does not depend on the features.
        names: The known features; all that a graph has if there is no telling.
    """

    def __init__(self, width: int, buckets: int = 8192, names: Vocabulary | None = None) -> None:
        super().__init__(width)
        if buckets < 1:
            raise ParameterError(f"buckets must be at least 1, got {buckets}.")
        self.buckets, self.names = buckets, names
        self.table = nn.Parameter(torch.empty(buckets, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws a new table."""
        nn.init.normal_(self.table)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"buckets={self.buckets}, width={self.width}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        pattern = graph.once(
            ("name pieces", self.buckets), lambda: _piece_pattern(graph.features, self.buckets)
        ).to(self.table.device)
        # Divided by the root of the count, a sum of unit-scale rows keeps unit scale.
        scale = pattern.counts.to(self.table.dtype).clamp(min=1).rsqrt().unsqueeze(1)
        return sparse_product(pattern, None, self.table) * scale

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """Half for the features that are new, nothing if their names say nothing."""
        trust, names = half_if_new(graph, self.names), self.names
        if trust is None or names is None:
            return None
        telling = graph.once(
            ("telling names", _Same(names)), lambda: _telling_names(graph.features, names)
        )
        return trust * ((trust == 1) | telling)


class StructuralFeatures(FeatureEmbedding):
    r"""A vector read off a feature's own neighbourhood in the graph.

    Each feature is described by the features it occurs with: a fixed random vector per name
    (from a hash, so it never changes) is averaged over the features of a node, and then over the
    nodes that have the feature, :math:`D_f^{-1} X^T D_v^{-1} X R`. Features in like company get
    like vectors. A linear layer, the only part that is trained, turns this sketch, together with
    how common the feature is, into a state.

    Only features known at training time count as company: new ones must not move the sketches
    that the network was trained on. (When they did, half of Cora's words, brought in later, cost
    a trained model nine points.) They count half, see
    :func:`~grafenne.nn.new_features.half_if_new`.

    Args:
        width: Width of the vectors.
        sketch: Width of the random vectors.
        names: The known features; all that a graph has if there is no telling.
    """

    def __init__(self, width: int, sketch: int = 128, names: Vocabulary | None = None) -> None:
        super().__init__(width)
        self.sketch, self.names = sketch, names
        self.linear = nn.Linear(sketch + 2, width)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.linear.reset_parameters()

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"sketch={self.sketch}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        known = None if self.names is None or graph.features == self.names else self.names
        sketches = graph.once(
            ("structural", self.sketch, _Same(known)),
            lambda: _sketches(graph, self.sketch, known),
        )
        result: Tensor = self.linear(sketches.to(self.linear.weight))
        return result

    def trust(self, graph: AllotropicGraph) -> Tensor | None:
        """Half for the features that are new."""
        return half_if_new(graph, self.names)


class GivenFeatures(FeatureEmbedding):
    """Vectors that the user supplies: from a text encoder, a knowledge base, a table.

    Args:
        source: A callable from a list of names to an array ``[len(names), n]``, or a mapping
            from names to vectors. Features without a vector start at the mean of all vectors.
        width: Width of the states; a trained linear layer maps the given vectors to it.
        given_width: Width of the given vectors.
    """

    def __init__(
        self,
        source: Callable[[list[str]], Any] | Mapping[str, Any],
        width: int,
        given_width: int,
    ) -> None:
        super().__init__(width)
        self.source = source
        self.linear = nn.Linear(given_width, width)
        self._key = object()  # an id() may come back after its owner is gone

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.linear.reset_parameters()

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        vectors = graph.once(("given", self._key), lambda: self._vectors(list(graph.features)))
        result: Tensor = self.linear(vectors.to(self.linear.weight))
        return result

    def _vectors(self, names: list[str]) -> Tensor:
        width = self.linear.in_features
        if not names:
            return torch.empty(0, width)
        if callable(self.source):
            vectors = np.asarray(self.source(names), dtype=np.float32)
        else:
            mean: Any = None
            rows = []
            for name in names:
                vector = self.source.get(name)
                if vector is None:
                    mean = _mean_vector(self.source, width) if mean is None else mean
                    vector = mean
                rows.append(_checked(name, vector, width))
            vectors = np.stack(rows)
        if vectors.shape != (len(names), width):
            raise DataError(
                f"The feature embedding gave an array of shape {vectors.shape} for "
                f"{len(names)} features of width {width}."
            )
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            name = names[int(np.argmin(finite))]
            raise DataError(f"The vector of feature {name!r} has numbers that are not finite.")
        return torch.from_numpy(vectors)


def _checked(name: str, vector: Any, width: int) -> NDArray[np.float32]:
    row = np.asarray(vector, dtype=np.float32)
    if row.shape != (width,):
        raise DataError(
            f"The vector of feature {name!r} has shape {row.shape}, but the others have {width} "
            "numbers."
        )
    return row


def _mean_vector(source: Mapping[str, Any], width: int) -> NDArray[np.float64]:
    """The mean of all given vectors, so that it does not depend on the graph at hand."""
    total = np.zeros(width)
    for name, vector in source.items():
        total += _checked(name, vector, width)
    return total / max(len(source), 1)


def make_features(
    kind: Any, names: Vocabulary, width: int, *, evidence: bool = False
) -> FeatureEmbedding:
    """The Φ of that kind: a name, or the user's own mapping, tensor or callable.

    Args:
        kind: ``learned``, ``name``, ``structural``, a :class:`FeatureEmbedding`, a mapping or a
            callable (see :class:`GivenFeatures`), or an array with a row per feature.
        names: The features of the training graph.
        width: Width of the states.
        evidence: Whether ``learned`` features also have vectors of evidence.
    """
    if isinstance(kind, FeatureEmbedding):
        return kind
    if isinstance(kind, str):
        if kind == "learned":
            return LearnedFeatures(names, width, evidence=evidence)
        if kind == "name":
            return NameFeatures(width, names=names)
        if kind == "structural":
            return StructuralFeatures(width, names=names)
        raise unknown_name("feature embedding", kind, KINDS)
    if isinstance(kind, Mapping):
        first = next(iter(kind.values()), None)
        if first is None:
            raise ParameterError("A mapping of feature vectors must not be empty.")
        return GivenFeatures(kind, width, len(np.asarray(first)))
    if callable(kind):
        probe = np.asarray(kind(list(names)[:1] or ["probe"]))
        return GivenFeatures(kind, width, probe.shape[-1])
    rows = np.asarray(kind)
    if rows.ndim != 2 or len(rows) != len(names):
        raise ParameterError(
            f"An array of feature vectors needs one row for each of the {len(names)} "
            f"features, got shape {rows.shape}."
        )
    table: dict[str, Any] = dict(zip(names, rows, strict=True))
    return GivenFeatures(table, width, rows.shape[1])


def _piece_pattern(names: Iterable[str], buckets: int) -> SparsePattern:
    indptr, indices = [0], []
    for name in names:
        rows = {_hash(piece) % buckets for piece in name_pieces(name)}
        indices.extend(sorted(rows))
        indptr.append(len(indices))
    return SparsePattern(torch.tensor(indptr), torch.tensor(indices, dtype=torch.int64), buckets)


def _telling_names(names: Iterable[str], known: Vocabulary) -> Tensor:
    """Whether each name has a piece that some of the known names have, but not most of them."""
    seen = Counter(piece for name in known for piece in name_pieces(name))
    most = len(known) / 2
    return torch.tensor(
        [any(0 < seen[piece] <= most for piece in name_pieces(name)) for name in names],
        dtype=torch.bool,
    )


def name_pieces(name: str) -> set[str]:
    """The name itself, its words, and the pieces of each word with letters, marked at its ends.

    Numbers that look alike seldom are: they are whole or nothing.
    """
    words = "".join(letter if letter.isalnum() else " " for letter in name.lower()).split()
    pieces = {f"name {name}"} | {f"word {word}" for word in words}
    for word in words:
        if word.isdecimal():
            continue
        marked = f"<{word}>"
        for length in (3, 4, 5):
            pieces.update(
                marked[start : start + length] for start in range(len(marked) - length + 1)
            )
    return pieces


class _Same:
    """A key that is equal to that of the same object only, and keeps the object alive."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.thing is self.thing


def _sketches(graph: AllotropicGraph, width: int, known: Vocabulary | None) -> Tensor:
    """What company each feature keeps, ``[num_features, width + 2]``; see the class above."""
    seeds = [_hash(name) for name in graph.features]
    fixed = np.stack(
        [np.random.default_rng(seed).standard_normal(width, dtype=np.float32) for seed in seeds]
        or [np.empty(width, dtype=np.float32)]
    )[: graph.num_features]
    incidence, back = graph.incidence, graph.incidence.transpose
    with torch.no_grad():
        states = torch.from_numpy(fixed).to(incidence.device)
        flag = torch.ones(graph.num_features, 1, device=incidence.device)
        if known is not None:
            places = torch.from_numpy(known.find(graph.features)).to(incidence.device)
            flag = (places >= 0).float().unsqueeze(1)
        company, used = other_company_of(graph, states, flag)
        count = back.counts.to(torch.float32).unsqueeze(1)
        # Names that no node has (any more) must not move the others: they stay out of the mean.
        common = flag * used
        mean = (company * common).sum(dim=0, keepdim=True) / common.sum().clamp(min=1)
        company = (company - mean) * used
        # A feature in average company has only rounding errors left: do not blow them up.
        scale = company.norm(dim=1, keepdim=True) / width**0.5
        company = company / scale.clamp(min=1e-3)
        return torch.cat((company, count.log1p(), used), dim=1)


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
