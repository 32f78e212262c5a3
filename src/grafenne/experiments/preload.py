"""Imports what runs need, so that processes made from one that imported this start at once."""

import sklearn.metrics
import threadpoolctl  # type: ignore[import-untyped]
import torch

import grafenne.baselines
import grafenne.datasets
import grafenne.estimators
import grafenne.estimators.tune
import grafenne.experiments.fit
import grafenne.experiments.search
import grafenne.impute

__all__ = ["grafenne", "sklearn", "threadpoolctl", "torch"]

# Torch's optimizers import hundreds of modules when the first one is made: two seconds, which
# each process would spend again.
torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
