"""How many rows of a reference are like some others: its effective size after weighting.

Weights of least entropy give the reference the others' means of each column's rank and of its
square (Hainmueller, 2012); as many rows as (Σ w)²/Σ w² stand behind the weighted reference
(Kish, 1965).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anharmonic._core.protocols import Floats, Integers

__all__ = ["Likeness", "fit_likeness"]

ROWS = 2000
"""Rows of the reference that are weighted, evenly spaced."""
MARKS = 101
COLUMNS = 24
"""Means that are matched at most: those that are furthest away."""
STEPS = 25


@dataclass(frozen=True)
class Likeness:
    """Ranks of a reference, ready to be weighted.

    Parameters
    ----------
    columns : (columns,)
        Which of the rows' columns are looked at.
    marks : (columns, marks)
        Quantiles, between which ranks are read off.
    centres, scales : (scores,)
        What makes scores of the reference have mean 0 and variance 1.
    scores : (rows, scores)
        Of the reference's rows.
    count
        How many rows these stand for.
    """

    columns: Integers
    marks: Floats
    centres: Floats
    scales: Floats
    scores: Floats
    count: int

    def rows_alike(self, rows: Floats) -> float:
        """How many rows of the reference these are like."""
        if not len(rows):
            return 0.0
        rows = rows[:, self.columns]
        means = ((_scores(rows, self.marks) - self.centres) / self.scales).mean(axis=0)
        furthest = np.argsort(-np.abs(means), kind="stable")[:COLUMNS]
        # Means of few rows are uncertain: they are met within as much.
        weights = _balanced(self.scores[:, furthest], means[furthest], 2 / len(rows))
        return float(self.count / len(weights) / (weights**2).sum())


def fit_likeness(rows: Floats, columns: Integers | None = None) -> Likeness:
    """Of (some of) the columns that trees see, (rows, columns), NaN where missing."""
    columns = np.arange(rows.shape[1]) if columns is None else columns
    rows = rows[:, columns]
    marks = np.zeros((rows.shape[1], MARKS))
    for column, cells in enumerate(rows.T):
        there = cells[~np.isnan(cells)]
        if len(there):
            marks[column] = np.quantile(there, np.linspace(0, 1, MARKS))
    kept = rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS)).astype(np.int64)]
    scores = _scores(kept, marks)
    centres, scales = scores.mean(axis=0), scores.std(axis=0)
    # A score that never varies has nothing to be matched by.
    scales = np.where(scales > 1e-9, scales, np.inf)
    return Likeness(columns, marks, centres, scales, (scores - centres) / scales, len(rows))


def _scores(rows: Floats, marks: Floats) -> Floats:
    """Ranks between −1 and 1, their squares, and whether a cell is missing (then 0)."""
    parts = []
    for cells, line in zip(rows.T, marks, strict=True):
        gone = np.isnan(cells)
        rank = np.where(gone, 0.0, np.interp(cells, line, np.linspace(-1, 1, MARKS)))
        parts += [rank, rank**2, gone.astype(np.float64)]
    return np.stack(parts, axis=1)


def _balanced(scores: Floats, means: Floats, slack: float) -> Floats:
    """Weights w ∝ exp(scores·b): b makes b·means − log Σ exp(scores·b) − slack·b²/2 largest.

    By Newton's steps, halved until they climb.
    """
    turn = np.zeros(scores.shape[1])

    def weigh(turn: Floats) -> tuple[Floats, float]:
        logs = scores @ turn
        top = float(logs.max())
        raw = np.exp(logs - top)
        total = float(raw.sum())
        value = float(turn @ means) - top - np.log(total) - slack * float(turn @ turn) / 2
        return raw / total, value

    weights, value = weigh(turn)
    for _ in range(STEPS):
        mean = weights @ scores
        slope = means - mean - slack * turn
        if float(np.abs(slope).max()) < 1e-4:
            break
        spread = (scores * weights[:, None]).T @ scores - np.outer(mean, mean)
        step = np.linalg.solve(spread + slack * np.eye(len(turn)), slope)
        size = 1.0
        while size > 1e-3:
            tried, reached = weigh(turn + size * step)
            if reached >= value:
                break
            size /= 2
        else:
            break
        turn, weights, value = turn + size * step, tried, reached
    return weights
