"""What votes under Gaussian noise prove: how far a row may move before the decision changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from anharmonic._core import tables
from anharmonic._core.protocols import Array, Floats, Integers
from anharmonic._core.statistics import Rate
from anharmonic.errors import InputError

__all__ = ["Certified", "certify_votes", "lower_share"]


@dataclass(frozen=True, eq=False, repr=False)
class Certified:
    """Decisions of a smoothed model, and how far each is certified to hold.

    Parameters
    ----------
    labels : (rows,)
        The class that was counted for; it says nothing where `abstained`.
    radii : (rows,)
        The certified distance in units, 0 where the model abstains.
    shares : (rows,)
        Lower bounds of the class's share of all votes.
    abstained : (rows,)
        Where the votes prove no class.
    error_rate
        The chance, for each row, that its certificate is wrong.
    queries
        Of the model behind it, in all.
    """

    labels: Array
    radii: Floats
    shares: Floats
    abstained: NDArray[np.bool_]
    error_rate: float
    queries: int

    def __len__(self) -> int:
        return len(self.radii)

    def accuracy(self, labels: object, radius: float = 0.0) -> Rate:
        """The share of rows that are right and certified to stay so within a radius.

        Parameters
        ----------
        labels
            The true ones.
        radius
            In units; 0 asks for right decisions that are not abstained from.
        """
        true = np.asarray(labels).reshape(-1)
        if len(true) != len(self):
            raise InputError(f"there are {len(true):,} labels and {len(self):,} rows: one per row")
        certain = ~self.abstained & (self.radii >= radius) & (true == self.labels)
        return Rate.of(int(certain.sum()), len(self))

    def __repr__(self) -> str:
        middle = float(np.median(self.radii)) if len(self) else float("nan")
        return (
            f"<certified: {len(self):,} rows, {self.abstained.mean():.1%} abstained, median radius "
            f"{middle:.3g}, error rate {self.error_rate:g} per row, {self.queries:,} queries>"
        )

    def to_frame(self, backend: tables.Backend | None = None) -> Any:
        """One line per row, as the first installed of pandas, polars and pyarrow.

        Parameters
        ----------
        backend
            Which of them instead.
        """
        columns = {
            "label": np.asarray(self.labels),
            "radius": self.radii,
            "share": self.shares,
            "abstained": self.abstained,
        }
        return tables.frame(tables.arrow(columns, {"holds": "certificates"}), backend)


def certify_votes(
    guessed: Floats,
    counted: Floats,
    sigma: float,
    error_rate: float,
    named: Callable[[Integers], Array],
) -> Certified:
    """Certificates from two independent counts of votes, (rows, classes) each.

    The first says which class is counted for, the second how often it wins: its lower bound p is
    exact, and above a half the decision holds within σ·Φ⁻¹(p) (Cohen et al., 2019, theorem 1 with
    all other votes for one class).
    """
    chosen = np.asarray(guessed.argmax(axis=1), dtype=np.int64)
    votes = counted[np.arange(len(counted)), chosen]
    samples = counted.sum(axis=1)
    shares = lower_share(votes, samples, error_rate)
    abstained = shares <= 0.5
    radii = np.where(abstained, 0.0, sigma * ndtri(np.maximum(shares, 0.5)))
    queries = int(guessed.sum() + counted.sum())
    return Certified(named(chosen), radii, shares, abstained, error_rate, queries)


def lower_share(hits: Floats, count: Floats, error_rate: float) -> Floats:
    """Exact one-sided lower bounds of probabilities (Clopper and Pearson, 1934).

    >>> lower_share(np.array([0.0, 100.0]), np.array([100.0, 100.0]), 0.001).round(4).tolist()
    [0.0, 0.9333]
    """
    # The quantile of Beta(k, n−k+1) at which P(at least k of n) is the error rate.
    bounds = betaincinv(np.maximum(hits, 1), count - np.maximum(hits, 1) + 1, error_rate)
    return np.where(hits > 0, bounds, 0.0)
