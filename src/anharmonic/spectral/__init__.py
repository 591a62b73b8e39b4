"""SPADE: a model's largest stretch of the graph of its inputs, by eigenvalues."""

from anharmonic.spectral.result import SpadeScores, guide
from anharmonic.spectral.scoring import spade

__all__ = ["SpadeScores", "guide", "spade"]
