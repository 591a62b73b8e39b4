"""A monitor, and a store that its detectors never run ahead of."""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anharmonic.errors import SettingsError
from anharmonic.monitor.alarms import Key
from anharmonic.monitor.allowance import Allowance
from anharmonic.monitor.traffic import segments_of
from anharmonic.protocols import Floats
from anharmonic.regions import as_region, host
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
        self._mark = _fingerprint(monitor, reference)
        self._first = monitor.state()
        self._allowance = Allowance(monitor.score, monitor.seed)
        self._begin()
        self._arrived = self.sequence

    def _begin(self) -> None:
        """Go on where the store says this monitor stopped."""
        kept = self.store.kept(self.name)
        state = self._first
        if kept.state is not None:
            mark, state = kept.state[: len(self._mark)], kept.state[len(self._mark) :]
            if mark != self._mark:
                raise SettingsError(
                    f"the store knows {self.name} with another reference or other settings: "
                    "give --version a new name, or another --store"
                )
        self.sequence = kept.sequence
        self.state = state
        self.monitor.restore(state)
        self.evidence: dict[Key, float] = self.monitor.evidence

    def measured(self, events: Sequence[Event]) -> Scored:
        """Scores of the events, NaN where the allowance does not reach."""
        rows = self._arrived + np.arange(len(events))
        self._arrived += len(events)
        chosen = np.flatnonzero(self._allowance.allowed(rows, max(1, self.monitor.queries_a_row)))
        scores = {name: np.full(len(events), np.nan) for name in self.monitor.watch}
        if len(chosen):
            begun = time.perf_counter()
            points = self.form.points([events[row].values for row in chosen.tolist()])
            for name, values in self.monitor.measured(points).items():
                scores[name][chosen] = values
            self._allowance.spent(len(chosen), time.perf_counter() - begun)
        return scores

    def reset(self) -> None:
        """Clear alarms and evidence, and write that; what was observed stays."""
        for _ in range(ATTEMPTS):
            try:
                self.monitor.reset()
                state = self.monitor.state()
                nothing = Batch(
                    self.name, self.sequence, time.time(), self._mark + state, (), (), ()
                )
                self.store.append(nothing)
            except Moved:
                self._begin()
            except BaseException:
                self.monitor.restore(self.state)
                raise
            else:
                self.state, self.evidence = state, self.monitor.evidence
                return
        raise Moved("another service keeps writing to this store: give each its own")

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
            outcome = self._written(
                fresh, {name: each[rows] for name, each in scores.items()}, told
            )
        except BaseException:
            self.monitor.restore(self.state)
            raise
        return outcome

    def _written(self, fresh: list[Event], scores: Scored, told: dict[str, Told]) -> Outcome:
        points = self.form.points([each.values for each in fresh])
        fresh, labels = self._labelled(fresh, points)
        reasons = [self._allowance.reason] * len(fresh)
        observation = self.monitor.observed(points, scores, segments=labels, reasons=reasons)
        now = time.time()
        shift = self.sequence + len(fresh) - int(self.monitor.seen)
        batch = Batch(
            monitor=self.name,
            after=self.sequence,
            received=now,
            state=self._mark + (state := self.monitor.state()),
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
        self.state = state
        self.evidence = observation.evidence
        first = next(iter(scores.values()))
        return Outcome(told, fresh, first, batch.alarms, bool(self.monitor.alarm))

    def _labelled(self, fresh: list[Event], points: Any) -> tuple[list[Event], list[str] | None]:
        """Events with their segments: as they came, else by the monitor's own rule."""
        ruled = segments_of(points, self.monitor.segment)
        if ruled is not None:
            fresh = [
                each if each.segment is not None else replace(each, segment=label)
                for each, label in zip(fresh, ruled.tolist(), strict=True)
            ]
        labels = [each.segment or "" for each in fresh]
        return fresh, labels if any(labels) else None

    def _raised(self, alarm: Any, shift: int, now: float) -> Raised:
        where = (
            f"{self.name}|{alarm.watched}|{alarm.segment}|{alarm.direction}|{alarm.at + shift + 1}"
        )
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


def _fingerprint(monitor: Any, reference: Any) -> bytes:
    """Sixteen bytes that say which reference and which settings detectors belong to."""
    values = np.ascontiguousarray(host(as_region(reference).values))
    segment = monitor.segment if isinstance(monitor.segment, str | int) else None
    settings = repr((monitor.rate, list(monitor.watch), monitor.seed, segment, values.shape))
    return hashlib.blake2b(values.tobytes() + settings.encode(), digest_size=16).digest()


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
    """The largest log evidence after each event; that of segments after the last of them."""
    traces = [trace for trace in observation.trace.values() if np.isfinite(trace).all()]
    if not traces:
        return [None] * count
    logs = [log for key, log in observation.evidence.items() if key.segment is not None]
    segments = max(filter(math.isfinite, logs), default=-math.inf)
    found: list[float | None] = np.maximum(np.max(traces, axis=0), segments).tolist()
    return found
