"""The three-phase network (paper, section "Proposed GNN framework")."""

from grafenne.nn.feature_to_node import FeatureToNode
from grafenne.nn.features import (
    FeatureEmbedding,
    GivenFeatures,
    LearnedFeatures,
    NameFeatures,
    StructuralFeatures,
    make_features,
)
from grafenne.nn.layer import GrafenneLayer
from grafenne.nn.model import Grafenne
from grafenne.nn.node_to_feature import NodeToFeature
from grafenne.nn.node_to_node import NodeToNode
from grafenne.nn.reach import Reach

__all__ = [
    "FeatureEmbedding",
    "FeatureToNode",
    "GivenFeatures",
    "Grafenne",
    "GrafenneLayer",
    "LearnedFeatures",
    "NameFeatures",
    "NodeToFeature",
    "NodeToNode",
    "Reach",
    "StructuralFeatures",
    "make_features",
]
