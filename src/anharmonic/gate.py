"""Pass or fail: is a model's score really above a limit, or above that of its predecessor?

Noise lifts a score, since the absolute value of noise is not zero. A gate must not fail for
that, so it brackets the truth between two averages: `values`, which noise can only lift, and
`lowered`, which noise can only lower. It fails when the interval of the lowered one lies
above the limit, and is sure of passing when the interval of the lifted one lies below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import Moments, half_widths, welch
from anharmonic.errors import SettingsError
from anharmonic.scores import Scores

__all__ = ["Verdict", "below", "no_worse", "require_alike", "same_points"]

HOPELESS = 1000
"""More points than so many times those at hand are not worth advising."""

Outcome = Literal["below", "unsettled", "above"]


@dataclass(frozen=True)
class Verdict:
    """What a gate found. `str(verdict)` says it in a sentence.

    Parameters
    ----------
    criterion
        What was required, in words.
    outcome
        "below" (surely), "above" (surely, so it failed) or "unsettled" (it passed).
    estimate
        The mean, or its difference to the baseline's, with its standard error.
    limit
        What it may be at most.
    interval
        Lowest and highest the truth may be; each end holds with probability `level`.
    level
        The confidence of each end.
    statistic
        How the interval was made.
    sentence
        The verdict for people.
    queries
        What measuring cost.
    baseline
        The mean compared with, where there is one.
    """

    criterion: str
    outcome: Outcome
    estimate: Estimate
    limit: float
    interval: tuple[float, float]
    level: float
    statistic: str
    sentence: str
    queries: int
    baseline: Estimate | None = None

    @property
    def passed(self) -> bool:
        """False only when the truth is really above the limit, at `level`."""
        return self.outcome != "above"

    def __str__(self) -> str:
        return self.sentence

    def summary(self) -> dict[str, object]:
        """Everything as plain values, ready for JSON."""
        return {
            "criterion": self.criterion,
            "passed": self.passed,
            "outcome": self.outcome,
            "estimate": self.estimate.value,
            "error": self.estimate.error,
            "limit": self.limit,
            "baseline": None if self.baseline is None else list(self.baseline),
            "interval": list(self.interval),
            "level": self.level,
            "statistic": self.statistic,
            "sentence": self.sentence,
            "queries": self.queries,
        }


def below(scores: Scores, limit: float, level: float = 0.95) -> Verdict:
    """Whether the region's mean score is below `limit`; fails only when it is really above.

    Parameters
    ----------
    scores
        Finished, of two points or more, with two rotations or more.
    limit
        What the mean may be at most.
    level
        The confidence of each end of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> from anharmonic.measures.gamma.measure import gamma
    >>> points = np.random.default_rng(0).normal(size=(200, 3))
    >>> scores = gamma(lambda x: np.sin(2 * x[:, 0]), points, radius=0.3)
    >>> below(scores, 0.1).outcome, below(scores, 0.001).outcome
    ('below', 'above')
    """
    _check_level_and_limit(level, limit)
    _check_usable(scores, "the scores")
    rounding = float(np.mean(scores.rounding))
    lowered, lifted = scores.bracketing
    ends = _Ends(_single(lowered, level), _single(lifted, level), rounding)
    what, mean = f"mean {scores.metric}", Estimate(scores.mean, scores.error)
    settled = ends.words(limit, level, len(scores), f"{limit:g}")
    return Verdict(
        criterion=f"{what} at most {limit:g}",
        outcome=ends.outcome(limit),
        estimate=mean,
        limit=limit,
        interval=ends.interval,
        level=level,
        statistic=f"one-sided Student interval of {len(scores):,} points, noise taken out",
        sentence=f"{what} {mean}{_relative(scores)} {settled}",
        queries=scores.queries,
    )


def no_worse(scores: Scores, baseline: Scores, level: float = 0.95, margin: float = 0.0) -> Verdict:
    """Whether the mean score is at most `margin` above the baseline's; fails only when really.

    Both must have been measured alike. Measured at the same points they are compared point by
    point; at other points of the same kind by Welch's interval, which is wider.

    Parameters
    ----------
    scores, baseline
        Of the new model and of its predecessor.
    level
        The confidence of each end of the interval.
    margin
        How much worse is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from anharmonic.measures.gamma.measure import gamma
    >>> points = np.random.default_rng(0).normal(size=(200, 3))
    >>> old, new = (gamma(lambda x: np.sin(f * x[:, 0]), points, radius=0.3) for f in (2, 2.2))
    >>> no_worse(new, old).passed, no_worse(old, new).passed
    (False, True)
    """
    _check_level_and_limit(level, margin)
    _check_usable(scores, "the scores")
    _check_usable(baseline, "the baseline")
    require_alike(scores, baseline)
    paired = same_points(scores, baseline)
    compare = _paired if paired else _unpaired
    (lowered, lifted), (base_lowered, base_lifted) = scores.bracketing, baseline.bracketing
    # Lowest: the new one lowered against the old one lifted. Highest: the other way round.
    ends = _Ends(
        compare(lowered, base_lifted, level),
        compare(lifted, base_lowered, level),
        float(np.mean(scores.rounding) + np.mean(baseline.rounding)),
    )
    gap = compare(lifted, base_lifted, level)[0]
    now, before = Estimate(scores.mean, scores.error), Estimate(baseline.mean, baseline.error)
    extra = f" + {margin:g}" if margin else ""
    way = "paired point by point" if paired else "unpaired (other points), Welch"
    worth = f"the baseline {before}{extra}"
    settled = ends.words(margin, level, len(scores), worth, "difference ")
    if paired and np.array_equal(scores.values, baseline.values):
        settled = f"is that of {worth}: the two agree at every point"
    read = f"mean {scores.metric} {now}{_relative(scores)}"
    return Verdict(
        criterion=f"mean {scores.metric} at most the baseline's{extra}",
        outcome=ends.outcome(margin),
        estimate=gap,
        limit=margin,
        interval=ends.interval,
        level=level,
        statistic=f"one-sided interval of the difference, {way}, noise taken out",
        sentence=f"{read} {settled}; difference {gap}, {way}",
        queries=scores.queries,
        baseline=before,
    )


def _relative(scores: Scores) -> str:
    """The mean beside the outputs' spread, in brackets; nothing where it is in other units."""
    return f" ({scores.share_of_spread})" if scores.share_of_spread else ""


@dataclass(frozen=True)
class _Ends:
    """The two averages that bracket the truth, each with how far it may be off.

    `rounding` is how much of what lies between them is the model's rounding.
    """

    low: tuple[Estimate, float]
    high: tuple[Estimate, float]
    rounding: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.low[0].value - self.low[1], self.high[0].value + self.high[1]

    def outcome(self, limit: float) -> Outcome:
        low, high = self.interval
        return "above" if low > limit else "below" if high < limit else "unsettled"

    def words(self, limit: float, level: float, points: int, worth: str, what: str = "") -> str:
        """The verdict from "is" on: above or below what `worth` describes, and how surely."""
        outcome = self.outcome(limit)
        low, high = self.interval
        if outcome == "unsettled":
            return f"is not surely above {worth}: {self._advice(limit, points)}"
        end = f"at least {low:.4g}" if outcome == "above" else f"at most {high:.4g}"
        return f"is surely {outcome} {worth} ({what}{end} at {100 * level:.4g}% confidence)"

    def _advice(self, limit: float, points: int) -> str:
        """How much more would settle it: points where chance hides it, turns where noise does."""
        gap, reach = max(
            (self.low[0].value - limit, self.low[1]),
            (limit - self.high[0].value, self.high[1]),
        )
        between = self.high[0].value - self.low[0].value
        if gap <= 0 and 2 * self.rounding > between > 0:
            return "the rounding of the model's answers hides it, which only more digits would mend"
        if gap <= 0 and between > 0:
            return "noise hides it, so more rotations would help and more points would not"
        if gap <= 0 or not math.isfinite(reach):
            return "the two cannot be told apart"
        # An interval shrinks with the root of the points: (reach/gap)² times as many close it.
        more = math.ceil(points * ((reach / gap) ** 2 - 1))
        if more > HOPELESS * points:
            return "they are too close to be told apart"
        return f"about {max(more, 1):,} more points would settle it"


def _single(values: Floats, level: float) -> tuple[Estimate, float]:
    """The mean, and how far one side of its interval reaches."""
    moments = Moments.of(values)
    # A one-sided interval at `level` is half of the two-sided one at 2·level − 1.
    reach = half_widths(moments.error, moments.count, 2 * level - 1)
    return Estimate(float(moments.mean), float(moments.error)), float(reach)


def _paired(new: Floats, old: Floats, level: float) -> tuple[Estimate, float]:
    return _single(new - old, level)


def _unpaired(new: Floats, old: Floats, level: float) -> tuple[Estimate, float]:
    """The difference of two means, Welch's error and degrees of freedom."""
    difference, count = welch(Moments.of(new), Moments.of(old))
    return difference, float(half_widths(difference.error, count, 2 * level - 1))


def _check_level_and_limit(level: float, limit: float) -> None:
    if not 0.5 < level < 1:
        raise SettingsError(f"level is a confidence between 0.5 and 1, such as 0.95, got {level}")
    if not (math.isfinite(limit) and limit >= 0):
        raise SettingsError(f"a limit or margin is a finite number from 0 on, got {limit}")


def _check_usable(scores: Scores, which: str) -> None:
    if not scores.complete:
        raise SettingsError(f"{which} are unfinished: go on with resume= (--resume) first")
    if len(scores) < 2:
        raise SettingsError(f"{which} hold one point: an error needs at least two, better hundreds")
    if not np.isfinite(scores.lowered).all():
        raise SettingsError(
            f"{which} were measured with fewer than two rotations, so their noise is unknown: "
            "measure again with rotations=4"
        )


def same_points(one: Scores, other: Scores) -> bool:
    """Whether both were measured at the same points, in the same order.

    Parameters
    ----------
    one, other
        Scores; those that keep no fingerprint of their points are never at the same ones.
    """
    fingerprint = one.settings.fingerprint
    return fingerprint is not None and fingerprint == other.settings.fingerprint


def require_alike(scores: Scores, baseline: Scores) -> None:
    """Refuse to compare what was measured differently, and say what differs.

    Parameters
    ----------
    scores, baseline
        The new scores, and those they are to be compared with.
    """
    now, before = scores.settings, baseline.settings
    facts = {name: (before.plain().get(name), now.plain().get(name)) for name in now.compared}
    # Asking for what a model answers anyway is no difference.
    outputs = (
        before.kind if before.output is None else before.output,
        now.kind if now.output is None else now.output,
    )
    differing = {name: facts[name] for name in now.differing(before)}
    if baseline.metric != scores.metric:
        differing = {"metric": (baseline.metric, scores.metric), **differing}
    if outputs[0] != outputs[1]:
        differing["output"] = outputs
    if differing:
        words = [
            f"{name} ({then!r:.60}, now {today!r:.60})" for name, (then, today) in differing.items()
        ]
        raise SettingsError(
            f"the baseline was measured with another {'; another '.join(words)}: measure again "
            "with its settings (anharmonic check --baseline with a model and --data does), "
            "or make a new baseline"
        )
