"""Anything that predicts becomes a model: a function from points to outputs.

>>> import numpy as np
>>> as_model(np.tanh).name
'tanh'
"""

from anharmonic.models.predictor import Predictor
from anharmonic.models.recognition import as_model

__all__ = ["Predictor", "as_model"]
