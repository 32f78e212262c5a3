r"""Classes that are more or less frequent where a model is used than where it learned.

Training nodes are often picked class by class, twenty of each, while in use one class in three
nodes is the same one. A network trained with

.. math:: -\log \mathrm{softmax}_y\bigl(z + \log \pi_\mathrm{train} - \log \pi_\mathrm{use}\bigr)

answers by the softmax of z itself for the shares :math:`\pi_\mathrm{use}` of the classes in use
(Saerens et al., 2002; Menon et al., 2021): what the training nodes' shares say about a class is
explained by the loss and need not be learned.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grafenne.errors import ParameterError, unknown_name

Shares = NDArray[np.float64]


def check_class_shares(shares: Any) -> None:
    """Raises unless it is what the setting ``class_shares`` may be, whatever the classes."""
    if shares is None or (isinstance(shares, str) and shares == "validation"):
        return
    if not isinstance(shares, Mapping):
        raise ParameterError(
            "class_shares is None, 'validation' or a mapping from classes to shares, got "
            f"{shares!r}."
        )
    for name, share in shares.items():
        number = isinstance(share, Real) and not isinstance(share, bool)
        if not (number and 0 < float(share) < np.inf):
            raise ParameterError(
                f"class_shares of {name!r} must be a number above 0, got {share!r}."
            )


def shares_in_use(
    shares: str | Mapping[Hashable, float] | None,
    classes: Sequence[Hashable],
    validation: NDArray[np.int64],
) -> Shares | None:
    """The shares of the classes where the model is to be used; ``None`` for those in training.

    Args:
        shares: The setting.
        classes: The classes.
        validation: Class of each validation node, as a position in ``classes``. Each class counts
            one node more than there are, so that none is ruled out.
    """
    check_class_shares(shares)
    if shares is None:
        return None
    if isinstance(shares, Mapping):
        for name in shares:
            if name not in classes:
                raise unknown_name("class in class_shares", name, classes)
        for name in classes:
            if name not in shares:
                raise ParameterError(f"class_shares lacks the class {name!r}.")
        return _summing_to_one(np.array([shares[name] for name in classes], dtype=np.float64))
    if not len(validation):
        raise ParameterError("class_shares='validation' needs validation nodes to count.")
    return _summing_to_one(np.bincount(validation, minlength=len(classes)) + 1.0)


def _summing_to_one(shares: NDArray[np.floating]) -> Shares:
    smaller = np.asarray(shares / shares.max(), dtype=np.float64)  # else the sum may be infinite
    result: Shares = smaller / smaller.sum()
    return result


def log_ratio(
    counts: NDArray[np.int64], weight: NDArray[np.floating] | None, in_use: Shares
) -> Shares:
    """What the loss adds to the outputs: the log of the shares in training over those in use.

    Args:
        counts: Training nodes of each class.
        weight: How much a node of each class counts in the loss.
        in_use: The shares where the model is used.
    """
    trained = np.maximum(counts, 1) * (1.0 if weight is None else weight.astype(np.float64))
    ratio: Shares = np.log(trained / trained.sum()) - np.log(in_use)
    return ratio
