"""A monitor whose state is committed together with its events."""

from __future__ import annotations

import inspect
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
from anharmonic.monitor import Alarm, Key, Monitor
from anharmonic.monitor.allowance import Allowance
from anharmonic.monitor.performance_watch import PERFORMANCE
from anharmonic.monitor.rows import count_of, rows_of, segments_of, spread_over, taken
from anharmonic.monitor.scorer import ANSWERS
from anharmonic.serve.http.problems import WriteConflict
from anharmonic.serve.monitor.alarm_details import details_of
from anharmonic.serve.monitor.channel_evidence import (
    evidence_after_each,
    evidence_by_name,
    largest_of,
)
from anharmonic.serve.monitor.identity import Identity, mark
from anharmonic.serve.monitor.label_feeding import NOTHING, Fed, LabelFeed, settle_labels
from anharmonic.serve.monitor.records import (
    Batch,
    Event,
    EventResult,
    Label,
    LabelResult,
    StoredAlarm,
    StoredState,
)
from anharmonic.serve.monitor.row_schema import MOST_IN_SEGMENT, RowSchema
from anharmonic.serve.monitor.store import Store
from anharmonic.serve.monitor.summaries import summarise

__all__ = ["EventScores", "Outcome", "StoredMonitor"]

EventScores = dict[str, Floats]
"""For each thing watched its values, one per event."""

ATTEMPTS = 5
BUSY = "other services keep writing here: replicas share PostgreSQL, or give each its own store"
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
    """What one transaction brought: a result per event, and what was new."""

    results: dict[str, EventResult]
    new_events: Sequence[Event]
    scores: Floats
    """(new events,) of the first thing watched, NaN where there is none."""
    alarms: Sequence[StoredAlarm]
    alarm: bool
    missing: int = 0
    """Events without a score because a number is missing in them."""
    labels: Sequence[LabelResult] = ()
    """What became of labels, where it is these that came."""
    unused: int = 0
    """Labels that the monitor could not use, these or others that had waited for the events."""


class StoredMonitor:
    """One monitor over one store.

    `measure` calls the model and changes nothing. `commit` feeds the detectors and writes their
    new state together with the events; where writing fails the detectors go back to the old one.

    Parameters
    ----------
    monitor
        Fitted on `reference`; it is continued where the store says it stopped.
    reference
        The points that the monitor was fitted on: a table or an array.
    store
        Where events, alarms and detectors are written.
    model, version
        Together the monitor's name in the store, "MODEL@VERSION".
    fresh
        Start with empty detectors although the store has older ones; its events stay.
    """

    def __init__(
        self,
        monitor: Monitor,
        reference: object,
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
        self._state_mark, self._identity = mark(monitor, reference), Identity.of(monitor, reference)
        self.summary = summarise(monitor, reference, self.row_schema)
        self._feed = LabelFeed(monitor)
        self._extras = _optional_parameters(monitor)
        self._initial_state = monitor.state()
        self._allowance = Allowance(monitor.score, monitor.seed)
        self._complete_columns = _complete_columns(monitor, self.row_schema)
        self._identity_stored = False
        self._compared: str | None = None
        """The stored identity that was last found to be this one's."""
        with store.turn(self.name):
            self._load_state(fresh)
            if fresh:
                store.append(replace(self._batch(self.state), clears=True))
                self.revision += 1
                self._identity_stored = True
            else:
                self._clear_forgotten_alarms()
        self._arrived = self.sequence
        """Events that were measured, written or not: the number of the next."""

    def catch_up(self) -> bool:
        """Continue from what other services of this store have written; whether they have."""
        if self.store.read_revision(self.name) == self.revision:
            return False
        self._load_state(following=True)
        return True

    def _load_state(self, fresh: bool = False, following: bool = False) -> None:
        """Continue where the store says this monitor stopped, or anew after its last event.

        `following` keeps rows in memory, which were observed on the way to that state.
        """
        stored = self.store.read_state(self.name)
        state = self._initial_state
        if stored.state is not None and not fresh:
            state = stored.state[len(self._state_mark) :]
            changes = self._changes_since(stored)
            if changes:
                raise SettingsError(
                    f"the store knows {self.name} otherwise ({', '.join(changes)} differ), and "
                    "its evidence does not carry over: give a new --version to start beside it, "
                    "or --fresh to start it anew"
                )
            self._identity_stored = stored.about is not None and stored.summary is not None
        self.sequence, self.revision = stored.sequence, stored.revision
        self.count_waiting_labels()
        self.state = state
        if following:
            self.monitor.follow(state)
        else:
            self.monitor.restore(state)
        self.evidence: dict[Key, float] = self.monitor.evidence

    def count_waiting_labels(self) -> None:
        """Count labels whose events have not come, after others may have changed them."""
        self.waiting_labels = self.store.count_waiting(self.name)

    def _clear_forgotten_alarms(self) -> None:
        """Mark alarms as cleared that do not stand: stores of 0.1.0 did not say which these are."""
        standing = self.monitor.alarms
        if standing or not self.monitor.alarm:
            keep = [(alarm.watched, alarm.segment, alarm.direction) for alarm in standing]
            self.store.clear_alarms(self.name, time.time(), keep)

    def _changes_since(self, stored: StoredState) -> list[str]:
        if stored.about is None:
            # Written before stores held the identity: the mark is all there is to compare.
            unchanged = (stored.state or b"").startswith(self._state_mark)
            return [] if unchanged else ["the reference or the settings"]
        if stored.about == self._compared:
            return []
        earlier = Identity.read(stored.about)
        changes = self._identity.changes_since(earlier)
        if changes == ["the model"]:
            # A model that is random has not become another.
            changes = self._identity.changes_since(earlier, self._model_noise())
        self._compared = None if changes else stored.about
        return changes

    def _model_noise(self) -> float:
        """How much scores of the same points may differ, from two calls of the model."""
        points = taken(self._reference, np.arange(min(PROBED, count_of(self._reference))))
        measured = (self.monitor.measure(points) for _ in range(2))
        names = list(self.monitor.watch)
        first, second = (np.stack([scores[name] for name in names]) for scores in measured)
        return NOISES * float(np.abs(first - second).max())

    def probe_model(self) -> None:
        """Measure a point of the reference, or raise what the model raises."""
        self.monitor.measure(taken(self._reference, np.arange(1)))

    def measure(self, events: Sequence[Event]) -> EventScores:
        """Scores of the events, NaN where the allowance does not reach."""
        # Not `Monitor.considered`, whose allowance draws by `monitor.seen`: that counts committed
        # rows, from 0 again with `fresh`, and the next batch is measured while the last is being
        # written in another thread. Here rows are numbered as they arrive, after all of the
        # store's. And points are built of the chosen events only, without a pass over all of
        # them for NaN: the schema has left no other value that is not finite than None.
        numbers = self._arrived + np.arange(len(events))
        self._arrived += len(events)
        allowed = self._allowance.allowed(numbers, max(1, self.monitor.queries_per_row))
        chosen = np.flatnonzero(
            allowed & ~np.array([self._lacks_number(event) for event in events])
        )
        scores = {name: np.full(len(events), np.nan) for name in self.monitor.watch}
        if len(chosen):
            begun = time.perf_counter()
            points = self.row_schema.points([events[row].values for row in chosen.tolist()])
            for name, values in self.monitor.measure(points).items():
                scores[name] = spread_over(len(events), chosen, values)
            self._allowance.spent(len(chosen), time.perf_counter() - begun)
        return scores

    def _lacks_number(self, event: Event) -> bool:
        """Whether a cell is missing that a score needs."""
        values = event.values
        return None in values and any(values[column] is None for column in self._complete_columns)

    def reset(self) -> None:
        """Clear alarms and evidence, and write that; what was observed stays."""
        with self.store.turn(self.name):
            self.catch_up()
            self._reset()

    def _reset(self) -> None:
        for _ in range(ATTEMPTS):
            try:
                self.monitor.reset()
                state = self.monitor.state()
                self.store.append(replace(self._batch(state), clears=True))
            except WriteConflict:
                self._load_state()
            except BaseException:
                self.monitor.restore(self.state)
                raise
            else:
                self._advance(state)
                return
        raise WriteConflict(BUSY)

    def _advance(self, state: bytes) -> None:
        """What was written is committed: only now may anybody see the new state."""
        self.state, self.evidence = state, self.monitor.evidence
        self.revision += 1
        self._identity_stored = True

    def _batch(self, state: bytes) -> Batch:
        """A batch without events: the detectors' state, the first time with the identity."""
        first = not self._identity_stored
        return Batch(
            self.name,
            self.sequence,
            received=time.time(),
            state=self._state_mark + state,
            events=(),
            scores=(),
            evidence=(),
            columns=json.dumps(self.row_schema.columns) if first else None,
            about=self._identity.written() if first else None,
            summary=json.dumps(self.summary) if first else None,
            revision=self.revision,
            log_evidence=largest_of(self.monitor.evidence.values()),
        )

    def commit(self, events: Sequence[Event], scores: EventScores) -> Outcome:
        """Feed the detectors and write it all in one transaction, or change nothing and raise.

        Services that share a PostgreSQL store take turns, each from where the last one came to:
        the detectors see one stream, in the order of the store.
        """
        with self.store.turn(self.name):
            self.catch_up()
            return self._commit_or_reload(events, scores)

    def _commit_or_reload(self, events: Sequence[Event], scores: EventScores) -> Outcome:
        for _ in range(ATTEMPTS):
            try:
                return self._commit_new(events, scores)
            except WriteConflict:
                # Somebody else wrote for this monitor: continue from their state.
                self._load_state()
        raise WriteConflict(BUSY)

    def _commit_new(self, events: Sequence[Event], scores: EventScores) -> Outcome:
        """Commit those events whose ids are neither in the store nor earlier in the batch."""
        results = self.store.find_results(self.name, [event.id for event in events])
        rows: list[int] = []
        ids = set(results)
        for row, event in enumerate(events):
            if event.id not in ids:
                ids.add(event.id)
                rows.append(row)
        new_events = [events[row] for row in rows]
        if not new_events:
            return Outcome(results, [], np.empty(0), [], bool(self.monitor.alarm))
        try:
            return self._write(
                new_events, {name: values[rows] for name, values in scores.items()}, results
            )
        except BaseException:
            self.monitor.go_back(self.state)
            raise

    def _write(
        self, events: list[Event], scores: EventScores, results: dict[str, EventResult]
    ) -> Outcome:
        points = self.row_schema.points([event.values for event in events])
        events, segments = self._with_segments(events, points)
        first = next(iter(scores.values()))
        reasons = [self._allowance.reason] * len(events)
        for row in np.flatnonzero(np.isnan(first)).tolist():
            reasons[row] = MISSING if self._lacks_number(events[row]) else reasons[row]
        optional: dict[str, Any] = {}
        if "ids" in self._extras:
            optional["ids"] = [event.id for event in events]
        if "times" in self._extras:
            optional["times"] = [event.time for event in events]
        observation = self.monitor.observed(
            points, scores, segments=segments, reasons=reasons, **optional
        )
        arrived, fed = self._feed_waiting(events)
        now = time.time()
        # From the monitor's row numbers to the store's, which go on after `fresh`.
        shift = self.sequence + len(events) - int(self.monitor.seen)
        state = self.monitor.state()
        batch = replace(
            self._batch(state),
            received=now,
            events=events,
            scores=_finite_or_none(first),
            others=_other_scores(scores),
            evidence=evidence_after_each(observation, len(events)),
            evidences=evidence_by_name(observation, len(events), self.sequence),
            alarms=[
                self._stored_alarm(alarm, shift, now)
                for alarm in (*observation.alarms, *fed.alarms)
            ],
            arrived=arrived,
        )
        self.store.append(batch)
        for number, (event, score) in enumerate(zip(events, batch.scores, strict=True), start=1):
            results[event.id] = EventResult(event.id, self.sequence + number, score)
        self.sequence += len(events)
        self.waiting_labels -= len(arrived)
        self._advance(state)
        missing = sum(reason == MISSING for reason in reasons)
        alarm = bool(self.monitor.alarm)
        return Outcome(results, events, first, batch.alarms, alarm, missing, unused=len(fed.unused))

    def _feed_waiting(self, events: Sequence[Event]) -> tuple[list[str], Fed]:
        """Give the monitor the labels that came before their events; their ids, and what it made
        of them.
        """
        if not self.waiting_labels:
            return [], NOTHING
        labels = self.store.find_labels(self.name, [event.id for event in events])
        values = {id: json.loads(label.label) for id, label in labels.items() if label.waiting}
        return list(values), self._feed.add_or_leave(values)

    def commit_labels(self, labels: Sequence[Label]) -> Outcome:
        """Give labels to the monitor and write them with its new state, or change nothing.

        A label that is stored as it is is left, one for an event that has not come is kept for it.
        """
        with self.store.turn(self.name):
            self.catch_up()
            return self._commit_labels_or_reload(labels)

    def _commit_labels_or_reload(self, labels: Sequence[Label]) -> Outcome:
        for _ in range(ATTEMPTS):
            try:
                return self._commit_labels(labels)
            except WriteConflict:
                self._load_state()
            except BaseException:
                self.monitor.go_back(self.state)
                raise
        raise WriteConflict(BUSY)

    def _commit_labels(self, labels: Sequence[Label]) -> Outcome:
        ids = list(dict.fromkeys(label.id for label in labels))
        stored = self.store.find_labels(self.name, ids)
        events = set(self.store.find_results(self.name, ids))
        results, changed = settle_labels(labels, stored, events)
        alarms: list[StoredAlarm] = []
        unused = 0
        if changed:
            now, shift = time.time(), self.sequence - int(self.monitor.seen)
            known = {label.id: json.loads(label.label) for label in changed if not label.waiting}
            fed = self._feed.add(known)
            alarms = [self._stored_alarm(alarm, shift, now) for alarm in fed.alarms]
            # A label in another's place is not used again.
            late = fed.unused - stored.keys()
            results = [replace(each, unused=each.id in late) for each in results]
            unused = len(late)
            state = self.monitor.state()
            self.store.append(replace(self._batch(state), labels=changed, alarms=alarms))
            self._advance(state)
            self.waiting_labels += sum(
                label.waiting and label.id not in stored for label in changed
            )
        standing = bool(self.monitor.alarm)
        return Outcome({}, [], np.empty(0), alarms, standing, labels=results, unused=unused)

    def _with_segments(
        self, events: list[Event], points: object
    ) -> tuple[list[Event], list[str] | None]:
        """Events with their segments: as they came, else by the monitor's own rule."""
        labels = segments_of(points, self.monitor.segment)
        if labels is not None:
            events = [
                event
                if event.segment is not None
                else replace(event, segment=_shortened(label) or None)
                for event, label in zip(events, labels.tolist(), strict=True)
            ]
        segments = [event.segment or "" for event in events]
        return events, segments if any(segments) else None

    def _stored_alarm(self, alarm: Alarm, shift: int, now: float) -> StoredAlarm:
        if alarm.remark and alarm.watched != PERFORMANCE:
            LOG.warning("mind, of the alarm of %s: %s", alarm.watched, alarm.remark)
        # By name, so that an alarm written twice, after a crash or a conflict, has one id.
        key = (
            f"{self.name}|{alarm.watched}|{alarm.segment}|{alarm.direction}|{alarm.at + shift + 1}"
        )
        if alarm.watched == PERFORMANCE:
            # Labels may raise it again, after a reset, before any event has come.
            key += f"|{self.revision}"
        at, since = int(alarm.at + shift + 1), max(1, int(alarm.since + shift + 1))
        return StoredAlarm(
            id=str(uuid.uuid5(ALARMS, key)),
            sequence=at,
            monitor=self.name,
            time=now,
            watched=str(alarm.watched),
            segment=None if alarm.segment is None else str(alarm.segment),
            direction=str(alarm.direction),
            since=since,
            log_evidence=float(alarm.log_evidence),
            threshold=float(alarm.threshold),
            remark=alarm.remark or None,
            details=details_of(alarm, at, since),
        )


def _complete_columns(monitor: Monitor, row_schema: RowSchema) -> list[int]:
    """Indices of the columns that a score needs: what moves, or what no reference row lacks."""
    names = monitor.scorer.complete
    return [column for column, name in enumerate(row_schema.columns) if name in names]


def _optional_parameters(monitor: Monitor) -> list[str]:
    """What else `observed` takes of the events, if this monitor joins labels by id or time."""
    parameters = inspect.signature(monitor.observed).parameters
    return [name for name in ("ids", "times") if name in parameters]


def _shortened(label: str) -> str:
    """A segment's name as a store takes it, whatever rule gave it."""
    return label.replace("\x00", "")[:MOST_IN_SEGMENT]


def _finite_or_none(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _other_scores(scores: EventScores) -> list[str | None]:
    """Scores of whatever else is watched, as JSON per event."""
    names = [name for name in list(scores)[1:] if name != ANSWERS]
    if not names:
        return []
    columns = [_finite_or_none(scores[name]) for name in names]
    return [json.dumps(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
