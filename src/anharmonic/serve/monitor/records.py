"""The records that the parts of the service hand each other: events, results, alarms, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = [
    *("Batch", "Cell", "Event", "EventResult", "Label", "LabelResult", "LabelValue"),
    *("StoredAlarm", "StoredLabel", "StoredState"),
]

Cell = float | int | str | bool | None
"""One value of a row."""
LabelValue = float | int | str | bool
"""What turned out to be true."""


@dataclass(frozen=True, slots=True)
class Event:
    """One prediction's input, as it came in: `values` in the order of the reference's columns.

    `metadata` is JSON that is kept with it and that the model never sees.
    """

    id: str
    values: Sequence[Cell]
    time: float
    segment: str | None = None
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class EventResult:
    """An event's number in its monitor and its score; `duplicate` where its id was there before."""

    id: str
    sequence: int
    score: float | None
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """What turned out to be true of the event `id`, and when, where that was said."""

    id: str
    value: LabelValue
    time: float | None = None


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A label as it is stored: `waiting` until an event with its id comes."""

    id: str
    label: str
    time: float | None
    waiting: bool


@dataclass(frozen=True, slots=True)
class LabelResult:
    """What became of a label: new, in another's place, or there already; of an event or of none.

    `unused` says that the monitor takes labels and could not use this new one: its event was not
    scored, or came too long ago.
    """

    id: str
    replaced: bool
    duplicate: bool
    unknown: bool
    unused: bool = False


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
    remark: str | None = None
    details: str | None = None


@dataclass(frozen=True, slots=True)
class StoredState:
    """A monitor in a store: its last event's number, its detectors, its identity as JSON.

    `revision` counts the writes; `summary` is what pages of other processes need of it.
    """

    sequence: int
    state: bytes | None
    about: str | None = None
    revision: int = 0
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction writes: the events after number `after`, and the detectors' new state.

    `others` are scores of what else is watched, as JSON per event; `columns`, `about` and
    `summary` are written where they are not None. `arrived` are ids that labels waited for.
    With `clears`, alarms that stand are marked as cleared. `revision` is that of the state which
    this one follows, None where that does not matter.
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
    evidences: Sequence[str | None] = ()
    summary: str | None = None
    revision: int | None = None
    log_evidence: float | None = None
    labels: Sequence[StoredLabel] = ()
    arrived: Sequence[str] = ()
    clears: bool = False
