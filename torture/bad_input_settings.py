"""Wrong settings of estimators, and fits that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torture.bad_input_cases import Case

Call = Callable[[], Any]
NAN, INF = float("nan"), float("inf")


def cases() -> Iterator[Case]:
    """All wrong settings."""
    for name, call in _settings().items():
        yield Case(f"fit/{name}", _calling(call))


def _calling(call: Call) -> Callable[[Any, Any], Any]:
    return lambda world, folder: call()


def _settings() -> dict[str, Call]:
    from grafenne import GrafenneClassifier, GrafenneRegressor, Split, random_split
    from torture.bad_input_world import shop_graph

    graph = shop_graph(8)
    split = random_split(graph, 0)

    def of(**settings: Any) -> Call:
        return lambda: GrafenneClassifier(**{"width": 8, "epochs": 1, **settings}).fit(graph, split)

    wrong: dict[str, tuple[Any, ...]] = {
        "width": (0, -1, 2.5, "8", None),
        "epochs": (0, -3, 1.5, NAN),
        "num_layers": (0, 1.5, "two"),
        "heads": (0, 3, "one"),
        "dropout": (1.0, -0.1, NAN, "half", None),
        "feature_dropout": (1.5, NAN, "x"),
        "learning_rate": (0, -1, NAN, INF, "fast", None),
        "weight_decay": (-1, NAN, "x"),
        "clip_norm": (0, NAN, "x"),
        "random_state": (-1, 1.5, "x", None),
        "backbone": ("sagee", ""),
        "features": ("nam", "", 3),
        "mode": ("papper", None, 3),
        "aggregation": ("median", []),
        "schedule": ("cosinus", []),
        "device": ("toaster", 3.5, "cuda:99", None),
        "batch_size": (0, -1, 1.5, "x"),
        "patience": (0, -1, "x"),
        "class_weight": ("balance", 3, {"lamp": -1.0}, {"lamp": NAN}, {"nothing": 1.0}),
        "class_shares": ("train", 3, {"lamp": 0.0}, {"lamp": NAN}, {"nothing": 1.0}),
        "averaging": (-0.1, 1.5, NAN, "x", None),
        "scaling": ("minmax", 3, []),
    }
    known = GrafenneClassifier().get_params()
    calls = {
        f"{name}-{value!r}": of(**{name: value})
        for name, values in wrong.items()
        if name in known
        for value in values
    }
    calls |= {
        "no-graph": lambda: GrafenneClassifier().fit([1, 2], split),  # type: ignore[arg-type]
        "no-labels": lambda: GrafenneClassifier(epochs=1).fit(graph.with_labels(None), split),
        "split-beyond": lambda: GrafenneClassifier(epochs=1).fit(graph, Split([999])),
        "split-empty": lambda: GrafenneClassifier(epochs=1).fit(graph, Split([])),
        "split-unlabelled": lambda: GrafenneClassifier(epochs=1).fit(graph, Split([7])),
        "split-kind": lambda: GrafenneClassifier(epochs=1).fit(graph, [0, 1]),  # type: ignore[arg-type]
        "regression-of-classes": lambda: GrafenneRegressor(epochs=1).fit(graph, split),
        "predict-before-fit": lambda: GrafenneClassifier().predict(graph),
        "save-before-fit": lambda: GrafenneClassifier().save("model"),
        "load-nowhere": lambda: GrafenneClassifier.load("nowhere"),
    }
    return calls
