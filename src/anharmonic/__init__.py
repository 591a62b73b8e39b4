"""Measure how robust, overfit and explainable any model is, as a black box, without labels.

>>> import anharmonic as ah
>>> import numpy as np
>>> points = np.random.default_rng(0).normal(size=(100, 2))
>>> ah.gamma(lambda x: np.sin(3 * x[:, 0]), points, radius=0.2).queries <= 64 * 100
True
"""

from anharmonic import (
    balls,
    card,
    errors,
    gate,
    plots,
    regions,
    report,
    spectral,
    tracking,
    workers,
)
from anharmonic.comparison import compare, sweep
from anharmonic.errors import AnharmonicError
from anharmonic.explanation import contributions
from anharmonic.meanvalue import gamma
from anharmonic.models import as_model
from anharmonic.offline import collect, plan
from anharmonic.repetition import measured_like
from anharmonic.scores import Scores
from anharmonic.spectral import SpadeScores, spade

__version__ = "0.1.0"

__all__ = [
    "AnharmonicError",
    "Scores",
    "SpadeScores",
    "as_model",
    "balls",
    "card",
    "collect",
    "compare",
    "contributions",
    "errors",
    "gamma",
    "gate",
    "measured_like",
    "plan",
    "plots",
    "regions",
    "report",
    "spade",
    "spectral",
    "sweep",
    "tracking",
    "workers",
]
