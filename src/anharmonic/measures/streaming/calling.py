"""Any measure of points in memory as one of a source's rows: called block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anharmonic._core.settings import Settings
from anharmonic.errors import OutputError
from anharmonic.measures.setup.settling import DEFAULTS, Setup
from anharmonic.measures.streaming.on_sample import Prepared, Preparing
from anharmonic.scores import Scores

__all__ = ["called_on_blocks"]

TRIED, TRIES = 4, 8
"""Rows of the sample that a measure is tried on, for its settings and its price; and how often, on
other rows, where the model has no number near any of them."""
QUERIES = 1 << 15
"""That a block costs about."""


@dataclass(frozen=True)
class Called:
    """A measure with its arguments, at the points of any setup.

    Parameters
    ----------
    measure
        Takes a model, a region and arguments; it gives scores, or what `scores_of` makes them of.
    arguments
        The measure's own.
    """

    measure: Callable[..., Any]
    arguments: Mapping[str, Any]
    scores_of: Callable[[Any], Scores] | None = None

    def __call__(self, setup: Setup) -> Scores:
        """Scores of the points; one that the model has no number near has no turn."""
        try:
            return self.measured(setup)
        except OutputError as problem:
            good = np.setdiff1d(np.arange(len(setup.region)), list(problem.rows))
            if not len(problem.rows) or not len(good):
                raise
            return scattered(self(setup.at(setup.region.rows(good))), good, len(setup.region))

    def measured(self, setup: Setup) -> Scores:
        """The measure's own answer."""
        result = self.measure(
            setup.model,
            setup.region,
            radius=setup.radius,
            # What is not all numbers has units of its own.
            scale=setup.units if setup.region.neighbourhood is None else "auto",
            bounds=setup.limits,
            seed=setup.seed,
            batch_size=setup.caller.sizer.size(),
            **self.arguments,
        )
        scores: Scores = result if self.scores_of is None else self.scores_of(result)
        return replace(scores, settings=scores.settings.with_facts(output=setup.output))


def called_on_blocks(
    measure: Callable[..., Any],
    scores_of: Callable[[Any], Scores] | None = None,
    radius: Callable[[Setup, Mapping[str, Any]], float] | None = None,
) -> Preparing:
    """What prepares a measure for a source by calling it on blocks of rows.

    Parameters
    ----------
    measure
        Of points in memory.
    scores_of
        Makes scores of what the measure returns, where that is something else.
    radius
        The radius to hand on, where it is not the one that was settled.
    """

    def prepare(
        setup: Setup, arguments: Mapping[str, Any], earlier: Settings | None = None
    ) -> Prepared:
        if radius is not None:
            setup = replace(setup, radius=radius(setup, arguments))
        own = {name: value for name, value in arguments.items() if name not in DEFAULTS}
        call = Called(measure, own, scores_of)
        scores = _tried(call, setup)
        queries_per_row = scores.queries / max(1, int((scores.turns > 0).sum()))
        return Prepared(
            measure=call,
            metric=scores.metric,
            settings=scores.settings,
            setup=setup,
            rows_at_once=int(max(1, min(4096, QUERIES // max(1, queries_per_row)))),
            queries_per_row=queries_per_row,
            queries=scores.queries,
        )

    return prepare


def _tried(call: Called, setup: Setup) -> Scores:
    """Scores of the first rows of a sample that have any."""
    starts = range(0, min(len(setup.region), TRIED * TRIES), TRIED)
    for start in starts:
        rows = np.arange(start, min(start + TRIED, len(setup.region)))
        try:
            return call(setup.at(setup.region.rows(rows)))
        except OutputError:
            if start == starts[-1]:
                raise
    raise AssertionError("a sample has rows")


def scattered(scores: Scores, rows: Any, count: int) -> Scores:
    """Scores of some rows among all, the others without a turn."""
    return together([(scores, rows)], count)


def together(parts: Sequence[tuple[Scores, Any]], count: int) -> Scores:
    """Scores of several sets of rows as those of all, rows in none of them without a turn."""

    def spread(values: Sequence[Any]) -> Any:
        first = values[0]
        whole = np.full((count, *first.shape[1:]), 0 if first.dtype.kind in "iu" else np.nan)
        whole = whole.astype(first.dtype)
        for (_, rows), own in zip(parts, values, strict=True):
            whole[rows] = own
        return whole

    every = [scores for scores, _ in parts]
    first = every[0]
    arrays = ("values", "errors", "squared", "signed", "outputs", "turns")
    return replace(
        first,
        queries=sum(scores.queries for scores in every),
        **{name: spread([getattr(scores, name) for scores in every]) for name in arrays},
        columns={name: spread([each.columns[name] for each in every]) for name in first.columns},
    )
