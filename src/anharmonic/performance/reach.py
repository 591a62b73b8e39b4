"""Whether rows lie where the reference has seen any: what an estimate can know.

>>> reach = fit_reach(np.array([[1.0, 0], [2, 1], [3, 0]]), np.array([False, True]), ("age", "sex"))
>>> reach.outside(np.array([[2.0, 1], [9, 0], [1, 7]])).any(axis=1).tolist()
[False, True, True]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anharmonic._core.protocols import Floats

__all__ = ["Reach", "fit_reach"]

MARKS = 201
"""Quantiles of each column that are kept."""
SLACK = 0.02
"""A number beyond the reference's ends by this share of its range is still inside."""
FEWEST = 50
"""Levels or values with fewer rows than this leave gaps that mean nothing."""


@dataclass(frozen=True)
class Reach:
    """Ends and quantiles of each column, (columns, marks), and the shares of categories.

    Parameters
    ----------
    marks : (columns, marks)
        Quantiles of numbers; of a category the share of each code, NaN beyond the last.
    listed : (columns,)
        Which columns are categories.
    missing : (columns,)
        The share of missing cells.
    names
        Of the columns, for messages.
    """

    marks: Floats
    listed: NDArray[np.bool_]
    missing: Floats
    names: tuple[str, ...]

    def outside(self, rows: Floats) -> NDArray[np.bool_]:
        """Which cells have no like in the reference, (rows, columns): beyond its ends, or new."""
        beyond = np.zeros(rows.shape, dtype=bool)
        for column, marks in enumerate(self.marks):
            cells = rows[:, column]
            gone = np.isnan(cells)
            if self.listed[column]:
                code = np.where(gone, 0, cells).astype(np.int64)
                inside = (code >= 0) & (code < MARKS)
                share = np.where(inside, marks[np.clip(code, 0, MARKS - 1)], 0.0)
                beyond[:, column] = ~gone & ~(share > 0)
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
            if len(there) and np.isfinite(marks[0]):
                far[column] = self._distance(there, marks, bool(self.listed[column]))
            gaps = abs(1 - len(there) / max(len(cells), 1) - self.missing[column])
            far[column] = max(far[column], gaps)
        return np.asarray(np.maximum(far - chance, 0.0))

    def _distance(self, cells: Floats, marks: Floats, listed: bool) -> float:
        if listed:
            shares = np.nan_to_num(marks)
            now = np.bincount(np.clip(cells, 0, MARKS - 1).astype(np.int64), minlength=MARKS)
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


def fit_reach(rows: Floats, listed: NDArray[np.bool_], names: tuple[str, ...]) -> Reach:
    """What columns of the reference look like."""
    marks = np.full((rows.shape[1], MARKS), np.nan)
    for column in range(rows.shape[1]):
        cells = rows[:, column]
        there = cells[~np.isnan(cells)]
        if not len(there):
            continue
        if listed[column]:
            codes = np.clip(there, 0, MARKS - 1).astype(np.int64)
            marks[column] = np.bincount(codes, minlength=MARKS) / len(there)
        else:
            marks[column] = np.quantile(there, np.linspace(0, 1, MARKS), method="nearest")
    return Reach(marks, listed, np.isnan(rows).mean(axis=0), names)
