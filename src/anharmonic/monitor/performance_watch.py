"""How accurate the watched model is: estimates along the stream, late labels, rows to label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.frames import is_missing
from anharmonic._core.margins import by_class, decides, probabilities_of
from anharmonic._core.protocols import Array, Floats, Integers, Model
from anharmonic.errors import PointsError, SettingsError
from anharmonic.monitor.alarms import Alarm
from anharmonic.monitor.inputs import LEVELS, Inputs
from anharmonic.monitor.recent_answers import AnswerMemory, KnownLabel, RecentAnswers
from anharmonic.performance import (
    Chosen,
    Groups,
    LabelReport,
    PerformanceTracker,
    choose_rows,
    compare_groups,
    fit_performance,
)
from anharmonic.performance.comparing import FEWEST
from anharmonic.performance.fitting import number_labels, plain_labels
from anharmonic.performance.labelled import FEWEST_LABELS
from anharmonic.performance.tracker import name_of

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
    advancing
        Columns that are times: all traffic lies past the reference in them.
    memory
        The latest rows among which some may be chosen for labels.
    """

    def __init__(
        self,
        tracker: PerformanceTracker,
        inputs: Inputs,
        model: Model,
        reference: tuple[Floats, Array, Floats],
        advancing: tuple[str, ...],
        memory: int,
    ) -> None:
        self.tracker, self.inputs, self.model = tracker, inputs, model
        self.reference, self.advancing, self.memory = reference, advancing, memory
        self._recent = AnswerMemory(memory)

    def update(
        self,
        points: Array,
        answers: Floats,
        rows: Integers,
        ids: Sequence[object] | None,
        times: Sequence[object] | None,
        segments: NDArray[np.str_] | None,
    ) -> None:
        """Take rows in; those without an answer say nothing, those without an id get no label."""
        known = np.flatnonzero(np.isfinite(answers).all(axis=1))
        if not len(known):
            return
        names = [name_of(id) for id in (rows.tolist() if ids is None else ids)]
        # A table's column has an index of its own, by which it would be read.
        times = None if times is None else list(times)
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
            rows=recent.rows.tolist(),
        )
        self._recent.add(recent)

    def add_labels(
        self,
        ids: Sequence[object],
        labels: Array,
        probabilities: Floats | float | None,
        share: float | None = None,
    ) -> LabelReport:
        """Hand labels to the tracker, and keep those of rows in memory."""
        names, given = [str(id) for id in ids], plain_labels(labels)
        waiting = self.tracker.pending.rows
        rows = [waiting[name].row if name in waiting else -1 for name in names]
        report = self.tracker.add_labels(names, given, probabilities, share=share)
        chances = np.broadcast_to(np.asarray(probabilities, dtype=object), len(names)).tolist()
        for row, label, chance in zip(rows, given, chances, strict=True):
            self._recent.note(row, KnownLabel(label, None if chance is None else float(chance)))
        return report

    def choose(self, count: int, seed: int) -> tuple[RecentAnswers, Chosen, float]:
        """Rows to label next, with their chances and reasons, and the share of rows they are.

        They are drawn from the rows in memory whose labels would still be joined.
        """
        recent = self._waiting()
        if recent is None:
            raise SettingsError("no row in memory waits for a label: update first")
        count = min(count, len(recent.rows))
        chosen = choose_rows(self.tracker.estimator, recent.outputs, recent.codes, count, seed)
        return recent.part(chosen.rows), chosen, count / len(recent.rows)

    def _waiting(self) -> RecentAnswers | None:
        recent, waiting = self._recent.rows(), self.tracker.pending.rows
        if recent is None:
            return None
        mine = [
            id in waiting and waiting[id].row == row
            for id, row in zip(recent.ids, recent.rows.tolist(), strict=True)
        ]
        return recent.part(np.array(mine)) if any(mine) else None

    def compare_segments(self, level: float | None) -> Groups:
        """Metrics by segment over the rows in memory, and their differences.

        By their labels, where each segment that is large enough has enough of them, else as they
        are estimated.
        """
        recent = self._recent.rows()
        if recent is None:
            raise SettingsError("no row is in memory: update first")
        if not any(recent.segments):
            raise SettingsError("rows have no segments: give segment= or segments with the rows")
        recent = recent.part(np.array([segment != "" for segment in recent.segments]))
        segments = np.array(recent.segments)
        return compare_groups(
            self.tracker.estimator,
            recent.outputs,
            recent.codes,
            segments,
            level=level,
            **self._labels_of(recent.rows, segments),
        )

    def _labels_of(self, rows: Integers, segments: NDArray[np.str_]) -> dict[str, Any]:
        """Labels, which rows have them, and chances; none where a segment has too few."""
        found = [self._recent.labels.get(row) for row in rows.tolist()]
        chosen = np.array([label is not None for label in found])
        parts = [segments == name for name in set(segments.tolist())]
        counts = [chosen[part].sum() for part in parts if part.sum() >= FEWEST]
        if min(counts, default=0) < FEWEST_LABELS:
            return {}
        known = [label for label in found if label is not None]
        labels = np.array([(label or known[0]).label for label in found])
        if all(each.chance is None for each in known):
            return {"labels": labels, "chosen": chosen}
        # Labels that came without a chance had the share of the rows that they are.
        even = sum(each.chance is None for each in known) / len(rows)
        chances = [even if label is None else label.chance or even for label in found]
        return {"labels": labels, "chosen": chosen, "probabilities": np.array(chances)}

    def go_back(self, seen: int) -> None:
        """Forget rows from number `seen` on, and labels of rows that wait for theirs again."""
        self._recent.drop_from(seen, {row.row for row in self.tracker.pending.rows.values()})

    def forget(self) -> None:
        """Forget the rows in memory; the tracker goes on."""
        self._recent.clear()


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
    advancing: Sequence[str],
    window: int,
    memory: int,
    seed: int,
) -> PerformanceWatch:
    """Learn performance from a labelled reference: answers, labels and coded rows.

    Rows without a label are left out; `advancing` columns are times, past which all traffic lies.
    """
    given = plain_labels(labels)
    if len(given) != len(answers):
        raise PointsError(
            f"{len(answers)} reference rows and labels of shape ({len(given)},): one each"
        )
    if model.kind == "label":
        raise SettingsError("performance needs probabilities: pass output='probability'")
    known = np.array([not is_missing(label) for label in given])
    if not known.any():
        raise PointsError("no row of the reference has a label: give labels, or leave labels= out")
    outputs, codes = outputs_of(answers[known], model), codes[known]
    marks = _marks([label for label in given if not is_missing(label)], outputs, model)
    made = (tuple(advancing), window, memory, seed)
    tracker = fit_tracker(model, inputs, outputs, marks, codes, *made)
    return PerformanceWatch(tracker, inputs, model, (outputs, marks, codes), made[0], memory)


def _marks(given: list[object], outputs: Floats, model: Model) -> NDArray[Any]:
    """Labels as they are kept: numbers, or the model's own classes where it names them."""
    if outputs.ndim == 1:
        return number_labels(given, "numbers", None, 0)
    if not model.classes:
        return _class_numbers(given)
    numbers = number_labels(given, "classes", model.classes, 0)
    return np.asarray(np.array(model.classes)[numbers])


def _class_numbers(labels: Sequence[object]) -> NDArray[np.int64]:
    """Labels of a model whose classes have no names, as the numbers of its outputs' columns."""
    numbers = []
    for label in labels:
        try:
            number = float(label)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = 0.5
        if not number.is_integer():
            raise PointsError(
                f"label {label!r} is no class number, and the model does not "
                "name its classes: give ah.models.as_model(model, classes=[…]), or labels 0, 1, …"
            )
        numbers.append(int(number))
    return np.array(numbers, dtype=np.int64)


def fit_tracker(
    model: Model,
    inputs: Inputs,
    outputs: Floats,
    labels: NDArray[Any],
    codes: Floats,
    advancing: tuple[str, ...],
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
        labels,
        codes,
        kind="classes" if classes else "numbers",
        classes=model.classes if classes else None,
        categories=categories,
        advancing=np.isin(inputs.names, advancing),
        names=inputs.names,
        seed=seed,
    )
    return PerformanceTracker(
        estimator, window=window, pending=max(1, memory), tolerance=TOLERANCE, rate=RATE
    )
