"""What makes two training runs the same: their settings and their data, as plain text."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
from torch import Tensor, nn

from grafenne.allotrope import AllotropicGraph


def describe_setting(value: Any) -> Any:
    """A setting as plain data that is the same in every process.

    Functions and classes are told by their name (their ``str`` holds an address), arrays and
    large mappings by a checksum.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [describe_setting(part) for part in value]
    if isinstance(value, Mapping):
        parts = {str(name): describe_setting(part) for name, part in value.items()}
        small = len(parts) <= 100 and all(isinstance(part, Number) for part in parts.values())
        return parts if small else f"{len(parts)} entries, checksum {_of_text(repr(parts))}"
    if isinstance(value, Tensor | np.ndarray):
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        return f"array of shape {array.shape}, checksum {_of_bytes(array)}"
    if isinstance(value, nn.Module):
        return repr(value)
    owner = value if hasattr(value, "__qualname__") else type(value)
    return f"{owner.__module__}.{owner.__qualname__}"


def data_checksum(graph: AllotropicGraph, *positions: Any) -> str:
    """A checksum of a graph as the network sees it, and of arrays that go with it."""
    arrays: list[Any] = [graph.incidence.indptr, graph.incidence.indices, graph.values]
    for edges in (graph.adjacency, graph.feature_adjacency):
        arrays += [edges.pattern.indptr, edges.pattern.indices]
        if edges.weights is not None:
            arrays.append(edges.weights)
    total = _of_text("\n".join(map(str, graph.features)))
    for array in (*arrays, *positions):
        whole = array.cpu().numpy() if isinstance(array, Tensor) else np.asarray(array)
        total = _of_bytes(whole, total)
    return f"checksum {total}"


def _of_bytes(array: np.ndarray[Any, Any], start: int = 0) -> int:
    # In parts, without a copy: the array may be a mapped file larger than the memory.
    flat = np.ascontiguousarray(array).reshape(-1)
    return zlib.crc32(flat.view(np.uint8).data, start)


def _of_text(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
