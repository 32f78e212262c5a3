"""What a model needs to be updated or judged after it was saved: who trained, what it remembers.

Node ids are kept as text or whole numbers. A model of a graph with other ids is saved without
this part: it predicts the same, but an update takes all labelled nodes as new.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from grafenne.continual.lineage import check_lineage, strategy_settings
from grafenne.data.split import Split
from grafenne.data.vocabulary import Vocabulary
from grafenne.errors import ModelFileError
from grafenne.tasks.edge_parts import EdgeParts

if TYPE_CHECKING:
    from grafenne.continual.strategies import Strategy
    from grafenne.estimators.base import NetworkEstimator
    from grafenne.estimators.model_files import Header

PARTS = ("train", "validation", "test")
PREFIX = "memory."
"""How the tensors that a strategy remembers are told apart from the weights."""


def describe_memory(
    estimator: NetworkEstimator,
) -> tuple[dict[str, Any] | None, dict[str, Tensor]]:
    """The content of ``memory.json`` and the tensors that go with it; ``None`` for nothing."""
    split: Any = getattr(estimator, "split_", None)
    edges: EdgeParts | None = getattr(estimator, "edge_parts_", None)
    nodes = getattr(estimator, "split_nodes_", None) if edges is None else edges.nodes
    if nodes is None or not _storable(nodes):
        return None, {}
    memory: dict[str, Any] = {"nodes": len(nodes) if nodes.is_range else list(nodes)}
    if edges is not None:
        return {**memory, "edges": edges.to_dict()}, {}
    memory |= {part: getattr(split, part).tolist() for part in PARTS}
    past: dict[Any, int] = getattr(estimator, "past_parts_", {})
    if past and _storable(past):
        memory["past"] = [
            [node for node, part in past.items() if part == code] for code in range(len(PARTS))
        ]
    strategy: Strategy | None = getattr(estimator, "strategy_", None)
    if strategy is None or not _is_known(strategy):
        return memory, {}
    memory["strategy"] = {
        "name": strategy.name,
        "settings": strategy_settings(strategy),
        "remembered": strategy.remembered(),
    }
    tensors = strategy.remembered_tensors()
    return memory, {f"{PREFIX}{name}": tensor for name, tensor in tensors.items()}


def check_memory(memory: Mapping[str, Any] | None, header: Header, folder: Path) -> None:
    """Raises unless remembered tensors are as many and as large as the weights they speak of."""
    from grafenne.estimators.model_files import check_form

    for name, form in header.items():
        if memory is not None and name.startswith(PREFIX):
            check_form(name, header.get(f"network.{name.removeprefix(PREFIX)}"), form, folder)


def recall_memory(
    estimator: Any, memory: Mapping[str, Any] | None, tensors: Mapping[str, Tensor]
) -> None:
    """Gives a loaded estimator its split, and its last strategy with what that remembers."""
    if memory is None:
        return
    nodes = memory["nodes"]
    if isinstance(nodes, int):
        if nodes < 0:
            raise ValueError("the number of nodes is negative")
        nodes = range(nodes)
    elif not isinstance(nodes, list) or not _storable(nodes):
        raise ValueError("the nodes of the split are neither text nor whole numbers")
    if "edges" in memory:
        known = Vocabulary(nodes, kind="node")
        estimator.edge_parts_ = EdgeParts.from_dict(known, memory["edges"])
        return
    split = Split(*(memory[part] for part in PARTS))
    for part in PARTS:
        positions = getattr(split, part)
        if len(positions) and positions[-1] >= len(nodes):
            raise ValueError(f"the split's {part} part has position {positions[-1]}, too large")
    estimator.split_, estimator.split_nodes_ = split, Vocabulary(nodes, kind="node")
    past = memory.get("past", [[] for _ in PARTS])
    if len(past) != len(PARTS) or not all(isinstance(p, list) and _storable(p) for p in past):
        raise ValueError("the nodes that were there once are neither text nor whole numbers")
    estimator.past_parts_ = {node: code for code, part in enumerate(past) for node in part}
    told = memory.get("strategy")
    if told is None:
        return
    from grafenne.continual.registry import make_strategy

    strategy = make_strategy(str(told["name"]), **told["settings"])
    strategy.recall(
        told["remembered"],
        {
            name.removeprefix(PREFIX): tensor.to(estimator.device)
            for name, tensor in tensors.items()
            if name.startswith(PREFIX)
        },
    )
    estimator.strategy_ = strategy


def describe_updates(estimator: NetworkEstimator) -> dict[str, Any]:
    """What a person may want to know of the updates so far, for ``model.json``."""
    lineage = getattr(estimator, "lineage_", [])
    if not lineage:
        return {}
    report = getattr(estimator, "last_update_", None)
    return {
        "updates": estimator.updates_,
        "last_update": None if report is None else report.to_dict(),
        "lineage": lineage,
    }


def recall_updates(estimator: Any, about: Mapping[str, Any]) -> None:
    """The updates that a loaded estimator has been through."""
    from grafenne.continual.update import UpdateReport

    if about.get("lineage") is None:
        return
    lineage = check_lineage(about["lineage"])
    updates = about["updates"]
    if not isinstance(updates, int) or updates < len(lineage):
        raise ValueError(f"the number of updates is {updates!r} with {len(lineage)} in the lineage")
    estimator.lineage_, estimator.updates_ = lineage, updates
    if about["last_update"] is not None:
        told = {**about["last_update"]}
        estimator.last_update_ = UpdateReport(**{**told, "new_classes": tuple(told["new_classes"])})


def check_ids(ids: Any, most: int) -> list[Any]:
    """Remembered node ids as they were read from a file, at most so many."""
    if not isinstance(ids, list) or len(ids) > most or not _storable(ids):
        raise ModelFileError("The remembered nodes of a saved model are damaged.")
    return ids


def _storable(ids: Any) -> bool:
    return getattr(ids, "is_range", False) or all(isinstance(node, str | int) for node in ids)


def _is_known(strategy: Strategy) -> bool:
    """Whether a strategy can be made again by its name."""
    from grafenne.continual.registry import STRATEGIES

    return STRATEGIES.get(strategy.name) is type(strategy)
