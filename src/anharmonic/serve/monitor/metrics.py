"""What Prometheus reads. Labels: model, version, segment; and the reason of what was skipped."""

from __future__ import annotations

import math
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from anharmonic.serve.monitor.stored_monitor import Outcome, StoredMonitor

__all__ = ["Metrics"]

LABELS = ("model", "version")
SCORES = (0.0, *(base * 10.0**power for power in range(-5, 2) for base in (1, 2, 5)))
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ALL = "(all)"
"""The label of evidence and alarms of all traffic; points without a segment have none."""
MOST_SEGMENTS = 100
"""Segments with a line of their own; all others together are `other`."""


class Metrics:
    """The numbers of one service, in a registry of its own."""

    def __init__(self, watch: StoredMonitor) -> None:
        self.watch = watch
        self.registry = CollectorRegistry()
        self._labels = {"model": watch.model, "version": watch.version}
        self._segments: set[str] = set()
        scored = (*LABELS, "segment")
        self.scores = self._made(
            Histogram, "gamma_score", "Scores of points.", scored, buckets=SCORES
        )
        self.points = self._made(Counter, "gamma_points", "Points that are kept.", scored)
        self.evidence = self._made(
            Gauge, "gamma_drift_log_evidence", "Log evidence of drift, the largest.", scored
        )
        self.alarms = self._made(Counter, "gamma_alarms", "Alarms raised.", scored)
        self.skipped = self._made(
            Counter, "gamma_skipped", "Points not scored or not kept.", (*LABELS, "reason")
        )
        self.queries = self._plain(Counter, "gamma_model_calls", "Rows the model was asked about.")
        self.seconds = self._plain(
            Histogram, "gamma_compute_seconds", "Time to score a batch.", buckets=SECONDS
        )
        self.threshold = self._plain(
            Gauge, "gamma_alarm_log_evidence", "The line that evidence must reach."
        )
        self.waiting = self._plain(Gauge, "gamma_waiting_points", "Points in the queue.")
        self.alarming = self._plain(Gauge, "gamma_alarm", "1 while an alarm stands.")
        self.undelivered = self._plain(
            Gauge, "gamma_webhook_undelivered", "Alarms the webhook has not taken."
        )
        self.threshold.set(float(watch.monitor.threshold))
        self.alarming.set(float(bool(watch.monitor.alarm)))

    def _made(self, kind: Any, name: str, about: str, labels: tuple[str, ...], **more: Any) -> Any:
        return kind(name, about, labels, registry=self.registry, **more)

    def _plain(self, kind: Any, name: str, about: str, **more: Any) -> Any:
        return self._made(kind, name, about, LABELS, **more).labels(**self._labels)

    def skip(self, reason: str, points: int) -> None:
        """Points that came and were not taken, or not scored."""
        if points:
            self.skipped.labels(**self._labels, reason=reason).inc(points)

    def asked(self, seconds: float) -> None:
        """A batch was measured."""
        self.seconds.observe(seconds)

    def take(self, outcome: Outcome) -> None:
        """What a transaction brought."""
        self.skip("duplicate", sum(1 for told in outcome.told.values() if told.duplicate))
        self.skip("missing", outcome.missing)
        unscored = 0
        for event, score in zip(outcome.fresh, outcome.scores.tolist(), strict=True):
            segment = self._segment(event.segment)
            self.points.labels(**self._labels, segment=segment).inc()
            if math.isnan(score):
                unscored += 1
            else:
                self.scores.labels(**self._labels, segment=segment).observe(score)
        self.skip("sampling", unscored - outcome.missing)
        self.queries.inc((len(outcome.fresh) - unscored) * self.watch.monitor.queries_per_row)
        for alarm in outcome.alarms:
            self.alarms.labels(**self._labels, segment=self._place(alarm.segment)).inc()
        self.alarming.set(float(outcome.alarm))
        self._tell_evidence()

    def cleared(self) -> None:
        """Alarms and evidence were cleared."""
        self.alarming.set(0.0)
        self._tell_evidence()

    def _tell_evidence(self) -> None:
        largest: dict[str, float] = {}
        for key, log in self.watch.evidence.items():
            if math.isfinite(log):
                segment = self._place(key.segment)
                largest[segment] = max(log, largest.get(segment, -math.inf))
        for segment, log in largest.items():
            self.evidence.labels(**self._labels, segment=segment).set(log)

    def _place(self, segment: str | None) -> str:
        """Where evidence is from: all traffic is not the points without a segment."""
        return ALL if segment is None else self._segment(segment)

    def _segment(self, segment: str | None) -> str:
        if segment is None:
            return ""
        if segment not in self._segments and len(self._segments) >= MOST_SEGMENTS:
            return "other"
        self._segments.add(segment)
        return segment

    def text(self) -> bytes:
        """The page Prometheus scrapes."""
        page: bytes = generate_latest(self.registry)
        return page
