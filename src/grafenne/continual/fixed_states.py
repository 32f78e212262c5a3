"""Passes over a few nodes with the features' states held as one full pass left them.

Through a common feature any node reaches any other in two layers, so an exact step costs a pass
over the whole graph however few nodes are asked. With the states of the features held, a node
depends only on its neighbourhood of as many steps as the network takes. The starting states Φ are
not held: they have parameters of their own, and a step reaches those of the features at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from grafenne.ops import hashed_keep
from grafenne.sampling import Sampler

if TYPE_CHECKING:
    from grafenne.allotrope import AllotropicGraph
    from grafenne.sampling.sample import Sample
    from grafenne.training.hiding import FeatureHiding
    from grafenne.training.node_objective import NodeNetwork


class FixedStates:
    """A network with the states of the features held from layer to layer.

    Args:
        network: The network; its present parameters make the states.
        graph: The graph.
        first_label: Position of the first feature that is a label; asked nodes hide theirs.
        hiding: Hides whole kinds of features in training steps.
    """

    def __init__(
        self,
        network: NodeNetwork,
        graph: AllotropicGraph,
        first_label: int,
        hiding: FeatureHiding | None = None,
    ) -> None:
        self.network, self.graph, self.first_label = network, graph, first_label
        self.hiding = hiding
        encoder = network.encoder
        network.eval()
        with torch.no_grad():
            self.states = encoder(graph).feature_states
        self._sampler = Sampler(
            graph,
            encoder.num_layers,
            reach=encoder.reach_steps,
            feature_edges=False,
            dtype=encoder.dtype,
        )

    def sample(self, nodes: NDArray[np.int64]) -> Sample:
        """What the outputs of these nodes depend on."""
        drawn = self._sampler.sample(nodes, fixed_features=True)
        return drawn.to(self.graph.incidence.device)

    def outputs(self, sample: Sample, seed: int | None = None) -> Tensor:
        """The outputs of the sample's seeds, ``[seeds, output_width]``.

        Args:
            sample: From :meth:`sample`.
            seed: Decides which triples are dropped while training.
        """
        encoder = self.network.encoder
        count = sample.blocks[-1].num_nodes_out
        asked = sample.node_positions[-1][:count]
        held = encoder.states_of_blocks([encoder.features(self.graph), *self.states[1:]])
        states = [
            state[places]
            for state, places in zip(held, sample.feature_positions_per_layer, strict=True)
        ]
        # With one seed a triple has the same fate in every layer.
        keeps = [self._keep(block.incidence_places, asked, seed) for block in sample.blocks]
        joined = encoder.encode_fixed(sample.blocks, states, keeps)
        result: Tensor = self.network.head(encoder.dropout(joined))
        return result

    def _keep(self, places: Tensor | None, asked: Tensor, seed: int | None) -> Tensor | None:
        """Weights of a block's triples: feature dropout, and the asked nodes' labels hidden."""
        dropout = self.network.encoder.feature_dropout
        dropping = dropout.training and seed is not None
        hiding = self.hiding if dropping else None
        labelled = self.first_label < self.graph.num_features
        thinned = (dropping and dropout.rate > 0) or hiding is not None
        if places is None or not (thinned or labelled):
            return None
        incidence, dtype = self.graph.incidence, self.network.encoder.dtype
        keep = torch.ones(len(places), dtype=dtype, device=incidence.device)
        if dropping and seed is not None:
            keep = hashed_keep(places, dropout.rate, seed).to(dtype) * dropout.scale
            if hiding is not None:
                keep *= hiding.keep(seed, places).to(keep)
        if labelled:
            label = incidence.indices[places] >= self.first_label
            asking = torch.isin(incidence.rows[places[label]].long(), asked.to(incidence.device))
            keep[label] = (~asking).to(keep)
        return keep


def hold_batch_statistics(network: nn.Module) -> None:
    """Keeps batch normalisation at the graph's statistics: a few nodes have others."""
    for part in network.modules():
        if isinstance(part, nn.BatchNorm1d):
            part.eval()
