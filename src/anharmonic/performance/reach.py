"""Whether rows lie where the reference has seen any: what an estimate can know.

>>> reach = fit_reach(np.array([[1.0, 0], [2, 1], [3, 0]]), np.array([False, True]), ("age", "sex"))
>>> reach.outside(np.array([[2.0, 1], [9, 0], [1, 7]])).any(axis=1).tolist()
[False, True, True]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats, Integers

__all__ = ["Reach", "advancing_columns", "fit_reach"]

MARKS = 201
"""Quantiles of each number that are kept."""
SLACK = 0.02
"""A number beyond the reference's ends by this share of its range is still inside."""
FEWEST = 3
"""Values that a column must have to be one that only goes on."""


@dataclass(frozen=True)
class Reach:
    """Ends and quantiles of each number, and the shares of categories.

    Parameters
    ----------
    marks
        Of each column: quantiles (marks,) of a number; of a category the share of each code, (as
        many as it has levels, and one more for all others,); NaN where all cells are missing.
    listed : (columns,)
        Which columns are categories.
    advancing : (columns,)
        Which only go on, as times and counters do: all traffic lies past the reference in them,
        and they say nothing of where it lies else.
    missing : (columns,)
        The share of missing cells.
    names
        Of the columns, for messages.
    """

    marks: tuple[Floats, ...]
    listed: NDArray[np.bool_]
    advancing: NDArray[np.bool_]
    missing: Floats
    names: tuple[str, ...]

    def outside(self, rows: Floats) -> NDArray[np.bool_]:
        """Which cells have no like in the reference, (rows, columns): beyond its ends, or new."""
        beyond = np.zeros(rows.shape, dtype=bool)
        for column, marks in enumerate(self.marks):
            cells = rows[:, column]
            gone = np.isnan(cells)
            if self.listed[column]:
                share = marks[_places(np.where(gone, 0, cells), len(marks))]
                beyond[:, column] = ~gone & ~(share > 0)
            elif self.advancing[column]:
                continue
            else:
                slack = SLACK * (marks[-1] - marks[0])
                beyond[:, column] = (cells < marks[0] - slack) | (cells > marks[-1] + slack)
            # Missing where the reference never was.
            beyond[:, column] |= gone & (self.missing[column] == 0)
        return beyond

    def distances(self, rows: Floats) -> Floats:
        """How far each column's law is from the reference's, (columns,), between 0 and 1.

        Kolmogorov's distance of numbers, total variation of categories, at least the difference
        of missing shares; less what so many rows show by chance.
        """
        chance = 1.5 / np.sqrt(max(len(rows), 1))
        far = np.zeros(len(self.marks))
        for column, marks in enumerate(self.marks):
            cells = rows[:, column]
            there = cells[~np.isnan(cells)]
            if len(there) and np.isfinite(marks[0]) and not self.advancing[column]:
                far[column] = self._distance(there, marks, bool(self.listed[column]))
            gaps = abs(1 - len(there) / max(len(cells), 1) - self.missing[column])
            far[column] = max(far[column], gaps)
        return np.asarray(np.maximum(far - chance, 0.0))

    def _distance(self, cells: Floats, marks: Floats, listed: bool) -> float:
        if listed:
            shares = np.nan_to_num(marks)
            now = np.bincount(_places(cells, len(marks)), minlength=len(marks))
            return float(np.abs(now / len(cells) - shares).sum() / 2)
        ordered = np.sort(cells)
        known = np.linspace(0, 1, MARKS)
        # Both sides of each mark: at ties the reference's curve jumps over several marks.
        right = np.searchsorted(ordered, marks, side="right") / len(cells)
        left = np.searchsorted(ordered, marks, side="left") / len(cells)
        upper = known[np.searchsorted(marks, marks, side="right") - 1]
        lower = known[np.searchsorted(marks, marks, side="left")]
        return float(max(np.abs(right - upper).max(), np.abs(left - lower).max()))

    def worst(self, outside: NDArray[np.bool_]) -> str:
        """The columns whose cells stand out most, in words."""
        share = outside.mean(axis=0)
        first = [column for column in np.argsort(-share, kind="stable")[:3] if share[column] > 0.01]
        return ", ".join(f"{self.names[column]} ({share[column]:.0%})" for column in first)


def _places(codes: Floats, count: int) -> Integers:
    """Where codes stand among `count` shares; levels that the reference lacks have the last."""
    known = (codes >= 0) & (codes < count - 1)
    return np.where(known, codes, count - 1).astype(np.int64)


def advancing_columns(rows: Floats, listed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which numbers never turn back along the reference, (columns,): times and counters."""
    advancing = np.zeros(rows.shape[1], dtype=bool)
    for column in np.flatnonzero(~listed).tolist():
        there = rows[:, column][~np.isnan(rows[:, column])]
        steps = np.diff(there)
        turns_back = bool((steps > 0).any() and (steps < 0).any())
        advancing[column] = not turns_back and len(np.unique(there)) >= FEWEST
    return advancing


def fit_reach(
    rows: Floats,
    listed: NDArray[np.bool_],
    names: tuple[str, ...],
    advancing: NDArray[np.bool_] | None = None,
) -> Reach:
    """What columns of the reference look like."""
    marks = []
    for column in range(rows.shape[1]):
        cells = rows[:, column]
        there = cells[~np.isnan(cells)]
        if not len(there):
            marks.append(np.full(MARKS, np.nan))
        elif listed[column]:
            codes = there.astype(np.int64)
            # One place more than there are levels, for those that the reference lacks.
            width = max(MARKS, int(codes.max()) + 2)
            marks.append(np.bincount(codes, minlength=width) / len(there))
        else:
            ends = np.linspace(0, 1, MARKS)
            marks.append(np.quantile(there, ends, method="nearest"))
    if advancing is None:
        advancing = np.zeros(rows.shape[1], dtype=bool)
    return Reach(tuple(marks), listed, advancing, np.isnan(rows).mean(axis=0), names)
