"""How much of the traffic is scored: a fraction, or what a budget of queries or time allows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Draw, Integers
from anharmonic._core.randomness import integers
from anharmonic.errors import SettingsError

__all__ = ["Allowance"]

SCALE = 1 << 40
"""Whole numbers below it are drawn and compared with the fraction."""


class Allowance:
    """Says which rows are scored.

    Parameters
    ----------
    score
        A fraction of the rows, drawn by their numbers so that the same rows are chosen however
        they are batched; or "5000 queries per second"; or "20% of the time". The two budgets
        fill up while nothing is scored, up to what one second allows, or one row if that needs
        more.
    seed
        Of the rows that a fraction draws.
    clock
        Seconds that go by, for the two budgets.

    Examples
    --------
    >>> int(Allowance(0.25, seed=1).allowed(np.arange(10_000), 17).sum())
    2522
    """

    def __init__(
        self, score: float | str, seed: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.score, self.seed, self._clock = score, seed, clock
        self.kind, self.rate = _parse(score)
        self._left, self._last = self.rate, clock()
        self._seconds_per_row: float | None = None

    @property
    def reason(self) -> str:
        """Why a row was not scored, in a word."""
        return "sampled out" if self.kind == "fraction" else "budget"

    def allowed(self, rows: Integers, queries_per_row: int) -> NDArray[np.bool_]:
        """Which rows to score now."""
        if self.kind == "fraction":
            draw = Draw(self.seed, rows, np.zeros(len(rows), dtype=np.int64), np.empty(0))
            drawn = integers(draw, np.array([71]), SCALE)[:, 0]
            return np.asarray(drawn < self.rate * SCALE)
        # A token bucket: it fills at `rate` per second and holds what one second brings; what a
        # row needs at least, or no row would ever be scored.
        now = self._clock()
        row = queries_per_row if self.kind == "queries" else self._seconds_per_row or 0.0
        self._left = min(max(self.rate, row), self._left + self.rate * (now - self._last))
        self._last = now
        if self.kind == "queries":
            affordable = int(self._left // queries_per_row)
            self._left -= min(affordable, len(rows)) * queries_per_row
        elif self._seconds_per_row is None:
            # Nothing is known yet of what a row takes: one is scored to learn it.
            affordable = 1
        else:
            affordable = max(0, int(self._left // self._seconds_per_row))
        return np.arange(len(rows)) < affordable

    def spent(self, rows: int, seconds: float) -> None:
        """Note what scoring some rows took."""
        if rows:
            self._seconds_per_row = max(seconds / rows, 1e-9)
            if self.kind == "time":
                self._left -= seconds


def _parse(score: float | str) -> tuple[str, float]:
    """The kind of an allowance, and its fraction, queries per second or share of the time."""
    if not isinstance(score, str):
        if not 0 < score <= 1:
            raise SettingsError(f"score={score}: a fraction of the traffic, above 0 and up to 1")
        return "fraction", float(score)
    patterns = (
        ("queries", r"\s*([\d_,.]+)\s*queries\s*(?:per|a)\s*second\s*", 1.0),
        ("time", r"\s*([\d.]+)\s*%\s*of the time\s*", 0.01),
    )
    for kind, pattern, unit in patterns:
        if match := re.fullmatch(pattern, score):
            rate = float(re.sub("[_,]", "", match[1])) * unit
            if not rate > 0:
                raise SettingsError(f"score={score!r} scores nothing: give a budget above 0")
            return kind, rate
    raise SettingsError(
        f'score={score!r}: give a fraction, "5000 queries per second" or "20% of the time"'
    )
