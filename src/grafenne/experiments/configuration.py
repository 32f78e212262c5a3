"""The settings of a cell: a method's defaults, what a search chose, and what the data asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.cost import SIZES
from grafenne.experiments.problem import DEFAULT_DATA

MANY_MISSING = 0.9
"""From this missing rate on the observed zeros are few enough to be listed for any method."""

MOST_KNOWN_CELLS = 50
"""GRAFENNE is told known zeros where a node has no more known cells than that on average."""

LARGE = frozenset({"physics"})
"""Datasets on which training is cut shorter, for every method, to bound the time it takes."""

TRAINING = {False: {"epochs": 500, "patience": 60}, True: {"epochs": 150, "patience": 25}}
"""How long a reported run trains at most, and where that is cut short.

On large data it is where cells are missing: an epoch of some methods takes fifteen seconds there.
With nothing missing GRAFENNE's best epochs were the last of 150, and those of the best baseline
were not (Physics, seed 100, each half of the validation nodes judging what the other chose: 96.6 %
after at most 150 epochs, 96.8 % after at most 400; GraphSAGE 96.5 % both times).
"""

TRAINING_ON_FEW_LABELS = {"epochs": 1000, "patience": 200, "select": "metric"}
"""How runs with few labels train: as those whose published figures they are compared with.

The code of FP and of FSD-CAP keeps the epoch of the best validation accuracy and waits 200 epochs
for a better one.
"""

FILLED_CELLS = {False: 512, True: 64}
"""How many filled cells of a node a graph network behind an imputation gets."""

FILLED_CELLS_OF_GRAFENNE = {False: 128, True: 64}
"""The same for GRAFENNE, which pays more for each of them."""

HARDLY_KNOWN = 0.9999
"""From this missing rate on what FP fills in are thousandths."""

THIN_FILL: dict[str, Any] = {"scaling": "standard", "feature_decay": 0.0}
"""Settings of GRAFENNE behind FP there.

Messages carry values: of thousandths nothing is heard, and feature vectors fade before they are
trained. Physics, one seed, validation loss with neither, the scaling and both: p = 0.9999,
0.220, 0.186, 0.167; p = 0.99999, 1.356, which is chance, 0.254, 0.252. With one cell in a thousand
known features are learned by heart (0.204 without, 0.212 with both).
"""

ADDED_LATER = (
    "averaging",
    "class_shares",
    "complete",
    "direct",
    "feature_decay",
    "hidden_share",
    "select",
    "smoothing",
)
"""Settings that came after the first results. At their defaults, which change nothing for the data
of the tables, they are no part of a configuration: those results stay valid."""

UNPLAIN = ("random_state", "verbose", "device")
"""Settings of an estimator that are no part of a configuration."""


def training_of(cell: Cell) -> dict[str, Any]:
    """How long a run of a cell trains, and which epoch it keeps; the same for every method."""
    if cell.data.get("split") == "few-labels":
        return dict(TRAINING_ON_FEW_LABELS)
    return dict(TRAINING[cell.dataset in LARGE and cell.p > 0])


def task_of(data: Mapping[str, Any]) -> str:
    """What is predicted: ``links`` where edges are split, else ``classification``."""
    return "links" if data["split"] == "edges" else "classification"


def method_of(cell: Cell) -> str:
    """The method that is run for a cell.

    With nothing missing GCNMF is a GCN (its mixture stands for missing cells alone) and is run
    as one: listing millions of observed zeros would give the same network, only slower.
    """
    return "gcn" if cell.method == "gcnmf" and cell.p == 0 else cell.method


def sees_zeros(cell: Cell) -> bool:
    """Whether a method needs to know which zeros are observed.

    Imputations (but for places, which fill nothing in) and the networks made for missing cells tell
    a known zero from a missing cell. A plain network reads both as zero. GRAFENNE joins nodes with
    features that they have; where few cells are left, with those that are known to be zero as well,
    unless a search chooses not to. Not where few nodes are labelled: known zeros tell nodes apart,
    and so few are then learned by heart (Cora, one cell in 200, seed 100, validation: 56.3 % with
    them and a mean, 73.0 % with the defaults).
    """
    from grafenne.baselines.methods import METHODS

    method = METHODS[method_of(cell)]
    if told_complete(cell):
        return False
    if method.imputer not in (None, "places") or method.family in ("Gcnmf", "Pagnn"):
        return True
    return joins_zeros(cell)


def joins_zeros(cell: Cell) -> bool:
    """Whether GRAFENNE has edges to known zeros unless a search chooses otherwise.

    Not where there are many: with one cell in a hundred a node of Physics has 84 (Cora 14, CiteSeer
    37), which tell nodes apart so well that they are learned by heart (validation loss of one seed,
    0.198 with them, 0.178 without).
    """
    _, features, _ = SIZES.get(cell.dataset, (0, 0, 0))
    return may_join_zeros(cell) and features * (1 - cell.p) <= MOST_KNOWN_CELLS


def may_join_zeros(cell: Cell) -> bool:
    """Whether edges of GRAFENNE to known zeros are worth a thought.

    Behind an imputation too, where nodes are classified. On validation data with one cell in a
    hundred (three seeds) its loss on Cora is 0.473 with them and 0.485 without behind NM, 0.468 and
    0.470 behind FP; on Physics with one in ten thousand (one seed) 0.193 and 0.232 behind NM. Not
    where links are predicted: on Cora the AUC behind NM is 0.827 with them, 0.851 without.
    """
    from grafenne.baselines.methods import METHODS

    method, split = METHODS[method_of(cell)], cell.data.get("split")
    if method.family != "Grafenne" or cell.p < MANY_MISSING:
        return False
    return split != "few-labels" and not (split == "edges" and method.imputer is not None)


def told_zeros(config: Mapping[str, Any]) -> bool:
    """Whether the network of a configuration is told known zeros."""
    told: bool = config.get("imputer", {}).get("observed_zeros", config["data"]["observed_zeros"])
    return told


def told_complete(cell: Cell) -> bool:
    """Whether a method is told that every absent cell is a known zero.

    PaGNN with nothing missing, on graphs that have too many cells to list them all.
    """
    return method_of(cell).startswith("pagnn") and cell.p == 0 and cell.dataset in LARGE


def configure(
    cell: Cell,
    *,
    chosen: Mapping[str, Any] | None = None,
    epochs: int | None = None,
) -> dict[str, Any]:
    """Everything that decides the result of a cell, as plain data.

    Args:
        cell: The cell.
        chosen: Settings that a search found; defaults without them. ``observed_zeros`` tells
            whether the network sees known zeros, all others are the estimator's.
        epochs: Most epochs, to try things out.
    """
    from grafenne.baselines.methods import METHODS, make_method

    settings = {**(chosen or {}), **cell.settings}
    data = {**DEFAULT_DATA, "observed_zeros": sees_zeros(cell), **cell.data}
    large = cell.dataset in LARGE
    training = training_of(cell)
    if epochs is not None:
        training["epochs"] = epochs
    name = method_of(cell)
    method = METHODS[name]
    if method.imputer in ("feature-propagation", "pcfi"):
        kept = FILLED_CELLS_OF_GRAFENNE if method.family == "Grafenne" else FILLED_CELLS
        settings["imputer__keep"] = kept[large]
        if method.family == "Grafenne" and cell.p >= HARDLY_KNOWN:
            settings = {**THIN_FILL, **settings}
    if method.imputer in ("feature-propagation", "pcfi", "neighbourhood-mean"):
        # The imputation itself is always told. Nearly all observed cells of these data are zeros,
        # and plain networks read absent ones so.
        zeros = settings.pop("observed_zeros", joins_zeros(cell))
        settings["imputer__observed_zeros"] = zeros
    else:
        data["observed_zeros"] = settings.pop("observed_zeros", data["observed_zeros"])
    if told_complete(cell):
        settings["complete"] = True
    made = make_method(name, task=task_of(data), **training, **settings)
    inner = made.estimator if method.imputer is not None else made
    config: dict[str, Any] = {
        "data": data,
        "estimator": type(inner).__name__,
        "settings": {
            name: value
            for name, value in inner.get_params().items()
            if name not in UNPLAIN
            and not (name in ADDED_LATER and value == getattr(type(inner), name))
        },
    }
    if method.imputer is not None:
        config["imputer"] = {"name": made.imputer.name, **made.imputer.get_params()}
    return config
