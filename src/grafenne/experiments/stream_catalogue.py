"""The two experiments of the continual part: strategies on streams, and unseen features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.configuration import TRAINING
from grafenne.experiments.registry import Experiment, register

STRATEGIES = ("ewc", "finetune", "replay", "contgnn", "ewc-replay", "online-ewc", "warm-start",
              "retrain", "frozen")  # fmt: skip
CHURNED = ("cora", "citeseer", "physics")
RELEASES = ("debian-mini", "debian")
LARGE = frozenset({"physics", "debian"})

LATER = {"kind_dropout": 0.2}
"""Settings where nodes come later: they may lack what training nodes have. (Half of the packages in
one release of Debian carry tags, 2 % of those that are new in the next.)"""


def _continual_cells() -> list[Cell]:
    # The churned graphs take the settings that were chosen for the whole graph.
    return [
        Cell(
            "continual",
            dataset,
            "grafenne",
            extra={"strategy": strategy},
            search="classification" if dataset in CHURNED else None,
        )
        for dataset in (*CHURNED, *RELEASES)
        for strategy in STRATEGIES
    ]


def _inductive_cells() -> list[Cell]:
    return [
        Cell("inductive", dataset, features)
        for dataset in ("cora", "citeseer", "actor", *RELEASES)
        for features in ("company", "learned", "name", "structural")
        if features != "company"
        or dataset not in RELEASES  # by default not where nodes are records
    ]


def configure(
    cell: Cell, *, chosen: Mapping[str, Any] | None = None, epochs: int | None = None
) -> dict[str, Any]:
    """The classifier's settings, for both experiments."""
    training = dict(TRAINING[cell.dataset in LARGE])
    if epochs is not None:
        training["epochs"] = epochs
    settings = {name: value for name, value in (chosen or {}).items() if name != "observed_zeros"}
    own: Mapping[str, Any] = LATER if cell.dataset in RELEASES else {}
    if cell.experiment == "continual" and cell.dataset in CHURNED:
        own = {"features": "company"}
    return {"classifier": {**settings, **own, **training}}


register(
    Experiment(
        name="continual",
        title="Strategies that follow a changing graph",
        paper="Figure on continual learning, and real releases",
        cells=_continual_cells(),
        metric="average",
        run="grafenne.continual.experiment:run_cells",
        together="strategy",
        configure="grafenne.experiments.stream_catalogue:configure",
    )
)
register(
    Experiment(
        name="inductive",
        title="Features and nodes that training never saw",
        paper="Proposition 1, measured",
        cells=_inductive_cells(),
        run="grafenne.continual.inductive:run_cell",
        configure="grafenne.experiments.stream_catalogue:configure",
    )
)
