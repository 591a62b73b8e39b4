"""What votes under Gaussian noise prove: how far a row may move before the decision changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from anharmonic._core import tables
from anharmonic._core.columns import shown
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
    units
        Of each column that may move: a radius is Euclidean, each column divided by its unit.
    still
        Columns that are taken to stay as they are: held ones, and those that never vary in the
        reference. Nothing is certified of moves along them.
    """

    labels: Array
    radii: Floats
    shares: Floats
    abstained: NDArray[np.bool_]
    error_rate: float
    queries: int
    units: Mapping[str, float] = field(default_factory=dict)
    still: tuple[str, ...] = ()

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
            f"{middle:.3g}, error rate {self.error_rate:g} per row, {self.queries:,} queries"
            f"{self._covered()}>"
        )

    def _covered(self) -> str:
        """Which moves are meant, and which are not."""
        said = ""
        if self.units:
            units = list(self.units.values())
            each = [f"{name} {unit:.3g}" for name, unit in self.units.items()]
            alike = f"{units[0]:.3g} of all {len(units)} columns"
            said += f"; units: {alike if len(set(units)) == 1 else shown(each)}"
        return f"{said}; not covered: {shown(self.still)}" if self.still else said

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
        about = {"holds": "certificates", "units": dict(self.units), "still": list(self.still)}
        return tables.frame(tables.arrow(columns, about), backend)


def certify_votes(
    guessed: Floats,
    counted: Floats,
    sigma: float,
    error_rate: float,
    named: Callable[[Integers], Array],
    units: Mapping[str, float] | None = None,
    still: tuple[str, ...] = (),
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
    return Certified(
        named(chosen), radii, shares, abstained, error_rate, queries, units or {}, still
    )


def lower_share(hits: Floats, count: Floats, error_rate: float) -> Floats:
    """Exact one-sided lower bounds of probabilities (Clopper and Pearson, 1934).

    >>> lower_share(np.array([0.0, 100.0]), np.array([100.0, 100.0]), 0.001).round(4).tolist()
    [0.0, 0.9333]
    """
    # The quantile of Beta(k, n−k+1) at which P(at least k of n) is the error rate.
    bounds = betaincinv(np.maximum(hits, 1), count - np.maximum(hits, 1) + 1, error_rate)
    return np.where(hits > 0, bounds, 0.0)
