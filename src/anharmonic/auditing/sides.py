"""Rows of one side, the reference or the new ones, and the model's answers at a sample of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers
from anharmonic.auditing.asking import Answers
from anharmonic.regions import Region

__all__ = ["Side", "Task", "decide"]

Task = Literal["classes", "numbers"]


def decide(answers: Floats, task: Task) -> Floats:
    """Answers as decisions, a column of 0 and 1 per class; numbers as they are."""
    if task == "numbers":
        return answers
    classes = np.arange(answers.shape[1])
    return np.asarray(answers.argmax(axis=1)[:, None] == classes, dtype=np.float64)


@dataclass(frozen=True)
class Side:
    """Rows of one side, the reference or the new ones.

    Parameters
    ----------
    region
        All of its rows.
    labels
        Of all of them: numbers of classes, or numbers; None where none were given.
    sample
        The rows that the model was asked at and answered, ascending.
    answers : (sample, columns)
        What it answered.
    failed, reason
        Rows that it did not answer, and what it said at the first.
    """

    region: Region
    labels: NDArray[Any] | None
    sample: Integers
    answers: Floats
    failed: Integers
    reason: str

    @classmethod
    def asked(
        cls, region: Region, labels: NDArray[Any] | None, rows: Integers, answers: Answers
    ) -> Side:
        """From the rows that were asked, and what came back."""
        given = answers.given
        return cls(
            region, labels, rows[given], answers.numbers[given], rows[~given], answers.reason
        )

    def __len__(self) -> int:
        return len(self.region)

    @property
    def sampled_labels(self) -> NDArray[Any] | None:
        """Labels of the sample."""
        return None if self.labels is None else self.labels[self.sample]

    @cached_property
    def sampled(self) -> Region:
        """The sample as a region."""
        return self.region.rows(self.sample)
