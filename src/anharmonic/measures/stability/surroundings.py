"""What a model says at each point and a step or a walk away, as decisions see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from anharmonic._core.margins import labels_of, margins_of, of_classes
from anharmonic._core.progress import Telling
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic.errors import SettingsError
from anharmonic.measures.search import StepChooser
from anharmonic.measures.search.steps import blocks
from anharmonic.measures.setup.sphere import rows_on_device

__all__ = ["Surroundings", "surroundings", "walked"]

TURN = 1
"""Walks draw on even turns, so what is predicted here is not made from their first step."""


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
        pairs = self.own.mean(axis=1)
        error = np.zeros(len(pairs))
        if self.drawn:
            error = pairs.std(axis=1, ddof=1) / np.sqrt(pairs.shape[1])
        return -pairs.mean(axis=1), error


def surroundings(chooser: StepChooser, tell: Telling | None = None) -> Surroundings:
    """Ask for every point and its neighbours: one query more than the ball has directions."""
    step_rule = chooser.step_rule
    if step_rule.ball.fresh and step_rule.half < 3:
        raise SettingsError(
            f"{step_rule.half} random directions say too little about their spread: ask for more "
            "with directions="
        )

    def neighbours(start: Array, rows: Integers, low: int, high: int) -> Array:
        return step_rule.neighbours(start, rows, TURN, low, high)

    return _collect(chooser, step_rule.half, chooser.sides, neighbours, step_rule.ball.fresh, tell)


def walked(
    chooser: StepChooser, steps: int, walks: int, tell: Telling | None = None
) -> Surroundings:
    """Ask for every point and for where some random walks of `steps` end, not on the way.

    One query more than there are `walks`: however long, a walk costs one.
    """
    if walks < 3:
        raise SettingsError(
            f"{walks} walks say too little about their spread: ask for more with directions="
        )

    def ends(start: Array, rows: Integers, low: int, high: int) -> Array:
        many, each = len(rows), high - low
        # Every walk draws steps of its own, whatever it is asked together with.
        drawn = np.repeat(rows, each) * walks + np.tile(np.arange(low, high), many)
        position = start[np.repeat(np.arange(many), each).tolist()]
        for number in range(steps):
            position, _ = chooser.step_rule.anywhere(position, drawn, 2 * number + TURN)
        return position.reshape((many, each, start.shape[1]))

    return _collect(chooser, walks, 1, ends, True, tell)


Ends = Callable[[Array, Integers, int, int], Array]
"""From starts (rows, n), rows, and which directions or walks: where they lead, (rows, each, n)."""


def _collect(
    chooser: StepChooser, count: int, sides: int, ends: Ends, drawn: bool, tell: Telling | None
) -> Surroundings:
    """As many rows at a time as fit in memory with all that is around them."""
    every, each = np.arange(len(chooser.caller.region)), max(1, chooser.chunk // (sides * count))
    parts, cost = [], sides * count + 1
    for rows in blocks(every, each):
        parts.append(_some(chooser, rows, count, sides, ends))
        if tell is not None:
            tell((int(rows[-1]) + 1) * cost, len(every) * cost)
    outputs, changes, own = (np.concatenate(each) for each in zip(*parts, strict=True))
    labels = labels_of(outputs)
    queries = len(labels) * cost
    return Surroundings(outputs, labels, margins_of(outputs, labels), changes, own, drawn, queries)


def _some(
    chooser: StepChooser, rows: Integers, count: int, sides: int, ends: Ends
) -> tuple[Floats, Floats, Floats]:
    """Outputs at some rows, and changes around them, as many ends as fit in memory."""
    start = rows_on_device(chooser.caller, rows)
    centres = chooser.outputs(start[:, None, :], rows)[:, 0]
    labels = labels_of(centres)
    margin, output = margins_of(centres, labels), of_classes(centres, labels)
    changes, own = [], []
    room = max(1, chooser.chunk // (sides * len(rows)))
    for low in range(0, count, room):
        answers = chooser.outputs(ends(start, rows, low, min(count, low + room)), rows)
        shape = (len(rows), sides, -1)
        changes.append((margins_of(answers, labels) - margin[:, None]).reshape(shape))
        own.append((of_classes(answers, labels) - output[:, None]).reshape(shape))
    return (
        cast(Floats, np.asarray(centres, dtype=np.float64)),
        np.concatenate(changes, axis=2),
        np.concatenate(own, axis=2),
    )
