"""Sums of bets on the ranks of many streams, in blocks.

Every stream has bets on shifts of its ranks (`RankBets`), each with a Shiryaev–Roberts sum
R = (1 + R)·e: while nothing changes R grows by at most 1 per step on average, so that an average
of such sums reaches c within T steps with a chance of at most T/c. Streams that remember are
averaged over blocks first; a block of b rows is a step that counts b times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from anharmonic.monitor.rank_bets import SHIFTS, RankBets
from anharmonic.monitor.shiryaev_roberts import Sums, added, no_sums

__all__ = ["RankGroup", "RankState", "block_means"]

CHUNK = 32
"""Steps whose e-values are held at once: pairs of them are compared."""


class RankState(NamedTuple):
    """All that changes as rows come in, of constant size.

    `counts` (streams, cells): gaps so far. `waiting` (streams, block − 1) and `waiting_rows`: an
    unfinished block, `held` of them; `steps` counts the blocks that are finished.
    """

    sums: Sums
    counts: Integers
    waiting: Floats
    waiting_rows: Integers
    held: int
    steps: int


@dataclass
class RankGroup:
    """Streams that are averaged over blocks of the same length.

    Parameters
    ----------
    bets
        Against the reference's block means.
    block
        Rows averaged before each bet.
    highest
        Where a sum is held.
    """

    bets: RankBets
    block: int
    highest: float = np.inf
    state: RankState = field(init=False)

    def __post_init__(self) -> None:
        self.reset()

    @property
    def row_units(self) -> Floats:
        """Standard deviations of single rows that one of a block's mean is, (streams,).

        With correlation time τ a mean of b rows has √(τ/b) of a row's; see `CORRELATION`.
        """
        return np.ones(self.bets.streams) if self.block == 1 else 2 * np.sqrt(self.bets.memory)

    def reset(self) -> None:
        """Forget the stream, not the reference."""
        spare, streams = self.block - 1, self.bets.streams
        self.state = RankState(
            no_sums(streams * len(SHIFTS)),
            self.bets.gaps.copy(),
            np.zeros((streams, spare)),
            np.zeros(spare, dtype=np.int64),
            0,
            0,
        )

    def feed(self, values: Floats, rows: Integers) -> tuple[Floats, Integers]:
        """Take rows' values (streams, n) in.

        Returns
        -------
        sums : (2, streams × shifts, 1 + blocks)
            R before these rows and after each block that they finish, beneath it weighted by rows.
        done : (n,)
            How many blocks are finished after each row.
        """
        old = self.state
        pending = np.concatenate((old.waiting[:, : old.held], values), axis=1)
        numbers = np.concatenate((old.waiting_rows[: old.held], rows))
        whole = pending.shape[1] // self.block * self.block
        history = [old.sums.now[..., None]]
        units = block_means(pending[:, :whole], self.block)
        firsts = numbers[: whole : self.block]
        cells = self.bets.cells(units, old.steps + np.arange(units.shape[1]))
        for start in range(0, units.shape[1], CHUNK):
            part = slice(start, start + CHUNK)
            history.append(self._bet(cells[:, part], firsts[part]))
        left = pending.shape[1] - whole
        waiting, waiting_rows = np.zeros_like(old.waiting), np.zeros_like(old.waiting_rows)
        waiting[:, :left], waiting_rows[:left] = pending[:, whole:], numbers[whole:]
        self.state = self.state._replace(waiting=waiting, waiting_rows=waiting_rows, held=left)
        done = (old.held + 1 + np.arange(values.shape[1])) // self.block
        return np.concatenate(history, axis=2), done

    def _bet(self, cells: Integers, firsts: Integers) -> Floats:
        """Bet on the cells of blocks (streams, n): sums after each, (2, streams × shifts, n)."""
        state = self.state
        multipliers, counts = self.bets.multipliers(cells, state.counts)
        highest = np.full(len(multipliers), self.highest)
        sums, history = added(state.sums, multipliers, firsts, state.steps, highest)
        self.state = state._replace(sums=sums, counts=counts, steps=state.steps + cells.shape[1])
        return history


def block_means(values: Floats, block: int) -> Floats:
    """Means (streams, blocks) of what is known in each block; NaN where nothing is."""
    if block == 1:
        return values
    cut = values[:, : values.shape[1] // block * block].reshape(len(values), -1, block)
    known = np.isfinite(cut)
    counts = known.sum(axis=2)
    sums = np.where(known, cut, 0.0).sum(axis=2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
