"""A scorer settled on the reference: its units, radius and ball, and weights over its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from anharmonic import balls, models
from anharmonic._core.protocols import Array, Ball, Floats, Model
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import Reduction
from anharmonic._core.streams import Stream
from anharmonic.errors import PointsError
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data.asking import compared_columns, refuse_given
from anharmonic.measures.over_data.fitted import fit_weights
from anharmonic.measures.over_data.recorded import Answered
from anharmonic.measures.setup.scale import read_columns
from anharmonic.measures.setup.settling import settle
from anharmonic.measures.setup.table_rows import fixed_table_ball
from anharmonic.monitor.inputs import Inputs, fit_inputs
from anharmonic.monitor.scorer import DATA, Scorer, Watched, only_asks_rows, without_rounding
from anharmonic.regions import Region, unmoved
from anharmonic.regions import points as as_points
from anharmonic.regions.tables import Kinds

__all__ = ["DIRECTIONS", "fit_scorer", "inputs_of", "measure_reference"]

PILOT_POINTS = 256
"""Of the reference, for choosing radius, scale and ball."""
DIRECTIONS = 16
"""The most neighbours per point, if not told otherwise."""


def fit_scorer(
    model: object,
    reference: object,
    watch: Mapping[str, Watched],
    *,
    moving: Sequence[str | int] | None,
    kinds: Kinds | None,
    radius: float | Literal["auto"],
    directions: int,
    output: object,
    reduction: Reduction | None,
    scale: ArrayLike | Literal["auto"] | None,
    bounds: object,
    batch_size: int | None,
    seed: int,
) -> tuple[Scorer, int]:
    """Units, radius and ball from the reference, and what it cost to find them."""
    predictor = models.as_model(model, output=output)
    if isinstance(reference, Region):
        raise PointsError("give the reference's points themselves, and moving= for what may move")
    if only_asks_rows(watch):
        refuse_given(
            "rows are taken as they are; watch gamma too to move them",
            beside=f'watch="{", ".join(watch)}"',
            radius=radius != "auto",
            scale=not isinstance(scale, str),
            bounds=bounds is not None,
            directions=directions != DIRECTIONS,
        )
        still = Scorer(
            model=predictor,
            columns=(),
            shape=unmoved(reference).shape,
            still=True,
            radius=float("nan"),
            units=(),
            ball=None,
            reduction=reduction or "norm",
            batch_size=batch_size,
            output=output,
        )
        return still, 0
    region = as_points(reference, moving)
    pilot = np.sort(generator(seed, Stream.SCORER_PILOT).permutation(len(region))[:PILOT_POINTS])
    settled = settle(
        predictor,
        region.rows(pilot),
        reference=region,
        radius=radius,
        scale=scale,
        kinds=kinds,
        bounds=bounds,
        batch_size=batch_size,
        seed=seed,
    )
    law = settled.region.neighbourhood
    # gamma itself settles everything that is "auto"; its scores are not used.
    scores = gamma(
        predictor,
        region.rows(pilot) if law is None else settled.region,
        reference=region if law is None else None,
        radius=radius if law is None else settled.radius,
        directions=directions,
        rotations=2,
        reduction=reduction,
        scale=scale,
        bounds=bounds,
        batch_size=batch_size,
        seed=seed,
    )
    settings = scores.settings
    ball = (
        _draw_ball(settings.ball, settings.dimension, directions, seed)
        if law is None
        else fixed_table_ball(settled.ball_dimension, directions, settings.paired, seed)
    )
    scorer = Scorer(
        model=predictor,
        columns=tuple(settings.columns),
        shape=region.shape,
        still=bool(settings.still),
        radius=settings.radius,
        units=tuple(settings.scale),
        ball=ball,
        reduction=reduction or settings.reduction or "norm",
        bounds=bounds,
        batch_size=batch_size,
        output=output,
        law=law,
    )
    return scorer, scores.queries


def inputs_of(model: Model, reference: object, kinds: Kinds | None) -> Inputs:
    """Streams of the columns that a model reads, of all where it does not say."""
    region = unmoved(reference)
    return fit_inputs(reference, read_columns(region, [model]), kinds)


def measure_reference(
    scorer: Scorer,
    watch: Mapping[str, Watched],
    reference: Array,
    *,
    moving: Sequence[str | int] | None,
    reduction: Reduction | None,
    seed: int,
) -> tuple[Scorer, dict[str, Floats]]:
    """The reference's values (rows,) of everything watched, and a scorer that knows its weights.

    Gamma over the data scores no reference row by fits that saw it: see `FittedWeights`.
    """
    values, answered = scorer.measure_asking(watch, reference)
    if DATA not in watch.values():
        return scorer, values
    region = unmoved(reference)
    answered = scorer.answers_at(scorer.region(reference)) if answered is None else answered
    fitted = fit_weights(
        Answered(region, answered),
        kind=scorer.model.kind,
        columns=compared_columns(scorer.model, region, moving),
        reduction=reduction,
        seed=seed,
    )
    scores = without_rounding(fitted.reference_scores, answered)
    return replace(scorer, over_data=fitted), {
        name: scores if thing == DATA else values[name] for name, thing in watch.items()
    }


def _draw_ball(name: str, dimension: int, directions: int, seed: int) -> Ball:
    """As many turns of the ball as fit into `directions`, drawn once."""
    plain = name.removeprefix("rotated ")
    ball = balls.rotated(balls.named(plain, dimension, directions))
    turns = max(1, directions // ball.count)
    # Of a pair only the first is kept, and `balls.pairs` adds its reflection again.
    step = 2 if ball.paired else 1
    drawn = np.concatenate([ball.vectors(seed, turn=turn)[::step] for turn in range(turns)])
    fixed = balls.fixed(drawn, f"{turns} × {name}")
    return balls.pairs(fixed) if ball.paired else fixed
