"""How accurate a model is now: without labels, or with few and late ones.

`fit_performance` learns from a labelled reference; its `Estimator` says how a model does on rows
without labels, or that it cannot know. `estimate_labelled` takes few labels in, `choose_rows` says
which ones to get, `PerformanceTracker` does it along a stream, `compare_groups` between groups.
"""

from anharmonic.performance.choosing import Chosen, choose_rows
from anharmonic.performance.comparing import compare_groups
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.fitting import fit_performance
from anharmonic.performance.groups import Difference, Groups
from anharmonic.performance.labelled import estimate_labelled
from anharmonic.performance.result import Curve, Interval, Performance
from anharmonic.performance.sequences import Fall, FallDetector, MeanSequence
from anharmonic.performance.tracker import LabelReport, PerformanceTracker

__all__ = [
    "Chosen",
    "Curve",
    "Difference",
    "Estimator",
    "Fall",
    "FallDetector",
    "Groups",
    "Interval",
    "LabelReport",
    "MeanSequence",
    "Performance",
    "PerformanceTracker",
    "choose_rows",
    "compare_groups",
    "estimate_labelled",
    "fit_performance",
]
