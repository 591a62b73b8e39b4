"""The Gamma Map: where known points lie by probability and gamma, and new ones among them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core import tables
from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.search.result import Search
from anharmonic.scores import Scores

__all__ = ["GammaMap", "Places"]


class Places(NamedTuple):
    """Where points lie on a map, (points,) each.

    `metric` is P·exp(−N·gamma); `inside` says whether it reaches the map's threshold;
    `percentile` is the share of the map's own points that lie where it is less crowded: a
    point near 0 is unlike anything on the map, and its place there says little.
    """

    metric: Floats
    inside: Any
    percentile: Floats


@dataclass(frozen=True, repr=False)
class GammaMap:
    """Known points by the predicted class's probability and its gamma (main paper, Fig. 5).

    - `probabilities`, `gammas` (points,). `unstable` (points,): whether each flipped, or None.
    - `steps` N and `threshold`: P·exp(−N·gamma) ≥ threshold is the stable region.
    """

    probabilities: Floats
    gammas: Floats
    unstable: Any
    steps: int
    threshold: float

    @classmethod
    def of(
        cls,
        scores: Scores,
        probabilities: Any,
        unstable: Search | Any = None,
        steps: int = 25,
        threshold: float | None = None,
    ) -> GammaMap:
        """A map from scores of gamma (reduction="predicted") and probabilities.

        Without a `threshold` it is the one that best tells `unstable` points from the others
        (the largest sum of both shares told rightly), or 0.5 where none are known.
        """
        gammas, sure = scores.values, np.asarray(probabilities, dtype=np.float64)
        if sure.shape != gammas.shape or not np.isfinite(gammas).all():
            raise PointsError(
                f"{len(gammas)} scores and {sure.shape} probabilities: give one each, all measured"
            )
        if not ((sure >= 0) & (sure <= 1)).all():
            raise SettingsError("probabilities lie between 0 and 1: give softmax, not logits")
        known = unstable.flipped if isinstance(unstable, Search) else unstable
        known = None if known is None else np.asarray(known, dtype=bool)
        if known is not None and known.shape != gammas.shape:
            raise PointsError(f"{len(gammas)} points and {known.shape} flips: give one each")
        if threshold is None:
            threshold = 0.5 if known is None else _split(sure * np.exp(-steps * gammas), known)
        return cls(sure, gammas, known, steps, threshold)

    def __len__(self) -> int:
        return len(self.gammas)

    def place(self, probabilities: Any, gammas: Any) -> Places:
        """Where new points lie among those of the map.

        >>> known = GammaMap(np.array([0.9, 0.8]), np.array([0.01, 0.02]), None, 25, 0.5)
        >>> known.place([0.9], [0.001]).inside.tolist()
        [True]
        """
        sure, bends = np.atleast_1d(probabilities), np.atleast_1d(gammas)
        metric = np.asarray(sure * np.exp(-self.steps * bends))
        own = np.sort(self.density(self.probabilities, self.gammas))
        here = self.density(sure, bends)
        percentile = np.searchsorted(own, here, side="left") / len(own)
        return Places(metric, metric >= self.threshold, percentile)

    def density(self, probabilities: Any, gammas: Any) -> Floats:
        """How crowded the map is somewhere: a sum of normal bells, in units of its tallest."""
        wide = [_width(each) for each in (self.probabilities, self.gammas)]
        whole = np.zeros(len(np.atleast_1d(gammas)))
        for start in range(0, len(whole), 4096):
            few = slice(start, start + 4096)
            across = (np.atleast_1d(probabilities)[few, None] - self.probabilities) / wide[0]
            along = (np.atleast_1d(gammas)[few, None] - self.gammas) / wide[1]
            whole[few] = np.exp(-(across**2 + along**2) / 2).mean(axis=1)
        return whole

    def contour(self, probabilities: Floats) -> Floats:
        """The gamma at which each probability is just stable; below 0 where none is."""
        return np.log(np.maximum(probabilities, 1e-300) / self.threshold) / self.steps

    def __repr__(self) -> str:
        inside = self.place(self.probabilities, self.gammas).inside
        known = ""
        if self.unstable is not None:
            shares = [_share(self.unstable[side]) for side in (inside, ~inside)]
            known = f", unstable {shares[0]} inside and {shares[1]} outside"
        return (
            f"<gamma map of {len(self):,} points, {inside.mean():.1%} with P·exp(−{self.steps}"
            f"·gamma) ≥ {self.threshold:.3g}{known}>"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write Parquet, whole or not at all."""
        columns = {"probability": self.probabilities, "gamma": self.gammas}
        if self.unstable is not None:
            columns["unstable"] = self.unstable
        about = {"holds": "gamma map", "steps": self.steps, "threshold": self.threshold}
        return tables.save(tables.arrow(columns, about), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GammaMap:
        """Read what `save` wrote."""
        table, about = tables.load(path, "gamma map", "GammaMap.save")
        known = None
        if "unstable" in table.column_names:
            known = np.array(table["unstable"].to_numpy(), dtype=bool)
        sure, gammas = (tables.column(table, name) for name in ("probability", "gamma"))
        return cls(sure, gammas, known, about["steps"], about["threshold"])


def _share(flags: Any) -> str:
    return f"{flags.mean():.1%}" if len(flags) else "–"


def _width(values: Floats) -> float:
    """Scott's rule in two dimensions; values that are all alike get a narrow bell."""
    spread = float(values.std()) * len(values) ** (-1 / 6)
    return spread if spread > 0 else 1e-3


def _split(metric: Floats, unstable: Any) -> float:
    """The threshold with the largest share of stable points above plus of unstable ones below."""
    if unstable.all() or not unstable.any():
        return 0.5
    order = np.argsort(metric, kind="stable")
    below = np.cumsum(unstable[order]) / unstable.sum()
    lost = np.cumsum(~unstable[order]) / (~unstable).sum()
    best = int(np.argmax(below - lost))
    following = metric[order][min(best + 1, len(metric) - 1)]
    return float((metric[order][best] + following) / 2)
