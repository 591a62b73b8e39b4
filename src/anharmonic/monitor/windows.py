"""The window view: means of stretches of a stream, beside the band the reference allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from anharmonic._core import tables
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.statistics import Moments
from anharmonic.errors import SettingsError
from anharmonic.monitor.dependence import dependence_of

__all__ = ["WindowArguments", "Windows", "windows_of"]


@dataclass(frozen=True)
class Windows:
    """Means of windows, beside the band that the reference allows.

    Parameters
    ----------
    watched
        The name of what is watched.
    first, last : (windows,)
        The rows that a window begins and ends with.
    counts : (windows,)
        How many of its rows were scored.
    means, errors : (windows,)
        Their mean score, and its standard error.
    low, high : (windows,)
        Where the mean may lie; a window is `outside` where it does not.
    starts : (windows,)
        The time of the first row, where times are known.
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
        """Which windows have a mean below `low` or above `high`, (windows,)."""
        return np.asarray((self.means < self.low) | (self.means > self.high))

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per window, as the first installed of pandas, polars and pyarrow.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        columns: dict[str, Array] = {} if self.starts is None else {"start": self.starts}
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
    """How a stream is cut into windows, and what their means are held against.

    Parameters
    ----------
    count
        Rows per window.
    every
        Time per window, in units in which times are subtracted: `np.timedelta64(1, "h")`.
    level
        The share of windows that lie inside while nothing changes; 0.997 if not given.
    limits
        Thresholds (low, high) for the means instead.
    """

    count: int
    every: object
    level: float
    limits: Sequence[float] | None


def windows_of(
    watched: str,
    rows: Integers,
    scores: Floats,
    reference: Floats,
    *,
    times: Array | None = None,
    **arguments: Unpack[WindowArguments],
) -> Windows:
    """Windows of `count` rows, or of `every` so much time, counted from the first.

    Without `limits` a window is outside where its mean differs from the reference's by more than
    chance at `level` would have it, its autocorrelation counted in. Windows do not overlap and
    promise no false-alarm rate.

    Parameters
    ----------
    watched
        The name of what is watched.
    rows, scores : (rows,)
        Numbers and scores, NaN where a row was not scored.
    reference : (n,)
        The reference's scores.
    times : (rows,)
        When the rows came.
    **arguments
        See `WindowArguments`.

    Examples
    --------
    >>> scores = np.array([1.0, 1, 5, 5])
    >>> windows = windows_of("gamma", np.arange(4), scores, np.ones(50), count=2)
    >>> windows.means.tolist(), windows.outside.tolist()
    ([1.0, 5.0], [False, True])
    """
    count, every = arguments.get("count"), arguments.get("every")
    level, limits = arguments.get("level", 0.997), arguments.get("limits")
    if (count is None) == (every is None) or (every is not None and times is None):
        raise SettingsError("windows are of count=<rows>, or of every=<time> with times")
    # Each row's window, counted from the first: (rows,).
    if count is not None:
        window_of = (rows - rows[:1]) // count if len(rows) else rows
    else:
        # A row of which nobody knows when it came is in no window.
        stamps: NDArray[Any] = np.asarray(times)
        known = np.array([not is_missing(stamp) for stamp in stamps], dtype=bool)
        if not known.any():
            raise SettingsError("no row has a time: give windows of count=<rows>")
        rows, scores, times = rows[known], scores[known], stamps[known]
        ages: Any = times - times[:1]
        length: Any = every
        # Of objects, such as times in a zone, one by one: pandas divides no array of them.
        divided = np.floor_divide(ages, length) if ages.dtype == object else ages // length
        window_of = divided.astype(np.int64)
    # Times need not rise: rows of a window are brought together, in their order.
    order = np.argsort(window_of, kind="stable")
    windows, begins = np.unique(window_of[order], return_index=True)
    parts = np.split(order, begins[1:])
    values = [scores[part][np.isfinite(scores[part])] for part in parts]
    moments = [Moments.of(scored) for scored in values]
    counts = np.array([len(scored) for scored in values], dtype=np.int64)
    low, high = _band(reference, counts, level) if limits is None else np.array(limits)
    # A window in which nothing was scored has no band.
    empty = np.full(len(windows), np.nan)
    return Windows(
        watched,
        first=np.array([rows[part[0]] for part in parts], dtype=np.int64),
        last=np.array([rows[part[-1]] for part in parts], dtype=np.int64),
        counts=counts,
        means=np.array([window.mean if window.count else np.nan for window in moments]),
        errors=np.array([float(window.error) for window in moments]),
        low=np.where(counts > 0, low, empty),
        high=np.where(counts > 0, high, empty),
        starts=None if times is None else np.array([times[part[0]] for part in parts]),
    )


def _band(reference: Floats, counts: Integers, level: float) -> tuple[Floats, Floats]:
    """Where means of so many scores lie, from the reference's mean, spread and memory."""
    time = dependence_of(reference).time
    # The long-run variance σ²·τ: means of n scores vary by σ²·τ/n.
    variance = reference.var(ddof=1) * time
    # The reference's own mean is no surer than a window of its length.
    error = np.sqrt(variance / np.maximum(counts, 1) + variance / len(reference))
    half_width = ndtri(0.5 + level / 2) * error
    return reference.mean() - half_width, reference.mean() + half_width
