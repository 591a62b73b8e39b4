"""Performance along a stream, of constant size: windows, and rows that wait for their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats
from anharmonic._core.statistics import share_interval
from anharmonic.errors import PointsError, SettingsError
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.fitting import number_labels
from anharmonic.performance.metrics import observed_credits, row_losses
from anharmonic.performance.packing import pack_tracker, unpack_tracker
from anharmonic.performance.result import Curve, Interval, Performance
from anharmonic.performance.sequences import Fall, FallDetector, MeanSequence
from anharmonic.performance.tracks import Pending, Track

__all__ = ["LabelReport", "PerformanceTracker"]

ERRORS_CAPPED = 0.99
"""Errors of numbers above this quantile of the reference's count as it: alarms need a bound."""


class LabelReport(NamedTuple):
    """What became of labels.

    Parameters
    ----------
    used
        How many were joined with their rows.
    unknown
        Ids that nobody waits for.
    fall
        An alarm, where they raised one.
    """

    used: int
    unknown: tuple[str, ...]
    fall: Fall | None


class PerformanceTracker:
    """Estimates performance window by window, and takes labels whenever they come.

    Parameters
    ----------
    estimator
        From `fit_performance`.
    window
        Rows per window.
    windows
        How many windows are kept.
    pending
        How many rows wait for a label at most; beyond that the oldest go.
    segments
        How many segments are kept apart at most; further ones count in the whole alone.
    tolerance
        How much worse than in the reference is no alarm: of accuracy, or as a share of the MAE.
    rate
        Labels among which one false alarm is allowed.

    Examples
    --------
    >>> from anharmonic.performance import fit_performance
    >>> random = np.random.default_rng(0)
    >>> sure = random.uniform(size=3000)
    >>> outputs, labels = np.stack([1 - sure, sure], 1), (random.uniform(size=3000) < sure) * 1
    >>> tracker = PerformanceTracker(fit_performance(outputs[:2000], labels[:2000]), window=500)
    >>> ids = [f"row {number}" for number in range(1000)]
    >>> tracker.update(outputs[2000:], ids=ids)
    2
    >>> tracker.add_labels(ids[::20], labels[2000::20]).used
    50
    >>> len(tracker.curve()), tracker.performance().labelled
    (2, 25)
    """

    def __init__(
        self,
        estimator: Estimator,
        *,
        window: int = 500,
        windows: int = 64,
        pending: int = 20_000,
        segments: int = 16,
        tolerance: float = 0.05,
        rate: float = 10_000.0,
    ) -> None:
        if window < 30 or windows < 1 or pending < 1 or segments < 0:
            raise SettingsError("a tracker needs windows of at least 30 rows, and room for one")
        self.estimator = estimator
        self.window, self.windows, self.segments = window, windows, segments
        self.tracks: dict[str | None, Track] = {None: Track(estimator, window, windows)}
        self.pending = Pending(pending)
        self.seen = 0
        self.sequence = MeanSequence()
        self._cap, limit = _loss_limit(estimator, tolerance)
        self.detector = FallDetector(limit, rate)

    def update(
        self,
        outputs: Floats,
        features: Floats | None = None,
        *,
        ids: Sequence[str] | None = None,
        times: Sequence[object] | None = None,
        segments: Sequence[str | None] | None = None,
    ) -> int:
        """Take rows in; how many windows of all traffic they closed.

        Parameters
        ----------
        outputs, features
            As `Estimator.estimate` takes them.
        ids
            By which labels will come; rows without one wait for none.
        times, segments
            When rows came, and what part of the traffic they are of.
        """
        outputs, features = self.estimator.checked(outputs, features)
        for given in (ids, times, segments):
            if given is not None and len(given) != len(outputs):
                raise PointsError(f"{len(given)} facts about {len(outputs)} rows: give one per row")
        closed = 0
        for place in range(len(outputs)):
            key = "" if ids is None else str(ids[place])
            segment = None if segments is None or segments[place] is None else str(segments[place])
            cells = None if features is None else features[place]
            time = "" if times is None else str(times[place])
            ends: list[tuple[str | None, bool]] = [
                (None, self._add(None, outputs[place], cells, key, time))
            ]
            if segment is not None and self._keeps(segment):
                ends.append((segment, self._add(segment, outputs[place], cells, key, time)))
            if key:
                self.pending.add(key, outputs[place], None if len(ends) == 1 else segment)
            self.seen += 1
            for name, full in ends:
                if full:
                    self._close(name)
                    closed += name is None
        return closed

    def _keeps(self, segment: str) -> bool:
        if segment not in self.tracks and len(self.tracks) <= self.segments:
            self.tracks[segment] = Track(self.estimator, self.window, self.windows)
        return segment in self.tracks

    def _add(
        self, segment: str | None, outputs: Floats, cells: Floats | None, key: str, time: str
    ) -> bool:
        return self.tracks[segment].add(outputs, cells, key, time, self.seen)

    def _close(self, segment: str | None) -> None:
        """Close a track's window, and hand it the labels that came before."""
        for key, number, residue in self.tracks[segment].close():
            self.pending.place(key, segment, number, residue)
        for key, label, weight in self.pending.labelled_early(segment):
            self._credit(key, segment, label, weight)

    def add_labels(
        self,
        ids: Sequence[str],
        labels: NDArray[Any],
        probabilities: Floats | float | None = None,
        *,
        share: float | None = None,
    ) -> LabelReport:
        """Labels of rows that went by.

        Parameters
        ----------
        ids
            As given to `update`.
        labels : (ids,)
            Of their rows.
        probabilities
            The chance with which each row was to be labelled, from `choose_rows`; equal if None.
        share
            With unequal chances, the share of all rows that is labelled (count over rows): without
            it such labels sharpen the estimate, and no alarm or `mean_loss` counts them.
        """
        chances = np.broadcast_to(np.asarray(1.0 if probabilities is None else probabilities,
                                             dtype=np.float64), (len(ids),))  # fmt: skip
        if not ((chances > 0) & (chances <= 1)).all():
            raise PointsError("a chance lies not between 0 and 1: give those rows were chosen by")
        kind, classes = self.estimator.kind, self.estimator.classes or None
        numbered = number_labels(labels, kind, classes, len(ids)).astype(np.float64)
        alike = bool((chances == chances[:1]).all())
        used, unknown, losses = 0, [], []
        for key, label, chance in zip(map(str, ids), numbered, chances, strict=True):
            row = self.pending.label(key, float(label), float(1 / chance))
            if row is None:
                unknown.append(key)
                continue
            used += 1
            # Drawn with chance π, a row stands for share/π rows: the mean is that of all rows.
            weight = 1.0 if alike or share is None else share / float(chance)
            losses.append(weight * self._loss(row, float(label)))
            for segment in self.pending.segments_of(key):
                self._credit(key, segment, float(label), float(1 / chance))
        fall = None
        if alike or share is not None:
            self.detector, fall = self.detector.add(np.array(losses))
        if alike:
            self.sequence = self.sequence.add(np.array(losses))
        return LabelReport(used, tuple(unknown), fall)

    def _loss(self, outputs: Floats, label: float) -> float:
        """Between 0 and 1: wrong or not; or the error as a share of the cap."""
        kind = self.estimator.kind
        credits = observed_credits(outputs[None], np.array([label]), kind)
        if kind == "classes":
            return 1 - float(row_losses("accuracy", outputs[None], credits)[0])
        return min(1.0, float(credits[0, 0]) / self._cap)

    def _credit(self, key: str, segment: str | None, label: float, weight: float) -> None:
        """Count a label in its window, if that is closed and still kept."""
        waiting = self.pending.take(key, segment)
        if waiting is None:
            return
        number, residue, outputs = waiting
        observed = observed_credits(outputs[None], np.array([label]), self.estimator.kind)[0]
        expected, slopes = residue[0], residue[1:]
        self.tracks[segment].add_label(number, slopes @ (observed - expected), weight)

    def performance(self, *, level: float | None = None) -> Performance:
        """The newest window's; of the rows so far where none is full."""
        return self.tracks[None].latest(level)

    def curve(self, *, segment: str | None = None, level: float | None = None) -> Curve:
        """All windows that are kept, of all traffic or of a segment."""
        if segment not in self.tracks:
            raise SettingsError(f"no rows of segment {segment!r} were seen: give one that was")
        return Curve(tuple(self.tracks[segment].curve(level, segment)))

    def by_segment(self, *, level: float | None = None) -> dict[str, Performance]:
        """The newest performance of each segment."""
        return {
            segment: track.latest(level, segment)
            for segment, track in self.tracks.items()
            if segment is not None
        }

    def mean_loss(self, level: float = 0.9) -> Interval:
        """The mean loss of all labelled rows, in an interval that holds whenever one looks.

        Wrong or not; of numbers the absolute error, those above the cap counting as it. For rows
        labelled with equal chances.
        """
        found = self.sequence.interval(level)
        scale = 1.0 if self.estimator.kind == "classes" else self._cap
        return Interval(*(scale * value for value in found))

    def state(self) -> bytes:
        """All that changes as rows and labels come, without the estimator."""
        return pack_tracker(self)

    def restore(self, state: bytes) -> None:
        """Go on from what `state` gave, to the bit."""
        unpack_tracker(self, state)


def _loss_limit(estimator: Estimator, tolerance: float) -> tuple[float, float]:
    """The cap of errors, and the mean loss that is still no fall: an upper bound + tolerance."""
    reference = estimator.reference
    count = len(reference.outputs)
    if estimator.kind == "classes":
        right = row_losses("accuracy", reference.outputs, reference.observed)
        wrong = count - round(float(right.sum()))
        return 1.0, min(1.0, share_interval(wrong, count, 0.9)[1] + tolerance)
    errors = reference.observed[:, 0]
    cap = float(np.quantile(errors, ERRORS_CAPPED)) or 1.0
    capped = np.minimum(errors / cap, 1.0)
    upper = float(capped.mean() + 1.645 * capped.std() / np.sqrt(count))
    return cap, min(1.0, max(1e-9, upper * (1 + tolerance)))
