"""Any measure of points in memory as one of a source's rows: called block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anharmonic._core.settings import Settings
from anharmonic.errors import OutputError
from anharmonic.measures.setup.settling import DEFAULTS, Setup
from anharmonic.measures.streaming.running import Prepared, Preparing
from anharmonic.scores import Scores

__all__ = ["called_on_blocks"]

TRIED = 4
"""Rows of the sample that a measure is tried on, for its settings and its price."""
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
        tried = setup.at(setup.region.rows(np.arange(min(TRIED, len(setup.region)))))
        scores = call.measured(tried)
        queries_per_row = scores.queries / max(1, len(scores))
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


def scattered(scores: Scores, rows: Any, count: int) -> Scores:
    """Scores of some rows among all, the others without a turn."""

    def spread(values: Any) -> Any:
        whole = np.full((count, *values.shape[1:]), 0 if values.dtype.kind in "iu" else np.nan)
        whole = whole.astype(values.dtype)
        whole[rows] = values
        return whole

    arrays = ("values", "errors", "squared", "signed", "outputs", "turns")
    return replace(
        scores,
        **{name: spread(getattr(scores, name)) for name in arrays},
        columns={name: spread(values) for name, values in scores.columns.items()},
    )
