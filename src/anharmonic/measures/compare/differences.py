"""Two models' mean scores: really different, the same within a tenth, or not told apart.

Noise lifts a score, since the absolute value of noise is not zero, and it lifts the noisier
model's more. So each score is bracketed: `values`, which noise can only lift on average, and a
lower column, which it can only lower. One model is really above another when its lower column
is above the other's upper one by more than chance allows, and the two are the same within a
tenth when neither's upper column reaches the other's lower one and a tenth more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.settings import Settings
from anharmonic._core.statistics import Moments, half_widths, welch
from anharmonic.scores import Scores

__all__ = ["Bracket", "Brackets", "Difference", "bracket", "difference"]

ONE_POINT = "one point cannot tell"
ONE_TURN = "one turn does not show its noise: ask for rotations=4"
NOISE = "noise hides it: more rotations would help"
CHANCE = "more points would help"
NOTHING = "both read 0 at every point"


class Bracket(NamedTuple):
    """Two columns of scores (points,) that hold the true ones between them, on average."""

    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        return np.asarray((self.low + self.high) / 2)

    @property
    def mean(self) -> float:
        """Of the middle, over the points that have one."""
        finite = self.middle[np.isfinite(self.middle)]
        return float(finite.mean()) if len(finite) else float("nan")

    def pieces(self) -> Iterator[Bracket]:
        """All points at once: they are in memory."""
        yield self

    def beside(self, other: Brackets) -> Iterator[tuple[Bracket, Bracket]]:
        """Both at the same points."""
        if isinstance(other, Bracket):
            yield self, other


class Brackets(Protocol):
    """Two columns of scores, some points at a time: they may be more than fit in memory."""

    @property
    def mean(self) -> float:
        """Of the middle, over the points that have one."""

    def pieces(self) -> Iterator[Bracket]:
        """All points, in pieces."""

    def beside(self, other: Any) -> Iterator[tuple[Bracket, Bracket]]:
        """Pieces of two models at the same points."""


class Difference(NamedTuple):
    """How much larger one model's mean is than another's, over the same points.

    Parameters
    ----------
    larger, smaller
        The models' names.
    estimate
        Between the middles of both brackets, with its standard error.
    interval
        Holds the truth at the comparison's level, all pairs together; noise and chance are both
        in it.
    strength
        Standard errors between 0 and the least that noise leaves of the difference.
    same, within
        Whether neither mean is more than `within` (a share) above the other, for sure.
    why
        What keeps the two from being told apart, where they are not.
    """

    larger: str
    smaller: str
    estimate: Estimate
    interval: tuple[float, float]
    strength: float = 0.0
    same: bool = False
    within: float = 0.1
    why: str = ""

    @property
    def real(self) -> bool:
        """Whether the interval excludes 0; without one nothing is real."""
        return self.interval[0] > 0 or self.interval[1] < 0

    @property
    def verdict(self) -> str:
        """In a few words: real, the same within so much, or not told apart."""
        alike = f"the same within {100 * self.within:.4g}%"
        if self.real:
            return f"real, but {alike}" if self.same else "real"
        return alike if self.same else "not told apart"

    def __str__(self) -> str:
        relation = ">" if self.real else "=" if self.same else "≈"
        low, high = self.interval
        verdict = "" if self.verdict == "real" else f", {self.verdict}"
        why = f" ({self.why})" if self.why else ""
        apart = f"by {self.estimate} [{low:.3g}, {high:.3g}]"
        return f"{self.larger} {relation} {self.smaller} {apart}{verdict}{why}"

    def summary(self) -> dict[str, object]:
        """Everything as plain values."""
        return {
            "larger": self.larger,
            "smaller": self.smaller,
            "difference": self.estimate.value,
            "error": self.estimate.error,
            "interval": list(self.interval),
            "real": self.real,
            "same": self.same,
            "within": self.within,
            "verdict": self.verdict,
            "why": self.why,
        }


def bracket(scores: Scores) -> Bracket:
    """A score's two columns.

    Where all turns deviate along one line (a single output, or two probabilities) the lower
    column is a bound on the mean of the turns, each with the sign of the others' mean, whose
    expectation cannot exceed the truth. Elsewhere it is `Scores.lowered`.
    """
    if scores.about.independent is not None:
        # The rows' scores hang together; their groups' do not, and have the noise in them.
        return Bracket(*scores.bracketing)
    values, lowered = scores.values, scores.lowered
    if _never_drawn(scores.settings) or np.array_equal(lowered, values, equal_nan=True):
        return Bracket(values, values)
    # gamma² less its unbiased estimate: the squared standard error of the mean of the turns.
    noise = values**2 - scores.squared
    low = _signed(scores, noise) if _on_a_line(scores) else lowered
    return Bracket(np.where(noise <= 0, values, low), values)


def _never_drawn(settings: Settings) -> bool:
    """Whether the ball was taken as it is, one for every model: then it has no noise."""
    drawn = settings.ball.startswith(("random", "dense", "sampled", "rotated"))
    return settings.rotations == 0 and not drawn


def _on_a_line(scores: Scores) -> bool:
    """Whether the deviations of all turns are multiples of one vector."""
    settings = scores.settings
    columns = scores.signed.shape[1] if scores.signed.ndim == 2 else 1
    # Probabilities sum to 1, so their deviations sum to 0: one column fewer is free.
    free = columns - (settings.kind == "probability" and columns > 1)
    reduction = settings.reduction
    # Runs of language models keep the lengths of vectors, and call their reduction otherwise.
    return free == 1 and (reduction in ("norm", "predicted") or isinstance(reduction, int))


def _signed(scores: Scores, noise: Floats) -> Floats:
    """The least that the mean of turns, each with the sign of the others' mean, can be.

    The mean of the others has another sign than the mean of all only where the turn left out is
    T times the mean or more. With a variance of T·noise among T turns that can be so for m of
    them where m ≤ T·noise/(noise + (T−1)·value²), and turning m signs costs at most (Cauchy and
    Schwarz) 2m/T·value + 2·√(noise·(T−1)·m/T·(1−m/T)). So where the value is above its standard
    error it stays as it is.
    """
    turns = np.maximum(scores.turns, 1)
    # Parts of a run are pooled in `squared` without what lies between them; the error has it.
    noise = np.maximum(np.fmax(noise, scores.errors**2), 0.0)
    whole = noise + (turns - 1) * scores.values**2
    # m/T, the share of turns whose sign may differ; beyond a half the others would decide.
    turned = np.minimum(turns * noise // np.where(whole > 0, whole, 1.0), turns // 2) / turns
    loss = np.sqrt(noise * (turns - 1) * turned * (1 - turned))
    return np.asarray((1 - 2 * turned) * scores.values - 2 * loss)


class _Gap(NamedTuple):
    """A mean less another, and how far either side of its interval reaches."""

    estimate: Estimate
    reach: float

    @property
    def low(self) -> float:
        return self.estimate.value - self.reach

    @property
    def high(self) -> float:
        return self.estimate.value + self.reach

    @property
    def strength(self) -> float:
        """In standard errors; 0 where the first mean is not the larger."""
        value, error = self.estimate
        return 0.0 if not value > 0 else value / error if error else float("inf")


Places = Mapping[str, Brackets]
"""A model's brackets by where it was measured."""
Column = Callable[[Bracket], Floats]
"""One column made of a bracket."""


def _low(bracket: Bracket) -> Floats:
    return bracket.low


def _high(bracket: Bracket) -> Floats:
    return bracket.high


def _middle(bracket: Bracket) -> Floats:
    return bracket.middle


def difference(
    names: tuple[str, str], models: tuple[Places, Places], level: float, within: float
) -> Difference:
    """Two models, each counted with the largest of its means, at a level for this pair alone."""
    if _top(models[0])[1].mean < _top(models[1])[1].mean:
        names, models = (names[1], names[0]), (models[1], models[0])
    one, two = models
    # The ends choose among places, which gives chance as many tries: Bonferroni once more.
    level = 1 - (1 - level) / max(len(one), len(two))
    least = _at_least(one, two, level)
    (here, mine), (there, other) = _top(one), _top(two)
    middle = _gap(mine, _middle, other, _middle, here == there, level)
    reached = [_at_most(*pair, level, 1 + within) for pair in ((one, two), (two, one))]
    result = Difference(
        *names,
        estimate=middle.estimate,
        interval=(least.low, _at_most(one, two, level)),
        strength=least.strength,
        same=_agree(one, two) or max(reached) < 0,
        within=within,
    )
    settled = result.real or result.same
    return result if settled else result._replace(why=_why(mine, other, middle.reach))


def _top(places: Places) -> tuple[str, Brackets]:
    """Where the mean is the largest, and the bracket there."""
    return max(places.items(), key=lambda item: item[1].mean)


def _at_least(one: Places, two: Places, level: float) -> _Gap:
    """The least that one's largest mean is above the other's: one place above all of them."""
    rows = [
        [_gap(mine, _low, other, _high, place == there, level) for there, other in two.items()]
        for place, mine in one.items()
    ]
    # argmin and argmax take an end that is unknown for the least and the most: nothing is sure.
    lowest = [row[int(np.argmin([gap.low for gap in row]))] for row in rows]
    return lowest[int(np.argmax([gap.low for gap in lowest]))]


def _at_most(one: Places, two: Places, level: float, factor: float = 1.0) -> float:
    """The most that one's largest mean is above the other's, times a factor."""

    def raised(bracket: Bracket) -> Floats:
        return factor * bracket.low

    rows = [
        [
            _gap(mine, _high, other, raised, place == there, level).high
            for there, other in two.items()
        ]
        for place, mine in one.items()
    ]
    return float(np.max(np.min(rows, axis=1)))


def _gap(
    one: Brackets, of_one: Column, other: Brackets, of_other: Column, paired: bool, level: float
) -> _Gap:
    """Mean of one less mean of the other; point by point where they match, else Welch's."""
    unknown = _Gap(Estimate(float("nan"), float("nan")), float("nan"))
    if paired:
        pairs = one.beside(other)
        moments = _moments(of_one(mine) - of_other(theirs) for mine, theirs in pairs)
        if not moments.count:
            return unknown
        estimate = Estimate(float(moments.mean), float(moments.error))
        count = float(moments.count)
    else:
        parts = [
            _moments(map(column, brackets.pieces()))
            for brackets, column in ((one, of_one), (other, of_other))
        ]
        if min(part.count for part in parts) < 2:
            return unknown
        # Welch and Satterthwaite's degrees of freedom stand in for a count.
        estimate, count = welch(*parts)
    return _Gap(estimate, float(half_widths(estimate.error, count, level)))


def _moments(pieces: Iterable[Floats]) -> Moments:
    """Of all finite values of some pieces, merged in their order."""
    every = [Moments.of(values[np.isfinite(values)]) for values in pieces]
    return reduce(Moments.merge, every) if every else Moments.of(np.empty(0))


def _agree(one: Places, two: Places) -> bool:
    """Whether the two read the same at every one of several points, and not 0 at all of them."""
    if one.keys() != two.keys():
        return False
    for place in one:
        count, some = 0, False
        for mine, other in one[place].beside(two[place]):
            if not np.array_equal(mine.high, other.high):
                return False
            count, some = count + len(mine.high), some or bool(mine.high.any())
        if count < 2 or not some:
            return False
    return True


def _why(one: Brackets, two: Brackets, reach: float) -> str:
    """What would have to be otherwise for two models to be told apart."""
    highs = [_moments(piece.high for piece in model.pieces()) for model in (one, two)]
    if min(int(moments.count) for moments in highs) < 2:
        return ONE_POINT
    if not np.isfinite(reach):
        return ONE_TURN
    if all(moments.mean == 0 and moments.squares == 0 for moments in highs):
        return NOTHING
    widths = (_moments(piece.high - piece.low for piece in model.pieces()) for model in (one, two))
    return NOISE if sum(float(width.mean) for width in widths) > 2 * reach else CHANCE
