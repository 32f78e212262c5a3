"""Datasets by name: ``load("cora")``, ``load_stream("debian-mini")``."""

from __future__ import annotations

# Importing these modules registers their datasets.
from grafenne.datasets import coauthor, dblp, debian, debian_mini, planetoid  # noqa: F401
from grafenne.datasets.actor import actor_split
from grafenne.datasets.registry import (
    Dataset,
    data_root,
    dataset_info,
    dataset_names,
    load,
    load_stream,
)
from grafenne.datasets.synthetic import synthetic, synthetic_stream

__all__ = [
    "Dataset",
    "actor_split",
    "data_root",
    "dataset_info",
    "dataset_names",
    "load",
    "load_stream",
    "synthetic",
    "synthetic_stream",
]
