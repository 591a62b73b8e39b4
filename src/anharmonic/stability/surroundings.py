"""What a model says at each point and one step around it, as decisions see it."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from anharmonic.ascent import Climber
from anharmonic.ascent.steps import blocks
from anharmonic.deviation import placed
from anharmonic.errors import SettingsError
from anharmonic.margins import labels_of, margins_of, of_classes
from anharmonic.protocols import Floats, Integers

__all__ = ["Surroundings", "surroundings"]

TURN = 1
"""Walks draw on even turns, so what is predicted here is not made from their first step."""


class Surroundings(NamedTuple):
    """Arrays over the points; changes are (points, sides, directions), sides 2 for pairs.

    `changes` are of the margin and `own` of the predicted class's output, both as neighbour
    less centre. `drawn` says whether the directions were drawn at random.
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


def surroundings(climber: Climber) -> Surroundings:
    """Ask for every point and its neighbours: one query more than the ball has directions."""
    stride = climber.stride
    if stride.ball.fresh and stride.half < 3:
        raise SettingsError(
            f"{stride.half} random directions say too little about their spread: ask for more "
            "with directions="
        )
    parts = [
        _some(climber, rows)
        for rows in blocks(np.arange(len(climber.question.region)), climber.rows_at_once)
    ]
    outputs, changes, own = (np.concatenate(each) for each in zip(*parts, strict=True))
    labels = labels_of(outputs)
    queries = len(labels) * (stride.ball.count + 1)
    return Surroundings(
        outputs, labels, margins_of(outputs, labels), changes, own, stride.ball.fresh, queries
    )


def _some(climber: Climber, rows: Integers) -> tuple[Floats, Floats, Floats]:
    """Outputs at some rows, and changes around them, as many directions as fit in memory."""
    start = placed(climber.question, rows)
    centres = climber.outputs(start[:, None, :], rows)[:, 0]
    labels = labels_of(centres)
    margin, output = margins_of(centres, labels), of_classes(centres, labels)
    changes, own = [], []
    half, room = climber.stride.half, max(1, climber.chunk // (climber.sides * len(rows)))
    for low in range(0, half, room):
        ends = climber.stride.neighbours(start, rows, TURN, low, min(half, low + room))
        answers = climber.outputs(ends, rows)
        shape = (len(rows), climber.sides, -1)
        changes.append((margins_of(answers, labels) - margin[:, None]).reshape(shape))
        own.append((of_classes(answers, labels) - output[:, None]).reshape(shape))
    return (
        cast(Floats, np.asarray(centres, dtype=np.float64)),
        np.concatenate(changes, axis=2),
        np.concatenate(own, axis=2),
    )
