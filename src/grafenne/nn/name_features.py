"""Feature vectors made of the parts of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import torch
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError
from grafenne.nn.feature_embedding import FeatureEmbedding, Same, hash_of
from grafenne.nn.new_features import half_if_new
from grafenne.ops import SparsePattern, sparse_product


class NameFeatures(FeatureEmbedding):
    """A vector made of the parts of a feature's name, so like names get like vectors.

    The name, its words and the pieces of three to five letters of each word are hashed into a
    table of fixed size (as fastText does); a feature's vector is the scaled sum of its rows. An
    unseen ``uitoolkit::gtk4`` lands near ``uitoolkit::gtk3``. Rows that more than half of the known
    names lead to are left out, as they tell none of them apart, but for the row of a name itself:
    with the ten pieces that ``word_0341`` shares with ``word_0342``, vectors were nearly the same
    and two in five models of CiteSeer never began to learn. Which rows these are is settled at the
    start and kept with the model; else a feature more could move all vectors.

    An unseen feature counts half all the same, see
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
        self.common: Tensor
        self.register_buffer("common", _common_rows(names or (), buckets))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws a new table."""
        nn.init.normal_(self.table)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"buckets={self.buckets}, width={self.width}"

    def forward(self, graph: AllotropicGraph) -> Tensor:
        """The starting states, ``[num_features, width]``."""
        common = frozenset(self.common.nonzero().flatten().tolist())
        pattern = graph.once(
            ("name pieces", self.buckets, common),
            lambda: _piece_pattern(graph.features, self.buckets, common),
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
            ("telling names", Same(names)), lambda: _telling_names(graph.features, names)
        )
        return trust * ((trust == 1) | telling)


def _rows(name: str, buckets: int) -> set[int]:
    return {hash_of(piece) % buckets for piece in name_pieces(name)}


def _common_rows(names: Collection[str], buckets: int) -> Tensor:
    """Whether more than half of the names lead to a row, ``[buckets]``."""
    counts = Counter(row for name in names for row in _rows(name, buckets))
    rows = [row for row, count in counts.items() if count > len(names) / 2]
    common = torch.zeros(buckets, dtype=torch.bool)
    common[torch.tensor(rows, dtype=torch.int64)] = True
    return common


def _piece_pattern(names: Iterable[str], buckets: int, common: frozenset[int]) -> SparsePattern:
    indptr, indices = [0], []
    for name in names:
        own = hash_of(_whole(name)) % buckets
        indices.extend(sorted(_rows(name, buckets) - common | {own}))
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
    pieces = {_whole(name)} | {f"word {word}" for word in words}
    for word in words:
        if word.isdecimal():
            continue
        marked = f"<{word}>"
        for length in (3, 4, 5):
            pieces.update(
                marked[start : start + length] for start in range(len(marked) - length + 1)
            )
    return pieces


def _whole(name: str) -> str:
    return f"name {name}"
