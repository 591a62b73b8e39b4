"""Fit an estimator of performance on a labelled reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.arrays import to_numpy
from anharmonic._core.frames import is_missing
from anharmonic._core.protocols import Floats
from anharmonic.errors import PointsError, SettingsError, listed
from anharmonic.performance.alike import fit_likeness
from anharmonic.performance.estimator import Estimator, Reference, rank_codes, shown_columns
from anharmonic.performance.expecting import design, fit_folds, interleaved_folds
from anharmonic.performance.metrics import METRICS, Task, observed_credits
from anharmonic.performance.reach import advancing_columns, fit_reach
from anharmonic.performance.shifting import drift_variances

__all__ = ["fit_performance"]

FOLDS = 5
MOST_ROWS = 30_000
FEWEST = 200
LARGEST = 1e50
"""Of labels that are numbers: the squares of squared errors must be numbers too."""


def fit_performance(
    outputs: Floats,
    labels: NDArray[Any],
    features: Floats | None = None,
    *,
    kind: Task = "classes",
    classes: Sequence[object] | None = None,
    categories: NDArray[np.bool_] | None = None,
    advancing: NDArray[np.bool_] | None = None,
    names: Sequence[str] | None = None,
    sway: Floats | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> Estimator:
    """Learn, from rows with labels, to say how a model performs on rows without.

    Parameters
    ----------
    outputs : (rows, classes) or (rows,)
        Probabilities or predictions, for rows that the model was not trained on, in the order in
        which they came.
    labels : (rows,)
        Members of `classes`, or numbers.
    features : (rows, columns)
        Numbers, NaN where missing; categories as codes from 0 on. Needs `anharmonic[sklearn]`.
    kind
        "classes" or "numbers".
    classes
        What the columns of the outputs stand for; 0, 1, … if None.
    categories : (columns,)
        Which features are categories.
    advancing : (columns,)
        Which features only go on, as dates do, beside the numbers that never turn back in these
        rows: all traffic lies past the reference in them, so that they do not say whether it is
        like it.
    names
        Of the features, for messages.
    sway : (rows,) or (rows, scores)
        Further scores of each row, such as its gamma: features like others.
    level
        Of all intervals.
    seed
        Of all that is random.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> sure = random.uniform(size=2000)
    >>> outputs = np.stack([1 - sure, sure], axis=1)
    >>> estimator = fit_performance(outputs, (random.uniform(size=2000) < sure).astype(int))
    >>> found = estimator.estimate(outputs[sure > 0.5])
    >>> found["accuracy"].low < 0.75 < found["accuracy"].high
    True
    """
    outputs = np.asarray(outputs, dtype=np.float64)
    known = _numbered(labels, kind, classes, outputs)
    columns = joined(features, sway)
    if columns is not None and len(columns) != len(outputs):
        raise PointsError(f"{len(columns)} rows of features and {len(outputs)} outputs: give alike")
    if len(outputs) < FEWEST:
        raise PointsError(f"{len(outputs)} labelled rows are too few: give at least {FEWEST}")
    width = 0 if columns is None else columns.shape[1]
    listed = np.zeros(width, dtype=bool)
    if categories is not None:
        listed[: len(categories)] = categories
    passing = np.zeros(width, dtype=bool)
    if columns is not None:
        passing |= advancing_columns(columns, listed)
    if advancing is not None:
        passing[: len(advancing)] |= advancing
    given = list(names or ()) + [f"column {number}" for number in range(len(names or ()), width)]
    shown = shown_columns(outputs, columns)
    spare = shown.shape[1] - width
    reach = fit_reach(
        shown,
        np.concatenate([listed, np.zeros(spare, bool)]),
        (*given[:width], *["output"] * spare),
        np.concatenate([passing, np.zeros(spare, bool)]),
    )
    if len(outputs) > MOST_ROWS:
        # Evenly spaced, so that the order in time is kept.
        kept = np.linspace(0, len(outputs) - 1, MOST_ROWS).astype(np.int64)
        outputs, known = outputs[kept], known[kept]
        columns = None if columns is None else columns[kept]
    ranks = _ranks(columns, listed, known, outputs, kind)
    ordered = None if columns is None else rank_codes(columns, ranks)
    inputs = design(outputs, ordered)
    trees = columns is not None
    credits = observed_credits(outputs, known, kind)
    data = outputs, known, inputs
    fold = interleaved_folds(len(outputs), FOLDS)
    members, expected = fit_folds(*data, fold, kind, seed, trees=trees)
    spreads = _spreads(expected, credits, kind)
    called = tuple(classes) if classes is not None else tuple(range(credits.shape[1]))
    return Estimator(
        kind,
        called if kind == "classes" else (),
        members,
        reach,
        fit_likeness(inputs, np.delete(np.arange(inputs.shape[1]), np.flatnonzero(passing))),
        ranks,
        Reference(outputs, credits, expected),
        drift_variances(*data, spreads, kind, seed, trees=trees),
        spreads,
        level,
        columns is not None,
    )


def joined(features: Floats | None, sway: Floats | None) -> Floats | None:
    """Features with further scores beside them."""
    parts = [
        np.asarray(part, dtype=np.float64).reshape(len(part), -1)
        for part in (features, sway)
        if part is not None
    ]
    return np.concatenate(parts, axis=1) if parts else None


def _numbered(
    labels: NDArray[Any], kind: Task, classes: Sequence[object] | None, outputs: Floats
) -> NDArray[Any]:
    """Labels as class numbers, or as numbers; an error in words otherwise."""
    if kind not in METRICS:
        raise SettingsError(f'kind {kind!r}: say "classes" or "numbers"')
    if outputs.ndim != (2 if kind == "classes" else 1):
        raise PointsError("classes need outputs (rows, classes), numbers need (rows,)")
    if len(labels) != len(outputs):
        raise PointsError(f"{len(labels)} labels and {len(outputs)} outputs: give one per row")
    if not np.isfinite(outputs).all():
        raise PointsError("some outputs are not finite: leave these rows out")
    return number_labels(labels, kind, classes, outputs.shape[-1])


def plain_labels(labels: object) -> list[object]:
    """Labels one by one, each of its own type: an array of a mixed list would make texts of all.

    >>> plain_labels([1, "yes", np.float64(2.5)]), plain_labels(np.array([True, False]))
    ([1, 'yes', 2.5], [True, False])
    """
    if isinstance(labels, list | tuple):
        cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in labels]
        nested = next((cell for cell in cells if np.ndim(cell)), None)
        if nested is not None:
            raise PointsError(f"label {nested!r} is several: give one per row")
        return cells
    given = np.asarray(to_numpy(labels))
    if given.ndim != 1:
        raise PointsError(f"labels have the shape {given.shape}: give one per row, as a list")
    return list(given.tolist())


def number_labels(
    labels: object, kind: Task, classes: Sequence[object] | None, width: int
) -> NDArray[Any]:
    """Labels as the estimator counts them: numbers of classes, by value or else by name, or
    numbers.
    """
    given = plain_labels(labels)
    missing = [row for row, label in enumerate(given) if is_missing(label)]
    if missing:
        raise PointsError(f"labels are missing in rows {listed(missing)}: leave these rows out")
    if kind == "numbers":
        return _finite_labels(given)
    names = list(classes if classes is not None else range(width))
    by_value = {label: number for number, label in enumerate(names)}
    # A file or a request may have written 1 as "1".
    by_name = {str(label): number for number, label in enumerate(names)}
    found = [by_value.get(label, by_name.get(str(label), -1)) for label in given]
    if -1 in found:
        some = ", ".join(repr(label) for label in names[:5])
        more = ", …" if len(names) > 5 else ""
        raise PointsError(
            f"label {given[found.index(-1)]!r} is none of the classes {some}{more}: give one of "
            "these, or classes= with all there are"
        )
    return np.array(found, dtype=np.int64)


def _finite_labels(given: list[object]) -> Floats:
    numbers = np.empty(len(given))
    for row, label in enumerate(given):
        try:
            numbers[row] = float(label)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise PointsError(
                f"label {label!r} is no number, and the model answers numbers: give numbers"
            ) from None
    if not (np.abs(numbers) <= LARGEST).all():
        raise PointsError(
            f"some labels are not finite, or beyond {LARGEST:.0e}: leave these rows out"
        )
    return numbers


def _ranks(
    columns: Floats | None,
    listed: NDArray[np.bool_],
    labels: NDArray[Any],
    outputs: Floats,
    kind: Task,
) -> tuple[Floats, ...]:
    """For each category the place of each code: the mean label, error, or accuracy."""
    if columns is None:
        return ()
    by = labels.astype(np.float64)
    if kind == "numbers":
        by = np.abs(by - outputs)
    elif outputs.shape[1] > 2:
        by = (outputs.argmax(axis=1) == labels).astype(np.float64)
    ranks = []
    for column, is_listed in zip(columns.T, listed, strict=True):
        there = ~np.isnan(column)
        if not is_listed or not there.any():
            ranks.append(np.empty(0))
            continue
        codes = column[there].astype(np.int64)
        count = np.bincount(codes)
        # Rare levels are drawn to the mean by ten rows of it.
        means = (np.bincount(codes, by[there]) + 10 * by.mean()) / (count + 10)
        ranks.append(np.where(count > 0, means, np.nan))
    return tuple(ranks)


def _spreads(expected: Floats, credits: Floats, kind: Task) -> Floats:
    if kind == "classes":
        return np.ones(2)
    # Of a model that makes no error nothing spreads.
    sizes = np.maximum((expected**2).mean(axis=0), 1e-300)
    return np.asarray(((credits - expected) ** 2).mean(axis=0) / sizes)
