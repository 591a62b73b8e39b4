"""Bands of gamma: the paper's, with their caveat, or fitted to answers that people judged."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from anharmonic._core.auroc import auroc, auroc_interval
from anharmonic._core.files import write_text_whole
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Rate
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import InputError, PointsError
from anharmonic.llm.statistics import Unit

__all__ = ["PAPER", "Bands", "Calibration", "auroc", "calibrate"]

WORDS = ("probably trustworthy", "possible hallucination", "likely hallucination")
CAVEAT = (
    "The paper's bands were read off human ratings of ten models' answers embedded by ada-002. "
    "Another embedder spreads answers otherwise: fit your own with anharmonic llm calibrate."
)


@dataclass(frozen=True)
class Bands:
    """Three bands of gamma: below `low`, between, above `high`.

    Parameters
    ----------
    low, high
        The two limits, in sqrt(1 − cos θ).
    caveat
        What they were fitted to, and when not to use them.
    """

    low: float
    high: float
    caveat: str = ""

    def limits(self, unit: Unit) -> tuple[float, float]:
        """Both limits in a unit.

        Parameters
        ----------
        unit : "sqrt1mcos" or "angle"
            sqrt(1 − cos θ), or θ in degrees.

        Examples
        --------
        >>> [round(limit, 2) for limit in PAPER.limits("angle")]
        [8.11, 16.26]
        """
        if unit == "sqrt1mcos":
            return self.low, self.high
        # 1 − cos θ = 2·sin²(θ/2).
        low, high = (
            float(np.degrees(2 * np.arcsin(min(limit / np.sqrt(2), 1.0))))
            for limit in (self.low, self.high)
        )
        return low, high

    def counts(self, values: Array, unit: Unit) -> dict[str, Rate]:
        """The share of the values in each band, with its interval.

        Parameters
        ----------
        values : array (count,)
            Gammas; those that are NaN are in no band.
        unit : "sqrt1mcos" or "angle"
            The unit they are in.
        """
        low, high = self.limits(unit)
        known = np.asarray(values)[np.isfinite(values)]
        hits = (known < low).sum(), ((known >= low) & (known <= high)).sum(), (known > high).sum()
        return {
            word: Rate.of(int(count), len(known)) for word, count in zip(WORDS, hits, strict=True)
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON, whole or not at all."""
        write_text_whole(path, json.dumps(asdict(self)) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bands:
        """Read what `save` wrote."""
        try:
            return cls(**json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as problem:
            raise InputError(f"{path} holds no bands: write some by llm calibrate") from problem


PAPER = Bands(0.1, 0.2, CAVEAT)


@dataclass(frozen=True)
class Calibration:
    """Bands fitted to judged answers.

    Parameters
    ----------
    bands
        The limits that were fitted.
    low_interval, high_interval
        95% intervals of both limits, from a bootstrap over the answers.
    auroc, auroc_interval
        How well gamma ranks bad answers above good ones, with its 95% interval.
    judged, good
        How many answers were judged, and how many of them were good.
    """

    bands: Bands
    low_interval: tuple[float, float]
    high_interval: tuple[float, float]
    auroc: float
    auroc_interval: tuple[float, float]
    judged: int
    good: int


def calibrate(
    values: Array,
    good: Array,
    *,
    trusted: float = 0.8,
    doubted: float = 0.5,
    rounds: int = 1000,
    seed: int = 0,
) -> Calibration:
    """Fit the two limits to gammas and whether each answer was good.

    The chance of a good answer is taken to fall with gamma (isotonic regression). Below `low` it
    is at least `trusted`, above `high` less than `doubted`.

    Parameters
    ----------
    values : array (count,)
        Gammas in sqrt(1 − cos θ); NaN ones are left out.
    good : array (count,)
        Whether each answer was good.
    trusted, doubted
        The chances of a good answer at the two limits.
    rounds
        Resamplings for the limits' intervals.
    seed
        Of the resamplings.

    Examples
    --------
    >>> values = np.linspace(0, 1, 200)
    >>> fit = calibrate(values, values < 0.3)
    >>> round(fit.bands.low, 2), round(fit.bands.high, 2), fit.auroc
    (0.3, 0.3, 1.0)
    """
    gammas, right = np.asarray(values, dtype=float), np.asarray(good, dtype=bool)
    known = np.isfinite(gammas)
    gammas, right = gammas[known], right[known]
    if right.all() or not right.any():
        raise PointsError("calibrating needs good and bad answers, both: judge more of them")
    # Bootstrap over answers; a resample of one kind alone has no limits to fit.
    draws = []
    rng = generator(seed, LanguageStream.BAND_BOOTSTRAP)
    for _ in range(rounds):
        rows = rng.integers(len(gammas), size=len(gammas))
        if right[rows].any() and not right[rows].all():
            draws.append(_limits(gammas[rows], right[rows], trusted, doubted))
    ends = np.quantile(np.array(draws), (0.025, 0.975), axis=0).T  # (limit, end)
    low, high = _limits(gammas, right, trusted, doubted)
    ranked = auroc_interval(gammas, ~right)
    words = f"Fitted to {len(gammas):,} judged answers, {int(right.sum()):,} of them good."
    return Calibration(
        Bands(low, high, words),
        (float(ends[0, 0]), float(ends[0, 1])),
        (float(ends[1, 0]), float(ends[1, 1])),
        ranked.value,
        (ranked.low, ranked.high),
        len(gammas),
        int(right.sum()),
    )


def _limits(gammas: Floats, good: Array, trusted: float, doubted: float) -> tuple[float, float]:
    """Where the falling curve through the outcomes leaves `trusted`, and `doubted`."""
    from scipy.optimize import isotonic_regression

    # Equal gammas count as one point, weighted by how many they are.
    points, groups = np.unique(gammas, return_inverse=True)
    weights = np.bincount(groups)
    shares = np.bincount(groups, weights=good) / weights
    # Pool adjacent violators: the nearest falling curve in weighted squares.
    chances = isotonic_regression(shares, weights=weights, increasing=False).x
    low = float(points[chances >= trusted].max(initial=0.0))
    below = points[chances < doubted]
    return low, max(low, float(below.min()) if len(below) else float(points[-1]))
