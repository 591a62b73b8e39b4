"""SPADE: how far a model pulls apart what is close, from inputs and outputs alone.

`spade` scores a model, its points and its edges; `compare` ranks several; `guide` names the most
fragile points; `distortion`, `cut_distortion` and `bounds` look at what the score stands for.
`graph`, `search` and `spectrum` are the parts.
"""

from anharmonic.measures.spectral.distortion import (
    bounds,
    cut_distortion,
    distortion,
    pair_distortion,
)
from anharmonic.measures.spectral.graph import Graph
from anharmonic.measures.spectral.ranking import compare
from anharmonic.measures.spectral.result import SpadeScores, guide
from anharmonic.measures.spectral.scoring import spade
from anharmonic.measures.spectral.search import neighbours

__all__ = [
    "Graph",
    "SpadeScores",
    "bounds",
    "compare",
    "cut_distortion",
    "distortion",
    "guide",
    "neighbours",
    "pair_distortion",
    "spade",
]
