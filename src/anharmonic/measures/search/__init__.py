"""Adversarial search: walk from each point until the decision changes.

The paper's Algorithm 2 goes where gamma is largest. Beside it stand its controls, one of which
is the default because it finds more for less: go where the margin is smallest.
"""

from anharmonic.measures.search.prepare import StepArguments, set_out
from anharmonic.measures.search.search import CLIMBS, adversarial_search
from anharmonic.measures.search.steps import Climb, Climber

__all__ = ["CLIMBS", "Climb", "Climber", "StepArguments", "adversarial_search", "set_out"]
