"""Several models side by side: the same points, the same directions, so differences are sharp."""

from anharmonic.comparison.comparing import GammaArguments, Measure, compare
from anharmonic.comparison.differences import Difference
from anharmonic.comparison.result import Comparison
from anharmonic.comparison.sweeping import Sweep, sweep

__all__ = ["Comparison", "Difference", "GammaArguments", "Measure", "Sweep", "compare", "sweep"]
