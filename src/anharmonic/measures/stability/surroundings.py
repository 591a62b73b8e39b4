"""A model's outputs at each point and a step or a walk away, as changes of margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from anharmonic._core.margins import labels_of, margins_of, of_classes
from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.randomness import nested
from anharmonic.errors import SettingsError
from anharmonic.measures.search import StepChooser
from anharmonic.measures.search.steps import blocks
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Surroundings", "surroundings", "walked"]

TURN = 1
"""Searches draw on even turns: a prediction is independent of the walks it is held against."""


class Surroundings(NamedTuple):
    """Arrays over the points; changes are (points, sides, directions), sides 2 for pairs.

    `changes` are of the margin and `own` of the predicted class's output, both as neighbour
    (or a walk's end) less centre. `drawn` says whether the directions were drawn at random.
    """

    outputs: Floats
    labels: Integers
    margins: Floats
    changes: Floats
    own: Floats
    drawn: bool
    queries: int

    @property
    def gammas(self) -> tuple[Floats, Floats]:
        """Mean change of the predicted class's output, negated, and its error: (points,) each."""
        # The two sides of a pair are one draw: averaged first, (points, directions).
        pairs = self.own.mean(axis=1)
        error = np.zeros(len(pairs))
        if self.drawn:
            error = pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])
        return -pairs.mean(axis=1), error


def surroundings(chooser: StepChooser, report_progress: Telling | None = None) -> Surroundings:
    """Call the model at every point and its neighbours: one query more than directions."""
    step_rule = chooser.step_rule
    if step_rule.ball.fresh and step_rule.half < 3:
        raise SettingsError(
            f"{step_rule.half} random directions say too little about their spread: ask for more "
            "with directions="
        )

    def neighbours(start: Array, rows: Integers, low: int, high: int) -> Array:
        numbers = chooser.caller.region.addresses_of(rows)
        return step_rule.neighbours(start, numbers, TURN, low, high, rows)

    return _collect(
        chooser, step_rule.half, chooser.sides, neighbours, step_rule.ball.fresh, report_progress
    )


def walked(
    chooser: StepChooser, steps: int, walks: int, report_progress: Telling | None = None
) -> Surroundings:
    """Call the model at every point and where random walks of `steps` end, not on the way.

    One query more than there are `walks`: however long, a walk costs one.
    """
    if walks < 3:
        raise SettingsError(
            f"{walks} walks say too little about their spread: ask for more with directions="
        )

    def ends(start: Array, rows: Integers, low: int, high: int) -> Array:
        count, walks_per_row = len(rows), high - low
        # Every walk draws steps of its own, whatever it is called together with.
        numbers = np.repeat(chooser.caller.region.addresses_of(rows), walks_per_row)
        walk = nested(numbers, walks, np.tile(np.arange(low, high), count))
        position = start[np.repeat(np.arange(count), walks_per_row).tolist()]
        owners = np.repeat(rows, walks_per_row)
        for number in range(steps):
            position, _ = chooser.step_rule.anywhere(position, walk, 2 * number + TURN, owners)
        return position.reshape((count, walks_per_row, start.shape[1]))

    return _collect(chooser, walks, 1, ends, True, report_progress)


Ends = Callable[[Array, Integers, int, int], Array]
"""From starts (rows, n), rows, and which directions or walks: where they lead, (rows, ends, n)."""


def _collect(
    chooser: StepChooser,
    count: int,
    sides: int,
    ends: Ends,
    drawn: bool,
    report_progress: Telling | None,
) -> Surroundings:
    """As many rows at a time as fit in memory with all that is around them."""
    every = np.arange(len(chooser.caller.region))
    rows_at_once = max(1, chooser.chunk // (sides * count))
    parts, queries_per_row = [], sides * count + 1
    for rows in blocks(every, rows_at_once):
        parts.append(_changes_around(chooser, rows, count, sides, ends))
        if report_progress is not None:
            report_progress((int(rows[-1]) + 1) * queries_per_row, len(every) * queries_per_row)
    outputs, changes, own = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    labels = labels_of(outputs)
    queries = len(labels) * queries_per_row
    return Surroundings(outputs, labels, margins_of(outputs, labels), changes, own, drawn, queries)


def _changes_around(
    chooser: StepChooser, rows: Integers, count: int, sides: int, ends: Ends
) -> tuple[Floats, Floats, Floats]:
    """Outputs at some rows, and changes around them, as many ends as fit in memory."""
    start = rows_on_device(chooser.caller, rows)
    centres = chooser.outputs(start[:, None, :], rows)[:, 0]
    labels = labels_of(centres)
    margin, output = margins_of(centres, labels), of_classes(centres, labels)
    changes, own = [], []
    ends_at_once = max(1, chooser.chunk // (sides * len(rows)))
    for low in range(0, count, ends_at_once):
        points = ends(start, rows, low, min(count, low + ends_at_once))
        outputs = chooser.outputs(points, rows)
        # Of pairs all originals stand before all reflections: (rows, sides, directions).
        shape = (len(rows), sides, -1)
        changes.append((margins_of(outputs, labels) - margin[:, None]).reshape(shape))
        own.append((of_classes(outputs, labels) - output[:, None]).reshape(shape))
    return (
        cast(Floats, np.asarray(centres, dtype=np.float64)),
        np.concatenate(changes, axis=2),
        np.concatenate(own, axis=2),
    )
