"""NumPy arrays as tensors that share their memory, those of mapped files included."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ALIGNMENT = 64
"""Bytes; torch's own memory begins at multiples of it."""


def shared_tensor(array: NDArray[Any], *, aligned: bool = False) -> Tensor:
    """A tensor over the memory of an array; nobody may write to it.

    Args:
        array: The array; one that is read-only, such as a mapped file, is taken as it is.
        aligned: Whether to copy an array that does not begin at a multiple of 64 bytes. Kernels
            take another path for such memory, and results must not depend on where NumPy put it.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        tensor = torch.from_numpy(np.asarray(array))
    if aligned and tensor.data_ptr() % ALIGNMENT:
        return tensor.clone()
    return tensor


def first_rows(tensor: Tensor, count: int) -> Tensor:
    """The first ``count`` rows; all of them without a slice, whose gradient would be a copy."""
    return tensor if len(tensor) == count else tensor[:count]


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on another device; Apple's has no 64-bit fractions, so they become 32 bits."""
    if torch.device(device).type == "mps" and tensor.dtype == torch.float64:
        tensor = tensor.float()
    return tensor.to(device)
