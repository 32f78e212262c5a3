"""Bounded neighbourhoods of nodes and features (paper, "Complexity" and its appendix)."""

from grafenne.sampling.batches import iterate_batches
from grafenne.sampling.sample import Sample
from grafenne.sampling.sampler import Sampler

__all__ = ["Sample", "Sampler", "iterate_batches"]
