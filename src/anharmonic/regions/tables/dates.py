"""Times and durations as whole steps from a first one, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Array, Floats

__all__ = ["Calendar", "dated_cells"]


class Calendar(NamedTuple):
    """The first time as an integer, what one step is, and numpy's name of the integer's unit."""

    origin: int
    unit: int
    stamp: str

    @classmethod
    def of(cls, reference: nw.Series, points: nw.Series | None = None) -> Calendar:
        """From the reference's first time, in the largest steps that reach all times."""
        stamps = [_stamps(reference)]
        if points is not None and _are_durations(points) == _are_durations(reference):
            stamps.append(_stamps(points))
        # The finer unit of both types, so that no cell is rounded.
        finest = np.result_type(*(part.dtype for part in stamps))
        parts = [part[~np.isnat(part)].astype(finest).astype(np.int64) for part in stamps]
        times = np.concatenate(parts)
        if not len(times):
            return cls(0, 1, str(finest))
        origin = int((parts[0] if len(parts[0]) else times).min())
        return cls(origin, int(np.gcd.reduce(times - origin)) or 1, str(finest))

    @property
    def what(self) -> str:
        """What the reference holds, in a word."""
        return "durations" if np.dtype(self.stamp).kind == "m" else "dates"

    def suits(self, series: nw.Series) -> bool:
        """Whether a column holds times, or durations, as the reference does."""
        return _are_durations(series) == (self.what == "durations")

    def steps(self, series: nw.Series) -> Floats:
        """How many steps after the first one cells are, NaN where one is missing."""
        stamps = _stamps(series).astype(self.stamp)
        # Divided in integers: in nanoseconds a few years are beyond what a float can tell apart.
        whole, rest = np.divmod(stamps.astype(np.int64) - self.origin, self.unit)
        steps = whole + rest / self.unit
        return np.where(np.isnat(stamps), np.nan, steps)

    def times(self, steps: Floats) -> NDArray[Any]:
        """Steps as numpy's times."""
        absent = np.isnan(steps)
        whole = np.where(absent, 0.0, np.floor(steps))
        # Times that came later may be between two steps.
        between = np.rint(np.where(absent, 0.0, steps - whole) * self.unit)
        integers = whole.astype(np.int64) * self.unit + between.astype(np.int64) + self.origin
        stamps: NDArray[Any] = integers.astype(self.stamp)
        stamps[absent] = np.array("NaT", dtype=self.stamp)
        return stamps

    def days(self, steps: float) -> float:
        """How many days so many steps are."""
        unit = np.array(self.unit, dtype=f"m8[{np.datetime_data(np.dtype(self.stamp))[0]}]")
        return float(steps * (unit / np.timedelta64(1, "D")))

    def shown(self, step: float) -> str:
        """A time for people: a day where all steps are whole days, else to the second."""
        if self.what == "durations":
            return f"{self.days(step + self.origin / self.unit):.3g} days"
        moment = self.times(np.array([step]))[0]
        whole_days = self.days(1.0).is_integer()
        return str(np.datetime_as_string(moment, unit="D" if whole_days else "s"))


def dated_cells(times: NDArray[Any], series: nw.Series) -> Array:
    """Numpy's times as cells of a column's own type, in its zone."""
    if series.implementation.is_pandas_like():
        native = series.to_native()
        pandas: Any = series.implementation.to_native_namespace()
        dated = pandas.Series(times)
        zone = getattr(native.dtype, "tz", None)
        if zone is not None:
            dated = dated.dt.tz_localize("UTC").dt.tz_convert(zone)
        return dated.astype(native.dtype).array
    made = nw.new_series(series.name, times, backend=series.implementation)
    return made.cast(series.dtype).to_native()


def _are_durations(series: nw.Series) -> bool | None:
    """Whether cells are durations, or times that have a date; None where they are neither."""
    dtype = series.dtype
    if not dtype.is_temporal() or dtype == nw.Time:
        return None
    return bool(dtype == nw.Duration)


def _stamps(series: nw.Series) -> NDArray[Any]:
    """Times or durations as numpy has them, without a zone."""
    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    stamps = np.asarray(series.to_numpy())
    return stamps if stamps.dtype.kind in "mM" else stamps.astype("datetime64[us]")
