"""How long a decision lasts under random steps, estimated from one step around it.

>>> import numpy as np
>>> slope = lambda x: np.stack([x[:, 0], -x[:, 0]], axis=1)
>>> points = np.random.default_rng(0).normal(size=(200, 2))
>>> chances = nstep_robustness(slope, points, radius=0.1, scale=None)
>>> observed = observed_flips(slope, points, radius=0.1, scale=None)
>>> calibrated = calibration(chances, observed)
>>> bool(calibrated.brier.value < calibrated.constant)
True
"""

from anharmonic.measures.stability.classes import (
    ClassRow,
    ClassTable,
    class_table,
    softmax_of_means,
)
from anharmonic.measures.stability.gammamap import GammaMap, Places
from anharmonic.measures.stability.nstep import flip_chance, nstep_robustness
from anharmonic.measures.stability.outcomes import (
    Calibration,
    Observed,
    calibration,
    observed_flips,
)

__all__ = [
    "Calibration",
    "ClassRow",
    "ClassTable",
    "GammaMap",
    "Observed",
    "Places",
    "calibration",
    "class_table",
    "flip_chance",
    "nstep_robustness",
    "observed_flips",
    "softmax_of_means",
]
