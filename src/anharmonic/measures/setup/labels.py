"""Labels that were given: one per row, none missing, each a class of the model or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Floats, Integers
from anharmonic.errors import PointsError, listed

__all__ = ["class_numbers", "given_labels", "numeric_labels"]


def given_labels(labels: object, rows: int) -> NDArray[Any]:
    """Labels (rows,) or (rows, targets) as an array; a missing one is refused.

    Parameters
    ----------
    labels
        A column, an array, a tensor or a list.
    rows
        How many there must be.

    Examples
    --------
    >>> given_labels(["a", "b"], 2).tolist()
    ['a', 'b']
    """
    given = np.asarray(to_numpy(labels))
    if given.ndim > 1 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim == 0 or len(given) != rows:
        count = "one value" if given.ndim == 0 else f"{len(given):,} labels"
        raise PointsError(f"there are {count} and {rows:,} rows: give one per row")
    missing = _missing_rows(given)
    if len(missing):
        raise PointsError(
            f"labels are missing in rows {listed(missing.tolist())}: leave these rows out of the "
            "points and of the labels, or label them"
        )
    return given


def _missing_rows(given: NDArray[Any]) -> Integers:
    """Rows with None, NaN or what stands for it in a library."""
    cells = given.reshape(len(given), -1)
    if cells.dtype.kind == "O":
        flags = np.array([[is_missing(cell) for cell in row] for row in cells.tolist()])
    else:
        # Only what is missing differs from itself: NaN, and NaT among dates.
        flags = np.asarray(cells != cells)
    return np.flatnonzero(flags.reshape(len(given), -1).any(axis=1))


def class_numbers(given: NDArray[Any], classes: tuple[object, ...]) -> Integers:
    """The number of each label's class, by its value or else by its name.

    Parameters
    ----------
    given : (rows,)
        From `given_labels`.
    classes
        Of the model, in the order of its outputs.

    Examples
    --------
    >>> class_numbers(np.array([1.0, 0.0]), (0, 1)).tolist(), class_numbers(np.array(["1"]), (0, 1))
    ([1, 0], array([1]))
    """
    if given.ndim > 1:
        raise PointsError(
            f"labels have the shape {given.shape} and the model gives one class per row: give one "
            "label per row"
        )
    by_name = {str(name): number for number, name in enumerate(classes)}
    by_value = {name: number for number, name in enumerate(classes)}
    # A file may have written 1 as 1.0, True or "1".
    numbers = [by_value.get(label, by_name.get(str(label), -1)) for label in given.tolist()]
    unknown = sorted(
        {str(label) for label, number in zip(given.tolist(), numbers, strict=True) if number < 0}
    )
    if unknown:
        raise PointsError(
            f"labels {listed(unknown)} are no classes of the model ({listed(list(by_name))}): give "
            "labels as the model was fitted to them"
        )
    return np.array(numbers, dtype=np.int64)


def numeric_labels(given: NDArray[Any], shape: tuple[int, ...]) -> Floats:
    """Labels as numbers in the shape of the answers, (rows, targets)."""
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise PointsError(
            f"labels are text such as {given.reshape(-1)[0]!r} and the model answers numbers: "
            "give numbers, or a model that knows its classes"
        ) from problem
    numbers = numbers.reshape(len(numbers), -1)
    if not np.isfinite(numbers).all():
        rows = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
        raise PointsError(f"labels of rows {listed(rows.tolist())} are infinite: leave these out")
    if numbers.shape != shape:
        raise PointsError(
            f"labels have the shape {numbers.shape}, the answers {shape}: give both alike"
        )
    return numbers
