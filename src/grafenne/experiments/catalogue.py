"""The experiments of the paper, and one that others hold against it."""

from __future__ import annotations

from typing import Any

from grafenne.experiments.cells import Cell
from grafenne.experiments.registry import Experiment, grid, register

SMALL = ("cora", "citeseer", "actor")
RATES = (0.0, 0.5, 0.99)
EXTREME_RATES = (0.0, 0.5, 0.99, 0.999, 0.9999, 0.99999)

NODES = "node-classification"
LINKS = "link-prediction"
FEW_LABELS = "few-labels"
SMOOTHED = "smoothed"
FEW_LABELS_SMOOTHED = "few-labels-smoothed"
AVERAGED = "averaged"
EQUAL_CLASSES = "equal-classes"

SMOOTHING = {"smoothing": "auto"}
"""What makes a smoothed row of a plain one: the network is trained as it was."""

AVERAGING = {"averaging": 0.25}
"""What makes an averaged row of a plain one: it is trained alike, and what is kept is steadier."""

SHARES = {"class_shares": "validation"}
"""What makes rows that answer for the shares of the classes among the validation nodes."""

LABELLED = ("grafenne+labels", "sage+labels")
WHOLE = ("sage", "gcn", "mlp", "gcnmf", "pagnn", "grafenne", *LABELLED)
"""Methods that are run with nothing missing too; an imputation would have nothing to do there."""

INCOMPLETE = (
    "sage",
    "gcn",
    "mlp",
    "gcnmf",
    "pagnn",
    "pagnn-2",
    "nm+sage",
    "fp+sage",
    "pcfi+sage",
    "grafenne",
    "nm+grafenne",
    "fp+grafenne",
    "grafenne+labels",
    "sage+labels",
)
"""Methods where features are missing. The mask of observed cells joins them where it is small."""


def _in_order(cells: list[Cell]) -> list[Cell]:
    """By dataset and method, each with its missing rates rising."""
    order = [*INCOMPLETE]
    order.insert(1, "mask+sage")
    order.extend(("grafenne-gcn", "fp+gcn", "fp+grafenne-gcn"))
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    return sorted(
        cells, key=lambda cell: (datasets.index(cell.dataset), order.index(cell.method), cell.p)
    )


def _node_cells(experiment: str = NODES, **others: Any) -> list[Cell]:
    others["search"] = "classification"
    cells = grid(experiment, SMALL, WHOLE, (0.0,), **others)
    cells += grid(experiment, SMALL, INCOMPLETE, (0.5, 0.99), **others)
    cells += grid(experiment, SMALL, ("mask+sage",), (0.99,), **others)
    return _in_order(cells)


def _gcn_cells(experiment: str, **others: Any) -> list[Cell]:
    """GRAFENNE with a GCN as phase 2, also behind FP, where a GCN alone is its rival."""
    others["search"] = "backbones"
    cells = grid(experiment, SMALL, ("grafenne-gcn",), RATES, **others)
    behind = ("fp+gcn", "fp+grafenne-gcn")
    return cells + grid(experiment, SMALL, behind, (0.5, 0.99), **others)


def _backbone_cells() -> list[Cell]:
    methods = ("gat", "grafenne-gat", "gin", "grafenne-gin")
    return grid("backbones", SMALL, methods, RATES, search="backbones") + _gcn_cells("backbones")


def _averaged_cells() -> list[Cell]:
    """With a GCN as phase 2 too, which gains most from it."""
    cells = _node_cells(AVERAGED, settings=AVERAGING)
    return _in_order(cells + _gcn_cells(AVERAGED, settings=AVERAGING))


def _physics_cells() -> list[Cell]:
    """The mask as inputs starts at p = 0.99: at 0.5 there would be 290 million of them."""
    plain = ("sage", "grafenne", "grafenne+labels", "sage+labels")
    filled = ("nm+sage", "fp+sage", "nm+grafenne", "fp+grafenne")
    cells = grid("physics", ("physics",), plain, EXTREME_RATES, search="classification")
    cells += grid("physics", ("physics",), filled, EXTREME_RATES[1:], search="classification")
    made_for_it = ("pagnn", "gcnmf")
    cells += grid("physics", ("physics",), made_for_it, EXTREME_RATES, search="classification")
    cells += grid(
        "physics", ("physics",), ("mask+sage",), EXTREME_RATES[2:], search="classification"
    )
    return _in_order(cells)


def _link_cells() -> list[Cell]:
    data = {"split": "edges"}
    plain = ("sage", "grafenne", "gat", "grafenne-gat", "gin", "grafenne-gin")
    filled = ("nm+sage", "fp+sage", "nm+grafenne", "fp+grafenne")
    cells = grid(LINKS, SMALL, plain, RATES, search="links", data=data)
    cells += grid(LINKS, SMALL, filled, (0.5, 0.99), search="links", data=data)
    cells += grid(
        LINKS,
        SMALL,
        filled,
        (0.5, 0.99),
        search="links",
        data={**data, "leaked": True},
        extra={"leaked": True},
    )
    return cells


def _few_label_cells(experiment: str = FEW_LABELS, **others: Any) -> list[Cell]:
    methods = (
        "gcn",
        "sage",
        "nm+gcn",
        "fp+gcn",
        "pcfi+gcn",
        "places+gcn",
        "pagnn",
        "grafenne",
        "fp+grafenne",
        "pcfi+grafenne",
        "places+grafenne",
        "grafenne+labels",
        "gcn+labels",
    )
    cells = []
    for pattern in ("uniform", "structural"):
        cells += grid(
            experiment,
            ("cora", "citeseer"),
            methods,
            (0.995,),
            search=f"few-labels-{pattern}",
            data={"split": "few-labels", "pattern": pattern, "largest_component": True},
            extra={"variant": pattern},
            **others,
        )
    return cells


def _equal_classes_cells() -> list[Cell]:
    """Splits as many published figures are of, with the settings that random splits have chosen."""
    methods = {
        "classification": ("sage", "gcn", "mlp", "pagnn", "grafenne", *LABELLED),
        "backbones": ("gat", "grafenne-gcn"),
    }
    cells = []
    for variant, settings in (("", {}), ("class shares", SHARES)):
        for search, names in methods.items():
            cells += grid(
                EQUAL_CLASSES,
                SMALL,
                names,
                (0.0,),
                search=search,
                data={"split": "equal-classes"},
                settings=settings,
                extra={"variant": variant},
            )
    return cells


def _translation_cells() -> list[Cell]:
    methods = ("grafenne", "sage")
    cells = []
    for variant, data in (("", {}), ("translated", {"shift": 10.0})):
        cells += grid(
            "translation",
            ("cora",),
            methods,
            RATES,
            search="classification",
            data=data,
            extra={"variant": variant},
        )
    return cells


register(
    Experiment(
        name=NODES,
        title="Node classification with missing features",
        paper="Table 2",
        cells=_node_cells(),
    )
)
register(
    Experiment(
        name="backbones",
        title="GAT and GIN alone and in phase 2, and a GCN in phase 2, also behind FP",
        paper="Table 3",
        cells=_backbone_cells(),
    )
)
register(
    Experiment(
        name=LINKS,
        title="Link prediction with missing features",
        paper="Table 4 and the table of GAT and GIN in the appendix",
        cells=_link_cells(),
        metric="auc",
        unit="fraction",
    )
)
register(
    Experiment(
        name="physics",
        title="Extreme missing rates on a large graph",
        paper="Table 5",
        cells=_physics_cells(),
    )
)
register(
    Experiment(
        name="message-passing",
        title="Three phases against traditional message passing",
        paper="Appendix, impact of 3-phase message passing",
        cells=grid(
            "message-passing", SMALL, ("traditional", "grafenne"), (0.0,), search="classification"
        ),
    )
)
register(
    Experiment(
        name="translation",
        title="All values shifted by 10",
        paper="Appendix, impact of feature translation",
        cells=_translation_cells(),
    )
)
register(
    Experiment(
        name="fate",
        title="Comparison with FATE",
        paper="Appendix, comparison with FATE",
        cells=grid(
            "fate", (*SMALL, "physics"), ("fate", "grafenne"), RATES, search="classification"
        ),
    )
)
register(
    Experiment(
        name="statistics",
        title="Dataset statistics",
        paper="Table 1",
        cells=[Cell("statistics", name, "counts") for name in (*SMALL, "physics")],
        metric="nodes",
        run="grafenne.experiments.statistics:count_dataset",
        configure="grafenne.experiments.statistics:configure_counts",
        seeds=1,
        unit="count",
    )
)
register(
    Experiment(
        name=FEW_LABELS,
        title="20 labels per class, 99.5 % of the features missing",
        paper="not in the paper; the protocol in which others compare it",
        cells=_few_label_cells(),
    )
)
register(
    Experiment(
        name=SMOOTHED,
        title="The same, with answers smoothed along the edges",
        paper="not in the paper",
        cells=_node_cells(SMOOTHED, settings=SMOOTHING),
    )
)
register(
    Experiment(
        name=FEW_LABELS_SMOOTHED,
        title="Few labels, with answers smoothed along the edges",
        paper="not in the paper",
        cells=_few_label_cells(FEW_LABELS_SMOOTHED, settings=SMOOTHING),
    )
)
register(
    Experiment(
        name=AVERAGED,
        title="The same, with weights averaged over epochs",
        paper="not in the paper",
        cells=_averaged_cells(),
    )
)
register(
    Experiment(
        name=EQUAL_CLASSES,
        title="Splits with equal classes, as many published figures are of",
        paper="not in the paper; the splits of the best published figures for all features",
        cells=_equal_classes_cells(),
    )
)
