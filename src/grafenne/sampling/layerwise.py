r"""Exact states of a graph that is too large for one pass: layer by layer, in blocks of rows.

A full pass needs the states of all nodes several times over. But each phase reads finished states
and writes new ones row by row, so two arrays of nodes x width are enough, whatever the number of
layers: one for the nodes after phase 1, one for those after phase 2 (and a third while features
are heard from afar). Nothing is sampled; the
result is that of a full pass, up to the rounding of products of another shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.nn.block import triple_weights
from grafenne.nn.evidence import evidence_sums, join_evidence, parted
from grafenne.nn.layer import GrafenneLayer
from grafenne.nn.model import Encoded, Grafenne
from grafenne.nn.reach import Reach, has_features
from grafenne.ops import Adjacency, SparsePattern
from grafenne.ops.arrays import shared_tensor
from grafenne.sampling.edges import Edges
from grafenne.sampling.numbering import Numbering
from grafenne.sampling.rows import CompressedRows, Integers

ROWS = 1 << 17
"""Rows of a block."""
ENTRIES = 1 << 22
"""Most feature edges of a block, unless a single row has more."""

Span = tuple[int, int]
Exchange = Callable[[Tensor, list[list[Span]]], None]


def encode_layerwise(
    encoder: Grafenne,
    graph: AllotropicGraph,
    positions: Tensor | None = None,
    *,
    keep: Tensor | None = None,
    rows: int = ROWS,
    share: Span = (0, 1),
    exchange: Exchange | None = None,
) -> Encoded:
    """What ``encoder(graph)`` gives in evaluation, with bounded memory.

    Args:
        encoder: The network, in evaluation mode, on any device.
        graph: The graph, in main memory.
        positions: The nodes whose embeddings are wanted, in this order; all by default.
        keep: 0 for triples to leave out, 1 for the others.
        rows: Most rows of a block.
        share: ``(rank, size)``: which part of the blocks this process computes, of how many.
        exchange: Where there are several processes: fills in the others' rows of a tensor, given
            whose they are.

    Returns:
        Embeddings of the nodes at ``positions``, in main memory, and the states of the features
        before each layer.
    """
    with torch.no_grad():
        return _Pass(encoder, graph, keep, rows, share, exchange).run(positions)


class _Pass:
    def __init__(
        self,
        encoder: Grafenne,
        graph: AllotropicGraph,
        keep: Tensor | None,
        rows: int,
        share: Span,
        exchange: Exchange | None,
    ) -> None:
        self.encoder, self.graph, self.rows = encoder, graph, rows
        self.device = next(encoder.parameters()).device
        self.share, self.exchange = share, exchange
        dtype = encoder.dtype
        keep = triple_weights(graph, encoder.features.trust(graph), keep, dtype)
        self.keep = None if keep is None else keep.cpu().to(dtype)
        values = graph.edge_values(dtype)
        self.values = None if values is None else values.cpu()
        self.edges = Edges(graph.adjacency, dtype)
        self.incidence = CompressedRows(graph.incidence)
        self.nodes = Numbering(graph.num_nodes)
        self.everything = np.random.default_rng(0)  # rows without a bound draw nothing
        self.links = Edges(graph.feature_adjacency, dtype) if len(graph.feature_adjacency) else None

    def run(self, positions: Tensor | None) -> Encoded:
        """All layers."""
        encoder, count = self.encoder, self.graph.num_nodes
        first = encoder.features(self.graph)
        features, evidence = parted(first, encoder.width)
        states = [features]
        parts: list[Tensor] = []
        gathered = torch.empty(count, encoder.width, dtype=encoder.dtype)
        passed = torch.empty_like(gathered)
        for number, layer in enumerate(encoder.layers):
            own = passed if number else None
            if number == 0 and encoder.reach is not None:
                passed = self._far_phase_1(layer, encoder.reach, states[0], gathered, passed)  # type: ignore[arg-type]
            else:
                self._phase_1(layer, own, states[-1], gathered, layer.settle)  # type: ignore[arg-type]
            if number == 0 and encoder.skip:
                parts.append(_taken(gathered, positions))
            if number == 0 and evidence is not None:
                self._phase_2_with_evidence(layer, gathered, evidence, passed)  # type: ignore[arg-type]
            else:
                self._phase_2(layer, gathered, passed)  # type: ignore[arg-type]
            if encoder.skip or number == encoder.num_layers - 1:
                parts.append(_taken(passed, positions))
            if layer.node_to_feature is not None and number < encoder.num_layers - 1:
                states.append(self._phase_3(layer, passed, states[-1]))  # type: ignore[arg-type]
        joined = torch.cat(parts, dim=1) if encoder.skip else parts[-1]
        return Encoded(joined, [first, *states[1:]])

    def _phase_1(
        self,
        layer: GrafenneLayer,
        own: Tensor | None,
        features: Tensor,
        out: Tensor,
        finish: Callable[[Tensor], Tensor],
    ) -> None:
        def compute(
            rows: SparsePattern, values: Tensor | None, keep: Tensor | None, span: slice
        ) -> Tensor:
            before = None if own is None else own[span].to(self.device)
            return finish(layer.feature_to_node(rows, values, features, before, keep))

        self._gather(out, compute)

    def _far_phase_1(
        self, layer: GrafenneLayer, reach: Reach, features: Tensor, out: Tensor, far: Tensor
    ) -> Tensor:
        """The first phase 1 with what comes from afar; returns an array that is free again."""
        self._phase_1(layer, None, features, out, nn.Identity())
        knows = out.new_empty(len(out), 1)

        def look(
            rows: SparsePattern, values: Tensor | None, keep: Tensor | None, span: slice
        ) -> Tensor:
            return has_features(rows, keep, out.dtype)

        def count(adjacency: Adjacency, dense: Tensor, span: slice) -> Tensor:
            return reach.share(adjacency, dense, knows[span].to(self.device))

        def compute(adjacency: Adjacency, dense: Tensor, span: slice) -> Tensor:
            own = (out[span] * knows[span]).to(self.device)
            return reach.step(adjacency, dense, own, share[span].to(self.device))

        self._gather(knows, look)
        torch.mul(out, knows, out=far)
        heard, share, following = knows, torch.empty_like(knows), torch.empty_like(far)
        for _ in range(reach.steps):
            self._pass_on(heard, share, count)
            self._pass_on(far, following, compute)
            heard = (share > 0).to(share.dtype)
            far, following = following, far
        for begin in range(0, len(out), self.rows):  # needs no other row: no need to share it out
            rows = slice(begin, begin + self.rows)
            near, distant = out[rows].to(self.device), far[rows].to(self.device)
            out[rows] = layer.settle(reach.join(near, distant)).to(out.device)
        return far

    def _phase_2(self, layer: GrafenneLayer, nodes: Tensor, out: Tensor) -> None:
        def compute(adjacency: Adjacency, dense: Tensor, span: slice) -> Tensor:
            return functional.relu(layer.node_norm(layer.node_to_node(adjacency, dense)))

        self._pass_on(nodes, out, compute)

    def _phase_2_with_evidence(
        self, layer: GrafenneLayer, nodes: Tensor, evidence: Tensor, out: Tensor
    ) -> None:
        width = nodes.shape[1]
        sums = nodes.new_empty(len(nodes), 2 * width)

        def gather(
            rows: SparsePattern, values: Tensor | None, keep: Tensor | None, span: slice
        ) -> Tensor:
            return evidence_sums(rows, values, evidence, keep)

        def compute(adjacency: Adjacency, dense: Tensor, span: slice) -> Tensor:
            state, added = dense[:, :width].contiguous(), dense[:, width:]
            passed = layer.node_to_node(adjacency, state) + join_evidence(adjacency, added)
            return functional.relu(layer.node_norm(passed))

        self._gather(sums, gather)
        self._pass_on(torch.cat((nodes, sums), dim=1), out, compute)

    def _gather(self, out: Tensor, compute: Callable[..., Tensor]) -> None:
        """Fills in what nodes gather from features, block by block."""
        indptr = self.incidence.indptr
        for begin, end in self._spans(out, self.incidence.indptr):
            entries = slice(int(indptr[begin]), int(indptr[end]))
            out[begin:end] = compute(
                self._rows_of(self.incidence, begin, end, self.graph.num_features),
                self._moved(self.values, entries),
                self._moved(self.keep, entries),
                slice(begin, end),
            )

    def _pass_on(
        self, nodes: Tensor, out: Tensor, compute: Callable[[Adjacency, Tensor, slice], Tensor]
    ) -> None:
        """Fills in what nodes gather from their neighbours, block by block."""
        numbering = self.nodes
        for begin, end in self._spans(out, self.edges.rows.indptr):
            # Receivers come first among the senders, as every convolution expects.
            numbering.number(np.arange(begin, end))
            picked = self.edges.rows.pick(np.arange(begin, end), None, self.everything)
            picked = picked._replace(columns=numbering.number(picked.columns))
            senders = numbering.positions
            adjacency = self.edges.part(picked, senders).to(self.device)
            dense = nodes.index_select(0, torch.from_numpy(senders)).to(self.device)
            numbering.clear()
            out[begin:end] = compute(adjacency, dense, slice(begin, end))

    def _phase_3(self, layer: GrafenneLayer, nodes: Tensor, features: Tensor) -> Tensor:
        flipped = self.graph.incidence.transpose
        source = CompressedRows(flipped)
        permutation: Integers = self.graph.incidence.permutation.cpu().numpy()
        out = torch.empty(self.graph.num_features, features.shape[1], dtype=features.dtype)
        numbering, others = self.nodes, Numbering(self.graph.num_features)
        for begin, end in self._spans(out, source.indptr):
            entries = slice(int(source.indptr[begin]), int(source.indptr[end]))
            receivers = np.arange(begin, end)
            columns = numbering.number(np.array(source.indices[entries]))
            starts = source.indptr[begin : end + 1] - source.indptr[begin]
            senders = torch.from_numpy(numbering.positions)
            pattern = SparsePattern(
                torch.from_numpy(starts), torch.from_numpy(columns), len(senders)
            )
            numbering.clear()
            adjacency = None
            others.number(receivers)
            if self.links is not None:
                picked = self.links.rows.pick(receivers, None, self.everything)
                picked = picked._replace(columns=others.number(picked.columns))
                adjacency = self.links.part(picked, others.positions).to(self.device)
            own = torch.from_numpy(others.positions).to(self.device)
            others.clear()
            places = torch.from_numpy(permutation[entries].astype(np.int64))
            result = layer.node_to_feature(  # type: ignore[misc]
                pattern.to(self.device),
                self._moved(self.values, places),
                nodes.index_select(0, senders).to(self.device),
                features[own],
                self._moved(self.keep, places),
                feature_adjacency=adjacency,
            )
            out[begin:end] = functional.relu(layer.feature_norm(result))  # type: ignore[misc]
        return out.to(self.device)

    def _spans(self, out: Tensor, indptr: Integers) -> Iterator[Span]:
        """The blocks of rows that this process fills in; then it gets those of the others."""
        spans = _cut(indptr, self.rows, ENTRIES)
        rank, size = self.share
        bounds = [len(spans) * number // size for number in range(size + 1)]
        shares = [spans[bounds[number] : bounds[number + 1]] for number in range(size)]
        yield from shares[rank]
        if self.exchange is not None:
            self.exchange(out, shares)

    def _rows_of(
        self, rows: CompressedRows, begin: int, end: int, num_columns: int
    ) -> SparsePattern:
        starts = rows.indptr[begin : end + 1]
        indices = shared_tensor(rows.indices[int(starts[0]) : int(starts[-1])])
        pattern = SparsePattern(torch.from_numpy(starts - starts[0]), indices.clone(), num_columns)
        return pattern.to(self.device)

    def _moved(self, of_triples: Tensor | None, places: slice | Tensor) -> Tensor | None:
        # A copy, so that a block begins at an aligned place wherever it was cut.
        return None if of_triples is None else of_triples[places].clone().to(self.device)


def _cut(indptr: NDArray[Any], rows: int, entries: int) -> list[Span]:
    """Spans of rows that hold at most so many rows and entries, in order; one row at least."""
    spans: list[Span] = []
    begin, count = 0, len(indptr) - 1
    while begin < count:
        fits = int(np.searchsorted(indptr, indptr[begin] + entries, side="right")) - 1
        end = min(max(fits, begin + 1), begin + rows, count)
        spans.append((begin, end))
        begin = end
    return spans


def _taken(states: Tensor, positions: Tensor | None) -> Tensor:
    return states.clone() if positions is None else states.index_select(0, positions.cpu())
