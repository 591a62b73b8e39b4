"""CLEVER: a lower bound on how far an attack must go, from the largest slope nearby."""

from anharmonic.lipschitz.measuring import clever
from anharmonic.lipschitz.result import CleverScores
from anharmonic.lipschitz.weibull import State

__all__ = ["CleverScores", "State", "clever"]
