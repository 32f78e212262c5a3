"""How a receiver joins its own state with what it gathered."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Combine(nn.Module):
    r"""The default: :math:`W_5 h_v + \bar m_v + b`, a linear layer over the concatenation.

    The message already went through a matrix of its own, so adding is the same as a linear layer
    over both, without the second product. Normalisation and activation follow in the layer.

    Args:
        own_width: Width of the receiver's own state; 0 if it has none yet.
        width: Width of the gathered message and of the result.
    """

    def __init__(self, own_width: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(own_width, width, bias=False) if own_width else None
        self.bias = nn.Parameter(torch.zeros(width))

    def reset_parameters(self) -> None:
        """Draws new weights."""
        if self.own is not None:
            self.own.reset_parameters()
        nn.init.zeros_(self.bias)

    def forward(self, own: Tensor | None, gathered: Tensor) -> Tensor:
        """Joins ``[receivers, own_width]`` (``None`` for zero) and ``[receivers, width]``."""
        gathered = gathered + self.bias
        return gathered if own is None or self.own is None else gathered + self.own(own)


class PrintedCombine(nn.Module):
    r"""The paper's :math:`\mathrm{MLP}(W_5 h_v \,\|\, \bar m_v)`, with one hidden layer.

    Args:
        own_width: Width of the receiver's own state; 0 if it has none yet.
        width: Width of the gathered message and of the result.
    """

    def __init__(self, own_width: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(own_width, width, bias=False) if own_width else None
        self.hidden = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, width)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        for linear in (self.own, self.hidden, self.output):
            if linear is not None:
                linear.reset_parameters()

    def forward(self, own: Tensor | None, gathered: Tensor) -> Tensor:
        """Joins ``[receivers, own_width]`` (``None`` for zero) and ``[receivers, width]``."""
        zero = own is None or self.own is None
        projected = torch.zeros_like(gathered) if zero else self.own(own)  # type: ignore[misc]
        hidden = functional.relu(self.hidden(torch.cat((projected, gathered), dim=1)))
        result: Tensor = self.output(hidden)
        return result
