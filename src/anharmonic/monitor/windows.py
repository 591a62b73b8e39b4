"""The window view: means of stretches of a stream, beside the band the reference allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from anharmonic._core import tables
from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.monitor.dependence import dependence_of

__all__ = ["WindowArguments", "Windows", "windows_of"]


@dataclass(frozen=True)
class Windows:
    """Means of windows: arrays with one entry a window.

    `first` and `last` are rows, `counts` how many of them were scored; a window is `outside`
    where its mean is not within `low` and `high`.
    """

    watched: str
    first: Integers
    last: Integers
    counts: Integers
    means: Floats
    errors: Floats
    low: Floats
    high: Floats
    starts: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.first)

    @property
    def outside(self) -> NDArray[np.bool_]:
        return np.asarray((self.means < self.low) | (self.means > self.high))

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line a window, as the first installed of pandas, polars and pyarrow, or as told."""
        columns: dict[str, Any] = {} if self.starts is None else {"start": self.starts}
        columns |= {
            "first": self.first,
            "last": self.last,
            "scored": self.counts,
            "mean": self.means,
            "error": self.errors,
            "low": self.low,
            "high": self.high,
            "outside": self.outside,
        }
        about = {"holds": "windows", "watched": self.watched}
        return tables.frame(tables.arrow(columns, about), backend)

    def __repr__(self) -> str:
        return f"<{len(self)} windows of {self.watched}, {int(self.outside.sum())} outside>"


class WindowArguments(TypedDict, total=False):
    """How a stream is cut into windows, and what their means are held against."""

    count: int
    every: Any
    level: float
    limits: Sequence[float] | None


def windows_of(
    watched: str,
    rows: Integers,
    scores: Floats,
    reference: Floats,
    *,
    times: NDArray[Any] | None = None,
    **arguments: Unpack[WindowArguments],
) -> Windows:
    """Windows of `count` rows, or of `every` so much time, counted from the first.

    `limits` are thresholds (low, high) for the means. Without them a window is outside where
    its mean differs from the reference's by more than chance at `level` would have it, its
    autocorrelation counted in. Windows overlap with nothing and know no false-alarm rate.

    >>> seen = windows_of("gamma", np.arange(4), np.array([1.0, 1, 5, 5]), np.ones(50), count=2)
    >>> seen.means.tolist(), seen.outside.tolist()
    ([1.0, 5.0], [False, True])
    """
    count, every = arguments.get("count"), arguments.get("every")
    level, limits = arguments.get("level", 0.997), arguments.get("limits")
    if (count is None) == (every is None) or (every is not None and times is None):
        raise SettingsError("windows are of count=<rows>, or of every=<time> with times")
    if count is not None:
        places = (rows - rows[:1]) // count if len(rows) else rows
    else:
        assert times is not None
        places = ((times - times[:1]) // every).astype(np.int64)
    numbers, begins = np.unique(places, return_index=True)
    parts = np.split(np.arange(len(rows)), begins[1:])
    values = [scores[part][np.isfinite(scores[part])] for part in parts]
    moments = [Moments.of(each) for each in values]
    counts = np.array([len(each) for each in values], dtype=np.int64)
    low, high = _band(reference, counts, level) if limits is None else np.array(limits)
    empty = np.full(len(numbers), np.nan)
    return Windows(
        watched,
        first=np.array([rows[part[0]] for part in parts], dtype=np.int64),
        last=np.array([rows[part[-1]] for part in parts], dtype=np.int64),
        counts=counts,
        means=np.array([each.mean if each.count else np.nan for each in moments]),
        errors=np.array([float(each.error) for each in moments]),
        low=np.where(counts > 0, low, empty),
        high=np.where(counts > 0, high, empty),
        starts=None if times is None else np.array([times[part[0]] for part in parts]),
    )


def _band(reference: Floats, counts: Integers, level: float) -> tuple[Floats, Floats]:
    """Where means of so many scores lie, from the reference's mean, spread and memory."""
    time = dependence_of(reference).time
    known = reference.var(ddof=1) * time
    error = np.sqrt(known / np.maximum(counts, 1) + known / len(reference))
    reach = ndtri(0.5 + level / 2) * error
    return reference.mean() - reach, reference.mean() + reach
