"""Several models side by side: the same points, the same directions, so differences are sharp."""

from anharmonic.measures.compare.comparing import GammaArguments, Measure, compare
from anharmonic.measures.compare.differences import Difference
from anharmonic.measures.compare.frontier import Standing
from anharmonic.measures.compare.labelled import LabelledScore
from anharmonic.measures.compare.result import Comparison
from anharmonic.measures.compare.sweeping import Sweep, sweep

__all__ = [
    "Comparison",
    "Difference",
    "GammaArguments",
    "LabelledScore",
    "Measure",
    "Standing",
    "Sweep",
    "compare",
    "sweep",
]
