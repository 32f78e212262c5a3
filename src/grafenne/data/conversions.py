"""The ways into and out of a :class:`FeatureGraph`, gathered on one base class."""

from __future__ import annotations


class Conversions:
    """To be filled."""
