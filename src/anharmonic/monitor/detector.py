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

__all__ = ["DIRECTIONS", "Carrier", "Crossing", "Evidence", "State"]

DIRECTIONS = {"up": 1, "down": -1}
"""The sign by which a score is turned, so that what is looked for is a rise."""
ALLOWED = {"up": 0.75, "down": 0.25}
"""Each direction's share of the false alarms: a rise is what is looked for first."""
CHUNK = 1024
"""Rows whose e-values are held at once."""
HEADROOM = 1e6
"""How far beyond its alarm line the evidence may grow: then it can still fall again in time."""


class Carrier(NamedTuple):
    """A stream's share of the evidence, and the shift that it speaks for, in standard deviations
    of its normal scores.
    """

    stream: int
    share: float
    shift: float


class Crossing(NamedTuple):
    """A direction whose evidence reached the line: where, since when it seems, by which streams."""

    direction: str
    at: int
    since: int
    log_evidence: float
    carriers: tuple[Carrier, ...] = ()


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

    Parameters
    ----------
    reference : (n,)
        Scores from a quiet time, in their own order.
    rate
        The number of scores among which one false alarm is allowed, for all directions together.
    directions
        "up", "down" or both.
    block
        Scores averaged before each bet; "auto" takes it from the reference's own order.
    confidence
        Of all bounds of all directions together.
    promise
        Where the reference's order shows that scores depend on each other over more than it can
        speak for, no rate can be promised: that is an error, or with False words in `unpromised`,
        which is None otherwise.
    seed
        Of all that is random.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> watch = Evidence(random.exponential(size=5000), rate=100_000)
    >>> any(watch.update(score) for score in random.exponential(size=5000))
    False
    >>> any(watch.update(1.5 * score) for score in random.exponential(size=1000))
    True

    References
    ----------
    Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection" (2023), https://arxiv.org/abs/2203.03532
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
        scores = np.asarray(reference, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise PointsError("some of the reference's scores are not finite: leave them out of it")
        depends = dependence_of(scores, seed)
        length = depends.block(len(scores)) if isinstance(block, str) else int(block)
        unpromised = why_no_promise(depends, len(scores), length)
        if unpromised is not None:
            if promise:
                raise PointsError(f"{unpromised}, or promise=False (--no-promise) to go without")
            # Whatever fits is better than nothing.
            length = max(1, min(length, len(scores) // FEWEST))
        # Bonferroni: errors of the directions add up to what all of them may have.
        error = (1 - confidence) / sum(ALLOWED[direction] for direction in directions)
        bets = tuple(
            fitted_bets(scores, DIRECTIONS[direction], length, error * ALLOWED[direction], seed)
            for direction in directions
        )
        self._assemble(rate, length, bets, unpromised)

    def _assemble(
        self, rate: float, block: int, bets: tuple[Bets, ...], unpromised: str | None
    ) -> None:
        """All that does not change as scores come in, and an empty stream."""
        self.rate, self.block, self.bets = float(rate), block, bets
        self.unpromised = unpromised
        self.directions = tuple("up" if bet.sign > 0 else "down" for bet in bets)
        self._width = bets[0].weights.size
        # Each bet's weight within its direction: (directions, width).
        self._weights = np.stack([bet.weights.ravel() for bet in bets])
        allowed = np.array([ALLOWED[direction] for direction in self.directions])
        # P(R reaches c within T steps) ≤ T/c: a direction with share s of the false alarms has
        # its line at rate/s. A step is a block, of which there are fewer than scores: the line
        # may be lower by that factor.
        self._lines = self.rate / block * allowed.sum() / allowed
        self.reset()

    @classmethod
    def of(
        cls, bets: Sequence[Bets], rate: float, block: int, unpromised: str | None = None
    ) -> Evidence:
        """From bets that were fitted before (a file's), before the first score."""
        # `__init__` is the fit; a fitted detector has nothing to hand to it.
        evidence = cls.__new__(cls)
        evidence._assemble(rate, block, tuple(bets), unpromised)
        return evidence

    def reset(self) -> None:
        """Forget the stream, not the reference."""
        spare = self.block - 1
        sums = no_sums(self._width * len(self.bets))
        self.state = State(sums, np.zeros(spare), np.zeros(spare, dtype=np.int64), 0, 0)

    @property
    def threshold(self) -> float:
        """The logarithm that `log_evidence` must reach: of the rate."""
        return float(np.log(self.rate))

    @property
    def log_evidence(self) -> dict[str, float]:
        """The evidence of each direction, in units in which the alarm line is the rate."""
        logs = self._log_mixture(self.state.sums.now[0, :, None])[:, 0]
        return dict(zip(self.directions, logs.tolist(), strict=True))

    def update(self, value: float) -> bool:
        """Take one score in; whether the evidence stands at or above the line now."""
        self.feed(np.array([value]), np.array([self.state.steps * self.block + self.state.held]))
        return any(log >= self.threshold for log in self.log_evidence.values())

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Crossing], Floats]:
        """Take scores in; the same bits come out however a stream is cut into calls.

        Parameters
        ----------
        scores, rows : (n,)
            Scores, and the numbers of their rows.

        Returns
        -------
        crossings
            The first crossing of each direction.
        logs : (directions, n)
            The log evidence after each score.
        """
        crossings: dict[str, Crossing] = {}
        traces = [np.empty((len(self.bets), 0))]
        for start in range(0, len(scores), CHUNK):
            stop = start + CHUNK
            traces.append(self._feed_chunk(scores[start:stop], rows[start:stop], crossings))
        return list(crossings.values()), np.concatenate(traces, axis=1)

    def _feed_chunk(self, scores: Floats, rows: Integers, crossings: dict[str, Crossing]) -> Floats:
        """Feed n scores: log evidence (directions, n); crossings are added to `crossings`."""
        old = self.state
        # What waits for its block to be finished comes first.
        pending = np.concatenate((old.waiting[: old.held], scores))
        numbers = np.concatenate((old.waiting_rows[: old.held], rows))
        whole = len(pending) // self.block * self.block
        # Column 0 is the evidence before the chunk, column k that after its k-th block.
        logs = np.array([*self.log_evidence.values()])[:, None]
        sums = old.sums
        if whole:
            sums, history = self._bet(pending[:whole], numbers[: whole : self.block])
            logs = np.concatenate((logs, self._log_mixture(history[0])), axis=1)
            lasts = numbers[self.block - 1 : whole : self.block]
            self._note_crossings(history, logs[:, 1:], lasts, crossings)
        left = len(pending) - whole
        waiting, waiting_rows = np.zeros_like(old.waiting), np.zeros_like(old.waiting_rows)
        waiting[:left], waiting_rows[:left] = pending[whole:], numbers[whole:]
        self.state = State(sums, waiting, waiting_rows, left, old.steps + whole // self.block)
        # From blocks back to scores: each has the evidence of the last block finished by then.
        return logs[:, (old.held + 1 + np.arange(len(scores))) // self.block]

    def _bet(self, scores: Floats, firsts: Integers) -> tuple[Sums, Floats]:
        """The sums after whole blocks of scores, and their history (2, bets, blocks).

        `firsts` (blocks,) are the rows with which the blocks begin.
        """
        # e-values (bets, blocks) of each direction, one direction below the other.
        multipliers = np.concatenate(
            [bets.multipliers(averaged(bets.values(scores), self.block)) for bets in self.bets]
        )
        highest = HEADROOM * np.repeat(self._lines, self._width)
        return added(self.state.sums, multipliers, firsts, self.state.steps, highest)

    def _log_mixture(self, sums: Floats) -> Floats:
        """Log evidence (directions, steps) of R (bets, steps), the weighted mean over bets."""
        by_direction = sums.reshape(len(self.bets), self._width, -1)
        # Added in order, so that the same bets give the same bits in any batch.
        mean = np.cumsum(by_direction * self._weights[..., None], axis=1)[:, -1]
        # R is 0 before the first step and below 1 while bets lose: log 1 = 0 is shown for both.
        # `added` caps R at HEADROOM lines, but only at the end of a period; capping here as well
        # makes the evidence the same whether or not a period has just ended.
        lines = self._lines[:, None]
        capped = np.clip(mean, 1.0, HEADROOM * lines)
        # Shifted so that every direction's line stands at log(rate).
        return np.asarray(np.log(capped) + self.threshold - np.log(lines))

    def _note_crossings(
        self, history: Floats, logs: Floats, lasts: Integers, crossings: dict[str, Crossing]
    ) -> None:
        """Note the first step of each direction at or above the line.

        `history` (2, bets, steps) is of the sums, `lasts` (steps,) the rows at which steps end.
        """
        for number, name in enumerate(self.directions):
            above = np.flatnonzero(logs[number] >= self.threshold)
            if name in crossings or not len(above):
                continue
            first = int(above[0])
            mine = self._bets_of(number)
            # R sums over all starts, the second row over starts times their rows: the ratio is
            # the mean start, each weighted by what it won.
            plain, weighted = (history[:, mine, first] * self._weights[number]).sum(axis=1)
            crossings[name] = Crossing(
                name, int(lasts[first]), round(weighted / plain), float(logs[number, first])
            )

    def _bets_of(self, number: int) -> slice:
        """Where a direction's bets stand among all."""
        return slice(number * self._width, (number + 1) * self._width)

    def contributions(self, scores: Floats, direction: str) -> Floats:
        """How much each score adds to a direction's log evidence, (scores,).

        Bets count by what they hold now; a score in a block counts as a block of its like would,
        divided by the block's length.

        Parameters
        ----------
        scores : (n,)
            Of rows since the change.
        direction
            "up" or "down".
        """
        number = self.directions.index(direction)
        bets = self.bets[number]
        # What each bet has of the direction's evidence now, (width,), adding up to 1.
        capital = self.state.sums.now[0, self._bets_of(number)] * self._weights[number]
        weights = capital / capital.sum() if capital.sum() else self._weights[number]
        # (width, n) logarithms of e-values to (n,) by these weights.
        growth = np.log(bets.multipliers(bets.values(scores)))
        return np.asarray(weights @ growth / self.block)
