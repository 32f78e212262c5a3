"""``fit``, ``predict``, ``explain``, ``save``: the method as a user meets it."""

from grafenne.estimators.classifier import GrafenneClassifier
from grafenne.estimators.link_predictor import GrafenneLinkPredictor
from grafenne.estimators.regressor import GrafenneRegressor

__all__ = ["GrafenneClassifier", "GrafenneLinkPredictor", "GrafenneRegressor"]
