"""A pattern without the entries that a mask leaves out, so that they cost nothing in a step."""

from __future__ import annotations

import torch
from torch import Tensor

from grafenne.ops.pattern import SparsePattern


def thinned(pattern: SparsePattern, kept: Tensor) -> tuple[SparsePattern, Tensor]:
    """The pattern with some of its entries, and their places in it.

    Rows and columns stay as they are. The transpose is thinned too rather than sorted again:
    both orders are known, so one pass over the mask in each of them is all it takes.

    Args:
        pattern: The pattern.
        kept: Whether each entry stays, ``[num_entries]``, booleans.

    Returns:
        The smaller pattern, and the place in ``pattern`` of each of its entries.
    """
    places = kept.nonzero().squeeze(1)
    flipped_kept = kept.index_select(0, pattern.permutation)
    flipped_places = flipped_kept.nonzero().squeeze(1)
    number = kept.cumsum(0, dtype=pattern.indices.dtype)  # of each kept entry, counted from 1

    other = pattern.transpose
    small = SparsePattern(
        _starts(pattern.indptr, number), pattern.indices[places], pattern.num_columns
    )
    flipped_number = flipped_kept.cumsum(0, dtype=pattern.indices.dtype)
    small.set_transpose(
        _starts(other.indptr, flipped_number),
        other.indices[flipped_places],
        number[pattern.permutation[flipped_places].long()] - 1,
    )
    return small, places


def _starts(indptr: Tensor, number: Tensor) -> Tensor:
    """Where each row begins, from how many entries are kept up to each one."""
    return torch.cat((number.new_zeros(1), number))[indptr.long()]
