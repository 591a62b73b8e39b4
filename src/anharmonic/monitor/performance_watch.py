"""How accurate the watched model is: estimates along the stream, late labels, rows to label."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.margins import by_class, decides, probabilities_of
from anharmonic._core.protocols import Array, Floats, Integers, Model
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor.alarms import Alarm
from anharmonic.monitor.inputs import LEVELS, Inputs
from anharmonic.performance import (
    Chosen,
    Groups,
    LabelReport,
    PerformanceTracker,
    choose_rows,
    compare_groups,
    fit_performance,
)

__all__ = ["PERFORMANCE", "Labelled", "PerformanceWatch", "fit_performance_watch", "fit_tracker"]

PERFORMANCE = "performance"
"""What an alarm about labels is about."""
TOLERANCE, RATE = 0.05, 10_000.0
"""How much worse than in the reference is no alarm, and labels per false alarm."""


class Labelled(NamedTuple):
    """What became of labels.

    Parameters
    ----------
    used
        How many were joined with their rows.
    unknown
        Ids that nobody waits for.
    alarms
        What they raised.
    """

    used: int
    unknown: tuple[str, ...]
    alarms: tuple[Alarm, ...]


class RecentAnswers(NamedTuple):
    """Rows that may be labelled: their numbers, ids, segments, outputs and coded cells."""

    rows: Integers
    ids: tuple[str, ...]
    segments: tuple[str, ...]
    outputs: Floats
    codes: Floats

    def part(self, chosen: Integers | NDArray[np.bool_]) -> RecentAnswers:
        """Some of them."""
        places = np.arange(len(self.rows))[chosen].tolist()
        return RecentAnswers(
            self.rows[places],
            tuple(self.ids[place] for place in places),
            tuple(self.segments[place] for place in places),
            self.outputs[places],
            self.codes[places],
        )


class PerformanceWatch:
    """A tracker of performance, fed with what a monitor sees.

    Parameters
    ----------
    tracker
        Fitted on the labelled reference.
    inputs
        How rows become features.
    model
        Whose answers they are.
    reference
        Outputs, labels and features that the tracker was fitted on, to fit it again.
    memory
        The latest rows among which some may be chosen for labels.
    """

    def __init__(
        self,
        tracker: PerformanceTracker,
        inputs: Inputs,
        model: Model,
        reference: tuple[Floats, Array, Floats],
        memory: int,
    ) -> None:
        self.tracker, self.inputs, self.model = tracker, inputs, model
        self.reference, self.memory = reference, memory
        self._recent: deque[RecentAnswers] = deque()
        self._labelled: set[str] = set()

    def update(
        self,
        points: Array,
        answers: Floats,
        rows: Integers,
        ids: Sequence[str] | None,
        times: Sequence[object] | None,
        segments: NDArray[np.str_] | None,
    ) -> None:
        """Take rows in; those without an answer say nothing."""
        known = np.flatnonzero(np.isfinite(answers).all(axis=1))
        if not len(known):
            return
        names = [str(row) for row in rows.tolist()] if ids is None else [str(id) for id in ids]
        parts = [""] * len(rows) if segments is None else segments.tolist()
        recent = RecentAnswers(
            rows,
            tuple(names),
            tuple(parts),
            outputs_of(answers, self.model),
            self.inputs.codes(points),
        ).part(known)
        self.tracker.update(
            recent.outputs,
            recent.codes,
            ids=recent.ids,
            times=None if times is None else [times[row] for row in known.tolist()],
            segments=None if segments is None else recent.segments,
        )
        self._recent.append(recent)
        while (
            sum(len(part.rows) for part in self._recent) - len(self._recent[0].rows) > self.memory
        ):
            self._recent.popleft()

    def add_labels(
        self, ids: Sequence[object], labels: Array, probabilities: Floats | float | None
    ) -> LabelReport:
        """Hand labels to the tracker."""
        names = [str(id) for id in ids]
        report = self.tracker.add_labels(names, np.asarray(labels), probabilities)
        self._labelled.update(names)
        held = {id for part in self._recent for id in part.ids}
        self._labelled &= held
        return report

    def unlabelled(self) -> RecentAnswers | None:
        """Rows in memory that have no label yet."""
        parts = list(self._parts())
        return _joined(parts) if parts else None

    def _parts(self) -> Iterator[RecentAnswers]:
        for part in self._recent:
            open_rows = np.array([id not in self._labelled for id in part.ids])
            if open_rows.any():
                yield part.part(open_rows)

    def choose(self, count: int, seed: int) -> tuple[RecentAnswers, Chosen]:
        """Rows to label next, with their chances and reasons."""
        recent = self.unlabelled()
        if recent is None:
            raise SettingsError("no row in memory waits for a label: update first")
        count = min(count, len(recent.rows))
        chosen = choose_rows(self.tracker.estimator, recent.outputs, recent.codes, count, seed)
        return recent.part(chosen.rows), chosen

    def compare_segments(self, level: float | None) -> Groups:
        """Metrics by segment over the rows in memory, and their differences."""
        if not self._recent or not any(any(part.segments) for part in self._recent):
            raise SettingsError("rows have no segments: give segment= or segments with the rows")
        recent = _joined(list(self._recent))
        return compare_groups(
            self.tracker.estimator,
            recent.outputs,
            recent.codes,
            np.array(recent.segments),
            level=level,
        )

    def forget(self) -> None:
        """Forget the rows that could be chosen; the tracker goes on."""
        self._recent.clear()
        self._labelled.clear()


def _joined(parts: Sequence[RecentAnswers]) -> RecentAnswers:
    return RecentAnswers(
        np.concatenate([part.rows for part in parts]),
        tuple(id for part in parts for id in part.ids),
        tuple(segment for part in parts for segment in part.segments),
        np.concatenate([part.outputs for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )


def outputs_of(answers: Floats, model: Model) -> Floats:
    """Answers (rows, columns) as probabilities of classes, or as predictions (rows,)."""
    if decides(answers.shape[-1], model.kind):
        return probabilities_of(by_class(answers, model.kind), model.kind)
    if answers.shape[-1] > 1:
        raise SettingsError("performance is of one number or of classes: pick one with output=")
    return np.asarray(answers[:, 0])


def fit_performance_watch(
    model: Model,
    inputs: Inputs,
    answers: Floats,
    labels: Array,
    codes: Floats,
    *,
    window: int,
    memory: int,
    seed: int,
) -> PerformanceWatch:
    """Learn performance from a labelled reference: answers, labels and coded rows.

    Rows without a label are left out.
    """
    marks = np.asarray(labels)
    if marks.shape != (len(answers),):
        raise PointsError(
            f"{len(answers)} reference rows and labels of shape {marks.shape}: one each"
        )
    if model.kind == "label":
        raise SettingsError("performance needs probabilities: pass output='probability'")
    known = np.array([mark is not None and mark == mark for mark in marks.tolist()])
    outputs, marks, codes = outputs_of(answers[known], model), marks[known], codes[known]
    tracker = fit_tracker(model, inputs, outputs, marks, codes, window, memory, seed)
    return PerformanceWatch(tracker, inputs, model, (outputs, marks, codes), memory)


def fit_tracker(
    model: Model,
    inputs: Inputs,
    outputs: Floats,
    labels: NDArray[Any],
    codes: Floats,
    window: int,
    memory: int,
    seed: int,
) -> PerformanceTracker:
    """A tracker whose estimator has learnt from outputs, labels and coded rows.

    At most `memory` rows wait for a label: they are part of the state, which is written with
    every batch that a service takes.
    """
    coded = None if inputs.coding is None else [code.by_level for code in inputs.coding.columns]
    categories = np.array(
        [
            kind.kind in LEVELS and coded is not None and coded[place]
            for place, kind in enumerate(inputs.kinds)
        ]
    )
    classes = outputs.ndim > 1
    estimator = fit_performance(
        outputs,
        labels if not classes or model.classes else labels.astype(np.int64),
        codes,
        kind="classes" if classes else "numbers",
        classes=model.classes if classes else None,
        categories=categories,
        names=inputs.names,
        seed=seed,
    )
    return PerformanceTracker(
        estimator, window=window, pending=max(1, memory), tolerance=TOLERANCE, rate=RATE
    )
