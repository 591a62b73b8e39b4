"""What travels between the rooms of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Batch", "Cell", "Event", "EventResult", "StoredAlarm", "StoredState"]

Cell = float | int | str | bool | None


@dataclass(frozen=True, slots=True)
class Event:
    """One prediction's input, as it came in: `values` in the order of the reference's columns."""

    id: str
    values: Sequence[Cell]
    time: float
    segment: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """What became of an event."""

    id: str
    sequence: int
    score: float | None
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class StoredAlarm:
    """An alarm as it is kept: `id` is the same however often it is written or delivered."""

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
    """Where a monitor stands in a store: its last event, its detectors, what it was made of."""

    sequence: int
    state: bytes | None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction writes: events after `after`, and the detectors as they leave them."""

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
