"""Which labelled nodes a model learns from, is chosen by, and is judged on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grafenne.data.labels import Labels
from grafenne.data.seeds import seeded
from grafenne.errors import DataError, ParameterError

if TYPE_CHECKING:
    from grafenne.data.feature_graph import FeatureGraph


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Positions of the nodes for training, validation and test; no node is in two of them.

    Attributes:
        train: Nodes to learn from, sorted ``int64`` positions.
        validation: Nodes to choose epochs and settings by.
        test: Nodes to judge by, looked at once.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    def __init__(self, train: ArrayLike, validation: ArrayLike = (), test: ArrayLike = ()) -> None:
        for name, given in (("train", train), ("validation", validation), ("test", test)):
            array = np.asarray(given)
            if array.size and array.dtype.kind not in "iu":
                raise DataError(f"The {name} positions must be whole numbers, got {array.dtype}.")
            positions = np.sort(array.astype(np.int64).reshape(-1))
            if len(positions) and positions[0] < 0:
                raise DataError(f"The {name} positions must not be negative, got {positions[0]}.")
            positions.setflags(write=False)
            object.__setattr__(self, name, positions)
        every = np.sort(np.concatenate((self.train, self.validation, self.test)))
        twice = every[1:][every[1:] == every[:-1]]
        if len(twice):
            places = [f.name for f in fields(self) if twice[0] in getattr(self, f.name)]
            where = f"in {places[0]} twice" if len(places) == 1 else f"in {' and '.join(places)}"
            raise DataError(f"The node at position {twice[0]} is {where}; a split is disjoint.")

    @classmethod
    def of_ids(
        cls,
        graph: FeatureGraph,
        *,
        train: Iterable[Hashable],
        validation: Iterable[Hashable] = (),
        test: Iterable[Hashable] = (),
    ) -> Split:
        """From node ids."""
        given = {"train": list(train), "validation": list(validation), "test": list(test)}
        part_of: dict[Hashable, str] = {}
        for part, ids in given.items():
            for node in ids:
                if node in part_of:
                    where = f"{part_of[node]} and {part}" if part_of[node] != part else part
                    twice = "" if part_of[node] != part else " twice"
                    raise DataError(f"The node {node!r} is in {where}{twice}; a split is disjoint.")
                part_of[node] = part
        return cls(*map(graph.nodes.positions, given.values()))

    def to_dict(self) -> dict[str, list[int]]:
        """Lists of positions, for a JSON file; ``Split(**d)`` is the way back."""
        return {f.name: getattr(self, f.name).tolist() for f in fields(self)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Split):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, f.name).tobytes() for f in fields(self)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{f.name}={len(getattr(self, f.name)):,}" for f in fields(self))
        return f"Split({sizes})"


def random_split(
    graph_or_labels: FeatureGraph | Labels,
    seed: int,
    fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
) -> Split:
    """A random split of the labelled nodes.

    Args:
        graph_or_labels: A graph with labels, or the labels.
        seed: Seed of the draw.
        fractions: Shares of train, validation and test. Sizes are rounded so that none of them
            is off by a whole node, and every labelled node is used when the shares sum to 1.
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares >= 0).all() or shares.sum() > 1 + 1e-9:
        raise ParameterError(
            f"fractions must be three numbers from 0 that sum to at most 1, got {fractions!r}."
        )
    labelled = _labelled(graph_or_labels)
    order = seeded(seed).permutation(labelled)
    # Rounding the bounds rather than the sizes makes the sizes sum to the rounded total; the
    # small number keeps 0.6 + 0.2 + 0.2 from falling just short of a bound.
    bounds = np.floor(np.cumsum(shares) * len(labelled) + 0.5 + 1e-9).astype(np.int64)
    first, second, third = np.minimum(bounds, len(labelled)).tolist()
    return Split(order[:first], order[first:second], order[second:third])


def few_label_split(
    graph_or_labels: FeatureGraph | Labels,
    seed: int,
    per_class: int = 20,
    validation: int = 500,
    test: int | None = None,
) -> Split:
    """A split with the same small number of training nodes from every class.

    Args:
        graph_or_labels: A graph whose labels are classes, or the labels.
        seed: Seed of the draw.
        per_class: Training nodes of each class; a class with fewer than twice as many gives
            half of its nodes, rounded up.
        validation: Number of validation nodes, drawn from the others.
        test: Number of test nodes, drawn from what is left; all of that by default.
    """
    if per_class < 1 or validation < 0 or (test is not None and test < 0):
        raise ParameterError(
            f"per_class must be at least 1 and the other sizes at least 0, got {per_class}, "
            f"{validation} and {test}."
        )
    order, code, rank = _ranked_by_class(graph_or_labels, seed)
    chosen = rank < np.minimum(per_class, (np.bincount(code) + 1) // 2)[code]
    others = _drawn_anew(order[~chosen], seed)
    wanted = validation + (test or 0)
    if wanted > len(others):
        raise ParameterError(
            f"{wanted} validation and test nodes were asked for, but beside the training nodes "
            f"there are only {len(others)} labelled ones."
        )
    end = len(others) if test is None else wanted
    return Split(order[chosen], others[:validation], others[validation:end])


def equal_classes_split(
    graph_or_labels: FeatureGraph | Labels,
    seed: int,
    fractions: tuple[float, float] = (0.6, 0.2),
) -> Split:
    """A split with the same large number of training nodes from every class.

    Many figures that are published for "random 60/20/20 splits" are of this one (the code of
    GPR-GNN and of ACM-GNN makes it): each class gives the training share of all labelled nodes
    divided by the number of classes. A class that has no more than that is learned from as a
    whole, and neither validates nor tests; classes are as frequent in training as each other, but
    not where the model is judged. So figures differ from those of :func:`random_split`.

    Args:
        graph_or_labels: A graph whose labels are classes, or the labels.
        seed: Seed of the draw.
        fractions: Shares of training, at most, and of validation; the others test.
    """
    train, validation = fractions
    if not (train > 0 and validation >= 0 and train + validation <= 1 + 1e-9):
        raise ParameterError(
            "fractions must be a share above 0 and one from 0 that sum to at most 1, got "
            f"{fractions!r}."
        )
    order, code, rank = _ranked_by_class(graph_or_labels, seed)
    chosen = rank < round(train * len(order) / len(np.unique(code)))
    others = _drawn_anew(order[~chosen], seed)
    end = round(validation * len(order))
    return Split(order[chosen], others[:end], others[end:])


def _ranked_by_class(
    graph_or_labels: FeatureGraph | Labels, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The labelled nodes in random order, the class of each and its rank in that."""
    labelled = _labelled(graph_or_labels)
    labels = _labels(graph_or_labels)
    if labels.kind != "class":
        raise DataError("A split by class needs class labels, but these are numbers.")
    order = seeded(seed).permutation(labelled)
    code = labels.values[order].astype(np.int64)
    by_class = np.argsort(code, kind="stable")
    counts = np.bincount(code)
    begins = np.cumsum(counts) - counts
    rank = np.empty(len(order), dtype=np.int64)
    rank[by_class] = np.arange(len(order)) - begins[code[by_class]]
    return order, code, rank


def _drawn_anew(others: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The nodes that do not train, in another random order.

    In the one they were picked in, those of large classes come first: of a small class nearly all
    of the first nodes train. The first part would be of other classes than the rest.
    """
    return seeded(seed, 1).permutation(others)


def _labels(graph_or_labels: FeatureGraph | Labels) -> Labels:
    if isinstance(graph_or_labels, Labels):
        return graph_or_labels
    if graph_or_labels.labels is None:
        raise DataError("A split needs labelled nodes, but the graph has no labels.")
    return graph_or_labels.labels


def _labelled(graph_or_labels: FeatureGraph | Labels) -> NDArray[np.int64]:
    labelled = np.flatnonzero(_labels(graph_or_labels).known)
    if not len(labelled):
        raise DataError("A split needs labelled nodes, but no node has a label.")
    return labelled
