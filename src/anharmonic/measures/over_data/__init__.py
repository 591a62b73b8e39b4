"""Gamma over the data: the mean-value law on the rows themselves, one query per row.

The neighbours of a row are other rows, weighted: gamma = |f(x) − Σ w·f(other rows)|.
"""

from anharmonic.measures.over_data.measure import gamma_data
from anharmonic.measures.over_data.supporters import Support, support
from anharmonic.measures.over_data.suspicion import suspects
from anharmonic.measures.over_data.weights import Boosted, Forest, Given, Neighbours

__all__ = [
    "Boosted",
    "Forest",
    "Given",
    "Neighbours",
    "Support",
    "gamma_data",
    "support",
    "suspects",
]
