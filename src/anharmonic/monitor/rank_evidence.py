"""Evidence by ranks that one or many streams of numbers have changed: exact for any reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import PointsError
from anharmonic.monitor.dependence import FEWEST, Dependence, dependence_of, why_no_promise
from anharmonic.monitor.detector import Carrier, Crossing
from anharmonic.monitor.rank_bets import SHIFTS, fit_rank_bets
from anharmonic.monitor.rank_groups import RankGroup, RankState, block_means

__all__ = [
    "LevelScore",
    "Lines",
    "RankEvidence",
    "Settled",
    "SingleScore",
    "fit_group",
    "settle_stream",
]

CHUNK = 1024
"""Rows whose sums are held at once."""
HEADROOM = 1e6
"""How far beyond its line the evidence may grow: then it can still fall again in time."""
CORRELATION = 0.25
"""Of neighbouring block means, in correlation times per block: φ/(1 − φ)² over the block's length
times the correlation time (1 + φ)/(1 − φ), for an autoregression with φ near 1."""
ASIDE = 0.2
"""The first share of a reference, from which a stream's middle is taken."""
QUANTILES = 41
"""Quantiles by which a score's rank among usual ones is told."""
MOST_LEVELS = 8
"""Classes that are watched one by one: the most frequent."""
TIED = 0.5
"""The share of scores at the lowest value from which on they are a tie."""


@dataclass(frozen=True)
class Lines:
    """Which bets speak for which direction.

    Parameters
    ----------
    directions
        Their names.
    shares : (directions,)
        Each direction's share of the false alarms.
    weights : (directions, streams, shifts)
        Each bet's part of its direction's evidence.
    """

    directions: tuple[str, ...]
    shares: Floats
    weights: Floats


@dataclass(frozen=True)
class SingleScore:
    """One score as two streams: itself, and how far its rank is from the middle.

    Where most scores tie at the lowest value, ranks hardly see what the others do: the streams
    are then whether a score is above the tie, and how large it is if so.

    Parameters
    ----------
    quantiles
        Equally spaced ones of usual scores, by which ranks are told; the tie alone if `tied`.
    tied
        Whether most scores are the same.
    """

    quantiles: tuple[float, ...]
    tied: bool

    @classmethod
    def of(cls, scores: Floats) -> SingleScore:
        """From the part of a reference that is set aside for it."""
        lowest = float(scores.min())
        if np.mean(scores == lowest) > TIED and (scores > lowest).any():
            return cls((lowest,), True)
        grid = np.linspace(0, 1, min(QUANTILES, len(scores)))
        return cls(tuple(np.quantile(scores, grid).tolist()), False)

    def streams(self, scores: Floats) -> Floats:
        """Scores (n,) as (2, n)."""
        if self.tied:
            above = scores > self.quantiles[0]
            return np.stack([above.astype(np.float64), np.where(above, scores, np.nan)])
        known = np.array(self.quantiles)
        ranks = np.interp(scores, known, np.linspace(-1, 1, len(known)))
        # Beyond all that is known the distance grows on, in units of the whole range.
        beyond = np.maximum(scores - known[-1], 0) + np.maximum(known[0] - scores, 0)
        return np.stack([scores, np.abs(ranks) + beyond / (known[-1] - known[0] or 1.0)])

    @property
    def lines(self) -> Lines:
        """Rises and falls of the score, and of its spread."""
        up = np.array(SHIFTS) > 0
        weights = np.zeros((2 if self.tied else 3, 2, len(SHIFTS)))
        weights[0, 0, up] = weights[1, 0, ~up] = 2 / len(SHIFTS)
        if self.tied:
            weights[0, 1, up] = weights[1, 1, ~up] = 2 / len(SHIFTS)
            return Lines(("up", "down"), np.array([0.6, 0.4]), weights / 2)
        weights[2, 1] = 1 / len(SHIFTS)
        return Lines(("up", "down", "spread"), np.array([0.5, 0.3, 0.2]), weights)


@dataclass(frozen=True)
class LevelScore:
    """Classes as streams of yes and no, one for each of the most frequent.

    Parameters
    ----------
    levels
        The classes' numbers.
    """

    levels: tuple[float, ...]

    @classmethod
    def of(cls, scores: Floats) -> LevelScore:
        """The most frequent classes of a reference; of two, one says it all."""
        found, counts = np.unique(scores, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: 1 if len(found) == 2 else MOST_LEVELS]
        return cls(tuple(found[order].tolist()))

    def streams(self, scores: Floats) -> Floats:
        """Scores (n,) as (levels + 1, n); the last says that a class was never seen."""
        each = [scores == level for level in self.levels]
        return np.stack([*each, ~np.any(each, axis=0)]).astype(np.float64)

    @property
    def lines(self) -> Lines:
        """All of them speak for one direction."""
        shape = (1, len(self.levels) + 1, len(SHIFTS))
        return Lines(("either",), np.ones(1), np.full(shape, 1 / (shape[1] * shape[2])))


@dataclass(frozen=True)
class Settled:
    """A stream of a reference: rows per block, the units' correlation, why nothing is promised."""

    block: int
    memory: float
    unpromised: str | None


def settle_stream(values: Floats, block: int | str, seed: int) -> Settled:
    """How long a stream's blocks must be, from the reference's values (n,) in their own order."""
    present = values[np.isfinite(values)]
    depends = dependence_of(present, seed)
    length = _block_of(depends, len(present)) if isinstance(block, str) else int(block)
    unpromised = why_no_promise(depends, len(present), length)
    if unpromised is not None:
        # Whatever fits is better than nothing.
        length = max(1, min(length, len(present) // FEWEST))
    memory = CORRELATION * depends.least / length if length > 1 else 0.0
    return Settled(length, min(memory, CORRELATION), unpromised)


def _block_of(depends: Dependence, count: int) -> int:
    """The block's length; without a cycle a power of two where that fits, so that few differ."""
    block = depends.block(count)
    rounded = 1 << (block - 1).bit_length()
    return rounded if not depends.cycle and count >= FEWEST * rounded else block


class RankEvidence:
    """Watches a stream of numbers, or several at once, for any change of their ranks.

    Parameters
    ----------
    reference : (n,)
        Scores from a quiet time, in their own order.
    rate
        The number of scores among which one false alarm is allowed, for all directions together.
    levels
        Whether scores are numbers of classes, which have no order.
    block
        Scores averaged before each bet; "auto" takes it from the reference's own order.
    promise
        Where the reference's order shows that scores depend on each other over more than it can
        speak for, no rate can be promised: that is an error, or with False words in `unpromised`,
        which is None otherwise.
    seed
        Of all that is random.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> watch = RankEvidence(random.exponential(size=500), rate=100_000)
    >>> any(watch.update(score) for score in random.exponential(size=5000))
    False
    >>> any(watch.update(1.5 * score) for score in random.exponential(size=500))
    True

    References
    ----------
    Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection" (2023), https://arxiv.org/abs/2203.03532
    Vovk et al., "Retrain or not retrain: conformal test martingales for change-point detection"
    (2021), https://arxiv.org/abs/2102.10439
    """

    def __init__(
        self,
        reference: Floats,
        rate: float = 100_000,
        *,
        levels: bool = False,
        block: int | str = "auto",
        promise: bool = True,
        seed: int = 0,
    ) -> None:
        scores = np.asarray(reference, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise PointsError("some of the reference's scores are not finite: leave them out of it")
        settled = settle_stream(scores, block, seed)
        if settled.unpromised is not None and promise:
            raise PointsError(
                f"{settled.unpromised}, or promise=False (--no-promise) to go without"
            )
        if len(scores) < FEWEST * settled.block:
            raise PointsError(
                f"a reference of {len(scores)} scores in blocks of {settled.block} is too small to "
                f"say what is usual: give at least {FEWEST * settled.block}"
            )
        aside = max(1, int(ASIDE * len(scores)))
        first = scores[:aside]
        single = LevelScore.of(first) if levels else SingleScore.of(first)
        streams = single.streams(scores)
        binary = np.array([set(np.unique(row)) <= {0.0, 1.0} for row in streams])
        rates = np.where(binary, np.nanmean(streams[:, :aside], axis=1), np.nan)
        # What rates and the middle are taken from is no sample of what is made with them.
        streams[binary | (np.arange(len(streams)) > 0), :aside] = np.nan
        memory = [settled.memory] * len(streams)
        group = fit_group(streams, settled.block, memory, rates.tolist(), seed)
        members = [np.arange(len(streams))]
        self._assemble(rate, [group], members, single.lines, single, settled.unpromised)

    def _assemble(
        self,
        rate: float,
        groups: Sequence[RankGroup],
        members: Sequence[Integers],
        lines: Lines,
        single: SingleScore | LevelScore | None,
        unpromised: str | None,
    ) -> None:
        """All that does not change as scores come in, and an empty stream."""
        self.rate, self.lines, self.single, self.unpromised = float(rate), lines, single, unpromised
        self.groups, self.members = tuple(groups), tuple(members)
        self.directions = lines.directions
        # Each bet's weight times the rows per step: (directions, bets) of each group.
        self._weights = [
            (group.block * lines.weights[:, mine]).reshape(len(lines.shares), -1)
            for group, mine in zip(groups, members, strict=True)
        ]
        self._log_shares = np.log(lines.shares)[:, None]
        for group in groups:
            group.highest = HEADROOM * self.rate / float(lines.shares.min())

    @classmethod
    def of(
        cls,
        groups: Sequence[RankGroup],
        members: Sequence[Integers],
        lines: Lines,
        rate: float,
        single: SingleScore | LevelScore | None = None,
        unpromised: str | None = None,
    ) -> RankEvidence:
        """From bets that were fitted before; `members` says which streams are in which group."""
        # `__init__` is the fit of one score; fitted bets have nothing to hand to it.
        evidence = cls.__new__(cls)
        evidence._assemble(rate, groups, members, lines, single, unpromised)
        return evidence

    @property
    def block(self) -> int:
        """Scores averaged before a bet, the most of all streams."""
        return max(group.block for group in self.groups)

    @property
    def states(self) -> tuple[RankState, ...]:
        """All that changes, group by group."""
        return tuple(group.state for group in self.groups)

    def reset(self) -> None:
        """Forget the stream, not the reference."""
        for group in self.groups:
            group.reset()

    @property
    def threshold(self) -> float:
        """The logarithm that `log_evidence` must reach: of the rate."""
        return float(np.log(self.rate))

    @property
    def log_evidence(self) -> dict[str, float]:
        """The evidence of each direction, in units in which the alarm line is the rate."""
        sums = np.zeros((len(self.directions), 1))
        for group, weights in zip(self.groups, self._weights, strict=True):
            sums += _weighted(group.state.sums.now[0, :, None], weights)
        return dict(zip(self.directions, self._logs(sums)[:, 0].tolist(), strict=True))

    def update(self, value: float) -> bool:
        """Take one score in; whether the evidence stands at or above the line now."""
        state = self.groups[0].state
        row = state.steps * self.groups[0].block + state.held
        self.feed(np.array([value]), np.array([row]))
        return any(log >= self.threshold for log in self.log_evidence.values())

    def streams_of(self, scores: Floats) -> Floats:
        """Scores (n,), or values of all streams (n, streams), as (streams, n)."""
        return scores.T if self.single is None else self.single.streams(scores)

    def feed(self, scores: Floats, rows: Integers) -> tuple[list[Crossing], Floats]:
        """Take scores in; the same bits come out however a stream is cut into calls.

        Parameters
        ----------
        scores : (n,) or (n, streams)
            What came.
        rows : (n,)
            The numbers of their rows.

        Returns
        -------
        crossings
            The first crossing of each direction.
        logs : (directions, n)
            The log evidence after each score.
        """
        values = self.streams_of(scores)
        crossings: dict[str, Crossing] = {}
        traces = [np.empty((len(self.directions), 0))]
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            traces.append(self._feed_chunk(values[:, part], rows[part], crossings))
        return list(crossings.values()), np.concatenate(traces, axis=1)

    def _feed_chunk(self, values: Floats, rows: Integers, crossings: dict[str, Crossing]) -> Floats:
        total = np.zeros((len(self.directions), len(rows)))
        histories = []
        for group, mine, weights in zip(self.groups, self.members, self._weights, strict=True):
            history, done = group.feed(values[mine], rows)
            # From blocks back to rows: each has the sums of the last block finished by then.
            total += _weighted(history[0], weights)[:, done]
            histories.append((history, done))
        logs = self._logs(total)
        for number, name in enumerate(self.directions):
            above = np.flatnonzero(logs[number] >= self.threshold)
            if name not in crossings and len(above):
                first = int(above[0])
                at_first = [history[..., done[first]] for history, done in histories]
                crossings[name] = self._crossing(number, at_first, int(rows[first]))._replace(
                    log_evidence=float(logs[number, first])
                )
        return logs

    def _crossing(self, number: int, sums: Sequence[Floats], at: int) -> Crossing:
        """A direction's crossing, from the groups' sums (2, bets) at that row."""
        plain, weighted = 0.0, 0.0
        carriers: list[Carrier] = []
        for group, (now, by_row), mine, weights in zip(
            self.groups, sums, self.members, self._weights, strict=True
        ):
            parts = (now * weights[number]).reshape(len(mine), -1)
            plain += float(parts.sum())
            weighted += float((by_row * weights[number]).sum())
            # The mean shift that is bet on, each bet by what it holds.
            held = parts.sum(axis=1)
            shifts = parts @ np.array(SHIFTS) / np.maximum(held, 1e-300) * group.row_units
            carriers += [
                Carrier(*each) for each in zip(mine.tolist(), held, shifts.tolist(), strict=True)
            ]
        # R sums over all starts, the other sum over starts times their rows: the ratio is the
        # mean start, each weighted by what it won.
        ranked = sorted(carriers, key=lambda carrier: -carrier.share)
        shares = tuple(
            carrier._replace(share=float(carrier.share / plain))
            for carrier in ranked
            if carrier.share > 0.01 * plain
        )
        since = min(at, round(weighted / plain))
        return Crossing(self.directions[number], at, since, 0.0, shares)

    def stream_evidence(self) -> Floats:
        """Log of how many times larger each stream's sums are than usual, (streams,).

        While nothing changes the mean sum of a stream's bets is the number of rows.
        """
        logs = np.zeros(sum(len(mine) for mine in self.members))
        for group, mine in zip(self.groups, self.members, strict=True):
            sums = group.state.sums.now[0].reshape(len(mine), -1).mean(axis=1)
            logs[mine] = np.log(np.maximum(1.0, sums / max(1, group.state.steps)))
        return logs

    def _logs(self, sums: Floats) -> Floats:
        """Log evidence (directions, n), shifted so that every direction's line is at log(rate)."""
        highest = HEADROOM * self.rate / self.lines.shares[:, None]
        return np.asarray(np.log(np.clip(sums, 1.0, highest)) + self._log_shares)

    def contributions(self, scores: Floats, direction: str) -> Floats:
        """How much each score adds to a direction's log evidence, (n,).

        Bets count by what they hold now; a score in a block counts as a block of its like would,
        divided by the block's length.

        Parameters
        ----------
        scores : (n,) or (n, streams)
            Of rows since the change.
        direction
            One of `directions`.
        """
        values = self.streams_of(scores)
        number = self.directions.index(direction)
        held = [
            group.state.sums.now[0] * weights[number]
            for group, weights in zip(self.groups, self._weights, strict=True)
        ]
        whole = sum(float(each.sum()) for each in held)
        shares = np.zeros(values.shape[1])
        for group, mine, mass, weights in zip(
            self.groups, self.members, held, self._weights, strict=True
        ):
            part = mass / whole if whole else weights[number] / weights[number].sum()
            cells = group.bets.cells(values[mine], np.arange(values.shape[1]))
            growth = np.log(np.maximum(group.bets.alone(cells), 1e-300))
            shares += part @ growth / group.block
        return shares


def fit_group(
    streams: Floats, block: int, memory: Sequence[float], rates: Sequence[float], seed: int
) -> RankGroup:
    """Streams of a reference (streams, n) in blocks of one length, ready for the next row.

    `memory` and `rates` are those of `RankBets`; means of several answers are no yes or no.
    """
    units, yes = block_means(streams, block), np.asarray(rates, dtype=np.float64)
    if block > 1:
        yes = np.full(len(streams), np.nan)
    return RankGroup(fit_rank_bets(units, np.asarray(memory, dtype=np.float64), yes, seed), block)


def _weighted(sums: Floats, weights: Floats) -> Floats:
    """Evidence (directions, n) of R (bets, n) by weights (directions, bets)."""
    # Added in order, so that the same bets give the same bits in any batch.
    return np.stack([np.cumsum(sums * each[:, None], axis=0)[-1] for each in weights])
