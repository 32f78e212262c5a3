"""Graphs and networks to sample from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from grafenne import FeatureGraph
from grafenne.allotrope import AllotropicGraph, to_allotropic
from grafenne.nn import Grafenne, LearnedFeatures
from grafenne.sampling import Sample

SEEDS = np.array([17, 3, 40, 8])


def random_graph(
    num_nodes: int = 120,
    num_features: int = 60,
    *,
    continuous: bool = True,
    weighted: bool = False,
    directed: bool = False,
    linked: bool = False,
) -> AllotropicGraph:
    """Sparse enough that two layers do not reach everything from a few nodes."""
    rng = np.random.default_rng(7)
    cells = rng.choice(num_nodes * num_features, num_nodes, replace=False)
    cells = cells[cells // num_features != SEEDS[0]]  # one seed has no features
    values = rng.normal(size=len(cells)) if continuous else np.ones(len(cells))
    pairs = rng.choice(num_nodes**2, num_nodes, replace=False)
    ends = (pairs // num_nodes, pairs % num_nodes)
    weights = (rng.uniform(0.5, 2.0, len(pairs)),) if weighted else ()
    links = rng.choice(num_features**2, num_features // 4, replace=False)
    graph = FeatureGraph.from_arrays(
        num_nodes,
        num_features,
        (cells // num_features, cells % num_features, values),
        (*ends, *weights),  # type: ignore[arg-type]
        directed=directed,
        feature_edges=(links // num_features, links % num_features) if linked else None,
        duplicates="first",
    )
    return to_allotropic(graph, direction="in" if directed else "both")


def make_model(graph: AllotropicGraph, dtype: torch.dtype = torch.float64, **more: Any) -> Grafenne:
    torch.manual_seed(0)
    features = LearnedFeatures(graph.features, 8, evidence=more.pop("evidence", False))
    model = Grafenne(features, width=8, **more).to(dtype).eval()
    with torch.no_grad():  # attention scores start at zero, which would hide mistakes in them
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


def encode(model: Grafenne, graph: AllotropicGraph, sample: Sample, **more: Any) -> Tensor:
    features = model.features(graph)[sample.feature_positions]
    return model.encode(sample.blocks, features, sample.keeps(**more)).nodes


CASES = [
    *[{"backbone": name} for name in ("sage", "gcn", "gin", "graph", "gat")],
    *[{"backbone": name, "num_layers": 3} for name in ("sage", "gcn")],
    *[{"mode": "paper", "heads": heads} for heads in (1, 2)],
    {"mode": "value", "heads": 2, "backbone": "gat"},
    {"aggregation": "mean"},
    {"aggregation": "sum", "normalisation": "batch"},
    {"num_layers": 1},
    {"skip": False},
    {"reach": 2},
    {"reach": 1, "num_layers": 1, "skip": False},
    {"evidence": True},
    {"evidence": True, "reach": 2, "num_layers": 1, "backbone": "gat"},
]
