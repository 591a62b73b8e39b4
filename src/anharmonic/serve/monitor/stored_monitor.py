"""A monitor, and a store that its detectors never run ahead of."""

from __future__ import annotations

import json
import logging
import math
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.errors import SettingsError
from anharmonic.monitor.alarms import Key
from anharmonic.monitor.allowance import Allowance
from anharmonic.monitor.rows import count_of, rows_of, segments_of, taken
from anharmonic.serve.http.problems import WriteConflict
from anharmonic.serve.monitor.identity import about, differences, mark
from anharmonic.serve.monitor.records import Batch, Event, EventResult, StoredAlarm, StoredState
from anharmonic.serve.monitor.row_schema import MOST_IN_SEGMENT, RowSchema
from anharmonic.serve.monitor.store import Store

__all__ = ["Outcome", "Scored", "StoredMonitor"]

Scored = dict[str, Floats]
"""For each thing watched its values, one an event."""


ATTEMPTS = 5
PROBED = 64
NOISES = 6.0
"""Times the largest difference of two calls: what a third may differ by."""
MISSING = "not finite"
"""Why an event has no score, as `Monitor` says it."""
LOG = logging.getLogger("anharmonic.serve.monitor")
ALARMS = uuid.UUID("6f0d2c5e-6a52-4d52-9b3e-0f7a4f0c7a11")
"""The name space of alarms' ids."""


@dataclass(frozen=True)
class Outcome:
    """What one transaction brought: an answer for every event, and what was new."""

    told: dict[str, EventResult]
    fresh: Sequence[Event]
    scores: Floats
    alarms: Sequence[StoredAlarm]
    alarm: bool
    missing: int = 0
    """Events without a score because a number is missing in them."""


class StoredMonitor:
    """One monitor over one store.

    `measured` asks the model and changes nothing. `settle` feeds the detectors and writes what
    they became together with the events; where writing fails the detectors go back.
    """

    def __init__(
        self,
        monitor: Any,
        reference: Any,
        store: Store,
        model: str = "model",
        version: str = "1",
        fresh: bool = False,
    ) -> None:
        self.monitor, self.store = monitor, store
        self.model, self.version = model, version
        self.name = f"{model}@{version}"
        self.row_schema = RowSchema.of(reference, monitor.segment)
        self._reference = rows_of(reference, self.row_schema.shape)
        self._mark, self._about = mark(monitor, reference), about(monitor, reference)
        self._first = monitor.state()
        self._allowance = Allowance(monitor.score, monitor.seed)
        self._moving = _moving(monitor, self.row_schema)
        self._told = False
        """Whether the store knows what this monitor is made of."""
        self._begin(fresh)
        if fresh:
            store.append(self._batch(self.state))
            self._told = True
        self._arrived = self.sequence

    def _begin(self, fresh: bool = False) -> None:
        """Go on where the store says this monitor stopped, or anew after its last event."""
        kept = self.store.kept(self.name)
        state = self._first
        if kept.state is not None and not fresh:
            state = kept.state[len(self._mark) :]
            changed = self._changed(kept)
            if changed:
                raise SettingsError(
                    f"the store knows {self.name} otherwise ({', '.join(changed)} differ), and "
                    "its evidence does not carry over: give a new --version to start beside it, "
                    "or --fresh to start it anew"
                )
            self._told = kept.about is not None
        self.sequence = kept.sequence
        self.state = state
        self.monitor.restore(state)
        self.evidence: dict[Key, float] = self.monitor.evidence

    def _changed(self, kept: StoredState) -> list[str]:
        if kept.about is None:
            # Written before the model and all settings were remembered.
            known = (kept.state or b"").startswith(self._mark)
            return [] if known else ["the reference or the settings"]
        before = json.loads(kept.about)
        changed = differences(before, self._about)
        if changed != ["the model"]:
            return changed
        # A model that does not say the same twice has not become another.
        return differences(before, self._about, self._noise())

    def _noise(self) -> float:
        few = taken(self._reference, np.arange(min(PROBED, count_of(self._reference))))
        one, other = (np.stack([*self.monitor.measure(few).values()]) for _ in range(2))
        return NOISES * float(np.abs(one - other).max())

    def ask_known(self) -> None:
        """Ask the model about a point it has answered before, or raise what it raises."""
        self.monitor.measure(taken(self._reference, np.arange(1)))

    def measure(self, events: Sequence[Event]) -> Scored:
        """Scores of the events, NaN where the allowance does not reach."""
        rows = self._arrived + np.arange(len(events))
        self._arrived += len(events)
        allowed = self._allowance.allowed(rows, max(1, self.monitor.queries_per_row))
        chosen = np.flatnonzero(allowed & ~np.array([self._lacks(each) for each in events]))
        scores = {name: np.full(len(events), np.nan) for name in self.monitor.watch}
        if len(chosen):
            begun = time.perf_counter()
            points = self.row_schema.points([events[row].values for row in chosen.tolist()])
            for name, values in self.monitor.measure(points).items():
                scores[name][chosen] = values
            self._allowance.spent(len(chosen), time.perf_counter() - begun)
        return scores

    def _lacks(self, event: Event) -> bool:
        """Whether a number is missing that the model is moved along: there is no score then."""
        values = event.values
        return None in values and any(values[place] is None for place in self._moving)

    def reset(self) -> None:
        """Clear alarms and evidence, and write that; what was observed stays."""
        for _ in range(ATTEMPTS):
            try:
                self.monitor.reset()
                state = self.monitor.state()
                self.store.append(self._batch(state))
            except WriteConflict:
                self._begin()
            except BaseException:
                self.monitor.restore(self.state)
                raise
            else:
                self.state, self.evidence, self._told = state, self.monitor.evidence, True
                return
        raise WriteConflict("another service keeps writing to this store: give each its own")

    def _batch(self, state: bytes, **more: Any) -> Batch:
        """What is written; at first with what this monitor is made of."""
        told: dict[str, Any] = {"events": (), "scores": (), "evidence": ()}
        if not self._told:
            told |= {
                "about": json.dumps(self._about),
                "columns": json.dumps(self.row_schema.columns),
            }
        told |= {"received": time.time(), **more}
        return Batch(self.name, self.sequence, state=self._mark + state, **told)

    def settle(self, events: Sequence[Event], scores: Scored) -> Outcome:
        """Feed the detectors and write it all, or change nothing and raise."""
        for _ in range(ATTEMPTS):
            try:
                return self._settled(events, scores)
            except WriteConflict:
                self._begin()
        raise WriteConflict("another service keeps writing to this store: give each its own")

    def _settled(self, events: Sequence[Event], scores: Scored) -> Outcome:
        told = self.store.known(self.name, [each.id for each in events])
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

    def _written(self, fresh: list[Event], scores: Scored, told: dict[str, EventResult]) -> Outcome:
        points = self.row_schema.points([each.values for each in fresh])
        fresh, labels = self._labelled(fresh, points)
        first = next(iter(scores.values()))
        reasons = [self._allowance.reason] * len(fresh)
        for place in np.flatnonzero(np.isnan(first)).tolist():
            reasons[place] = MISSING if self._lacks(fresh[place]) else reasons[place]
        observation = self.monitor.observed(points, scores, segments=labels, reasons=reasons)
        now = time.time()
        shift = self.sequence + len(fresh) - int(self.monitor.seen)
        batch = self._batch(
            state := self.monitor.state(),
            received=now,
            events=fresh,
            scores=_finite(first),
            others=_others(scores),
            evidence=_traced(observation, len(fresh)),
            alarms=[self._raised(each, shift, now) for each in observation.alarms],
        )
        self.store.append(batch)
        for place, (each, value) in enumerate(zip(fresh, batch.scores, strict=True), start=1):
            told[each.id] = EventResult(each.id, self.sequence + place, value)
        self.sequence += len(fresh)
        self.state, self._told = state, True
        self.evidence = observation.evidence
        missing = sum(each == MISSING for each in reasons)
        alarm = bool(self.monitor.alarm)
        return Outcome(told, fresh, first, batch.alarms, alarm, missing)

    def _labelled(self, fresh: list[Event], points: Any) -> tuple[list[Event], list[str] | None]:
        """Events with their segments: as they came, else by the monitor's own rule."""
        ruled = segments_of(points, self.monitor.segment)
        if ruled is not None:
            fresh = [
                each if each.segment is not None else replace(each, segment=_short(label))
                for each, label in zip(fresh, ruled.tolist(), strict=True)
            ]
        labels = [each.segment or "" for each in fresh]
        return fresh, labels if any(labels) else None

    def _raised(self, alarm: Any, shift: int, now: float) -> StoredAlarm:
        if alarm.remark:
            LOG.warning("mind, of the alarm of %s: %s", alarm.watched, alarm.remark)
        where = (
            f"{self.name}|{alarm.watched}|{alarm.segment}|{alarm.direction}|{alarm.at + shift + 1}"
        )
        return StoredAlarm(
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


def _moving(monitor: Any, row_schema: RowSchema) -> list[int]:
    """Places of the columns that the model is moved along."""
    names = monitor.scorer.columns
    return [place for place, name in enumerate(row_schema.columns) if name in names]


def _short(label: str) -> str:
    """A segment's name as it may be kept, whatever rule gave it."""
    return label.replace("\x00", "")[:MOST_IN_SEGMENT]


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
