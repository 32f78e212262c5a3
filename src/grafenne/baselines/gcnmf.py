"""GCNMF: missing values as a mixture of Gaussians inside the first layer of a GCN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from grafenne.allotrope import AllotropicGraph
from grafenne.baselines.expected_relu import expected_relu
from grafenne.baselines.graph_network import make_last_convolution
from grafenne.errors import DataError
from grafenne.nn.encoder import NodeEncoder, kept_values
from grafenne.nn.model import Encoded
from grafenne.nn.node_to_node import GcnConvolution
from grafenne.ops import Dropout, SparsePattern, sparse_product

LARGEST_VALUE = 1e15
"""Squares of larger values, and sums of those, would be beyond 32-bit numbers."""

MANY_ENTRIES, DENSE_SHARE = 200_000, 0.05
"""A pattern with as many entries, and such a share of all cells, is multiplied as if dense."""

BLOCK_CELLS = 2_000_000
"""Cells that are unpacked at a time."""


class MixtureInput(nn.Module):
    r"""The first layer: the expected activation of a GCN layer whose inputs are partly random.

    A missing cell (v, f) is a Gaussian with mean :math:`\mu_{kf}` and variance
    :math:`\sigma^2_{kf}` in component k, an observed one is its value with variance zero. Then
    with the normalised adjacency :math:`\hat A` and a matrix W,

    .. math:: H_v = \sum_k \gamma_{vk}\,
        \mathrm{E}\,\mathrm{ReLU}\,\mathcal N\big((\hat A M_k W)_v,\;
        ((\hat A \circ \hat A)\, S_k\, (W \circ W))_v\big)

    where :math:`M_k, S_k` hold the means and variances of all cells, and :math:`\gamma` are the
    mixture weights of the node given its observed cells. Missing cells are most cells, so
    :math:`M_k W` is written as :math:`X W + 1 (\mu_k W) - O (\mu_k \circ W)` with the mask O of
    observed cells: sparse products and no array of nodes x features. Where more than half of the
    cells are observed, the missing ones are listed instead.

    Args:
        num_features: Number of input features.
        width: Width of the result.
        components: Number of Gaussians.
    """

    def __init__(self, num_features: int, width: int, components: int) -> None:
        super().__init__()
        self.components, self.width = components, width
        self.weight = nn.Parameter(torch.empty(num_features, width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.mixture = nn.Parameter(torch.zeros(components))
        # Means and variances are trained as distances from their start, in units of the spread:
        # steps of Adam fit whatever the unit of a feature is, and weight decay pulls towards the
        # start. Trained as they are, it pulls variances to 1: on Cora the result was chance.
        self.mean_shift = nn.Parameter(torch.zeros(components, num_features))
        self.variance_shift = nn.Parameter(torch.zeros(components, num_features))
        self.register_buffer("first_means", torch.zeros(components, num_features))
        self.register_buffer("first_log_variances", torch.zeros(components, num_features))
        self.first_means: Tensor
        self.first_log_variances: Tensor
        nn.init.xavier_uniform_(self.weight)

    @property
    def means(self) -> Tensor:
        """Mean of each component and feature, ``[components, num_features]``."""
        return self.first_means + self.mean_shift * (0.5 * self.first_log_variances).exp()

    @property
    def log_variances(self) -> Tensor:
        """Logarithm of the variance of each component and feature."""
        return self.first_log_variances + self.variance_shift

    def start(self, graph: AllotropicGraph, seed: int) -> None:
        """Starts the mixture from clusters of the nodes, as the publication does from an EM fit.

        Each component takes the mean and variance of a cluster's observed cells, smoothed
        towards those of all nodes.
        """
        from scipy import sparse
        from sklearn.cluster import MiniBatchKMeans

        pattern = graph.incidence
        data = graph.values.double().cpu().numpy()
        if np.abs(data).max(initial=0.0) > LARGEST_VALUE:
            place = int(np.abs(data).argmax())
            raise DataError(
                f"Node {graph.nodes[int(pattern.rows[place])]!r} has the value {data[place]} for "
                f"feature {graph.features[int(pattern.indices[place])]!r}; GCNMF takes values up "
                f"to {LARGEST_VALUE:g} in size: set scaling='standard' or normalise_rows."
            )
        indices, indptr = pattern.indices.cpu().numpy(), pattern.indptr.cpu().numpy()
        matrix = sparse.csr_array((data, indices, indptr), shape=pattern.shape)
        count = min(self.components, pattern.num_rows)
        cluster = np.zeros(pattern.num_rows, dtype=np.int64)
        if count > 1 and len(data):
            model = MiniBatchKMeans(count, n_init=1, max_iter=10, random_state=seed)
            cluster = model.fit(sparse.csr_matrix(matrix)).labels_.astype(np.int64)
        size = (self.components, pattern.num_columns)
        place = cluster[pattern.rows.cpu().numpy()] * size[1] + indices

        def total(numbers: Any) -> Any:
            return np.bincount(place, numbers, minlength=size[0] * size[1]).reshape(size)

        observed, first, second = total(None), total(data), total(data**2)
        overall = observed.sum(axis=0)
        mean = first.sum(axis=0) / np.maximum(overall, 1)
        square = second.sum(axis=0) / np.maximum(overall, 1)
        means = (first + mean) / (observed + 1)  # one more cell of the overall kind
        squares = (second + square) / (observed + 1)
        typical = float(square.mean()) if len(square) else 0.0
        variances = np.maximum(squares - means**2, 1e-4 * max(typical, 1e-8))
        shares = np.bincount(cluster, minlength=self.components) + 1.0
        with torch.no_grad():
            self.first_means.copy_(torch.from_numpy(means))
            self.first_log_variances.copy_(torch.from_numpy(np.log(variances)))
            self.mixture.copy_(torch.from_numpy(np.log(shares / shares.sum())))

    def forward(self, graph: AllotropicGraph, keep: Tensor | None) -> Tensor:
        """``[num_nodes, width]``, already through its ReLU."""
        dtype, count = self.weight.dtype, self.components
        cells, places = valued_cells(graph)
        values = taken(kept_values(graph.edge_values(dtype), keep), places)
        certain = sparse_product(cells, values, self.weight)  # X W
        means, variances = self.means, self.log_variances.exp()
        guesses = means.t().unsqueeze(2) * self.weight.unsqueeze(1)  # [features, k, width]
        spreads = variances.t().unsqueeze(2) * self.weight.square().unsqueeze(1)
        both = torch.cat((guesses.flatten(1), spreads.flatten(1)), dim=1)
        missing, variance = sum_over_missing(graph, both).chunk(2, dim=1)  # [nodes, k * width]
        pattern, weights = normalised_neighbours(graph, dtype)
        # All components share what is certain: it is passed on once, not k times.
        certain = sparse_product(pattern, weights, certain) + self.bias
        missing = sparse_product(pattern, weights, missing)
        variance = sparse_product(pattern, weights.square(), variance.clamp(min=0))
        mean = certain.unsqueeze(1) + missing.view(-1, count, self.width)
        activation = expected_relu(mean, variance.view(-1, count, self.width))
        shares = self.responsibilities(graph, means, variances)
        return (activation * shares.unsqueeze(2)).sum(dim=1)

    def responsibilities(self, graph: AllotropicGraph, means: Tensor, variances: Tensor) -> Tensor:
        """Mixture weights of each node given its observed cells, ``[num_nodes, components]``."""
        cells, places = valued_cells(graph)
        values = taken(graph.edge_values(self.weight.dtype), places)
        squares = None if values is None else values.square()
        precision = variances.reciprocal().t()  # [features, k]
        scaled = means.t() * precision
        constant = means.t() * scaled + variances.log().t()
        apart = sparse_product(cells, squares, precision)
        apart = apart - 2 * sparse_product(cells, values, scaled)
        apart = apart + (constant.sum(dim=0) - sum_over_missing(graph, constant))
        return torch.softmax(self.mixture.log_softmax(0) - 0.5 * apart, dim=1)


def valued_cells(graph: AllotropicGraph) -> tuple[SparsePattern, Tensor | None]:
    """The observed cells whose value is not zero, and their places; ``None`` if all are taken.

    Products with values need no others, and where many cells are known nearly all of them are
    zeros (CiteSeer, p = 0.5: an epoch takes a quarter less).
    """

    def find() -> tuple[SparsePattern, Tensor | None]:
        observed = graph.incidence
        places = graph.values.nonzero().squeeze(1)
        if 2 * len(places) > observed.num_entries:
            return observed, None
        counts = torch.bincount(observed.rows[places].long(), minlength=observed.num_rows)
        indptr = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
        return SparsePattern(indptr, observed.indices[places], observed.num_columns), places

    return graph.once("valued cells", find)


def taken(values: Tensor | None, places: Tensor | None) -> Tensor | None:
    """The values at some places; ``None`` stands for values of 1, and for all places."""
    return values if values is None or places is None else values[places]


def sum_over_missing(graph: AllotropicGraph, rows: Tensor) -> Tensor:
    """Sum of a feature's row over the features that each node lacks, ``[num_nodes, width]``."""
    missing = graph.once("missing cells", lambda: missing_cells(graph.incidence))
    products = graph.once("last products", LastProducts)
    if missing is not None:
        return sum_of_rows(missing, rows, products)
    return rows.sum(dim=0) - sum_of_rows(graph.incidence, rows, products)


class LastProducts:
    """The last product of each width, and what was multiplied.

    It does not depend on what dropout hides, so a training step asks for the very product that the
    evaluation before it asked for (Physics, p = 0.5, 5 Gaussians: an epoch takes 15 s instead of
    19 s on one core).
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Tensor, Tensor]] = {}

    def find(self, rows: Tensor, multiply: Callable[[Tensor], Tensor]) -> Tensor:
        """The product with these rows, made only if they are not those of the last one."""
        last, product = self._known.get(rows.shape[1], (None, None))
        if last is None or product is None or not torch.equal(last, rows):
            product = multiply(rows)
            self._known[rows.shape[1]] = rows.clone(), product
        return product.clone()


def sum_of_rows(
    pattern: SparsePattern, rows: Tensor, products: LastProducts | None = None
) -> Tensor:
    """The product of a pattern's ones with a matrix, by whichever way is faster.

    Args:
        pattern: The places of the ones.
        rows: The matrix.
        products: Where the last product of this pattern is kept, where it is worth that.
    """
    cells = pattern.num_rows * pattern.num_columns
    if pattern.num_entries < MANY_ENTRIES or pattern.num_entries < DENSE_SHARE * cells:
        return sparse_product(pattern, None, rows)
    kept = LastProducts() if products is None else products
    product: Tensor = BlockProduct.apply(rows, pattern, kept)  # type: ignore[no-untyped-call]
    return product


class BlockProduct(torch.autograd.Function):
    """The product of a dense pattern's ones with a matrix, a few rows of the pattern at a time.

    Where half of the cells are there, unpacking them for a dense product is nine times faster
    than a sparse one (CiteSeer, p = 0.5: an epoch takes 1.0 s on one core against 8.6 s).
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, pattern: SparsePattern, products: LastProducts) -> Tensor:
        """``[num_rows, width]``."""
        ctx.pattern = pattern

        def multiply(rows: Tensor) -> Tensor:
            return torch.cat([block @ rows for _, block in unpacked_rows(pattern, rows.dtype)])

        return products.find(rows, multiply)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The transposed product."""
        gradient, pattern = gradients[0], ctx.pattern
        total = gradient.new_zeros(pattern.num_columns, gradient.shape[1])
        for places, block in unpacked_rows(pattern, gradient.dtype):
            total.addmm_(block.t(), gradient[places])
        return total, None, None


def unpacked_rows(pattern: SparsePattern, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """A few rows of a pattern at a time: which, and their ones and zeros."""
    from scipy import sparse

    indptr, indices = pattern.indptr.cpu().numpy(), pattern.indices.cpu().numpy()
    step = max(1, BLOCK_CELLS // max(pattern.num_columns, 1))
    for top in range(0, pattern.num_rows, step):
        places = slice(top, min(top + step, pattern.num_rows))
        begin, end = indptr[places.start], indptr[places.stop]
        starts = indptr[places.start : places.stop + 1] - begin
        ones = np.ones(end - begin, dtype=np.float32)
        # SciPy's loop over a row takes a tenth of the time of a scatter by torch.
        block = sparse.csr_array(
            (ones, indices[begin:end], starts), shape=(places.stop - top, pattern.num_columns)
        )
        yield places, torch.from_numpy(block.toarray()).to(pattern.device, dtype)


def missing_cells(observed: SparsePattern) -> SparsePattern | None:
    """The places of the missing cells where they are fewer than the observed ones."""
    height, width = observed.shape
    if 2 * observed.num_entries <= height * width:
        return None
    indptr, indices = observed.indptr.cpu().numpy(), observed.indices.cpu().numpy()
    counts = torch.from_numpy(width - np.diff(indptr.astype(np.int64)))
    step = max(1, 8_000_000 // max(width, 1))
    places = [np.empty(0, dtype=np.int64)]
    for top in range(0, height, step):
        rows = min(step, height - top)
        absent = np.ones((rows, width), dtype=bool)
        part = slice(indptr[top], indptr[top + rows])
        local = np.repeat(np.arange(rows), np.diff(indptr[top : top + rows + 1]))
        absent[local, indices[part]] = False
        places.append(np.nonzero(absent)[1])
    starts = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
    return SparsePattern(starts, torch.from_numpy(np.concatenate(places)), width).to(
        observed.device
    )


def normalised_neighbours(
    graph: AllotropicGraph, dtype: torch.dtype
) -> tuple[SparsePattern, Tensor]:
    r"""The normalised adjacency :math:`\hat A` of a GCN: its pattern, loops included, and weights.

    Means pass along it as they are, variances along its squares: all cells are drawn independently.
    A node's own cells are one draw, so where the graph has a loop, it and the added one are one
    entry, whose weights add up before they are squared.
    """

    def build() -> tuple[SparsePattern, Tensor]:
        adjacency = graph.adjacency
        pattern, (looped, _) = adjacency.pattern, adjacency.with_self_loops()
        rows, columns = looped.rows.long(), looped.indices.long()
        own = adjacency.edge_weights(dtype)
        own = pattern.ones(dtype) if own is None else own
        key = rows * looped.num_columns + columns
        edges = pattern.rows.long() * looped.num_columns + pattern.indices.long()
        weights = (rows == columns).to(dtype)
        weights.index_add_(0, torch.searchsorted(key, edges), own)
        degrees = adjacency.degrees(dtype) + 1
        scale = torch.where(degrees > 0, degrees.clamp(min=1e-12).rsqrt(), 0)
        return looped, weights * scale[rows] * scale[columns]

    return graph.once(("normalised neighbours", dtype), build)


class Gcnmf(NodeEncoder):
    """A GCN whose first layer is :class:`MixtureInput` (Taguchi, Liu & Murata, "Graph
    Convolutional Networks for Graphs Containing Missing Features", FGCS 2021).

    With nothing missing it is a GCN.

    Args:
        num_features: Number of input features.
        width: Width of the hidden states.
        num_layers: Number of layers.
        components: Number of Gaussians.
        dropout: Share of hidden values dropped in training.
        feature_dropout: Share of the observed values dropped in training.
    """

    def __init__(
        self,
        num_features: int,
        *,
        width: int = 64,
        num_layers: int = 2,
        components: int = 5,
        dropout: float = 0.5,
        feature_dropout: float = 0.5,
    ) -> None:
        super().__init__(width, width, feature_dropout)
        layers: list[nn.Module] = [MixtureInput(num_features, width, components)]
        layers += [GcnConvolution(width, width) for _ in range(num_layers - 2)]
        if num_layers > 1:
            layers.append(make_last_convolution("gcn", width, 1)[0])
        self.layers = nn.ModuleList(layers)
        self.dropout = Dropout(dropout)

    def encode(self, graph: AllotropicGraph, keep: Tensor | None) -> Encoded:
        """The layers one after another."""
        state = self.layers[0](graph, keep)
        for number, layer in enumerate(self.layers):
            if number:
                state = functional.relu(state) if number > 1 else state
                state = layer(graph.adjacency, self.dropout(state))
        return Encoded(state, [self.layers[0].weight])  # type: ignore[list-item]
