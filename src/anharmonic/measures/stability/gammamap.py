"""The Gamma Map: where known points lie by probability and gamma, and new ones among them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from anharmonic._core import tables
from anharmonic._core.protocols import Array, Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search.result import Search
from anharmonic.measures.setup.batching import Flags
from anharmonic.scores import Scores

__all__ = ["GammaMap", "Places"]

BLOCK = 4096
"""Points whose density is worked out at once."""


class Places(NamedTuple):
    """Where points lie on a map, (points,) each.

    Parameters
    ----------
    metric
        P·exp(−N·gamma).
    inside
        Whether it reaches the map's threshold.
    percentile
        The share of the map's own points that lie where it is less crowded: a point near 0 is
        unlike anything on the map, and its place there says little.
    """

    metric: Floats
    inside: Flags
    percentile: Floats


@dataclass(frozen=True, repr=False)
class GammaMap:
    """Known points by the predicted class's probability and its gamma.

    Parameters
    ----------
    probabilities, gammas : (points,)
        Of the predicted class.
    unstable : (points,)
        Whether each point flipped, or None.
    steps, threshold
        P·exp(−N·gamma) ≥ threshold is the stable region, N being `steps`.

    References
    ----------
    Harmonic Machine Learning Models are Robust (fig. 5).
    """

    probabilities: Floats
    gammas: Floats
    unstable: Flags | None
    steps: int
    threshold: float

    @classmethod
    def of(
        cls,
        scores: Scores,
        probabilities: ArrayLike,
        unstable: Search | ArrayLike | None = None,
        steps: int = 25,
        threshold: float | None = None,
    ) -> GammaMap:
        """A map from scores of gamma and probabilities.

        Parameters
        ----------
        scores
            Of gamma, with reduction="predicted".
        probabilities : (points,)
            Of the predicted class.
        unstable
            A search at the same points, or whether each flipped, (points,).
        steps
            The N of P·exp(−N·gamma).
        threshold
            By default the one that best separates `unstable` points from the others (the largest
            sum of sensitivity and specificity), or 0.5 where none are known.
        """
        gammas, chances = scores.values, np.asarray(probabilities, dtype=np.float64)
        if chances.shape != gammas.shape or not np.isfinite(gammas).all():
            raise PointsError(
                f"{len(gammas)} scores and {chances.shape} probabilities: give one each, all "
                "measured"
            )
        if not ((chances >= 0) & (chances <= 1)).all():
            raise SettingsError("probabilities lie between 0 and 1: give softmax, not logits")
        flips = unstable.flipped if isinstance(unstable, Search) else unstable
        flipped: Flags | None = None if flips is None else np.asarray(flips, dtype=bool)
        if flipped is not None and flipped.shape != gammas.shape:
            raise PointsError(f"{len(gammas)} points and {flipped.shape} flips: give one each")
        if threshold is None:
            metric = chances * np.exp(-steps * gammas)
            threshold = 0.5 if flipped is None else _best_threshold(metric, flipped)
        return cls(chances, gammas, flipped, steps, threshold)

    def __len__(self) -> int:
        return len(self.gammas)

    def place(self, probabilities: ArrayLike, gammas: ArrayLike) -> Places:
        """Where new points lie among those of the map.

        Parameters
        ----------
        probabilities, gammas : (points,)
            Of the new points.

        Examples
        --------
        >>> known = GammaMap(np.array([0.9, 0.8]), np.array([0.01, 0.02]), None, 25, 0.5)
        >>> known.place([0.9], [0.001]).inside.tolist()
        [True]
        """
        chances, new_gammas = np.atleast_1d(probabilities), np.atleast_1d(gammas)
        metric = np.asarray(chances * np.exp(-self.steps * new_gammas))
        own = np.sort(self.density(self.probabilities, self.gammas))
        new = self.density(chances, new_gammas)
        # The empirical distribution of the map's own densities.
        percentile = np.searchsorted(own, new, side="left") / len(own)
        return Places(metric, metric >= self.threshold, percentile)

    def density(self, probabilities: ArrayLike, gammas: ArrayLike) -> Floats:
        """How crowded the map is somewhere: a normal kernel density, in units of one kernel's top.

        Parameters
        ----------
        probabilities, gammas : (points,)
            Where.
        """
        widths = [_bandwidth(values) for values in (self.probabilities, self.gammas)]
        density = np.zeros(len(np.atleast_1d(gammas)))
        for start in range(0, len(density), BLOCK):
            block = slice(start, start + BLOCK)
            # Distances to all points of the map, (block, points).
            across = (np.atleast_1d(probabilities)[block, None] - self.probabilities) / widths[0]
            along = (np.atleast_1d(gammas)[block, None] - self.gammas) / widths[1]
            density[block] = np.exp(-(across**2 + along**2) / 2).mean(axis=1)
        return density

    def contour(self, probabilities: Floats) -> Floats:
        """The gamma at which each probability is just stable; below 0 where none is."""
        return np.log(np.maximum(probabilities, 1e-300) / self.threshold) / self.steps

    def __repr__(self) -> str:
        inside = self.place(self.probabilities, self.gammas).inside
        shares_unstable = ""
        if self.unstable is not None:
            shares = [_share(self.unstable[side]) for side in (inside, ~inside)]
            shares_unstable = f", unstable {shares[0]} inside and {shares[1]} outside"
        return (
            f"<gamma map of {len(self):,} points, {inside.mean():.1%} with P·exp(−{self.steps}"
            f"·gamma) ≥ {self.threshold:.3g}{shares_unstable}>"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all."""
        columns: dict[str, Array] = {"probability": self.probabilities, "gamma": self.gammas}
        if self.unstable is not None:
            columns["unstable"] = self.unstable
        about = {"holds": "gamma map", "steps": self.steps, "threshold": self.threshold}
        return tables.save(tables.arrow(columns, about), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GammaMap:
        """Read what `save` wrote."""
        table, about = tables.load(path, "gamma map", "GammaMap.save")
        unstable = None
        if "unstable" in table.column_names:
            unstable = np.array(table["unstable"].to_numpy(), dtype=bool)
        probabilities, gammas = (tables.column(table, name) for name in ("probability", "gamma"))
        return cls(probabilities, gammas, unstable, about["steps"], about["threshold"])


def _share(flags: Flags) -> str:
    return f"{flags.mean():.1%}" if len(flags) else "–"


def _bandwidth(values: Floats) -> float:
    """Scott's rule in two dimensions, sd·n^(−1/6); equal values get a narrow kernel."""
    spread = float(values.std()) * len(values) ** (-1 / 6)
    return spread if spread > 0 else 1e-3


def _best_threshold(metric: Floats, unstable: Flags) -> float:
    """The threshold with the largest share of stable points above plus of unstable ones below.

    Youden's index: sensitivity + specificity − 1, at its largest.
    """
    if unstable.all() or not unstable.any():
        return 0.5
    order = np.argsort(metric, kind="stable")
    below = np.cumsum(unstable[order]) / unstable.sum()
    lost = np.cumsum(~unstable[order]) / (~unstable).sum()
    # Below each value: the share of unstable points caught, less that of stable points lost.
    best = int(np.argmax(below - lost))
    # Halfway to the next value, so that rounding decides nothing.
    following = metric[order][min(best + 1, len(metric) - 1)]
    return float((metric[order][best] + following) / 2)
