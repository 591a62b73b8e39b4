"""Adversarial search: walk from each point until the decision changes.

The paper's Algorithm 2 goes where gamma is largest. Beside it stand its controls, one of which
is the default because it finds more for less: go where the margin is smallest.
"""

from anharmonic.measures.search.prepare import StepArguments, prepare
from anharmonic.measures.search.search import CLIMBS, adversarial_search, search_from
from anharmonic.measures.search.steps import Climb, StepChooser

__all__ = [
    "CLIMBS",
    "Climb",
    "StepArguments",
    "StepChooser",
    "adversarial_search",
    "prepare",
    "search_from",
]
