r"""The mean of the weights over the last part of training, which is steadier than any epoch's.

Where dropout hides much, the weights after one epoch differ from those after the next by noise, and
the epoch that validation data likes best is in part the luckiest. In a mean over epochs (Polyak &
Juditsky, 1992) the noise cancels, and there is less luck to choose by.

.. math:: \bar\Theta_n = \bar\Theta_{n-1} + \beta_n (\Theta_n - \bar\Theta_{n-1}), \qquad
    \beta_n = 1 - (1 - 1/n)^{1/s}

Epoch i of n then weighs about :math:`(i/n)^{1/s - 1}`: the mean covers the same share s of a
training whether that is short or long (Karras et al., 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

Weights = dict[str, Tensor]


def weights_of(network: nn.Module) -> Weights:
    """A copy of the weights of a network, running statistics included."""
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


def averaged(mean: Weights | None, network: nn.Module, epoch: int, share: float) -> Weights:
    """The mean with the weights after one more epoch; a new one, the old one stays as it is.

    Args:
        mean: The mean before; ``None`` if there is none yet.
        network: The network after the epoch.
        epoch: Its number, counted from 1.
        share: s, above 0 and at most 1, which is the plain mean of all epochs.
    """
    if mean is None:
        return weights_of(network)
    now, part = network.state_dict(), 1 - (1 - 1 / epoch) ** (1 / share)
    return {
        name: old.lerp(now[name], part) if old.is_floating_point() else now[name].clone()
        for name, old in mean.items()
    }


@contextmanager
def lent(network: nn.Module, weights: Mapping[str, Tensor] | None) -> Iterator[None]:
    """The network has other weights meanwhile; its own if there are none to lend."""
    if weights is None:
        yield
        return
    own = weights_of(network)
    network.load_state_dict(weights)
    try:
        yield
    finally:
        network.load_state_dict(own)
