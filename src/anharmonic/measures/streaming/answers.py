"""A model's answers at a few rows, by which it is known again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic._core.uncertainty import precision
from anharmonic.measures.setup.settling import Setup
from anharmonic.measures.streaming.placing import outputs_at
from anharmonic.regions import Region

__all__ = ["ANSWERS", "Known", "answers_of", "same_answers", "spread_rows"]

ANSWERS, COLUMNS = 48, 16
"""Rows of the sample, and columns of outputs, whose answers tell one model from another."""
CLOSE = 1 << 12
"""Roundings of the outputs' arithmetic that two machines may differ by."""
AGAIN, NOISE = 4, 4.0
"""How often a model that may be noisy is asked again, and how much further than from itself it may
be from what it answered before."""


class Known(NamedTuple):
    """By what a model, and whatever else a run was begun with, is known again.

    Parameters
    ----------
    asked
        The model at a few rows; None of answers that were recorded elsewhere.
    answers
        What it answered there.
    model, objects
        Hashes of what the model is, and of arguments that are no plain values.
    """

    asked: Setup | None
    answers: list[list[float]]
    model: str | None
    objects: dict[str, str | None]

    def again(self) -> list[list[float]]:
        """What the model answers when it is asked once more."""
        return answers_of(self.asked)


def spread_rows(region: Region) -> Region:
    """A few rows of a sample, spread over it."""
    count = len(region)
    chosen = np.unique(np.linspace(0, count - 1, min(ANSWERS, count)).astype(np.int64))
    return region.rows(chosen)


def answers_of(setup: Setup | None) -> list[list[float]]:
    """A model's answers, (rows, columns); NaN at a row without an answer."""
    if setup is None:
        return []
    waiting = [np.arange(len(setup.region))]
    found: dict[int, Floats] = {}
    while waiting:
        part = waiting.pop()
        outputs = outputs_at(setup, setup.region.rows(part))
        if outputs is not None:
            found |= dict(zip(part.tolist(), outputs, strict=True))
        elif len(part) > 1:
            waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
    columns = len(next(iter(found.values()))) if found else 1
    some = np.unique(np.linspace(0, columns - 1, COLUMNS).astype(np.int64))
    nothing = np.full(columns, np.nan)
    return [found.get(row, nothing)[some].tolist() for row in range(len(setup.region))]


def same_answers(
    now: list[list[float]],
    before: list[list[float]],
    again: Callable[[], list[list[float]]],
    known: bool,
) -> bool:
    """Whether one model gave both; it is asked once more where it may only be noisy.

    Parameters
    ----------
    now, before
        As `answers_of` gives them.
    again
        Asks the model of now once more.
    known
        Whether something else says that it is the same model.
    """
    one, other = np.array(now, dtype=float), np.array(before, dtype=float)
    if one.shape != other.shape or not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    if not one.size:
        return True
    rounding = max(CLOSE * precision(one), 1e-9)
    size = np.max(np.abs(np.nan_to_num(other)), axis=0)
    if np.all(np.abs(np.nan_to_num(one - other)) <= rounding * size):
        return True
    repeated = [np.array(again(), dtype=float) for _ in range(AGAIN)]
    if any(each.shape != one.shape for each in repeated):
        return False
    # A model that differs from itself cannot be held to the last digit.
    itself = np.mean([np.nansum((each - one) ** 2, axis=0) for each in repeated], axis=0)
    apart = np.nansum((other - one) ** 2, axis=0)
    allowed = NOISE**2 * itself + len(one) * (rounding * size) ** 2
    return bool(itself.any() and (known or np.all(apart <= allowed)))
