"""How well a score ranks unstable photos above the others, and how sure that is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.auroc import auroc, auroc_interval
from anharmonic._core.protocols import Floats
from anharmonic._core.randomness import generator
from studies.streams import ImageStream

__all__ = ["Interval", "auroc", "interval", "ranked", "resampled", "resamples"]

RESAMPLES = 2000


class Interval(NamedTuple):
    """A figure and its 95% interval.

    >>> print(Interval(0.912, 0.85, 0.96))
    0.91 [0.85, 0.96]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "–"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    @property
    def signed(self) -> str:
        """With signs, as differences are written."""
        if not np.isfinite(self.value):
            return "–"
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def ranked(scores: Any, unstable: Any) -> Interval:
    """The AUROC with its interval."""
    return Interval(*auroc_interval(scores, unstable))


def resampled(scores: Any, unstable: Any, counts: Floats) -> Floats:
    """AUROCs with each photo taken as often as `counts` (resamples, photos) says."""
    values, flags = np.asarray(scores, dtype=np.float64), np.asarray(unstable, dtype=bool)
    one, other = values[flags][:, None], values[~flags][None, :]
    above = (one > other) + 0.5 * (one == other)
    pairs = counts[:, flags].sum(axis=1) * counts[:, ~flags].sum(axis=1)
    hits = ((counts[:, flags] @ above) * counts[:, ~flags]).sum(axis=1)
    shares: Floats = np.divide(hits, pairs, out=np.full(len(counts), np.nan), where=pairs > 0)
    return shares


def resamples(photos: int, seed: int, many: int = RESAMPLES) -> Floats:
    """How often each photo comes when as many are drawn with replacement: (many, photos)."""
    shares = np.full(photos, 1 / photos)
    return (
        generator(seed, ImageStream.PHOTO_BOOTSTRAP)
        .multinomial(photos, shares, size=many)
        .astype(np.float64)
    )


def interval(value: float, draws: Floats) -> Interval:
    """A figure with the middle 95% of what resamples gave; unknown where most gave nothing."""
    known = draws[np.isfinite(draws)]
    if not np.isfinite(value) or len(known) < len(draws) / 2:
        return Interval(value, np.nan, np.nan)
    low, high = np.quantile(known, (0.025, 0.975))
    return Interval(value, float(low), float(high))
