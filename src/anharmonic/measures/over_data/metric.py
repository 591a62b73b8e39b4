"""What gamma over the data is: its settings, its intervals, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anharmonic._core.metrics import Metric, register
from anharmonic._core.protocols import Floats
from anharmonic._core.settings import COMPARABLE, Settings
from anharmonic._core.statistics import half_widths
from anharmonic.scores import Scores

__all__ = ["GAMMA_DATA", "DataSettings"]


@dataclass(frozen=True, kw_only=True)
class DataSettings(Settings):
    """How gamma was measured over data.

    Parameters
    ----------
    weights
        Where they came from: "forest", "neighbours", "boosted" or "given".
    weights_options
        Their own settings, such as the number of trees.
    reference_rows
        How many distinct rows the weights are on.
    referenced
        Whether those are other rows than the scored ones.
    group_scores
        One value per group of rows, whose mean is the average and whose spread is its error.
    """

    compared: ClassVar[tuple[str, ...]] = (
        *(*COMPARABLE, "weights", "weights_options", "referenced"),
    )
    moves: ClassVar[bool] = False

    weights: str = ""
    weights_options: tuple[tuple[str, float], ...] = ()
    reference_rows: int = 0
    referenced: bool = False
    group_scores: tuple[float, ...] = ()


def _independent(scores: Scores) -> Floats:
    """Values whose mean is the scores' and that are independent: the groups'."""
    return np.array(scores.settings.as_kind(DataSettings).group_scores)


def _intervals(scores: Scores, level: float) -> tuple[Floats, Floats]:
    """Student's, with the degrees of freedom that each row's mean has."""
    reach = half_widths(scores.errors, scores.column("freedom") + 1, level) + scores.rounding
    # The length of a vector of noise is never near 0, so the lower end starts below it.
    low = np.sqrt(np.maximum(scores.squared, 0.0))
    return np.maximum(low - reach, 0.0), np.minimum(scores.values + reach, scores.most)


def _drawn(scores: Scores) -> Floats:
    """The variance that more fits would remove: none where rows are weighed without any draw."""
    return np.asarray(scores.column("drawn"))


def _others(scores: Scores) -> Floats:
    """What other rows say: f(x) − (f(x) − Σ w·f(other rows)), in the shape of the outputs."""
    return np.asarray(scores.outputs - scores.signed)


GAMMA_DATA = register(
    Metric(
        "gamma over data",
        settings=DataSettings,
        intervals=_intervals,
        bounded=True,
        independent=_independent,
        noise=_drawn,
        columns={"others": _others},
        best="most harmonic over the data",
        caution=(
            "It sees memorising and unsteadiness, not bias or underfitting: a model that says too "
            "little reads small too."
        ),
        reading=(
            "Gamma over data is how far a model's answer at a row is from the weighted mean of "
            "its answers at other rows.",
            "Other rows take the place of a sphere: nothing is moved, and the model is asked at "
            "real rows alone. 0 means that a row's answer is what the weighted mean of other "
            "rows' answers says, copies of the row left out.",
            "It sees memorising and unsteadiness: a model that learnt single rows by heart stands "
            "out from what it says itself at rows like them.",
            "It does not see bias or underfitting: a constant reads 0, and a model that is wrong "
            "in the same way at all rows alike reads little. Read it beside a measure of how "
            "often the model is right.",
            "Only models measured alike compare: the same rows, columns, weights and kind of "
            "output.",
        ),
    )
)
