"""The counts of a dataset, as the paper's table has them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grafenne.experiments.cells import Cell


def configure_counts(
    cell: Cell, *, chosen: Mapping[str, Any] | None = None, epochs: int | None = None
) -> dict[str, Any]:
    """Nothing decides the counts but the files."""
    return {"data": dict(cell.data)}


def count_dataset(
    *, keys: Mapping[str, Any], seed: int, config: Mapping[str, Any], root: Path | None = None
) -> dict[str, Any]:
    """Nodes, edges, features and classes, and more that a reader of the table may ask for."""
    from grafenne.datasets import dataset_info, load

    started = time.perf_counter()
    graph = load(keys["dataset"], root=root, **config["data"].get("options", {}))
    labels = graph.labels
    classes = len(labels.classes) if labels is not None and labels.kind == "class" else 0
    metrics = {
        "nodes": graph.num_nodes,
        # As in the paper: an undirected edge counts in both directions.
        "edges": int(graph.edges.incoming("both").nnz),
        "features": graph.num_features,
        "classes": classes,
        "features_in_use": graph.num_used_features,
        "values": graph.num_values,
    }
    return {
        "metric": "nodes",
        "value": graph.num_nodes,
        "metrics": metrics,
        "seconds": round(time.perf_counter() - started, 3),
        "notes": dataset_info(keys["dataset"]).notes,
    }
