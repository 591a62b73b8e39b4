"""A Shiryaev–Roberts e-detector: evidence that scores have risen or fallen, at some time.

For each bet, R = (1 + R)·e adds up the winnings of having started at every time so far. While
nothing has changed R − t does not grow on average, so that the chance to reach c within T
steps is at most T/c, whenever one looks. An average over bets keeps that. (Shin, Ramdas and
Rinaldo, 2023.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import PointsError
from anharmonic.monitor.bets import Bets, averaged, fitted_bets
from anharmonic.monitor.dependence import FEWEST, dependence_of, why_no_promise
from anharmonic.monitor.shiryaev_roberts import Sums, added, no_sums

__all__ = ["DIRECTIONS", "Evidence", "Raised", "State"]

DIRECTIONS = {"up": 1, "down": -1}
ALLOWED = {"up": 0.75, "down": 0.25}
"""Each direction's share of the false alarms: a rise is what is looked for first."""
CHUNK = 1024
"""Rows whose e-values are held at once."""
HEADROOM = 1e6
"""How far beyond its alarm line the evidence may grow: then it can still fall again in time."""


class Raised(NamedTuple):
    """A direction whose evidence reached the line: where, and since when it seems."""

    direction: str
    at: int
    since: int
    log_evidence: float


class State(NamedTuple):
    """All that changes as scores come in, of constant size.

    `waiting` and `waiting_rows` (block − 1,) are the scores of an unfinished block, `held` of
    them; `steps` counts the blocks that are finished.
    """

    sums: Sums
    waiting: Floats
    waiting_rows: Integers
    held: int
    steps: int


class Evidence:
    """Watches a stream of numbers for a rise or a fall against a reference.

    `rate` is the number of scores among which one false alarm is allowed, for all directions
    together; `confidence` is that of all bounds of all directions together. `block` scores are
    averaged before each bet; "auto" takes it from the reference's own order. Where that order shows
    that scores depend on each other over more than the reference can speak for, no rate can be
    promised: that is an error, or with `promise=False` words in `unpromised`, None otherwise.

    >>> random = np.random.default_rng(0)
    >>> watch = Evidence(random.exponential(size=5000), rate=100_000)
    >>> any(watch.update(score) for score in random.exponential(size=5000))
    False
    >>> any(watch.update(1.5 * score) for score in random.exponential(size=1000))
    True
    """

    def __init__(
        self,
        reference: Floats,
        rate: float = 100_000,
        *,
        directions: Sequence[str] = ("up", "down"),
        block: int | str = "auto",
        confidence: float = 0.9,
        promise: bool = True,
        seed: int = 0,
    ) -> None:
        known = np.asarray(reference, dtype=np.float64)
        if not np.isfinite(known).all():
            raise PointsError("some of the reference's scores are not finite: leave them out of it")
        depends = dependence_of(known, seed)
        length = depends.block(len(known)) if isinstance(block, str) else int(block)
        unpromised = why_no_promise(depends, len(known), length)
        if unpromised is not None:
            if promise:
                raise PointsError(f"{unpromised}, or promise=False (--no-promise) to go without")
            # Whatever fits is better than nothing.
            length = max(1, min(length, len(known) // FEWEST))
        # Errors of the directions add up to what all of them may have.
        error = (1 - confidence) / sum(ALLOWED[way] for way in directions)
        bets = tuple(
            fitted_bets(known, DIRECTIONS[way], length, error * ALLOWED[way], seed)
            for way in directions
        )
        self._settle(rate, length, bets, unpromised)

    def _settle(
        self, rate: float, block: int, bets: tuple[Bets, ...], unpromised: str | None
    ) -> None:
        self.rate, self.block, self.bets = float(rate), block, bets
        self.unpromised = unpromised
        self.directions = tuple("up" if each.sign > 0 else "down" for each in bets)
        self._width = bets[0].weights.size
        self._weights = np.stack([each.weights.ravel() for each in bets])
        allowed = np.array([ALLOWED[way] for way in self.directions])
        # A step is a block, of which there are fewer than scores: the line may be lower.
        self._lines = self.rate / block * allowed.sum() / allowed
        self.reset()

    @classmethod
    def of(
        cls, bets: Sequence[Bets], rate: float, block: int, unpromised: str | None = None
    ) -> Evidence:
        """From bets that are known already, before the first score."""
        evidence = cls.__new__(cls)
        evidence._settle(rate, block, tuple(bets), unpromised)
        return evidence

    def reset(self) -> None:
        """Forget the stream, not the reference."""
        spare = self.block - 1
        bets = no_sums(self._width * len(self.bets))
        self.state = State(bets, np.zeros(spare), np.zeros(spare, dtype=np.int64), 0, 0)

    @property
    def threshold(self) -> float:
        """The logarithm that `log_evidence` must reach: of the rate."""
        return float(np.log(self.rate))

    @property
    def log_evidence(self) -> dict[str, float]:
        """The evidence of each direction, in units in which the alarm line is the rate."""
        logs = self._logs(self.state.sums.now[0, :, None])[:, 0]
        return dict(zip(self.directions, logs.tolist(), strict=True))

    def update(self, value: float) -> bool:
        """Take one score in; whether the evidence stands at or above the line now."""
        self.feed(np.array([value]), np.array([self.state.steps * self.block + self.state.held]))
        return any(each >= self.threshold for each in self.log_evidence.values())

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Raised], Floats]:
        """Take scores in, with the numbers of their rows.

        Gives the first crossing of each direction, and the log evidence (directions, scores)
        after each score. The same bits come out however a stream is cut into calls.
        """
        raised: dict[str, Raised] = {}
        traces = [np.empty((len(self.bets), 0))]
        for start in range(0, len(scores), CHUNK):
            stop = start + CHUNK
            traces.append(self._fed(scores[start:stop], rows[start:stop], raised))
        return list(raised.values()), np.concatenate(traces, axis=1)

    def _fed(self, scores: Floats, rows: Integers, raised: dict[str, Raised]) -> Floats:
        old = self.state
        every = np.concatenate((old.waiting[: old.held], scores))
        numbers = np.concatenate((old.waiting_rows[: old.held], rows))
        whole = len(every) // self.block * self.block
        logs = np.array([*self.log_evidence.values()])[:, None]
        sums = old.sums
        if whole:
            sums, history = self._bet(every[:whole], numbers[: whole : self.block])
            logs = np.concatenate((logs, self._logs(history[0])), axis=1)
            lasts = numbers[self.block - 1 : whole : self.block]
            self._cross(history, logs[:, 1:], lasts, raised)
        left = len(every) - whole
        waiting, waiting_rows = np.zeros_like(old.waiting), np.zeros_like(old.waiting_rows)
        waiting[:left], waiting_rows[:left] = every[whole:], numbers[whole:]
        self.state = State(sums, waiting, waiting_rows, left, old.steps + whole // self.block)
        return logs[:, (old.held + 1 + np.arange(len(scores))) // self.block]

    def _bet(self, scores: Floats, firsts: Integers) -> tuple[Sums, Floats]:
        multipliers = [
            bets.multipliers(averaged(bets.values(scores), self.block)) for bets in self.bets
        ]
        highest = HEADROOM * np.repeat(self._lines, self._width)
        together = np.concatenate(multipliers)
        return added(self.state.sums, together, firsts, self.state.steps, highest)

    def _logs(self, sums: Floats) -> Floats:
        """Log evidence (directions, steps) of R (bets, steps)."""
        each = sums.reshape(len(self.bets), self._width, -1)
        # Added in order, so that the same bets give the same bits in any batch.
        mean = np.cumsum(each * self._weights[..., None], axis=1)[:, -1]
        # Below 1 there is nothing to tell, and before the first step nothing at all. Between the
        # steps at which the sums are brought back, what they are brought back to is told.
        lines = self._lines[:, None]
        told = np.clip(mean, 1.0, HEADROOM * lines)
        return np.asarray(np.log(told) + self.threshold - np.log(lines))

    def _cross(
        self, history: Floats, logs: Floats, lasts: Integers, raised: dict[str, Raised]
    ) -> None:
        """Note the first step of each direction at or above the line."""
        for place, name in enumerate(self.directions):
            above = np.flatnonzero(logs[place] >= self.threshold)
            if name in raised or not len(above):
                continue
            first = int(above[0])
            mine = slice(place * self._width, (place + 1) * self._width)
            plain, weighted = (history[:, mine, first] * self._weights[place]).sum(axis=1)
            raised[name] = Raised(
                name, int(lasts[first]), round(weighted / plain), float(logs[place, first])
            )

    def contributions(self, scores: Floats, direction: str) -> Floats:
        """How much each score adds to a direction's log evidence, (scores,).

        Bets count by what they hold now; a score in a block counts as a block of its like would,
        divided by the block's length.
        """
        place = self.directions.index(direction)
        bets = self.bets[place]
        mine = slice(place * self._width, (place + 1) * self._width)
        held = self.state.sums.now[0, mine] * self._weights[place]
        weights = held / held.sum() if held.sum() else self._weights[place]
        grown = np.log(bets.multipliers(bets.values(scores)))
        return np.asarray(weights @ grown / self.block)
