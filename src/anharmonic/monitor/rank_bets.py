"""Bets on ranks: exact e-values for "the next unit comes from the law of all before it".

Order statistics of the reference cut the line into cells. While nothing changes, the next unit is
equally likely to fall into each of the n + 1 gaps between n earlier ones, whatever their law: the
chance of a cell is its number of gaps divided by all of them, and a unit that fell into a cell
adds a gap to it (Pólya's urn). Ties are broken by uniform numbers of each unit's own, so that this
is exact for counts and yes/no columns too. With the cell's chance as an interval [a, b] of
p-values, a bet on a shift by λ standard deviations of normal scores pays

    e = (Φ(Φ⁻¹(b) − λ) − Φ(Φ⁻¹(a) − λ)) / (b − a),

which is 1 on average. Of yes/no columns, where a shift of random tie-breakers would be waste, the
bets are on the odds: with G(p) the distribution of p-values if the odds of a yes were exp(θ) times
as large, e = (G(b) − G(a)) / (b − a). Nothing is estimated: no bound may be wrong, and a reference
of any size keeps the promise. (Such p-values are conformal: Vovk, Gammerman and Shafer,
"Algorithmic learning in a random world", 2005.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from anharmonic._core.protocols import Array, Draw, Floats, Integers
from anharmonic._core.randomness import generator, uniforms
from anharmonic._core.streams import RowStream, Stream

__all__ = ["SHIFTS", "RankBets", "fit_rank_bets"]

SHIFTS = (-2.0, -0.75, -0.3, -0.12, 0.12, 0.3, 0.75, 2.0)
"""Shifts of normal scores that are bet on, in standard deviations."""
LOG_ODDS = 2.0
"""Of a yes/no stream the bets are on log odds, by this factor of `SHIFTS`: so a standard deviation
means the same where half of the answers are yes."""
CELLS = 32
"""Cells of about equal chance that a reference is cut into; the outermost are cut further."""


@dataclass(frozen=True)
class RankBets:
    """Streams of units against their reference: all that does not change as units come in.

    Parameters
    ----------
    edges : (streams, edges)
        Order statistics of the reference's units, ascending, infinite where a stream has fewer.
    ties : (streams, edges)
        Their tie-breaking numbers, ascending among equal edges.
    gaps : (streams, edges + 1)
        How many of the reference's gaps each cell has.
    memory : (streams,)
        How much neighbouring units correlate: 0 where they are independent.
    rates : (streams,)
        Of yes/no streams the share of yes, from other rows than these; NaN for all others.
    seed
        Of the tie-breaking numbers of units to come.
    """

    edges: Floats
    ties: Floats
    gaps: Integers
    memory: Floats
    rates: Floats
    seed: int

    @property
    def streams(self) -> int:
        """How many."""
        return len(self.edges)

    @cached_property
    def _keys(self) -> list[tuple[Floats, Floats]]:
        """Each stream's distinct edges, and its edges as one ascending number each: the place of
        its level, and behind the point the tie-breaker.
        """
        keys = []
        for edges, ties in zip(self.edges, self.ties, strict=True):
            known = np.isfinite(edges)
            levels, place = np.unique(edges[known], return_inverse=True)
            keys.append((levels, place + ties[known] / 2))
        return keys

    @cached_property
    def _discounts(self) -> Floats:
        """What a bet is paid less for units that remember, (streams, shifts).

        A product of exp(λz − λ²/2) over normal z with correlation ρ from each to the next is
        exp(λ²ρ) too large per step on average.
        """
        return np.asarray(np.exp(-np.outer(self.memory, np.square(SHIFTS))))

    def cells(self, units: Floats, numbers: Integers) -> Integers:
        """The cells (streams, n) of units (streams, n) with these numbers (n,); −1 of NaN."""
        if not len(numbers):
            return np.empty(units.shape, dtype=np.int64)
        draw = Draw(self.seed, numbers, np.zeros(len(numbers), dtype=np.int64), np.empty(0))
        breakers = uniforms(draw, np.array([0]), self.streams, RowStream.TIES)[:, 0].T
        cells = np.empty(units.shape, dtype=np.int64)
        for stream, (levels, keys) in enumerate(self._keys):
            if not len(levels):
                # A reference with nothing to say has one gap.
                cells[stream] = 0
                continue
            place = np.searchsorted(levels, units[stream])
            tied = levels[np.minimum(place, len(levels) - 1)] == units[stream]
            # Between two levels, or somewhere among the edges of one.
            own = np.where(tied, place + breakers[stream] / 2, place - 0.25)
            cells[stream] = np.searchsorted(keys, own)
        cells[np.isnan(units)] = -1
        return cells

    def multipliers(self, cells: Integers, counts: Integers) -> tuple[Floats, Integers]:
        """E-values (streams × shifts, n) of units in these cells, and the counts after them.

        `counts` (streams, cells) are the gaps so far, the reference's and one for each unit.
        """
        count = cells.shape[1]
        # A cell of −1 is read as the last one, and what it pays is not used.
        known = cells >= 0
        # Of these units, those before each one that fell into its cell, and into cells below it.
        earlier = known[:, None, :] & (np.arange(count)[:, None] > np.arange(count))
        same = np.sum(earlier & (cells[:, None, :] == cells[..., None]), axis=2)
        under = np.sum(earlier & (cells[:, None, :] < cells[..., None]), axis=2)
        own = np.take_along_axis(counts, cells, axis=1) + same
        upper = np.take_along_axis(np.cumsum(counts, axis=1), cells, axis=1) + same + under
        total = counts.sum(axis=1)[:, None] + np.sum(earlier, axis=2)
        multipliers = self._paid(upper, own, total, known)
        fallen = counts.copy()
        stream, unit = np.nonzero(known)
        np.add.at(fallen, (stream, cells[stream, unit]), 1)
        return multipliers.reshape(-1, count), fallen

    def alone(self, cells: Integers) -> Floats:
        """E-values (streams × shifts, n) of units, each as if it were the first after the
        reference.
        """
        own = np.take_along_axis(self.gaps, cells, axis=1)
        upper = np.take_along_axis(np.cumsum(self.gaps, axis=1), cells, axis=1)
        paid = self._paid(upper, own, self.gaps.sum(axis=1)[:, None], cells >= 0)
        return paid.reshape(-1, cells.shape[1])

    def _paid(self, upper: Integers, own: Integers, total: Integers, known: Array) -> Floats:
        """E-values (streams, shifts, n): 1 where nothing is known."""
        won = self._won(upper / total) - self._won((upper - own) / total)
        paid = won * (total / np.maximum(own, 1))[:, None, :] * self._discounts[..., None]
        return np.where(known[:, None, :], paid, 1.0)

    def _won(self, chances: Floats) -> Floats:
        """G, each bet's distribution of p-values, at chances (streams, n): (streams, shifts, n)."""
        won = ndtr(ndtri(chances)[:, None, :] - np.array(SHIFTS)[:, None])
        binary = np.flatnonzero(np.isfinite(self.rates))
        if len(binary):
            rates = self.rates[binary, None, None]
            odds = np.exp(LOG_ODDS * np.array(SHIFTS))[:, None] * rates / (1 - rates)
            tilted = odds / (1 + odds)
            part = chances[binary, None, :]
            # Linear up to where yes begins, and linear beyond: slopes (1 − r′)/(1 − r) and r′/r.
            below = (1 - tilted) * np.minimum(part / (1 - rates), 1.0)
            won[binary] = below + tilted * np.maximum((part - (1 - rates)) / rates, 0.0)
        return np.asarray(won)


def fit_rank_bets(reference: Floats, memory: Floats, rates: Floats, seed: int) -> RankBets:
    """Bets against a reference's units (streams, n), NaN where a unit has nothing to say.

    `memory` and `rates` (streams,) are those of `RankBets`.
    """
    streams = []
    random = generator(seed, Stream.RANK_TIES)
    for units in reference:
        present = units[np.isfinite(units)]
        breakers = random.random(len(present))
        order = np.lexsort((breakers, present))
        cuts = _cuts(len(present))
        streams.append((present[order][cuts - 1], breakers[order][cuts - 1], cuts, len(present)))
    width = max(len(cuts) for _, _, cuts, _ in streams)
    edges = np.full((len(streams), width), np.inf)
    ties = np.ones((len(streams), width))
    gaps = np.zeros((len(streams), width + 1), dtype=np.int64)
    for number, (values, breakers, cuts, count) in enumerate(streams):
        edges[number, : len(cuts)], ties[number, : len(cuts)] = values, breakers
        gaps[number, : len(cuts) + 1] = np.diff(cuts, prepend=0, append=count + 1)
    # The most extreme gap of a reference is as rare as it can tell.
    least = 1 / (gaps.sum(axis=1) + 1)
    return RankBets(edges, ties, gaps, memory, np.clip(rates, least, 1 - least), seed)


def _cuts(count: int) -> Integers:
    """Which order statistics, counted from 1, are edges: finer towards both ends."""
    inner = np.rint(np.arange(1, CELLS) * count / CELLS)
    outer = 2.0 ** np.arange(0, 20)
    outer = outer[outer < max(2, count / CELLS)]
    cuts = np.concatenate((inner, outer, count + 1 - outer))
    return np.unique(cuts[(cuts >= 1) & (cuts <= count)]).astype(np.int64)
