"""SPADE: how far a model pulls apart what is close, from inputs and outputs alone.

`spade` scores a model, its points and its edges; `compare` ranks several; `guide` names the most
fragile points; `distortion`, `cut_distortion` and `bounds` look at what the score stands for.
`graph`, `search` and `spectrum` are the parts.
"""

from anharmonic.spectral.graph import Graph
from anharmonic.spectral.ranking import compare
from anharmonic.spectral.result import SpadeScores, guide
from anharmonic.spectral.scoring import spade
from anharmonic.spectral.search import neighbours
from anharmonic.spectral.stretch import bounds, cut_distortion, distortion, pair_distortion

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
