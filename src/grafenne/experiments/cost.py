"""How long runs will take: as long as they took before, else a rough estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from grafenne.experiments.cells import Cell

SIZES = {
    "cora": (2_708, 1_433, 49_216),
    "citeseer": (3_327, 3_703, 105_165),
    "actor": (7_600, 932, 41_009),
    "physics": (34_493, 8_415, 1_137_311),
    "debian-mini": (3_892, 4_924, 53_903),
    "debian": (63_436, 24_338, 851_033),
}
"""Nodes, features and values, so that an estimate need not read the data."""

PER_NODE_AND_VALUE = {
    "GraphNetwork": (7e-6, 1.5e-7),
    "Pagnn": (7e-6, 1.5e-7),
    "Gcnmf": (6e-5, 1.5e-6),
    "Fate": (1e-5, 4e-7),
    "AllotropicGnn": (2e-5, 5e-7),
    "Grafenne": (2.4e-5, 6.5e-7),
}
"""Seconds of an epoch for each node and each value, at width 64 on one thread; measured."""

FITS = {"retrain": 10.0, "warm-start": 4.0}
"""How many times the training of a model a run over a stream takes, where that is not 1.5."""

USUAL_EPOCHS = 80
"""Which epoch is usually the best one; training goes on for its patience after that."""


class CostModel:
    """Expected seconds of a run.

    Args:
        rows: Lines of results; those with ``seconds`` and ``epochs``, or of streams with
            ``run_seconds``, tell.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self._seen: dict[tuple[Any, ...], list[tuple[Mapping[str, Any], float]]] = {}
        self._whole: dict[tuple[Any, ...], list[float]] = {}
        for row in rows:
            if row.get("run_seconds"):
                self._whole.setdefault(_of_stream(row), []).append(row["run_seconds"])
            seconds, epochs = row.get("seconds"), row.get("epochs")
            if seconds and epochs and not row.get("error"):
                key = (row.get("dataset"), row.get("method"), row.get("p"), _of_links(row))
                self._seen.setdefault(key, []).append((_settings(row), seconds / epochs))

    def seconds(self, cell: Cell, config: Mapping[str, Any]) -> float:
        """Expected time of one run, or of one trial, of a cell."""
        if "classifier" in config:
            whole = self._whole.get(_of_stream({"experiment": cell.experiment, **cell.keys}))
            return sum(whole) / len(whole) if whole else _stream_seconds(cell, config)
        if "settings" not in config:
            return 1.0
        allowed = config["settings"]
        epochs = min(allowed["epochs"], USUAL_EPOCHS + allowed["patience"])
        links = _of_links({"config": config})
        seen = self._seen.get((cell.dataset, cell.method, cell.p, links), [])
        alike = [each for told, each in seen if told and told.items() <= allowed.items()]
        times = alike or [each for _, each in seen]
        if times:
            return float(epochs * sum(times) / len(times))
        return float(1.0 + epochs * seconds_per_epoch(cell, config))


def _settings(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a run or of a trial of a search."""
    found = (row.get("config") or {}).get("settings") or row.get("settings")
    return found if isinstance(found, Mapping) else {}


def _of_stream(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("experiment", "dataset", "method", "strategy"))


def _stream_seconds(cell: Cell, config: Mapping[str, Any]) -> float:
    """A model's training, once or again at each step."""
    allowed = config["classifier"]
    epochs = min(allowed["epochs"], USUAL_EPOCHS + allowed["patience"])
    nodes, _, values = SIZES[cell.dataset]
    per_node, per_value = PER_NODE_AND_VALUE["Grafenne"]
    fits = 3.0 if cell.experiment == "inductive" else FITS.get(cell.extra["strategy"], 1.5)
    return float(fits * epochs * (per_node * nodes + per_value * values))


def _of_links(row: Mapping[str, Any]) -> bool:
    """Whether a run, or a trial, predicts links: their epochs are longer."""
    data = (row.get("config") or {}).get("data") or {}
    return row.get("search") == "links" or data.get("split") == "edges"


def seconds_per_epoch(cell: Cell, config: Mapping[str, Any]) -> float:
    """A rough estimate from the size of the data that the network sees."""
    nodes, features, values = SIZES.get(cell.dataset, (1_000, 200, 10_000))
    left = values * (1 - cell.p)
    zeros = nodes * features * (1 - cell.p)
    name = config.get("imputer", {}).get("name")
    family = config["estimator"]
    for ending in ("Classifier", "LinkPredictor", "Regressor"):
        family = family.removesuffix(ending)
    if name in ("feature-propagation", "pcfi"):
        left = min(left * features, nodes * config["imputer"]["keep"])
    elif name == "special":
        left = 2 * zeros
    elif name == "places":
        left += nodes * config["imputer"]["count"]
    elif family == "Gcnmf":
        left = zeros if cell.p > 0.95 else 0.06 * nodes * features  # then unpacked in blocks
    elif family in ("Grafenne", "AllotropicGnn") and config["data"]["observed_zeros"]:
        left += zeros if name is None else 0
    per_node, per_value = PER_NODE_AND_VALUE.get(family, PER_NODE_AND_VALUE["Grafenne"])
    seconds: float = (per_node * nodes + per_value * left) * config["settings"]["width"] / 64
    return seconds


def duration_text(seconds: float) -> str:
    """``45 s``, ``12 min`` or ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
