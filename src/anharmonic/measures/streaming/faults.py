"""Rows that a model cannot answer are set aside; all others are measured.

A call is about many rows, and an error does not say which of them is to blame: rows are halved
until those that fail stand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anharmonic.errors import (
    MeasurementStopped,
    MissingExtra,
    NoisyModel,
    OutputError,
    PointsError,
    RemoteError,
)
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.streaming.counting import Counted, with_model
from anharmonic.regions import Region
from anharmonic.scores import Scores
from anharmonic.sources import Aside, Rows

__all__ = ["Losses", "Measure", "measure_or_set_aside"]

FEW, MOST = 64, 0.5
"""So many rows may fail in any case; where more than this share does, the model is broken."""
NO_NUMBER = "the model gave NaN or infinity at or near the row"
OF_RUN = (RemoteError, NoisyModel, MissingExtra)
"""Errors that are not about rows: a server that is away will be away for the next rows too."""

Measure = Callable[[Setup], Scores]


@dataclass
class Losses:
    """Rows that were set aside, and queries that nothing came of."""

    aside: list[Aside] = field(default_factory=list)
    queries: int = 0


def measure_or_set_aside(
    measure: Measure, setup: Setup, rows: Rows, losses: Losses
) -> Iterator[tuple[Rows, Scores]]:
    """Scores of the rows that can be measured, in pieces; the others are set aside.

    Parameters
    ----------
    measure
        Measures at the region of a setup; points without a number hold no turn.
    setup, rows
        Where, and who the rows are.
    losses
        Takes rows that fail, with reasons, and what was asked in vain.
    """
    failed = 0
    counted = Counted(setup.model)
    setup = with_model(setup, counted)
    waiting = [np.arange(len(rows))]
    while waiting:
        part, before = waiting.pop(), counted.asked
        try:
            piece, scores = _measured(measure, setup, rows, part, losses)
        except OF_RUN:
            raise
        except (MeasurementStopped, OutputError, PointsError) as problem:
            losses.queries += counted.asked - before
            if len(part) > 1:
                half = len(part) // 2
                # The first half is on top: rows come out in their order.
                waiting += [part[half:], part[:half]]
                continue
            failed += 1
            losses.aside += rows.set_aside(part, _reason(problem))
            if failed > max(FEW, MOST * len(rows)):
                raise MeasurementStopped(
                    f"more than {failed:,} of {len(rows):,} rows of {rows.file} fail, the last "
                    f"because {_reason(problem)}",
                    "a model that fails so often is broken: mend it and start again, what is "
                    "finished is kept",
                ) from problem
            continue
        some = bool((scores.turns > 0).any())
        # What was asked in vain, such as before a measure tried without some rows.
        losses.queries += max(0, counted.asked - before - some * scores.queries)
        if some:
            yield piece, scores


def _measured(
    measure: Measure, setup: Setup, rows: Rows, part: NDArray[np.int64], losses: Losses
) -> tuple[Rows, Scores]:
    """Scores of some rows in one go; those that got no number are set aside."""
    whole = len(part) == len(rows)
    region: Region = setup.region
    here = setup if whole else setup.at(region.rows(part))
    mine = rows if whole else rows.take(part)
    scores = measure(here)
    answered = scores.turns > 0
    if not answered.all():
        losses.aside += mine.set_aside(~answered, NO_NUMBER)
    return mine, scores


def _reason(problem: Exception) -> str:
    """What went wrong at one row, without the row's number in its batch."""
    text = str(problem).partition(" (in a call about rows")[0]
    return text.partition(": leave them out")[0][:300]
