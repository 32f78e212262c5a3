"""Filling in missing features, on its own or in front of any estimator."""

from grafenne.impute.base import Imputer
from grafenne.impute.feature_propagation import FeaturePropagation
from grafenne.impute.neighbourhood_mean import NeighbourhoodMean
from grafenne.impute.pcfi import PseudoConfidence
from grafenne.impute.places import Places
from grafenne.impute.registry import IMPUTERS, make_imputer
from grafenne.impute.special import SpecialLabel
from grafenne.impute.wrapped import (
    ImputedClassifier,
    ImputedEstimator,
    ImputedLinkPredictor,
    ImputedRegressor,
)

__all__ = [
    "IMPUTERS",
    "FeaturePropagation",
    "ImputedClassifier",
    "ImputedEstimator",
    "ImputedLinkPredictor",
    "ImputedRegressor",
    "Imputer",
    "NeighbourhoodMean",
    "Places",
    "PseudoConfidence",
    "SpecialLabel",
    "make_imputer",
]
