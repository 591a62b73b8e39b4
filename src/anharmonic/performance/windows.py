"""Windows of a stream: what was estimated in each, and what its labels have said since."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from anharmonic._core.protocols import Floats
from anharmonic.performance.bias import smooth_bias
from anharmonic.performance.estimator import Estimator, within
from anharmonic.performance.metrics import LEAST_RMSE, metric_slopes, metric_value
from anharmonic.performance.result import Performance

__all__ = ["Held", "Window", "close_window", "label_noise", "shown_performance"]

TYPICAL = 30.0
"""Labels that the expected variance counts as, beside those seen."""
CURVATURE = 0.4
"""The standard error of an AUC that labels have moved by 1, for it is moved along a line: so that
intervals held on made data of which labels were turned, all or some of them.
"""
LEAST_VARIANCE = 1e-150
"""Of a row's label, so that labels can say what it is where no error was expected."""


class Held(NamedTuple):
    """What a row's label is held against: its window, expected credits (columns,) and slopes.

    The row's residuals, (metrics,), are Σ slope·(observed − expected), slopes (metrics, columns).
    """

    window: int
    expected: Floats
    slopes: Floats

    def residuals(self, observed: Floats) -> Floats:
        """How far the row's part of each metric is from what was expected, (metrics,)."""
        return np.asarray(self.slopes @ (observed - self.expected))


@dataclass
class Window:
    """A closed window: sums, no rows.

    Parameters
    ----------
    number, first, last, rows, start
        Which it is, its rows in the stream, and the time of the first as text.
    known, reason
        Whether its estimate has grounds.
    values, own, shift : (metrics,)
        Estimates (of RMSE its square), the variance of their rows' labels, and that of a shift.
    labelled
        Labels so far.
    weights, squared_weights
        Σ w and Σ w² over its labels, with w = 1/π.
    weighted_residuals, weighted_squares : (metrics,)
        Σ w·e and Σ w·e² over its labels, with e = observed − expected of each row.
    """

    number: int
    first: int
    last: int
    rows: int
    start: str
    known: bool
    reason: str
    values: Floats
    own: Floats
    shift: Floats
    labelled: int = 0
    weights: float = 0.0
    squared_weights: float = 0.0
    weighted_residuals: Floats = field(default_factory=lambda: np.zeros(0))
    weighted_squares: Floats = field(default_factory=lambda: np.zeros(0))

    def add_label(self, residuals: Floats, weight: float) -> None:
        """One label: how far the row's observed part of each metric is from the expected one."""
        self.labelled += 1
        self.weights += weight
        self.squared_weights += weight**2
        self.weighted_residuals = self.weighted_residuals + weight * residuals
        self.weighted_squares = self.weighted_squares + weight * residuals**2

    @property
    def bias(self) -> Floats:
        """What its labels say of the estimates' bias, (metrics,)."""
        return (
            self.weighted_residuals / self.weights if self.labelled else np.zeros(len(self.values))
        )

    @property
    def scatter(self) -> Floats:
        """The labels' squared deviations from their mean, added up, (metrics,)."""
        if self.labelled < 2:
            return np.zeros(len(self.values))
        seen = np.maximum(self.weighted_squares / self.weights - self.bias**2, 0.0)
        return seen * self.labelled**2 / (self.labelled - 1)

    @property
    def share(self) -> float:
        """The share of the rows that labels stand for."""
        return min(1.0, self.labelled / self.rows)


def close_window(
    estimator: Estimator,
    outputs: Floats,
    features: Floats | None,
    number: int,
    first: int,
    last: int,
    start: str,
) -> tuple[Window, list[Held]]:
    """Estimate a window: it, and what a label of each row is held against."""
    outputs, features = estimator.checked(outputs, features)
    credits = estimator.expected(outputs, features)
    alike = estimator.rows_alike(outputs, features)
    variances = estimator.variances(outputs, credits, alike)
    known, reason = estimator.judge(outputs, features, alike)
    values, own, shift, slopes = [], [], [], []
    for name in estimator.metrics:
        value = metric_value(name, outputs, credits)
        noise = estimator.label_variance(name, outputs, credits)
        # RMSE is followed as its square, which is a mean: d(e²) = 2·RMSE·dRMSE.
        turn = 2 * max(value, LEAST_RMSE) if name == "rmse" else 1.0
        values.append(value**2 if name == "rmse" else value)
        own.append(turn**2 * noise)
        shift.append(turn**2 * max(0.0, variances[name] - noise))
        slopes.append(turn * len(outputs) * metric_slopes(name, outputs, credits))
    count = len(values)
    window = Window(
        number, first, last, len(outputs), start, known, reason,
        np.array(values), np.array(own), np.array(shift),
        weighted_residuals=np.zeros(count), weighted_squares=np.zeros(count),
    )  # fmt: skip
    by_row = np.ascontiguousarray(np.stack(slopes).transpose(1, 0, 2))
    return window, [Held(number, *parts) for parts in zip(credits, by_row, strict=True)]


def label_noise(windows: list[Window]) -> Floats:
    """The variance of each window's `bias`, (windows, metrics), infinite where it has no labels.

    As expected of its rows, times how much more labels scattered in all windows: that of a
    window's own few labels goes with their mean, and would make the luckiest ones count most.
    """
    own = np.array([np.maximum(window.own * window.rows, LEAST_VARIANCE) for window in windows])
    counted = np.array([window.labelled if window.labelled > 1 else 0 for window in windows])
    typical = TYPICAL * own.mean(axis=0)
    scatter = np.sum([window.scatter for window in windows], axis=0)
    ratio = (scatter + typical) / np.maximum(counted @ own + typical, 1e-300)
    effective = np.array([
        window.weights**2 / window.squared_weights if window.labelled else 0.0
        for window in windows
    ])  # fmt: skip
    open_share = np.array([1 - window.share for window in windows])
    with np.errstate(divide="ignore"):
        each = np.where(effective > 0, open_share / effective, np.inf)
    return np.where(effective[:, None] > 0, each[:, None] * ratio * own + 1e-18, np.inf)


def shown_performance(
    estimator: Estimator, windows: list[Window], level: float, segment: str | None
) -> list[Performance]:
    """Each window with what all labels so far, its own, earlier and later, teach of the bias."""
    found: list[dict[str, object]] = [{} for _ in windows]
    quantile = float(ndtri(0.5 + level / 2))
    noise = label_noise(windows)
    for place, name in enumerate(estimator.metrics):
        means = np.array([window.bias[place] for window in windows])
        shifts = np.array([window.shift[place] for window in windows])
        bias, spread = smooth_bias(means, noise[:, place], shifts)
        for number, window in enumerate(windows):
            share = window.share
            # Rows with labels are known; the others have the bias, and the noise of their labels.
            correction = bias[number] + share * (means[number] - bias[number])
            value = window.values[place] + correction
            doubt = spread[number] * (1 - share) ** 2 + window.own[place] * (1 - share)
            if name == "auc":
                # A ratio, corrected along its slopes: what bends grows with the square.
                doubt += (CURVATURE * correction**2) ** 2
            half = quantile * math.sqrt(doubt)
            if name == "rmse":
                value = math.sqrt(max(value, 0.0))
                # d√v = dv/2√v; at 0 there is no slope, and √v is at most the root of what v is.
                half = half / (2 * value) if value > 0 else math.sqrt(half)
            found[number][name] = within(name, float(value), half)
    return [
        Performance(
            metrics,  # type: ignore[arg-type]
            window.rows,
            window.labelled,
            window.known,
            window.reason,
            level,
            window.first,
            window.last,
            window.start or None,
            segment,
        )
        for metrics, window in zip(found, windows, strict=True)
    ]
