"""Answers that are known already, as numbers: what a model gave, or what was recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anharmonic._core.arrays import to_numpy
from anharmonic._core.frames import as_table
from anharmonic._core.protocols import Floats, Kind
from anharmonic.errors import OutputError, listed
from anharmonic.regions import Region

__all__ = ["Answered", "as_array", "check_lengths", "classes_in", "read_answers"]


class Answered(NamedTuple):
    """Rows, the model's answers at them, (rows, columns), and the queries these took."""

    region: Region
    answers: Floats
    queries: int = 0


def as_array(outputs: object) -> Any:
    """A table, a tensor or a list as an array of numpy."""
    table = as_table(outputs)
    return table.to_numpy() if table is not None else np.asarray(to_numpy(outputs))


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "OUSb" or str(array.dtype).startswith("str")


def classes_in(recorded: Sequence[Any]) -> tuple[str, ...]:
    """The classes of all labels together, so that each has the same column everywhere."""
    return tuple(
        sorted({str(label) for array in recorded if _is_text(array) for label in array.flat})
    )


def read_answers(array: Any, kind: Kind | None, classes: Sequence[str]) -> tuple[Floats, Kind]:
    """Recorded outputs as numbers (rows, columns), and what they are."""
    if _is_text(array):
        labels = array.reshape(len(array), -1)
        if labels.shape[1] != 1:
            raise OutputError("class labels are one column: give numbers, or one label per row")
        texts = np.array([str(label) for label in labels[:, 0]])
        return (texts[:, None] == np.array(classes)).astype(np.float64), "onehot"
    numbers = np.asarray(array, dtype=np.float64).reshape(len(array), -1)
    if not np.isfinite(numbers).all():
        bad = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
        raise OutputError(f"outputs of rows {listed(bad.tolist())} are NaN or infinite: drop them")
    if kind is not None:
        return numbers, kind
    sums = numbers.sum(axis=1)
    if numbers.shape[1] > 1 and (numbers >= 0).all() and np.allclose(sums, 1, atol=1e-4):
        largest = numbers.argmax(axis=1)[:, None] == np.arange(numbers.shape[1])
        return largest.astype(np.float64), "onehot"
    return numbers, "value"


def check_lengths(answered: Answered, what: str) -> None:
    """Refuse answers that are not one per row."""
    if len(answered.region) != len(answered.answers):
        raise OutputError(
            f"{what} are {len(answered.answers):,} rows and the inputs {len(answered.region):,}: "
            "give one answer per row"
        )
