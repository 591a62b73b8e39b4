"""Why a point's answer is what it is: its neighbours, its features, and what would change it."""

from anharmonic.explanation.counterfactuals import Change, Counterfactual, nearest_counterfactual
from anharmonic.explanation.explaining import Explanation, explain
from anharmonic.explanation.shares import (
    REMAINDER,
    Contributions,
    contributions,
    titled,
    worst_contributions,
)

__all__ = [
    "REMAINDER",
    "Change",
    "Contributions",
    "Counterfactual",
    "Explanation",
    "contributions",
    "explain",
    "nearest_counterfactual",
    "titled",
    "worst_contributions",
]
