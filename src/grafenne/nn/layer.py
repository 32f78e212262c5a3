"""One GRAFENNE layer: the three phases in turn (paper, "Message Passing Layer for G^alt")."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from grafenne.errors import unknown_name
from grafenne.nn.block import Block
from grafenne.nn.evidence import direct_evidence, parted
from grafenne.nn.feature_to_node import FeatureToNode
from grafenne.nn.node_to_feature import NodeToFeature
from grafenne.nn.node_to_node import NodeToNode
from grafenne.ops import Dropout, first_rows

NORMALISATIONS = ("layer", "batch", "none")


class LayerOutput(NamedTuple):
    """States after a layer.

    Attributes:
        gathered: Nodes after phase 1, ``[nodes in, width]``.
        nodes: Nodes after phase 2, ``[nodes out, width]``.
        features: Features after phase 3, ``[features out, width]``; ``None`` if it was skipped.
    """

    gathered: Tensor
    nodes: Tensor
    features: Tensor | None


class GrafenneLayer(nn.Module):
    """Phase 1, phase 2, phase 3.

    Args:
        width: Width of all states.
        first: Whether this is the first layer, in which nodes have no state yet.
        last: Whether this is the last layer, which leaves phase 3 out.
        backbone: The GNN of phase 2, see :class:`~grafenne.nn.node_to_node.NodeToNode`.
        heads: Number of attention heads.
        mode: ``value`` or ``paper``.
        aggregation: ``attention``, ``mean`` or ``sum`` in phases 1 and 3.
        normalisation: ``layer``, ``batch`` (running statistics in evaluation) or ``none``.
        dropout: Share of the nodes' states dropped before phase 2 in training.
        feature_edges: Whether edges among features carry messages.
    """

    def __init__(
        self,
        width: int,
        *,
        first: bool = False,
        last: bool = False,
        backbone: Any = "sage",
        heads: int = 1,
        mode: str = "value",
        aggregation: str = "attention",
        normalisation: str = "layer",
        dropout: float = 0.0,
        feature_edges: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        common: dict[str, Any] = {"heads": heads, "mode": mode, "aggregation": aggregation}
        self.feature_to_node = FeatureToNode(width, 0 if first else width, width, **common)
        self.node_to_node = NodeToNode(width, width, backbone=backbone, heads=heads)
        self.node_to_feature = (
            None
            if last
            else NodeToFeature(width, width, width, **common, feature_edges=feature_edges)
        )
        self.gathered_norm = make_norm(normalisation, width)
        self.node_norm = make_norm(normalisation, width)
        self.feature_norm = None if last else make_norm(normalisation, width)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        for part in self.children():
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()  # type: ignore[operator]

    def forward(
        self,
        block: Block,
        nodes: Tensor | None,
        features: Tensor,
        keep: Tensor | None = None,
        back_keep: Tensor | None = None,
        *,
        gathered: Tensor | None = None,
    ) -> LayerOutput:
        """One layer.

        Args:
            block: What the layer sees of the graph.
            nodes: States before, ``[at least nodes in, width]``, ``None`` for zero.
            features: States before, ``[at least features in, width]``; in a first layer perhaps
                with evidence beside them, ``[at least features in, 3 width]``.
            keep: 0 for feature edges of phase 1 to leave out, 1 for the others.
            back_keep: The same for phase 3.
            gathered: The result of phase 1, if it is known already, ``[nodes in, width]``.
        """
        features = first_rows(features, block.incidence.num_columns)
        if gathered is None:
            gathered = self.gather(block, nodes, features, keep)
        gathered = self.settle(gathered)

        features, evidence = parted(features, self.width)
        passed = self.node_to_node(block.adjacency, self.dropout(gathered))
        if evidence is not None:
            passed = passed + direct_evidence(block, evidence, keep)
        passed = functional.relu(self.node_norm(passed))

        back = block.back_incidence
        if self.node_to_feature is None or self.feature_norm is None or back is None:
            return LayerOutput(gathered, passed, None)
        updated = self.node_to_feature(
            back,
            block.back_values,
            passed,
            features,
            back_keep,
            feature_adjacency=block.feature_adjacency,
        )
        return LayerOutput(gathered, passed, functional.relu(self.feature_norm(updated)))

    def settle(self, gathered: Tensor) -> Tensor:
        """What follows phase 1: normalisation and activation."""
        return functional.relu(self.gathered_norm(gathered))

    def gather(
        self, block: Block, nodes: Tensor | None, features: Tensor, keep: Tensor | None
    ) -> Tensor:
        """Phase 1 alone, before its normalisation; arguments as in :meth:`forward`."""
        incidence = block.incidence
        own = None if nodes is None else first_rows(nodes, incidence.num_rows)
        senders, _ = parted(first_rows(features, incidence.num_columns), self.width)
        result: Tensor = self.feature_to_node(incidence, block.values, senders, own, keep)
        return result


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation that also takes a batch of one, by its running statistics.

    A graph may have a single feature; a batch of one has no variance to normalise by.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``[rows, width] -> [rows, width]``."""
        if not self.training or len(input) > 1:
            return super().forward(input)
        return functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


def make_norm(kind: str, width: int) -> nn.Module:
    """A normalisation that is deterministic in evaluation."""
    if kind == "layer":
        return nn.LayerNorm(width)
    if kind == "batch":
        return BatchNorm(width)
    if kind == "none":
        return nn.Identity()
    raise unknown_name("normalisation", kind, NORMALISATIONS)
