"""The three-phase network (paper, section "Proposed GNN framework")."""

from grafenne.nn.feature_embedding import FeatureEmbedding
from grafenne.nn.feature_to_node import FeatureToNode
from grafenne.nn.features import make_features
from grafenne.nn.given_features import GivenFeatures
from grafenne.nn.layer import GrafenneLayer
from grafenne.nn.learned_features import LearnedFeatures
from grafenne.nn.model import Grafenne
from grafenne.nn.name_features import NameFeatures
from grafenne.nn.node_to_feature import NodeToFeature
from grafenne.nn.node_to_node import NodeToNode
from grafenne.nn.reach import Reach
from grafenne.nn.structural_features import StructuralFeatures

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
