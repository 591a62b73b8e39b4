"""Prometheus metrics. Labels: model, version, segment, what is watched, reason, metric."""

from __future__ import annotations

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from anharmonic.serve.monitor.performance import PerformanceWindow
from anharmonic.serve.monitor.stored_monitor import Outcome, StoredMonitor

__all__ = ["Metrics"]

LABELS = ("model", "version")
SCORES = (0.0, *(base * 10.0**power for power in range(-5, 2) for base in (1, 2, 5)))
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ALL = "(all)"
"""The label of evidence and alarms of all traffic; points without a segment have none."""
BOUNDS = {"estimate": "the estimate", "low": "its band from", "high": "its band up to"}
MOST_NAMES = 100
"""Things watched with a time series of their own."""
MOST_SEGMENTS = 100
"""Segments with a time series of their own; all others together are `other`."""


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self, stored_monitor: StoredMonitor) -> None:
        self.stored_monitor = stored_monitor
        self.registry = registry = CollectorRegistry()
        self._labels = labels = {"model": stored_monitor.model, "version": stored_monitor.version}
        self._segments: set[str] = set()
        by_segment, by_reason = (*LABELS, "segment"), (*LABELS, "reason")
        self.scores = Histogram(
            "gamma_score", "Scores of points.", by_segment, registry=registry, buckets=SCORES
        )
        self.points = Counter(
            "gamma_points", "Points that are kept.", by_segment, registry=registry
        )
        self.evidence = Gauge(
            "gamma_drift_log_evidence",
            "Log evidence of drift, the largest.",
            by_segment,
            registry=registry,
        )
        self.alarms = Counter("gamma_alarms", "Alarms raised.", by_segment, registry=registry)
        self.skipped = Counter(
            "gamma_skipped", "Points not scored or not kept.", by_reason, registry=registry
        )
        self.queries = Counter(
            "gamma_model_calls", "Rows the model was asked about.", LABELS, registry=registry
        ).labels(**labels)
        self.seconds = Histogram(
            "gamma_compute_seconds",
            "Time to score a batch.",
            LABELS,
            registry=registry,
            buckets=SECONDS,
        ).labels(**labels)
        self.threshold = Gauge(
            "gamma_alarm_log_evidence",
            "The line that evidence must reach.",
            LABELS,
            registry=registry,
        ).labels(**labels)
        self.waiting = Gauge(
            "gamma_waiting_points", "Points in the queue.", LABELS, registry=registry
        ).labels(**labels)
        self.alarming = Gauge(
            "gamma_alarm", "1 while an alarm stands.", LABELS, registry=registry
        ).labels(**labels)
        self.undelivered = Gauge(
            "gamma_webhook_undelivered",
            "Alarms the webhook has not taken.",
            LABELS,
            registry=registry,
        ).labels(**labels)
        self.channels = Gauge(
            "gamma_channel_log_evidence",
            "Log evidence of drift of each thing watched, the largest.",
            (*LABELS, "watched"),
            registry=registry,
        )
        self.labels = Counter(
            "gamma_labels",
            "Labels kept, or put in another's place.",
            LABELS,
            registry=registry,
        ).labels(**labels)
        self.labels_unused = Counter(
            "gamma_labels_unused",
            "Labels of points that the monitor did not score, or no longer waits for.",
            LABELS,
            registry=registry,
        ).labels(**labels)
        self.labels_waiting = Gauge(
            "gamma_labels_waiting", "Labels whose points have not come.", LABELS, registry=registry
        ).labels(**labels)
        self.acknowledged = Counter(
            "gamma_alarms_acknowledged", "Alarms acknowledged.", LABELS, registry=registry
        ).labels(**labels)
        self.performance = {
            bound: Gauge(
                f"gamma_performance_{bound}",
                f"How well the model does: {words}.",
                (*LABELS, "metric"),
                registry=registry,
            )
            for bound, words in BOUNDS.items()
        }
        self.performance_known = Gauge(
            "gamma_performance_known",
            "1 while the estimates can be relied on.",
            LABELS,
            registry=registry,
        )
        self._names: set[str] = set()
        self.labels_waiting.set(stored_monitor.waiting_labels)
        self.threshold.set(float(stored_monitor.monitor.threshold))
        self.alarming.set(float(bool(stored_monitor.monitor.alarm)))

    def skip(self, reason: str, points: int) -> None:
        """Count points that came and were not taken, or not scored."""
        if points:
            self.skipped.labels(**self._labels, reason=reason).inc(points)

    def record_seconds(self, seconds: float) -> None:
        """A batch was measured in so much time."""
        self.seconds.observe(seconds)

    def record_outcome(self, outcome: Outcome) -> None:
        """A transaction was committed."""
        self.skip("duplicate", sum(1 for result in outcome.results.values() if result.duplicate))
        self.skip("missing", outcome.missing)
        unscored = 0
        for event, score in zip(outcome.new_events, outcome.scores.tolist(), strict=True):
            segment = self._segment_label(event.segment)
            self.points.labels(**self._labels, segment=segment).inc()
            if math.isnan(score):
                unscored += 1
            else:
                self.scores.labels(**self._labels, segment=segment).observe(score)
        self.skip("sampling", unscored - outcome.missing)
        scored = len(outcome.new_events) - unscored
        self.queries.inc(scored * self.stored_monitor.monitor.queries_per_row)
        for alarm in outcome.alarms:
            self.alarms.labels(**self._labels, segment=self._scope_label(alarm.segment)).inc()
        self.alarming.set(float(outcome.alarm))
        self.labels.inc(sum(not result.duplicate for result in outcome.labels))
        self.labels_unused.inc(outcome.unused)
        self.labels_waiting.set(self.stored_monitor.waiting_labels)
        self._set_evidence()

    def record_acknowledgement(self) -> None:
        """Somebody has looked at an alarm."""
        self.acknowledged.inc()

    def record_performance(self, window: PerformanceWindow | None) -> None:
        """The latest estimates of how well the model does."""
        if window is None:
            return
        self.performance_known.labels(**self._labels).set(float(window["known"]))
        for name, values in window["metrics"].items():
            for bound, value in zip(BOUNDS, values, strict=True):
                gauge = self.performance[bound].labels(**self._labels, metric=name)
                gauge.set(math.nan if value is None else value)

    def record_state(self) -> None:
        """Alarms and evidence were cleared, or are others': show where the monitor stands."""
        self.alarming.set(float(bool(self.stored_monitor.monitor.alarm)))
        self.labels_waiting.set(self.stored_monitor.waiting_labels)
        self._set_evidence()

    def _set_evidence(self) -> None:
        """Per segment the largest of what is watched and both directions."""
        largest: dict[str, float] = {}
        by_name: dict[str, float] = {}
        for key, log in self.stored_monitor.evidence.items():
            if math.isfinite(log):
                segment = self._scope_label(key.segment)
                largest[segment] = max(log, largest.get(segment, -math.inf))
                by_name[key.watched] = max(log, by_name.get(key.watched, -math.inf))
        for name, log in by_name.items():
            if name in self._names or len(self._names) < MOST_NAMES:
                self._names.add(name)
                self.channels.labels(**self._labels, watched=name).set(log)
        for segment, log in largest.items():
            self.evidence.labels(**self._labels, segment=segment).set(log)

    def _scope_label(self, segment: str | None) -> str:
        """The label of evidence and alarms: None is all traffic, not points without a segment."""
        return ALL if segment is None else self._segment_label(segment)

    def _segment_label(self, segment: str | None) -> str:
        if segment is None:
            return ""
        if segment not in self._segments and len(self._segments) >= MOST_SEGMENTS:
            return "other"
        self._segments.add(segment)
        return segment

    def text(self) -> bytes:
        """The page that Prometheus scrapes."""
        page: bytes = generate_latest(self.registry)
        return page
