"""Marking missing cells instead of filling them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from grafenne.data.feature_graph import FeatureGraph
from grafenne.data.values import FeatureValues
from grafenne.errors import DataError
from grafenne.impute.base import Imputer

PREFIX = "observed "


@dataclass(kw_only=True, eq=False, repr=False)
class SpecialLabel(Imputer):
    r"""A special label for missing cells, the paper's strategy (4).

    An absent cell stays absent, which a network with a sparse first layer reads as zero. Any
    other label c would be :math:`X + c (1 - M)` for the observed values X and the mask M of
    observed cells; a layer :math:`X W + M V + b` contains all of these, so instead of a number
    the mask itself can join the inputs.

    Args:
        observed_mask: Whether each observed cell (v, f) gets a second triple of value 1 for a
            feature called ``observed f``.
    """

    name: ClassVar[str] = "special"
    along_edges: ClassVar[bool] = False

    observed_mask: bool = False

    def _transform(self, graph: FeatureGraph, edges: FeatureGraph) -> FeatureGraph:
        if not self.observed_mask:
            return graph
        names = [f"{PREFIX}{name}" for name in graph.features]
        for name in names:
            if name in graph.features:
                raise DataError(
                    f"The graph has a feature {name!r}, which is kept for the mask of observed "
                    "cells."
                )
        features = graph.features.extended(names)
        values = graph.values
        return graph.replace(
            features=features,
            values=FeatureValues.build(
                np.concatenate((values.rows, values.rows)),
                np.concatenate((values.indices, values.indices + graph.num_features)),
                np.concatenate((values.data, np.ones_like(values.data))),
                nodes=graph.nodes,
                features=features,
            ),
            feature_edges=graph.feature_edges.resized(len(features)),
        )
