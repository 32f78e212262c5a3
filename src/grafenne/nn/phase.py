"""What phases 1 and 3 have in common: attention over feature edges, then a combination."""

from __future__ import annotations

from torch import Tensor, nn

from grafenne.errors import unknown_name
from grafenne.nn.attention import PrintedAttention, ValueAttention
from grafenne.nn.combine import Combine, PrintedCombine
from grafenne.ops import SparsePattern

MODES = ("value", "paper")


class FeaturePhase(nn.Module):
    """Messages along feature edges, from senders to receivers.

    Args:
        sender_width: Width of the senders' states.
        receiver_width: Width of the receivers' states; 0 if they have none.
        width: Width of the result.
        heads: Number of attention heads.
        mode: ``value`` (the message depends on the value) or ``paper`` (as printed).
        aggregation: ``attention``, ``mean`` or ``sum``.
    """

    def __init__(
        self,
        sender_width: int,
        receiver_width: int,
        width: int,
        *,
        heads: int = 1,
        mode: str = "value",
        aggregation: str = "attention",
    ) -> None:
        super().__init__()
        self.attention: PrintedAttention | ValueAttention
        self.combine: PrintedCombine | Combine
        if mode == "paper":
            self.attention = PrintedAttention(
                sender_width, receiver_width, width, heads, aggregation
            )
            self.combine = PrintedCombine(receiver_width, width)
        elif mode == "value":
            self.attention = ValueAttention(sender_width, width, heads, aggregation)
            self.combine = Combine(receiver_width, width)
        else:
            raise unknown_name("mode", mode, MODES)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.attention.reset_parameters()
        self.combine.reset_parameters()

    def send(
        self,
        pattern: SparsePattern,
        values: Tensor | None,
        senders: Tensor,
        receivers: Tensor | None,
        keep: Tensor | None,
    ) -> Tensor:
        """Aggregates over ``pattern`` (``[receivers, senders]``) and combines."""
        gathered = self.attention(pattern, values, senders, keep)
        result: Tensor = self.combine(receivers, gathered)
        return result
