"""Why a point's answer is what it is: its neighbours, its features, and what would change it."""

from anharmonic.measures.explain.counterfactuals import (
    Change,
    Counterfactual,
    nearest_counterfactual,
)
from anharmonic.measures.explain.explaining import explain
from anharmonic.measures.explain.result import Explanation
from anharmonic.measures.explain.shares import (
    REMAINDER,
    Contributions,
    contributions,
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
    "worst_contributions",
]
