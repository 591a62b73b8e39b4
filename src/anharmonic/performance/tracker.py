"""Performance along a stream, of constant size: windows, and rows that wait for their labels."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.statistics import share_interval
from anharmonic.errors import PointsError, SettingsError
from anharmonic.performance.estimator import Estimator
from anharmonic.performance.fitting import number_labels
from anharmonic.performance.metrics import observed_credits, row_losses
from anharmonic.performance.packing import pack_tracker, unpack_tracker
from anharmonic.performance.result import Curve, Interval, Performance
from anharmonic.performance.sequences import Fall, FallDetector, MeanSequence
from anharmonic.performance.tracks import Pending, Track, Waiting

__all__ = ["LabelReport", "PerformanceTracker", "name_of"]

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
        How many segments are kept apart at most, the first; a warning says where there are more,
        which count in the whole alone.
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
        self._cap, self._reference_loss, limit = _loss_limit(estimator, tolerance)
        self.detector = FallDetector(limit, rate)
        self._said_not_kept = False

    def update(
        self,
        outputs: Floats,
        features: Floats | None = None,
        *,
        ids: Sequence[str] | None = None,
        times: Sequence[object] | None = None,
        segments: Sequence[str | None] | None = None,
        rows: Sequence[int] | None = None,
    ) -> int:
        """Take rows in; how many windows of all traffic they closed.

        Parameters
        ----------
        outputs, features
            As `Estimator.estimate` takes them.
        ids
            By which labels will come; rows without one (None, NaN or "") wait for none.
        times, segments
            When rows came, and what part of the traffic they are of; None, NaN and "" are no part.
        rows
            Their numbers in the stream; counted from the first if not given.
        """
        outputs, features = self.estimator.checked(outputs, features)
        for given in (ids, times, segments, rows):
            if given is not None and len(given) != len(outputs):
                raise PointsError(f"{len(given)} facts about {len(outputs)} rows: give one per row")
        # One by one: a table's column would be read by an index of its own.
        keys, moments, parts, numbers = (
            itertools.repeat(None) if given is None else given
            for given in (ids, times, segments, rows)
        )
        closed = 0
        facts: Any = zip(range(len(outputs)), keys, moments, parts, numbers, strict=False)
        for place, id, moment, part_of, number in facts:
            key, time = name_of(id), name_of(moment)
            segment = self._kept(name_of(part_of))
            cells = None if features is None else features[place]
            row = Waiting(self.seen if number is None else int(number), outputs[place], segment)
            full = [
                part
                for part in row.parts
                if self.tracks[part].add(row.outputs, cells, key, time, row.row)
            ]
            if key:
                self.pending.add(key, row)
            self.seen += 1
            for part in full:
                for waiting, held in self.tracks[part].close():
                    self.pending.hold(waiting, part, held)
                closed += part is None
        return closed

    def _kept(self, name: str) -> str | None:
        """A row's segment, None where it has none or counts in the whole alone."""
        if not name:
            return None
        if name not in self.tracks:
            if len(self.tracks) > self.segments:
                self._say_not_kept(name)
                return None
            self.tracks[name] = Track(self.estimator, self.window, self.windows)
        return name

    def _say_not_kept(self, segment: str) -> None:
        if not self._said_not_kept:
            self._said_not_kept = True
            warnings.warn(
                f"segment {segment!r} and further ones have no performance of their own: the "
                f"first {self.segments} do",
                stacklevel=4,
            )

    def add_labels(
        self,
        ids: Sequence[str],
        labels: Array,
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
            The chance with which each row was to be labelled, from `choose_rows`; None says that
            all rows of the stream had the same one.
        share
            With chances given, the share of all rows that is labelled (count over rows): without
            it such labels sharpen the estimate, and no alarm counts them.
        """
        kind, classes = self.estimator.kind, self.estimator.classes or None
        # All of it is checked before anything changes.
        numbered = number_labels(labels, kind, classes, 0).astype(np.float64).tolist()
        if len(numbered) != len(ids):
            raise PointsError(f"{len(ids)} ids and {len(numbered)} labels: give one per row")
        chances = _chances(probabilities, len(ids))
        if share is not None and not 0 < share <= 1:
            raise PointsError(f"share {share!r} lies not between 0 and 1: give that of the rows")
        unknown, joined = [], []
        for key, label, chance in zip(map(str, ids), numbered, chances, strict=True):
            row = self.pending.take(key)
            if row is None:
                unknown.append(key)
            else:
                joined.append((row, label, chance))
                self._count(key, row, label, 1 / chance)
        fall = self._look_for_fall(joined, share, chosen=probabilities is not None)
        return LabelReport(len(joined), tuple(unknown), fall)

    def _count(self, key: str, row: Waiting, label: float, weight: float) -> None:
        """Count a label in the windows of its row, of all traffic and of its segment."""
        for part in row.parts:
            if part in row.held:
                self.tracks[part].add_label(row.held[part], row.outputs, label, weight)
            else:
                self.tracks[part].add_early(key, label, weight)

    def _look_for_fall(
        self, joined: list[tuple[Waiting, float, float]], share: float | None, *, chosen: bool
    ) -> Fall | None:
        """Count what labels of rows (with their chances) say of the mean loss of all rows."""
        if not joined or (chosen and share is None):
            return None
        losses = np.array([self._loss(row.outputs, label) for row, label, _ in joined])
        if not chosen:
            self.sequence = self.sequence.add(losses)
        elif share is not None:
            # Drawn with chance π, a row stands for share/π rows: the mean is that of all rows.
            losses = np.array([share / chance for _, _, chance in joined]) * losses
        self.detector, fall = self.detector.add(losses, [row.row for row, _, _ in joined])
        return fall

    def _loss(self, outputs: Floats, label: float) -> float:
        """Between 0 and 1: wrong or not; or the error as a share of the cap."""
        kind = self.estimator.kind
        credits = observed_credits(outputs[None], np.array([label]), kind)
        if kind == "classes":
            return 1 - float(row_losses("accuracy", outputs[None], credits)[0])
        return min(1.0, float(credits[0, 0]) / self._cap)

    def clear_evidence(self) -> None:
        """Look for a fall from the next label on; windows and waiting rows stay."""
        self.detector = self.detector.cleared()

    @property
    def reference_loss(self) -> float:
        """The reference's mean loss, as `Fall` counts it times `loss_unit`."""
        return self._reference_loss * self.loss_unit

    @property
    def loss_unit(self) -> float:
        """What a loss of 1 is: one wrong answer, or the error that larger ones count as."""
        return self._cap

    def performance(self, *, level: float | None = None) -> Performance:
        """The newest window's; of the rows so far where none is full."""
        return self.tracks[None].latest(level)

    def curve(self, *, segment: str | None = None, level: float | None = None) -> Curve:
        """All windows that are kept, of all traffic or of a segment."""
        if segment not in self.tracks:
            names = [str(name) for name in self.tracks if name is not None]
            there = f"give one of {', '.join(names)}" if names else "no rows had one"
            raise SettingsError(f"segment {segment!r} is not followed: {there}")
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
        return Interval(*(self.loss_unit * value for value in found))

    def state(self) -> bytes:
        """All that changes as rows and labels come, without the estimator."""
        return pack_tracker(self)

    def restore(self, state: bytes) -> None:
        """Go on from what `state` gave, to the bit."""
        unpack_tracker(self, state)


def name_of(fact: object) -> str:
    """An id, a time or a segment as text; "" for one that is missing.

    >>> [name_of(fact) for fact in ("order 7", 7, None, float("nan"))]
    ['order 7', '7', '', '']
    """
    return "" if is_missing(fact) else str(fact)


def _chances(probabilities: Floats | float | None, count: int) -> list[float]:
    """The chance that each label was asked for, (count,)."""
    given = np.asarray(1.0 if probabilities is None else probabilities, dtype=np.float64)
    if given.shape not in ((), (count,)):
        raise PointsError(f"{count} ids and chances of shape {given.shape}: give one per row")
    if not ((given > 0) & (given <= 1)).all():
        raise PointsError("a chance lies not between 0 and 1: give those rows were chosen by")
    return [float(chance) for chance in np.broadcast_to(given, (count,))]


def _loss_limit(estimator: Estimator, tolerance: float) -> tuple[float, float, float]:
    """The cap of errors, the reference's mean loss, and that which is still no fall: an upper
    bound + tolerance.
    """
    reference = estimator.reference
    count = len(reference.outputs)
    if estimator.kind == "classes":
        right = row_losses("accuracy", reference.outputs, reference.observed)
        wrong = count - round(float(right.sum()))
        limit = share_interval(wrong, count, 0.9)[1] + tolerance
        return 1.0, wrong / count, min(1.0, limit)
    errors = reference.observed[:, 0]
    cap = float(np.quantile(errors, ERRORS_CAPPED)) or 1.0
    capped = np.minimum(errors / cap, 1.0)
    upper = float(capped.mean() + 1.645 * capped.std() / np.sqrt(count))
    return cap, float(capped.mean()), min(1.0, max(1e-9, upper * (1 + tolerance)))
