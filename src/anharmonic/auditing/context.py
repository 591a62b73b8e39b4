"""What every check starts from: the model, rows of both sides, its answers, labels, yardsticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Kind, Model
from anharmonic.auditing.asking import Answers, Meter
from anharmonic.auditing.bending import Bends
from anharmonic.auditing.judging import Judge, choose_judge, choose_peers
from anharmonic.auditing.planning import Plan
from anharmonic.auditing.reading import Reading
from anharmonic.auditing.sides import Side, Task, decide
from anharmonic.auditing.yardsticks import Yardstick, fit_yardsticks
from anharmonic.measures.over_data.encoding import Column, Encoded

__all__ = ["Context"]


@dataclass(frozen=True, eq=False)
class Context:
    """What every check starts from.

    Parameters
    ----------
    model
        Asked for probabilities where it has them.
    reading
        How answers are read: of classes or as numbers.
    raw
        What the model gave at the samples of both sides, before it was read.
    reference
        Rows that the model was fitted to, or knows.
    new
        Rows that it meets now; None where there are no others.
    encoded
        Both sides' columns as numbers: new rows first, then the reference.
    plan
        How many rows and neighbours checks may ask for.
    seed
        Of all that is random.
    meter
        What the model has been asked for so far.
    """

    model: Model
    reading: Reading
    raw: Floats
    kind: Kind
    reference: Side
    new: Side | None
    encoded: Encoded
    seed: int
    plan: Plan
    meter: Meter = field(default_factory=Meter)

    @property
    def task(self) -> Task:
        """Whether labels are classes or numbers."""
        return self.reading.task

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names in the order of columns."""
        return self.reading.classes

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return self.encoded.used

    @property
    def new_count(self) -> int:
        return 0 if self.new is None else len(self.new)

    def cells(self, column: Column) -> tuple[Floats, Floats]:
        """A column's cells at new rows and at the reference's."""
        return column.values[: self.new_count], column.values[self.new_count :]

    def part(self, side: Side, sampled: bool = True) -> Encoded:
        """The columns of one side's sample, or of all its rows, with the reference's rules."""
        rows = side.sample if sampled else np.arange(len(side))
        start = self.new_count if side is self.reference else 0
        columns = tuple(
            column._replace(values=column.values[start + rows]) for column in self.encoded.columns
        )
        return Encoded(columns, self.encoded.used, self.encoded.left_out)

    def read(self, given: Answers) -> Floats:
        """Answers as the samples hold them: a column per class where there are classes."""
        return self.reading.read(given.numbers)

    def decided(self, answers: Floats) -> Floats:
        """Answers as decisions, a column of 0 and 1 per class; numbers as they are."""
        return decide(answers, self.task)

    def losses(self, answers: Floats, labels: NDArray[Any]) -> Floats:
        """How wrong each answer is, (rows,): 1 for a wrong class, or the squared error."""
        if self.task == "classes":
            return np.asarray(answers.argmax(axis=1) != labels, dtype=np.float64)
        return np.asarray((answers[:, 0] - labels) ** 2)

    @cached_property
    def yardsticks(self) -> Sequence[Yardstick]:
        """Quick models fitted to the reference's sample; none without labels."""
        labels = self.reference.sampled_labels
        if labels is None:
            return ()
        new = None if self.new is None else self.part(self.new)
        return fit_yardsticks(
            self.part(self.reference),
            labels,
            new,
            self.encoded.rules,
            self.task,
            len(self.classes),
            self.seed,
        )

    @cached_property
    def judge(self) -> Judge | None:
        """The best of the yardsticks in cross-validation; None without labels."""
        labels = self.reference.sampled_labels
        return None if labels is None else choose_judge(self.yardsticks, labels, self.task)

    @cached_property
    def peers(self) -> Sequence[Yardstick]:
        """The yardsticks that are not told apart from the judge; none without labels."""
        labels = self.reference.sampled_labels
        return () if labels is None else choose_peers(self.yardsticks, labels, self.task)

    @cached_property
    def bends(self) -> Bends:
        """Gamma over the data of the model and of the yardsticks, measured when first needed."""
        return Bends(self.task, self.names, self.reference, self.new, self.seed)
