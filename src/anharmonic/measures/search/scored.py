"""A search as scores of its points, for sources whose walks are too many to be kept."""

from __future__ import annotations

import numpy as np

from anharmonic._core.metrics import Metric, register
from anharmonic.measures.search.result import Search
from anharmonic.measures.search.step_rule import StepSettings
from anharmonic.scores import Scores

__all__ = ["FLIPPED", "flips_of"]

FLIPPED = register(
    Metric("flipped", unit="1 where the class changed on the way", settings=StepSettings)
)


def flips_of(search: Search) -> Scores:
    """A search as scores: 1 where the class changed, with when, from what and to what.

    Parameters
    ----------
    search
        Whose paths are not kept.
    """
    last = np.arange(len(search)), search.taken
    values = search.flipped.astype(np.float64)
    return Scores(
        metric=FLIPPED.name,
        values=values,
        errors=np.full(len(search), np.nan),
        squared=values.copy(),
        signed=search.margins[last],
        outputs=search.margins[:, 0],
        turns=np.ones(len(search), dtype=np.int64),
        queries=int(search.queries.sum()),
        settings=search.settings,
        columns={
            "label": search.labels[:, 0],
            "end_label": search.labels[last],
            "first_flip": search.flips,
            "steps": search.taken,
            "stuck": search.stuck,
            "queries": search.queries,
        },
    )
