"""Levels and missing cells in JSON: a date that came back as text would be another level."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from anharmonic.errors import SettingsError

__all__ = ["level_fact", "level_from", "missing_fact", "missing_from"]

PLAIN = (str, int, float, bool)
CALENDAR: Mapping[str, type[date] | type[time]] = {
    "datetime": datetime,
    "date": date,
    "time": time,
}
PANDAS = ("Timestamp", "Timedelta", "Period", "Interval")


def level_fact(name: str, level: object) -> object:
    """A level as it is, or with the name of its type.

    Parameters
    ----------
    name, level
        The column, for the message, and one of its levels.
    """
    if isinstance(level, np.generic) and not isinstance(level, np.datetime64 | np.timedelta64):
        level = level.item()
    if isinstance(level, PLAIN):
        return level
    kind = type(level).__name__
    return {"type": kind, "value": _value(name, kind, level)}


def _value(name: str, kind: str, level: Any) -> object:
    if kind == "Timestamp":
        return [level.isoformat(), None if level.tz is None else str(level.tz)]
    if kind == "Timedelta":
        return level.isoformat()
    if kind == "Period":
        return [int(level.ordinal), level.freqstr]
    if kind == "Interval":
        return [level_fact(name, level.left), level_fact(name, level.right), level.closed]
    if kind in CALENDAR:
        return level.isoformat()
    if isinstance(level, timedelta):
        return [level.days, level.seconds, level.microseconds]
    if kind == "tuple":
        return [level_fact(name, part) for part in level]
    if isinstance(level, Decimal):
        return str(level)
    if isinstance(level, bytes):
        return level.hex()
    raise SettingsError(
        f"column {name} has levels of the type {kind}, which a file cannot hold: make them texts, "
        "or hold the column still by naming the others in moving="
    )


def level_from(fact: Any) -> object:
    """The level that `level_fact` wrote."""
    if not isinstance(fact, Mapping):
        return fact
    kind, value = fact["type"], fact["value"]
    if kind in PANDAS:
        return _of_pandas(kind, value)
    if kind in CALENDAR:
        return CALENDAR[kind].fromisoformat(value)
    if kind == "timedelta":
        return timedelta(*value)
    if kind == "tuple":
        return tuple(level_from(part) for part in value)
    return Decimal(value) if kind == "Decimal" else bytes.fromhex(value)


def _of_pandas(kind: str, value: Any) -> object:
    pandas: Any = nw.Implementation.PANDAS.to_native_namespace()
    if kind == "Timestamp":
        text, zone = value
        stamp = pandas.Timestamp(text)
        return stamp if zone is None else stamp.tz_convert(zone)
    if kind == "Period":
        ordinal, frequency = value
        return pandas.Period(ordinal=ordinal, freq=frequency)
    if kind == "Interval":
        left, right, closed = value
        return pandas.Interval(level_from(left), level_from(right), closed)
    return pandas.Timedelta(value)


def missing_fact(cell: object) -> str | None:
    """What a missing cell is, by name; None for None itself."""
    return None if cell is None else "NaN" if isinstance(cell, float) else type(cell).__name__


def missing_from(fact: str | None) -> object:
    """The missing cell that `missing_fact` named."""
    if fact is None:
        return None
    if fact == "NaN":
        return float("nan")
    pandas: Any = nw.Implementation.PANDAS.to_native_namespace()
    return pandas.NA if fact == "NAType" else pandas.NaT
