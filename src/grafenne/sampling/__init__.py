"""Bounded neighbourhoods of nodes and features (paper, "Complexity" and its appendix)."""

from grafenne.sampling.ahead import Ahead
from grafenne.sampling.batches import iterate_batches
from grafenne.sampling.layerwise import encode_layerwise
from grafenne.sampling.sample import Sample
from grafenne.sampling.sampler import Sampler

__all__ = ["Ahead", "Sample", "Sampler", "encode_layerwise", "iterate_batches"]
