"""What is known of every point so far, and who is due more turns.

The accumulator merges the parts of a run in any order. `further_turns` reads it and says which
points get how many further turns: all alike, until a tolerance is met, or where a budget does most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.reductions import Reduction, combined
from anharmonic._core.settings import Settings
from anharmonic._core.uncertainty import precision
from anharmonic.errors import SettingsError
from anharmonic.measures.gamma.deviation import Along, TaskResult
from anharmonic.measures.setup.batching import Flags
from anharmonic.scores import Scores

__all__ = ["Accumulator", "TurnBudget", "further_turns"]

LAST = 64
"""What is left of a budget is the last of it where it pays for fewer turns than this."""


class Accumulator:
    """Turn counts, mean deviations and spreads of all points, updated in place."""

    def __init__(self, count: int, reduction: Reduction) -> None:
        self.reduction = reduction
        self.turns: Integers = np.zeros(count, dtype=np.int64)
        self.squares = np.zeros(count)
        self.noise = np.zeros(count)
        self.largest = np.zeros(count)
        self.flat: Integers = np.zeros(count, dtype=np.int64)
        self.same: Integers = np.zeros(count, dtype=np.int64)
        # (points, columns); how many columns there are the first answer shows. `centres` come with
        # `deviations`.
        self.deviations: Floats | None = None
        self.centres: Floats
        # Of tables of other than numbers, (points, n) and (points,): see `Along`. The others come
        # with `moved`.
        self.moved: Integers | None = None
        self.lengths: Floats
        self.total: Floats
        self.owed: Integers = np.zeros(count, dtype=np.int64)
        self.queries = 0
        self.clipped = 0

    def add(self, part: TaskResult) -> None:
        """Merge a part; for numbers this is exact, whatever the order (see `Moments`)."""
        if self.deviations is None:
            shape = (len(self.turns), part.deviations.shape[1])
            self.deviations, self.centres = np.zeros(shape), np.zeros(shape)
        rows, turns = part.rows, self.turns[part.rows]
        total = turns + part.turns
        share = (part.turns / total)[:, None]
        ours = combined(self.reduction, self.deviations[rows], self.centres[rows])
        theirs = combined(self.reduction, part.deviations, part.centres)
        # Chan, Golub and LeVeque (1979): squares of both parts, and of the step between their
        # means times a·b/(a+b).
        between = np.where(turns, (theirs - ours) ** 2 * turns * share[:, 0], 0.0)
        # Noise is a variance: pooled over the degrees of freedom; of two single turns it is what
        # lies between them.
        earlier, added = np.maximum(turns - 1, 0), part.turns - 1
        freedom, summed = earlier + added, earlier * self.noise[rows] + added * part.noise
        self.noise[rows] = np.where(freedom, summed / np.maximum(freedom, 1), between)
        self.squares[rows] += part.squares + between
        self.deviations[rows] += (part.deviations - self.deviations[rows]) * share
        self.centres[rows] += (part.centres - self.centres[rows]) * share
        self.largest[rows] = np.maximum(self.largest[rows], part.changes.largest)
        self.flat[rows] += part.changes.flat
        self.same[rows] += part.changes.same
        if part.along is not None:
            self._add_along(rows, part.along)
        self.turns[rows] = total
        self.queries += part.queries
        self.clipped += part.clipped

    def _add_along(self, rows: Integers, along: Along) -> None:
        """Add how far answers went with each column; plain sums, whatever the order."""
        if self.moved is None:
            shape = (len(self.turns), along.moved.shape[1])
            self.moved, self.lengths = np.zeros(shape, dtype=np.int64), np.zeros(shape)
            self.total = np.zeros(len(self.turns))
        self.moved[rows] += along.moved
        self.lengths[rows] += along.lengths
        self.total[rows] += along.total

    @property
    def started(self) -> Flags:
        """Which points have turns."""
        return self.turns.astype(bool)

    @property
    def several(self) -> Floats:
        """Turns of points that have at least two, NaN for the others: they have no errors."""
        return np.where(self.turns > 1, self.turns, np.nan)

    @property
    def errors(self) -> Floats:
        """Standard errors, √(squares / (T·(T−1)))."""
        several = self.several
        return cast(Floats, np.sqrt(self.squares / (several * (several - 1))))

    def scores(self, settings: Settings) -> Scores:
        """The sums as the public result; with bounds, also the share of queries they moved."""
        if settings.bounds is not None:
            settings = settings.with_facts(clipped=self.clipped / max(1, self.queries))
        started = self.started
        if self.deviations is None:
            deviations = centres = np.zeros((len(started), 1))
        else:
            deviations, centres = self.deviations, self.centres
        value = np.full(len(started), np.nan)
        value[started] = combined(self.reduction, deviations[started], centres[started])
        # What every neighbour was asked for is known without an error.
        exact = settings.complete
        # Added, it makes NaN of what was never measured.
        unknown = np.where(started, 0.0, np.nan)
        shape = unknown.shape if deviations.shape[1] == 1 else deviations.shape
        return Scores(
            metric="gamma",
            values=np.abs(value),
            errors=unknown if exact else self.errors,
            # The noise of a mean of T turns is a T-th of one turn's.
            squared=value**2 if exact else value**2 - self.noise / self.several,
            signed=(deviations + unknown[:, None]).reshape(shape),
            outputs=(centres + unknown[:, None]).reshape(shape),
            turns=self.turns.copy(),
            queries=self.queries,
            settings=settings.with_facts(precision=precision(centres)),
            columns={
                "largest": self.largest.copy(),
                "flat": self.flat.copy(),
                "same": self.same.copy(),
                **self._columns_along,
            },
        )

    @property
    def _columns_along(self) -> dict[str, Array]:
        """What is known of each column that moved, where rows are not all numbers."""
        if self.moved is None:
            return {}
        return {
            "moved": self.moved.copy(),
            "moved_lengths": self.lengths.copy(),
            "lengths": self.total.copy(),
        }

    def scores_with_sums(self, settings: Settings) -> Scores:
        """Scores so far with all that is needed to go on to the same bits."""
        return replace(self.scores(settings), sums=self.sums)

    @property
    def sums(self) -> dict[str, Array]:
        """Whatever is known of each point and cannot be read from its scores to the bit."""
        in_scores = ("turns", "deviations", "centres", "moved", "lengths", "total")
        return {
            name: array.copy()
            for name, array in vars(self).items()
            if isinstance(array, np.ndarray) and name not in in_scores
        }

    @contextmanager
    def atomically(self, rows: Integers) -> Iterator[None]:
        """Whatever interrupts a change to some rows, they are as before it or as after it."""
        before = {
            name: value[rows] if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }
        try:
            yield
        except BaseException:
            for name, value in before.items():
                if isinstance(value, np.ndarray):
                    getattr(self, name)[rows] = value
                else:
                    setattr(self, name, value)
            raise

    @classmethod
    def resumed(cls, scores: Scores, reduction: Reduction) -> Accumulator:
        """An accumulator as it was when its scores were taken."""
        accumulator = cls(len(scores), reduction)
        with_columns = (len(scores), -1)
        accumulator.turns = scores.turns.astype(np.int64)
        accumulator.deviations = np.nan_to_num(scores.signed.reshape(with_columns))
        accumulator.centres = np.nan_to_num(scores.outputs.reshape(with_columns))
        turns = accumulator.turns
        # `errors` and `scores` solved for the sums, to rounding; sums that were kept are exact.
        accumulator.squares = np.nan_to_num(scores.errors**2 * turns * (turns - 1))
        accumulator.noise = np.nan_to_num((scores.values**2 - scores.squared) * turns)
        accumulator.largest = scores.column("largest").copy()
        accumulator.flat, accumulator.same = (
            scores.column(name).astype(np.int64) for name in ("flat", "same")
        )
        accumulator.queries = scores.queries
        accumulator.clipped = round(scores.settings.clipped * scores.queries)
        if "moved" in scores.columns:
            accumulator.moved = scores.columns["moved"].astype(np.int64)
            accumulator.lengths = scores.columns["moved_lengths"].copy()
            accumulator.total = scores.columns["lengths"].copy()
        for name in scores.sums.keys() & vars(accumulator).keys():
            # A copy: whoever holds these scores may go on from them once more.
            setattr(accumulator, name, scores.sums[name].copy())
        return accumulator


@dataclass(frozen=True)
class TurnBudget:
    """How many turns a point may get, and what a turn costs."""

    rotations: int
    turn_cost: int
    part_cost: int
    budget: int | None = None
    tolerance: float | None = None
    most_turns: int = 256

    @property
    def fewest(self) -> int:
        """Turns that give a point its error: two, or the one that asks for all its neighbours."""
        return min(2, self.rotations)

    def check(self, count: int, spent: int) -> None:
        """Refuse a budget that cannot give every point an error."""
        least = spent + count * (self.fewest * self.turn_cost + self.part_cost)
        if self.budget is not None and self.budget < least:
            what = "two turns each" if self.fewest == 2 else "all their neighbours"
            raise SettingsError(
                f"a budget of {self.budget:,} queries cannot measure {count:,} points: {what} cost "
                f"{least:,}. Raise it, measure fewer points, or lower directions="
            )


def further_turns(
    accumulator: Accumulator, turn_budget: TurnBudget, settings: Settings
) -> Integers:
    """Further turns for each point; all zero when the run is done."""
    fresh = ~accumulator.started
    if fresh.any():
        return np.where(fresh, _opening(accumulator, turn_budget, int(fresh.sum())), 0)
    if turn_budget.tolerance is None and turn_budget.budget is None:
        return np.zeros(len(fresh), dtype=np.int64)
    scores = accumulator.scores(settings)
    wanted = _wanted(scores, turn_budget)
    if turn_budget.budget is None or not wanted.any():
        return wanted
    left = turn_budget.budget - accumulator.queries
    return _affordable(accumulator.turns, left, turn_budget, wanted, scores.full_errors)


def _opening(accumulator: Accumulator, turn_budget: TurnBudget, count: int) -> int:
    """Turns every point starts with: with a budget, half of what an even split would give."""
    if turn_budget.budget is None:
        return turn_budget.rotations
    per_point = (turn_budget.budget - accumulator.queries) / count - turn_budget.part_cost
    affordable = int(per_point / turn_budget.turn_cost / 2)
    return max(turn_budget.fewest, min(turn_budget.rotations, affordable))


def _wanted(scores: Scores, turn_budget: TurnBudget) -> Integers:
    """At most: as many again where an interval is too wide; with a budget alone, thrice as many."""
    if turn_budget.tolerance is not None:
        wide = scores.half_widths() > turn_budget.tolerance
        return np.where(wide & (scores.turns < turn_budget.most_turns), scores.turns, 0)
    return 3 * scores.turns


def _affordable(
    turns: Integers, left: int, turn_budget: TurnBudget, wanted: Integers, errors: Floats
) -> Integers:
    """Share half of what is left in proportion to the spread (Neyman), in powers of two.

    Neyman's allocation: the error of a mean over points is least for a cost where each point's
    turns are in proportion to the standard deviation of one of its turns.
    """
    # The standard deviation of one turn, from the error of the mean of all.
    spread = np.where(wanted, errors * np.sqrt(turns), 0.0)
    if not spread.any():
        return np.zeros_like(wanted)  # Only rounding is left, which no turn removes.
    # Half, because the spreads are estimates that the next round improves; the last bit at once.
    last = left < LAST * (turn_budget.turn_cost + turn_budget.part_cost)
    spend = left if last else left / 2
    ideal = spread / spread.sum() * (turns.sum() + spend / turn_budget.turn_cost)
    extra = np.clip(ideal - turns, 0, wanted)
    # Powers of two, so that many points share the same count and with it a task; a half is none.
    powers = 2 ** np.floor(np.log2(np.maximum(extra, 0.5)))
    rounded: Integers = powers.astype(np.int64)
    if not rounded.any():
        rounded[np.argmax(spread / turns)] = 1
    # The largest errors first, as far as what is left pays for them.
    order = np.argsort(-errors, kind="stable")
    costs = np.where(rounded, rounded * turn_budget.turn_cost + turn_budget.part_cost, 0)
    beyond = np.cumsum(costs[order]) > left
    rounded[order[beyond]] = 0
    return rounded
