"""What is watched: functions from points to numbers, settled once on the reference.

The ball is drawn once and kept. So a score is a function of the point alone, the same in any
batch: while the stream's points follow the reference's law, so do its scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from anharmonic import balls, models
from anharmonic._core.margins import by_class, labels_of, margins_of, of_classes, probabilities_of
from anharmonic._core.protocols import Array, Ball, Floats, Model
from anharmonic._core.randomness import generator
from anharmonic._core.reductions import Reduction, chosen_reduction
from anharmonic._core.streams import Stream
from anharmonic.errors import OutputError, PointsError, SettingsError
from anharmonic.measures.gamma.measure import check_room, gamma, gamma_once
from anharmonic.measures.setup.batching import answers, caller_for
from anharmonic.measures.setup.settling import Setup, settle
from anharmonic.measures.setup.sphere import Sphere, rows_on_device
from anharmonic.measures.stability import nstep_robustness
from anharmonic.regions import Region
from anharmonic.regions import points as as_points

__all__ = ["STEPS", "Scorer", "Watch", "Watched", "chosen_watch", "fit_scorer"]

Watched = str | Callable[[Array], ArrayLike]
"""One of `NAMES`, or a function from points to numbers."""
Watch = Watched | Sequence[Watched] | Mapping[str, Watched]
"""One thing watched, several, or several by names of the user's own."""
NAMES = ("gamma", "flip", "confidence", "margin")
STEPS = 25
"""Random steps that the flip chance is about, as in the paper's search."""
ROUNDING = 1e-9
"""Of the model's output: a smaller gamma is rounding, and rounding drifts with its inputs."""
PILOT_POINTS = 256
"""Of the reference, for choosing radius, scale and ball."""


@dataclass(frozen=True)
class Scorer:
    """How the model is measured: in which directions, how far, in which units.

    Parameters
    ----------
    model
        The model that answers.
    columns
        The columns that move.
    shape
        Of one point.
    still
        Whether other columns stay as they are.
    radius, units
        How far neighbours lie, in units (columns,) of the features.
    ball
        The directions, drawn once.
    reduction, bounds, batch_size, output
        As in `gamma`.
    """

    model: Model
    columns: tuple[str, ...]
    shape: tuple[int, ...]
    still: bool
    radius: float
    units: tuple[float, ...]
    ball: Ball
    reduction: Reduction
    bounds: object = None
    batch_size: int | None = None
    output: object = None
    _settled: list[Setup] = field(default_factory=list, init=False, repr=False, compare=False)

    def region(self, points: object) -> Region:
        """Points with the reference's columns moving."""
        return as_points(points, self.columns if self.still else None)

    def measure(self, watched: Watched, points: object) -> Floats:
        """Values (rows,) of one thing."""
        if callable(watched):
            values = np.asarray(watched(points), dtype=np.float64)
            if values.ndim != 1:
                raise OutputError(
                    f"what is watched gave shape {values.shape}: one number per point"
                )
            return values
        region = self.region(points)
        if watched == "gamma":
            return self.gamma_of(region)
        if watched == "flip":
            return self._flip(region)
        return self._certainty(region, watched)

    def queries(self, watched: Watched) -> int:
        """What one row of one thing costs; a function of the user's counts nothing."""
        if callable(watched):
            return 0
        return 1 + self.ball.count if watched in ("gamma", "flip") else 1

    def gamma_of(self, region: Region) -> Floats:
        """Gamma (rows,) on the ball that was drawn; what is rounding counts as 0."""
        setup = self._setup_at(region)
        reduction = chosen_reduction(self.reduction, self.model.kind)
        sphere = Sphere.of(setup, self.ball, reduction)
        check_room(sphere)
        scores = gamma_once(sphere)
        # Outputs (rows,) or (rows, columns): the size of a row is that of its largest column.
        outputs = scores.outputs.reshape(len(scores), -1)
        size = np.abs(outputs).max(axis=1)
        return np.where(scores.values > ROUNDING * size, scores.values, 0.0)

    def _setup_at(self, region: Region) -> Setup:
        """The setup, settled with the first rows and moved to all later ones."""
        if not self._settled:
            first = settle(
                self.model,
                region,
                radius=self.radius,
                scale=self.units,
                bounds=self.bounds,
                batch_size=self.batch_size,
            )
            self._settled.append(first)
            return first
        return self._settled[0].at(region)

    def _flip(self, region: Region) -> Floats:
        """The chance (rows,) that `STEPS` random steps change the decision."""
        return nstep_robustness(
            self.model,
            region,
            steps=STEPS,
            # A whole ball gives the same row the same chance whenever it comes; walks are drawn.
            kind="drift",
            radius=self.radius,
            ball=self.ball,
            scale=self.units,
            bounds=self.bounds,
            batch_size=self.batch_size,
        ).values

    def _certainty(self, region: Region, watched: str) -> Floats:
        """Margin or confidence (rows,) of the decision: one query per row."""
        caller, chunk = caller_for(self.model, region, self.batch_size)
        rows = np.arange(len(region))
        batches = [rows[start : start + chunk] for start in range(0, len(rows), chunk)]
        # A caller takes neighbours (rows, neighbours, features): here a row is its only one.
        outputs = np.concatenate(
            [
                answers(caller, rows_on_device(caller, batch)[:, None, :], batch)[:, 0]
                for batch in batches
            ]
        )
        by_classes = by_class(outputs, self.model.kind)
        labels = labels_of(by_classes)
        if watched == "margin":
            return np.asarray(margins_of(by_classes, labels))
        return np.asarray(of_classes(probabilities_of(by_classes, self.model.kind), labels))


def fit_scorer(
    model: object,
    reference: object,
    *,
    moving: Sequence[str | int] | None,
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
    region = as_points(reference, moving)
    pilot = np.sort(generator(seed, Stream.SCORER_PILOT).permutation(len(region))[:PILOT_POINTS])
    # gamma itself settles everything that is "auto"; its scores are not used.
    scores = gamma(
        predictor,
        region.rows(pilot),
        reference=region,
        radius=radius,
        directions=directions,
        rotations=2,
        reduction=reduction,
        scale=scale,
        bounds=bounds,
        batch_size=batch_size,
        seed=seed,
    )
    settings = scores.settings
    scorer = Scorer(
        model=predictor,
        columns=tuple(settings.columns),
        shape=region.shape,
        still=bool(settings.still),
        radius=settings.radius,
        units=tuple(settings.scale),
        ball=_draw_ball(settings.ball, settings.dimension, directions, seed),
        reduction=reduction or settings.reduction or "norm",
        bounds=bounds,
        batch_size=batch_size,
        output=output,
    )
    return scorer, scores.queries


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


def chosen_watch(watch: Watch) -> dict[str, Watched]:
    """What is watched, by name."""
    if isinstance(watch, Mapping):
        named = dict(watch)
    else:
        listed = [watch] if isinstance(watch, str) or callable(watch) else list(watch)
        named = {thing if isinstance(thing, str) else thing.__name__: thing for thing in listed}
        if len(named) < len(listed):
            raise SettingsError("two things watched have the same name: give {name: function}")
    unknown = [thing for thing in named.values() if not callable(thing) and thing not in NAMES]
    if unknown or not named:
        raise SettingsError(
            f"cannot watch {unknown or 'nothing'}: choose of {', '.join(NAMES)}, or give a "
            "function from points to numbers"
        )
    return named
