"""Feature embeddings Φ: where the states of the feature nodes start (paper, "Initialization").

Φ maps any feature, seen in training or not, to a vector (condition 2 of the paper's inductivity
theorem). Each has a module of its own; only
:class:`~grafenne.nn.learned_features.LearnedFeatures` has parameters per feature, and it accepts
unseen ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ParameterError, unknown_name
from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.given_features import GivenFeatures
from grafenne.nn.learned_features import LearnedFeatures
from grafenne.nn.name_features import NameFeatures
from grafenne.nn.structural_features import StructuralFeatures

LEARNED = ("company", "learned")
"""Kinds with trained vectors for each feature; they differ in where these start."""

KINDS = (*LEARNED, "name", "structural")


def is_learned(kind: Any) -> bool:
    """Whether Φ of that kind has trained vectors for each feature."""
    return kind is None or (isinstance(kind, str) and kind in LEARNED)


def make_features(
    kind: Any, names: Vocabulary, width: int, *, evidence: bool = False
) -> FeatureEmbedding:
    """The Φ of that kind: a name, or the user's own mapping, tensor or callable.

    Args:
        kind: ``company``, ``learned``, ``name``, ``structural``, a :class:`FeatureEmbedding`, a
            mapping or a callable (see :class:`GivenFeatures`), or an array with a row per feature;
            ``None`` for one of the first two.
        names: The features of the training graph.
        width: Width of the states.
        evidence: Whether trained vectors come with vectors of evidence.
    """
    if isinstance(kind, FeatureEmbedding):
        return kind
    if is_learned(kind):
        return LearnedFeatures(names, width, evidence=evidence)
    if isinstance(kind, str):
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
