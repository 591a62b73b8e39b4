"""Metrics: what a measure's numbers are, told once by the measure itself.

A measure registers its metric where it is defined; whoever shows, orders or opens scores asks the
metric, and never its name.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from anharmonic._core.protocols import Floats
from anharmonic._core.settings import Settings

if TYPE_CHECKING:
    from anharmonic.scores import Scores

__all__ = ["Metric", "metric_of", "register", "registered"]

Fragile = Literal["large", "small"]


@dataclass(frozen=True)
class Metric:
    """What the values of scores are.

    Parameters
    ----------
    name
        As `Scores.metric` has it.
    fragile
        Which values are the fragile ones: "large" as for gamma, "small" as for a margin.
    unit
        What a value is measured in.
    settings
        The kind of settings it records.
    intervals
        An interval for each point from scores and a level; None for Student's, from the errors.
    independent
        Independent values whose mean is the scores' mean; None where the scores themselves are.
    noise
        The variance of each score that more queries or fits would remove; None where it is what
        `squared` lacks of the score's square.
    describe
        What a table, a summary and a `repr` say beside the usual.
    columns
        Further named values for each point, made from scores.
    bounded
        Whether shares and probabilities bound the scores, as they bound deviations.
    skips_unknown
        Whether points without a value are never among the worst.
    ranks
        Whether means rank models; not where the single rows are what matters.
    best
        What a model with the least fragile scores is called.
    caution
        A sentence on what the values do not see, to stand beside them.
    reading
        Sentences on what the values mean and what they do not, for those who read a report.
    """

    name: str
    fragile: Fragile = "large"
    unit: str = "the output's own"
    settings: type[Settings] = Settings
    intervals: Callable[[Scores, float], tuple[Floats, Floats]] | None = None
    independent: Callable[[Scores], Floats] | None = None
    noise: Callable[[Scores], Floats] | None = None
    describe: Callable[[Scores], Description] | None = None
    columns: Mapping[str, Callable[[Scores], Any]] = field(default_factory=dict)
    bounded: bool = False
    skips_unknown: bool = False
    ranks: bool = True
    best: str = "least fragile"
    caution: str = ""
    reading: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """What a metric says of scores beside the usual.

    `unfinished` counts the points that are, where a missing value can be an answer; `words` end
    the `repr`; `facts` join the summary.
    """

    unfinished: int
    words: str
    facts: Mapping[str, object]


_METRICS: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Make a metric known by its name."""
    _METRICS[metric.name] = metric
    return metric


def metric_of(name: str) -> Metric:
    """The metric of that name; one that nobody registered has large values as the fragile ones."""
    if name not in _METRICS:
        _import_measures()
    return _METRICS.get(name) or Metric(name)


def registered() -> Mapping[str, Metric]:
    """Every metric by name."""
    _import_measures()
    return _METRICS


def _import_measures() -> None:
    """Each measure registers its own metrics when it is imported."""
    measures = import_module("anharmonic.measures")
    for module in pkgutil.iter_modules(measures.__path__):
        import_module(f"anharmonic.measures.{module.name}")
