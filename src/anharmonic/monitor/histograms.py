"""Small histograms of columns, for the eye: the reference's, and the same bins for later rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from anharmonic._core.protocols import Floats
from anharmonic.monitor.inputs import Inputs

__all__ = ["Histogram", "fit_histograms"]

BINS = 12
ENDS = (0.01, 0.99)
"""Quantiles between which bins have equal widths; the outermost are open."""
MOST_LEVELS = 12
OTHER, MISSING = "other", "missing"


@dataclass(frozen=True)
class Histogram:
    """Shares of rows in bins of numbers, or at levels.

    Parameters
    ----------
    labels
        As people read them; the last two are "other" and "missing" for levels, "missing" for bins.
    shares
        Of the reference.
    edges
        Between bins; of levels their codes.
    levels
        Whether they are levels.
    """

    labels: tuple[str, ...]
    shares: tuple[float, ...]
    edges: tuple[float, ...]
    levels: bool = False

    def shares_of(self, cells: Floats) -> list[float]:
        """Shares of cells (rows,) in the same bins."""
        if not self.labels or not len(cells):
            return []
        return _shares(cells, self.edges, self.levels)


def fit_histograms(inputs: Inputs, codes: Floats) -> dict[str, Histogram]:
    """A histogram of each column of a reference's codes (rows, columns)."""
    histograms = {}
    for place, kind in enumerate(inputs.kinds):
        cells = codes[:, place]
        known = inputs.levels[place]
        if len(known):
            counts = [int(np.sum(cells == level)) for level in known]
            order = np.argsort(-np.array(counts), kind="stable")[:MOST_LEVELS]
            edges = tuple(known[order].tolist())
            texts = tuple(inputs.text(place, level) for level in edges)
            labels = (*texts, OTHER, MISSING)
        else:
            edges = _edges(cells)
            labels = (*_ranges([inputs.text(place, edge) for edge in edges]), MISSING)
        shares = tuple(_shares(cells, edges, bool(len(known))))
        histograms[kind.name] = Histogram(labels, shares, edges, bool(len(known)))
    return histograms


def _edges(cells: Floats) -> tuple[float, ...]:
    """Edges of equal widths; between whole numbers where there are few of these."""
    present = cells[np.isfinite(cells)]
    values = np.unique(present)
    if len(values) <= BINS:
        return tuple(((values[1:] + values[:-1]) / 2).tolist())
    low, high = np.quantile(present, ENDS)
    return tuple(np.unique(np.linspace(low, high, BINS - 1)).tolist())


def _ranges(edges: list[str]) -> list[str]:
    if not edges:
        return ["all"]
    middle = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"below {edges[0]}", *middle, f"above {edges[-1]}"]


def _shares(cells: Floats, edges: tuple[float, ...], levels: bool) -> list[float]:
    missing = np.isnan(cells)
    if levels:
        parts = [float(np.mean(cells == level)) for level in edges]
        parts.append(float(np.mean(~missing & ~np.isin(cells, edges))))
    else:
        bins = np.searchsorted(np.array(edges), cells[~missing], side="right")
        parts = (np.bincount(bins, minlength=len(edges) + 1) / len(cells)).tolist()
    return [*parts, float(missing.mean())]
