"""The records that the parts of the service hand each other: events, results, alarms, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Batch", "Cell", "Event", "EventResult", "StoredAlarm", "StoredState"]

Cell = float | int | str | bool | None
"""One value of a row."""


@dataclass(frozen=True, slots=True)
class Event:
    """One prediction's input, as it came in: `values` in the order of the reference's columns."""

    id: str
    values: Sequence[Cell]
    time: float
    segment: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """An event's number in its monitor and its score; `duplicate` where its id was there before."""

    id: str
    sequence: int
    score: float | None
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as it is stored: `id` is the same however often it is written or delivered."""

    id: str
    sequence: int
    monitor: str
    time: float
    watched: str
    segment: str | None
    direction: str
    since: int
    log_evidence: float
    threshold: float
    attempts: int = 0
    delivered: float | None = None


@dataclass(frozen=True, slots=True)
class StoredState:
    """A monitor in a store: its last event's number, its detectors, its identity as JSON."""

    sequence: int
    state: bytes | None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction writes: the events after number `after`, and the detectors' new state.

    `others` are scores of what else is watched, as JSON per event; `columns` and `about` are
    written where they are not None.
    """

    monitor: str
    after: int
    received: float
    state: bytes
    events: Sequence[Event]
    scores: Sequence[float | None]
    evidence: Sequence[float | None]
    others: Sequence[str | None] = ()
    columns: str | None = None
    about: str | None = None
    alarms: Sequence[StoredAlarm] = field(default=())
