"""CLEVER: a lower bound on how far an attack must go, from the largest slope nearby."""

from anharmonic.measures.clever.measuring import clever
from anharmonic.measures.clever.result import CleverScores
from anharmonic.measures.clever.weibull import State

__all__ = ["CleverScores", "State", "clever"]
