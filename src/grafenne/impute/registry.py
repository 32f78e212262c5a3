"""The imputations by name."""

from __future__ import annotations

from typing import Any

from grafenne.errors import ParameterError, did_you_mean, unknown_name
from grafenne.impute.base import Imputer
from grafenne.impute.feature_propagation import FeaturePropagation
from grafenne.impute.neighbourhood_mean import NeighbourhoodMean
from grafenne.impute.pcfi import PseudoConfidence
from grafenne.impute.places import Places
from grafenne.impute.special import SpecialLabel

IMPUTERS: dict[str, type[Imputer]] = {
    kind.name: kind
    for kind in (SpecialLabel, NeighbourhoodMean, FeaturePropagation, PseudoConfidence, Places)
}


def make_imputer(name: str, **settings: Any) -> Imputer:
    """An imputation.

    Args:
        name: ``special``, ``neighbourhood-mean``, ``feature-propagation``, ``pcfi`` or ``places``.
        settings: Its settings.
    """
    if name not in IMPUTERS:
        raise unknown_name("imputer", name, IMPUTERS)
    imputer = IMPUTERS[name]()
    known = imputer.get_params()
    for setting in settings:
        if setting not in known:
            hint = did_you_mean(setting, known)
            raise ParameterError(f"The imputer {name!r} has no setting {setting!r}.{hint}")
    filled: Imputer = imputer.set_params(**settings)
    return filled
