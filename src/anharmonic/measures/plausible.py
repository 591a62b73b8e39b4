"""Whether neighbours in a table look like its rows: can a classifier tell them apart?"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anharmonic import balls
from anharmonic._core.arrays import without_empty_columns
from anharmonic._core.auroc import Auroc, auroc_interval
from anharmonic._core.columns import shown
from anharmonic._core.extras import needs
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError, SettingsError
from anharmonic.measures.setup.protocols import Segment
from anharmonic.measures.setup.settling import SetupArguments, settle
from anharmonic.measures.setup.sphere import Sphere, neighbourhood
from anharmonic.measures.setup.table_rows import table_ball
from anharmonic.models import Predictor
from anharmonic.regions import as_region
from anharmonic.regions.tables import Kinds

__all__ = ["Plausibility", "plausibility"]

LEAST = 90
"""Rows below which no part has enough to learn from."""
FOLDS = 5
FALSE = 0.05
"""The share of real rows that may be taken for neighbours where the share told is counted."""
MOST_LEVELS = 255


class Plausibility(NamedTuple):
    """How well a classifier tells neighbours from real rows.

    Parameters
    ----------
    auroc
        The chance that it finds a neighbour less real than a real row, with a 95% interval: 0.5
        where it cannot tell.
    told
        The share of neighbours that it tells at the price of 5% of the real rows.
    rows
        Neighbours that were looked at, and as many real rows.
    radius
        How far the neighbours were.
    """

    auroc: Auroc
    told: float
    rows: int
    radius: float

    def __str__(self) -> str:
        value, low, high = self.auroc
        return (
            f"a classifier tells neighbours from real rows with an AUROC of {value:.2f} "
            f"[{low:.2f}, {high:.2f}]: {self.told:.0%} of them at the price of 5% of the real ones"
        )


def plausibility(
    rows: object,
    *,
    radius: float | Literal["auto"] = "auto",
    kinds: Kinds | None = None,
    seed: int = 0,
) -> Plausibility:
    """How far neighbours of a table's rows look like its rows.

    A third of the rows says how rows move, a third gets a neighbour each, and a gradient boosting
    is told, in folds, to separate these from the last third. Needs `anharmonic[sklearn]`.

    Parameters
    ----------
    rows
        Data the model knows: an array, or a table of any kinds.
    radius, kinds, seed
        As in `gamma`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> found = plausibility(random.normal(size=(300, 2)))
    >>> found.rows, found.auroc.value < 0.75
    (100, True)
    """
    whole = as_region(rows)
    if len(whole) < LEAST:
        raise PointsError(f"{len(whole)} rows are too few to learn from: give at least {LEAST}")
    order = generator(seed, Stream.PLAUSIBILITY).permutation(len(whole))
    size = len(whole) // 3
    moved_rows, real_rows, known = (
        whole.rows(np.sort(part))
        for part in (order[:size], order[size : 2 * size], order[2 * size :])
    )
    nothing = Predictor(_no_answer, name="nothing")
    given: SetupArguments = {"reference": known, "kinds": kinds, "radius": radius, "seed": seed}
    setup = settle(nothing, moved_rows, **given)
    real = setup.at(real_rows).region.values
    dimension = setup.ball_dimension
    ball = balls.random(dimension, 1) if dimension else table_ball(None, 1, paired=False)
    every = np.arange(size)
    made, _ = neighbourhood(Sphere.of(setup, ball), every, [Segment(0, 0, 1)], 0)
    law = setup.region.neighbourhood
    if law is not None and any(kind.movement == "edit" for kind in law.kinds):
        names = shown([kind.name for kind in law.kinds if kind.movement == "edit"])
        raise SettingsError(
            f"edited texts cannot be told apart here ({names}): give the rows without them, or "
            "ah.regions.points(rows, moving=[...]) with the other columns"
        )
    listed = [] if law is None else [kind.movement == "redraw" for kind in law.kinds]
    doubts = _doubts(np.concatenate([real, made[:, 0]]), np.array(listed, dtype=bool), size, seed)
    bad = np.repeat([False, True], [len(real), size])
    price = float(np.quantile(doubts[~bad], 1 - FALSE))
    return Plausibility(
        auroc_interval(doubts, bad), float((doubts[bad] > price).mean()), size, setup.radius
    )


def _no_answer(points: Array) -> Floats:
    return np.zeros(len(points))


def _doubts(cells: Floats, listed: NDArray[np.bool_], size: int, seed: int) -> Floats:
    """Each row's probability of being a neighbour, from folds that it was not in."""
    ensemble = needs("sklearn.ensemble", "sklearn")
    labels = np.repeat([0, 1], [len(cells) - size, size])
    columns = cells.copy()
    masks = listed if len(listed) else np.zeros(columns.shape[1], dtype=bool)
    for column in np.flatnonzero(masks):
        places = np.unique(columns[:, column], return_inverse=True)[1]
        # scikit-learn takes few levels; what is beyond them is one.
        columns[:, column] = np.minimum(places, MOST_LEVELS - 1)
    fold = generator(seed, Stream.PLAUSIBILITY, 1).permutation(len(columns)) % FOLDS
    doubts = np.zeros(len(columns))
    for left_out in range(FOLDS):
        inside = fold != left_out
        model = ensemble.HistGradientBoostingClassifier(
            categorical_features=masks, random_state=seed
        )
        model.fit(without_empty_columns(columns[inside]), labels[inside])
        doubts[~inside] = model.predict_proba(columns[~inside])[:, 1]
    return doubts
