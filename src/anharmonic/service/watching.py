"""A monitor, and a store that its detectors never run ahead of."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anharmonic.protocols import Floats
from anharmonic.service.faults import Moved
from anharmonic.service.form import Form
from anharmonic.service.records import Batch, Event, Raised, Told
from anharmonic.service.store import Store

__all__ = ["Outcome", "Scored", "Watch"]

Scored = dict[str, Floats]
"""For each thing watched its values, one an event."""


ATTEMPTS = 5
ALARMS = uuid.UUID("6f0d2c5e-6a52-4d52-9b3e-0f7a4f0c7a11")
"""The name space of alarms' ids."""


@dataclass(frozen=True)
class Outcome:
    """What one transaction brought: an answer for every event, and what was new."""

    told: dict[str, Told]
    fresh: Sequence[Event]
    scores: Floats
    alarms: Sequence[Raised]
    alarm: bool


class Watch:
    """One monitor over one store.

    `measured` asks the model and changes nothing. `settle` feeds the detectors and writes what
    they became together with the events; where writing fails the detectors go back.
    """

    def __init__(
        self, monitor: Any, reference: Any, store: Store, model: str = "model", version: str = "1"
    ) -> None:
        self.monitor, self.store = monitor, store
        self.model, self.version = model, version
        self.name = f"{model}@{version}"
        self.form = Form.of(reference)
        self.evidence: dict[tuple[str, str | None, str], float] = {}
        self._begin()

    def _begin(self) -> None:
        """Go on where the store says this monitor stopped."""
        if not hasattr(self, "state"):
            self._first = self.monitor.state()
        kept = self.store.kept(self.name)
        self.sequence = kept.sequence
        self.state = self._first if kept.state is None else kept.state
        self.monitor.restore(self.state)

    def measured(self, events: Sequence[Event]) -> Scored:
        """Scores of the events, NaN where the monitor chose not to ask."""
        points = self.form.points([each.values for each in events])
        found: Scored = self.monitor.measured(points)
        return found

    def settle(self, events: Sequence[Event], scores: Scored) -> Outcome:
        """Feed the detectors and write it all, or change nothing and raise."""
        for _ in range(ATTEMPTS):
            try:
                return self._settled(events, scores)
            except Moved:
                self._begin()
        raise Moved("another service keeps writing to this store: give each its own")

    def _settled(self, events: Sequence[Event], scores: Scored) -> Outcome:
        told = self.store.known([each.id for each in events])
        rows: list[int] = []
        taken = set(told)
        for row, each in enumerate(events):
            if each.id not in taken:
                taken.add(each.id)
                rows.append(row)
        fresh = [events[row] for row in rows]
        if not fresh:
            return Outcome(told, [], np.empty(0), [], bool(self.monitor.alarm))
        try:
            outcome = self._written(fresh, {name: each[rows] for name, each in scores.items()}, told)
        except BaseException:
            self.monitor.restore(self.state)
            raise
        return outcome

    def _written(self, fresh: list[Event], scores: Scored, told: dict[str, Told]) -> Outcome:
        points = self.form.points([each.values for each in fresh])
        segments = [each.segment for each in fresh]
        given = segments if any(each is not None for each in segments) else None
        observation = self.monitor.observed(points, scores, segments=given)
        now = time.time()
        shift = self.sequence + len(fresh) - int(self.monitor.seen)
        batch = Batch(
            monitor=self.name,
            after=self.sequence,
            received=now,
            state=self.monitor.state(),
            events=fresh,
            scores=_finite(next(iter(scores.values()))),
            others=_others(scores),
            evidence=_traced(observation, len(fresh)),
            alarms=[self._raised(each, shift, now) for each in observation.alarms],
        )
        self.store.append(batch)
        for place, (each, value) in enumerate(zip(fresh, batch.scores, strict=True), start=1):
            told[each.id] = Told(each.id, self.sequence + place, value)
        self.sequence += len(fresh)
        self.state = batch.state
        self.evidence = {tuple(key): log for key, log in observation.evidence.items()}
        first = next(iter(scores.values()))
        return Outcome(told, fresh, first, batch.alarms, bool(self.monitor.alarm))

    def _raised(self, alarm: Any, shift: int, now: float) -> Raised:
        where = f"{self.name}|{alarm.watched}|{alarm.segment}|{alarm.direction}|{alarm.at + shift + 1}"
        return Raised(
            id=str(uuid.uuid5(ALARMS, where)),
            sequence=int(alarm.at + shift + 1),
            monitor=self.name,
            time=now,
            watched=str(alarm.watched),
            segment=None if alarm.segment is None else str(alarm.segment),
            direction=str(alarm.direction),
            since=max(1, int(alarm.since + shift + 1)),
            log_evidence=float(alarm.log_evidence),
            threshold=float(alarm.threshold),
        )


def _finite(values: Floats) -> list[float | None]:
    return [each if math.isfinite(each) else None for each in values.tolist()]


def _others(scores: Scored) -> list[str | None]:
    """Whatever else is watched, as JSON for each event."""
    names = list(scores)[1:]
    if not names:
        return []
    columns = [_finite(scores[name]) for name in names]
    return [json.dumps(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def _traced(observation: Any, count: int) -> list[float | None]:
    """The largest log evidence after each event."""
    traces = [trace for trace in observation.trace.values() if np.isfinite(trace).all()]
    return np.max(traces, axis=0).tolist() if traces else [None] * count
