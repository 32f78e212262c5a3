"""How senders' messages are weighted and summed in phases 1 and 3.

The two phases differ only in who sends: features to nodes, or nodes to features. Both classes
here take the senders' states and return one aggregated message per receiver.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.errors import ParameterError, unknown_name
from grafenne.ops import (
    SparsePattern,
    attention_product,
    column_attention_product,
    gather_columns,
    sparse_product,
)
from grafenne.ops.kernels import row_sum

AGGREGATIONS = ("attention", "mean", "sum")
LEAK = 0.2  # slope of LeakyReLU, the value of the attention papers


class ValueAttention(nn.Module):
    r"""The default: the message itself depends on the value.

    .. math::
        m_v(u) = W h_u + (e_{uv} - 1) \, S h_u, \qquad
        \alpha_{vu} = \mathrm{softmax}_u(a^T h_u + r^+ \max(e_{uv}, 0) + r^- \max(-e_{uv}, 0))

    The printed equations let a value into the attention score only, so a node with one feature
    has weight 1 on it whatever its value. Here a feature's state holds an intercept and a slope,
    and the cost is one more sparse product, none at all when all values are 1. Counting the slope
    from 1 makes a value of 1 mean the same whether or not other values occur in the graph.

    A softmax also forgets how many features there were, so the aggregated message
    :math:`\bar m_v` is followed by :math:`(1 + s \log(1 + n_v))\, \bar m_v + t \log(1 + n_v)`
    with trained vectors s and t. (On Actor, over three seeds, the validation accuracy
    rose from 37.0 to 37.9 %.)

    Scores, s and t start at zero: the first step sees a plain mean and learns to deviate.

    Args:
        sender_width: Width of the senders' states.
        width: Width of the aggregated message.
        heads: Number of independent attentions, each over ``width / heads`` columns.
        aggregation: ``attention``, ``mean`` or ``sum``.
    """

    def __init__(
        self, sender_width: int, width: int, heads: int = 1, aggregation: str = "attention"
    ) -> None:
        super().__init__()
        _check(width, heads, aggregation)
        self.width, self.heads, self.aggregation = width, heads, aggregation
        self.message = nn.Linear(sender_width, width, bias=False)
        self.slope = nn.Linear(sender_width, width, bias=False)
        if aggregation == "attention":
            self.score = nn.Linear(sender_width, heads, bias=False)
            self.value_score = nn.Parameter(torch.empty(heads, 2))
            self.count_scale = nn.Parameter(torch.empty(width))
            self.count_shift = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.message.reset_parameters()
        self.slope.reset_parameters()
        if self.aggregation == "attention":
            nn.init.zeros_(self.score.weight)
            nn.init.zeros_(self.value_score)
            nn.init.zeros_(self.count_scale)
            nn.init.zeros_(self.count_shift)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"heads={self.heads}, aggregation={self.aggregation!r}"

    def forward(
        self,
        pattern: SparsePattern,
        values: Tensor | None,
        senders: Tensor,
        keep: Tensor | None = None,
    ) -> Tensor:
        """Aggregates the messages of the senders.

        Args:
            pattern: Feature edges, ``[receivers, senders]``.
            values: Their values, ``None`` if all are 1.
            senders: States, ``[senders, sender_width]``.
            keep: Weight of each edge: 0 leaves it out, 1 changes nothing. Dropout gives what
                it keeps a weight above 1, so that sums and counts stay the same on average.

        Returns:
            ``[receivers, width]``; zero for a receiver without edges.
        """
        message = self.message(senders)  # [senders, width]
        slope = None if values is None else self.slope(senders)
        beyond = None if values is None else values - 1
        if self.aggregation != "attention":
            return _plain_sum(self.aggregation, pattern, beyond, message, slope, keep)
        score = self.score(senders)  # [senders, heads]
        part = self.width // self.heads
        outputs = []
        for head in range(self.heads):
            columns = slice(head * part, (head + 1) * part)
            if values is None or slope is None:
                outputs.append(
                    column_attention_product(
                        pattern, score[:, head], message[:, columns], keep=keep
                    )
                )
                continue
            rises, falls = self.value_score[head]
            scores = gather_columns(pattern, score[:, head])
            scores = scores + rises * values.clamp(min=0) + falls * (-values).clamp(min=0)
            outputs.append(
                attention_product(
                    pattern,
                    scores,
                    message[:, columns].contiguous(),
                    values=beyond,
                    value_dense=slope[:, columns].contiguous(),
                    keep=keep,
                )
            )
        mean = outputs[0] if self.heads == 1 else torch.cat(outputs, dim=1)
        count = pattern.counts.to(mean.dtype) if keep is None else row_sum(pattern, keep)
        size = count.log1p().unsqueeze(1)  # [receivers, 1]
        grown = torch.addcmul(self.count_shift, mean, self.count_scale)
        return torch.addcmul(mean, size, grown)


class PrintedAttention(nn.Module):
    r"""The attention of the paper, section "Specifics", as printed.

    .. math::
        m_v(u) = \mathrm{LeakyReLU}(W_1 h_v \,\|\, W_2 h_u \,\|\, w_3 e_{uv}), \qquad
        \alpha_{vu} = \mathrm{softmax}_u(w_4^T m_v(u)), \qquad
        \bar m_v = \sum_u \alpha_{vu} W_6 h_u

    (with weights 7 to 12 in phase 3). The score is a sum of three scalars of which the softmax
    removes the receiver's, so ``receiver`` (:math:`W_1`) never changes a result; it is there
    because the paper has it. See :mod:`grafenne.ops.attention`.

    Args:
        sender_width: Width of the senders' states.
        receiver_width: Width of the receivers' states; 0 if they have none yet.
        width: Width of the aggregated message.
        heads: Number of independent attentions, each over ``width / heads`` columns.
        aggregation: ``attention``, ``mean`` or ``sum``.
    """

    def __init__(
        self,
        sender_width: int,
        receiver_width: int,
        width: int,
        heads: int = 1,
        aggregation: str = "attention",
    ) -> None:
        super().__init__()
        _check(width, heads, aggregation)
        self.width, self.heads, self.aggregation = width, heads, aggregation
        self.receiver = (  # W1, W7
            nn.Linear(receiver_width, width, bias=False) if receiver_width else None
        )
        self.sender = nn.Linear(sender_width, width, bias=False)  # W2, W8
        self.value = nn.Parameter(torch.empty(width))  # w3, w9
        self.score = nn.Parameter(torch.empty(3 * width))  # w4, w10
        self.message = nn.Linear(sender_width, width, bias=False)  # W6, W12
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights."""
        for linear in (self.receiver, self.sender, self.message):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight)
        nn.init.normal_(self.value, std=self.width**-0.5)
        nn.init.normal_(self.score, std=self.width**-0.5)

    def extra_repr(self) -> str:
        """Shown in the module's ``repr``."""
        return f"heads={self.heads}, aggregation={self.aggregation!r}, printed equations"

    def forward(
        self,
        pattern: SparsePattern,
        values: Tensor | None,
        senders: Tensor,
        keep: Tensor | None = None,
    ) -> Tensor:
        """As :meth:`ValueAttention.forward`."""
        message = self.message(senders)
        if self.aggregation != "attention":
            return _plain_sum(self.aggregation, pattern, None, message, None, keep)
        part = self.width // self.heads
        sent = functional.leaky_relu(self.sender(senders), LEAK)
        outputs = []
        for head in range(self.heads):
            columns = slice(head * part, (head + 1) * part)
            weights = self.score.view(3, self.width)[:, columns]  # of receiver, sender, value
            score = sent[:, columns] @ weights[1]
            dense = message[:, columns]
            if values is None:
                outputs.append(column_attention_product(pattern, score, dense, keep=keep))
                continue
            # LeakyReLU(w e) = |e| LeakyReLU(±w): one slope for e > 0 and one for e < 0.
            value = self.value[columns]
            rises = functional.leaky_relu(value, LEAK) @ weights[2]
            falls = functional.leaky_relu(-value, LEAK) @ weights[2]
            scores = gather_columns(pattern, score)
            scores = scores + rises * values.clamp(min=0) + falls * (-values).clamp(min=0)
            outputs.append(attention_product(pattern, scores, dense.contiguous(), keep=keep))
        return outputs[0] if self.heads == 1 else torch.cat(outputs, dim=1)


def _check(width: int, heads: int, aggregation: str) -> None:
    if heads < 1 or width % heads:
        raise ParameterError(f"The width {width} must be a multiple of the {heads} heads.")
    if aggregation not in AGGREGATIONS:
        raise unknown_name("aggregation", aggregation, AGGREGATIONS)


def _plain_sum(
    aggregation: str,
    pattern: SparsePattern,
    values: Tensor | None,
    message: Tensor,
    slope: Tensor | None,
    keep: Tensor | None,
) -> Tensor:
    """Sum or mean of the messages, without attention."""
    total = sparse_product(pattern, keep, message)
    if values is not None and slope is not None:
        weights = values if keep is None else values * keep
        total = total + sparse_product(pattern, weights, slope)
    if aggregation == "sum":
        return total
    ones = message.new_ones(pattern.num_columns, 1)
    count = sparse_product(pattern, keep, ones)
    return total / torch.where(count > 0, count, torch.ones_like(count))
