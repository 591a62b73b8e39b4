"""Intervals and alarms from late labels that hold whenever one looks.

A confidence sequence holds for the running mean at all times at once, however often it is looked
at. For values ≥ −c around any guess made before them, exp(λ·S − ψ(λ)·V) with S the sum of the
deviations from their means, V the squared misses of the guesses and ψ(λ) = −log(1 − λ) − λ never
grows on average (Howard, Ramdas, McAuliffe and Sekhon, 2021); an average over several λ keeps
that, and is below 1/α for ever with probability 1 − α (Ville, 1939).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.performance.result import Interval

__all__ = ["Fall", "FallDetector", "MeanSequence"]

LAMBDAS = 0.9 * 0.6 ** np.arange(12)
"""Bets from bold to shy, each with the same weight."""
BETS = np.array([0.05, 0.15, 0.35, 0.7])
"""Shares of the most that a bet against 'not worse' may stake."""


@dataclass(frozen=True)
class MeanSequence:
    """Running sums of bounded values; adding more gives another one.

    Parameters
    ----------
    low, high
        Between which values lie.
    count, total, squares
        How many there were, their sum, and the squares of their distances from what was guessed
        before each, all in units of the range.

    Examples
    --------
    >>> sequence = MeanSequence().add(np.random.default_rng(0).uniform(size=2000) < 0.8)
    >>> sequence.interval(0.95).low < 0.8 < sequence.interval(0.95).high
    True
    """

    low: float = 0.0
    high: float = 1.0
    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: Floats) -> MeanSequence:
        """With these values seen, one after the other."""
        count, total, squares = self.count, self.total, self.squares
        for value in (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low):
            # The guess is made before the value is seen: half a value of ½ to begin with.
            guess = (total + 0.25) / (count + 0.5)
            squares += (value - guess) ** 2
            total += value
            count += 1
        return MeanSequence(self.low, self.high, count, float(total), float(squares))

    def interval(self, level: float = 0.9) -> Interval:
        """The running mean, in an interval that holds at all times with probability `level`."""
        if not self.count:
            return Interval(math.nan, self.low, self.high)
        half = _boundary(self.squares, (1 - level) / 2) / self.count
        width, mean = self.high - self.low, self.total / self.count
        bounds = max(0.0, mean - half), mean, min(1.0, mean + half)
        low, value, high = (self.low + width * bound for bound in bounds)
        return Interval(value, low, high)


def _boundary(squares: float, error: float) -> float:
    """The least S with mean over λ of exp(λ·S − ψ(λ)·V) ≥ 1/error, by halving."""
    loss = (-np.log1p(-LAMBDAS) - LAMBDAS) * squares
    line = math.log(1 / error) + math.log(len(LAMBDAS))
    low, high = 0.0, float(((line + loss) / LAMBDAS).min())
    for _ in range(60):
        middle = (low + high) / 2
        if np.logaddexp.reduce(LAMBDAS * middle - loss) >= line:
            high = middle
        else:
            low = middle
    return high


class Fall(NamedTuple):
    """An alarm about labels.

    Parameters
    ----------
    at
        The label that raised it, counted from the first.
    since
        The label since which it seems to be so.
    log_evidence
        The logarithm of the evidence.
    row
        The row of that label, where rows are told.
    loss
        The mean loss since then.
    """

    at: int
    since: int
    log_evidence: float
    row: int = 0
    loss: float = math.nan


@dataclass(frozen=True)
class FallDetector:
    """Evidence that the mean loss of labelled rows exceeds a limit, at some time.

    Each bet's R = (1 + R)·e with e = 1 + λ·(loss − limit) adds up the winnings of having begun at
    any label; while the mean loss is not above the limit, the chance of an alarm within T labels
    is at most T/rate.

    Parameters
    ----------
    limit
        The largest mean loss that is no fall.
    rate
        Labels among which one false alarm is allowed.
    sums, weighted : (bets,)
        R of each bet, and R with each start weighted by its label's number.
    rows, losses : (bets,)
        R with each start weighted by its label's row, and by the sum of the losses before it.
    seen, total
        Labels so far, and the sum of their losses.
    """

    limit: float
    rate: float = 10_000.0
    sums: tuple[float, ...] = (0.0,) * len(BETS)
    weighted: tuple[float, ...] = (0.0,) * len(BETS)
    rows: tuple[float, ...] = (0.0,) * len(BETS)
    losses: tuple[float, ...] = (0.0,) * len(BETS)
    seen: int = 0
    total: float = 0.0

    def __post_init__(self) -> None:
        if not self.limit > 0 or not self.rate >= 1:
            raise SettingsError("a fall needs a limit above 0 and a rate of at least one label")

    def add(
        self, losses: Floats, rows: Sequence[int] | None = None
    ) -> tuple[FallDetector, Fall | None]:
        """With these losses (≥ 0) seen, of these rows; the first alarm that they raised, if any."""
        sums, starts = np.array(self.sums), np.array([self.weighted, self.rows, self.losses])
        seen, total, first = self.seen, self.total, None
        values = np.asarray(losses, dtype=np.float64)
        numbers = range(seen, seen + len(values)) if rows is None else rows
        for loss, row in zip(values, numbers, strict=True):
            # λ = share/limit keeps e above 0 for any loss, however large its weight.
            gain = 1 + BETS * (loss / self.limit - 1)
            start = np.array([[seen], [row], [total]])
            sums, starts = (1 + sums) * gain, (start + starts) * gain
            # Far above the line evidence is held, so that it can fall again in time.
            cap = np.minimum(1.0, 100 * self.rate / np.maximum(sums, 1e-300))
            sums, starts = sums * cap, starts * cap
            total += float(loss)
            if first is None and sums.mean() >= self.rate:
                since, row_since, before = (starts.sum(axis=1) / sums.sum()).tolist()
                mean = (total - before) / (seen + 1 - since)
                log = math.log(float(sums.mean()))
                first = Fall(seen, round(since), log, round(row_since), mean)
            seen += 1
        weighted, by_row, by_loss = (tuple(part) for part in starts.tolist())
        bets = tuple(sums.tolist()), weighted, by_row, by_loss
        return FallDetector(self.limit, self.rate, *bets, seen, total), first

    def cleared(self) -> FallDetector:
        """Without evidence; labels are counted on."""
        return FallDetector(self.limit, self.rate, seen=self.seen, total=self.total)

    @property
    def log_evidence(self) -> float:
        """The logarithm that reaches log(rate) at an alarm."""
        return math.log(max(1.0, float(np.mean(self.sums))))
