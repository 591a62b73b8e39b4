"""Gamma over the data of the model and of yardsticks, each measured once and kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers, Kind
from anharmonic.auditing.sides import Side, Task, decide
from anharmonic.measures.over_data.measure import score_answers
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.scores import Scores

__all__ = ["Bend", "Bends"]


ROWS = 1_500
"""The most reference rows that are measured; half as many new ones."""


class Bend(NamedTuple):
    """How much a model bends: gamma over the data at the reference's rows and at new ones."""

    reference: Scores
    new: Scores | None

    @property
    def larger(self) -> Scores:
        """The side with the larger mean: memorising may show at either."""
        if self.new is None or self.reference.relative.value >= self.new.relative.value:
            return self.reference
        return self.new


class Bends:
    """Gamma over the data of any answers at the same rows.

    Parameters
    ----------
    task, columns
        Classes are taken as decided; rows are compared by these columns.
    reference, new
        The rows; of many, some evenly spread ones are measured: `reference_rows` and `new_rows` of
        the samples.
    """

    def __init__(
        self, task: Task, columns: tuple[str, ...], reference: Side, new: Side | None, seed: int
    ) -> None:
        self.task, self.columns, self.seed = task, list(columns), seed
        self.reference_rows = _spread(len(reference.sample), ROWS)
        self.new_rows = _spread(0 if new is None else len(new.sample), ROWS // 2)
        self.reference = reference.region.rows(reference.sample[self.reference_rows])
        self.new = None if new is None else new.region.rows(new.sample[self.new_rows])
        self._measured: dict[str, Bend] = {}

    def of(self, name: str, reference: Floats, new: Floats) -> Bend:
        """Of answers at the samples of both sides; a name is measured once."""
        if name not in self._measured:
            self._measured[name] = self._measure(reference, new)
        return self._measured[name]

    def _measure(self, reference: Floats, new: Floats) -> Bend:
        kind: Kind = "onehot" if self.task == "classes" else "value"
        known = Answered(self.reference, decide(reference[self.reference_rows], self.task))
        at_reference = score_answers(
            known, None, kind=kind, columns=self.columns, seed=self.seed, workers=None
        )
        if self.new is None or not len(new):
            return Bend(at_reference, None)
        fresh = Answered(self.new, decide(new[self.new_rows], self.task))
        at_new = score_answers(
            fresh, known, kind=kind, columns=self.columns, seed=self.seed, workers=None
        )
        return Bend(at_reference, at_new)


def _spread(count: int, most: int) -> Integers:
    """All places, or as many as may be, evenly spread."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)
