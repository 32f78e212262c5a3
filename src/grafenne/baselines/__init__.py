"""The methods that GRAFENNE is compared with, under the same contract."""

from grafenne.baselines.allotropic_gnn import AllotropicGnnClassifier, AllotropicGnnLinkPredictor
from grafenne.baselines.fate import FateClassifier
from grafenne.baselines.graph_network_estimators import (
    GraphNetworkClassifier,
    GraphNetworkLinkPredictor,
)
from grafenne.baselines.methods import METHODS, Method, make_method
from grafenne.baselines.missing_feature_estimators import GcnmfClassifier, PagnnClassifier

__all__ = [
    "METHODS",
    "AllotropicGnnClassifier",
    "AllotropicGnnLinkPredictor",
    "FateClassifier",
    "GcnmfClassifier",
    "GraphNetworkClassifier",
    "GraphNetworkLinkPredictor",
    "Method",
    "PagnnClassifier",
    "make_method",
]
