"""Measure another model the way some scores were measured."""

from __future__ import annotations

from typing import Unpack, cast

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.progress import Progress
from anharmonic._core.protocols import Ball
from anharmonic.measures.compare import GammaArguments
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import Region, points
from anharmonic.scores import Scores

__all__ = ["MeasureArguments", "arguments_of", "ball_asked_for", "measured_like"]

REPEATED = (
    *("radius", "scale", "rotations", "directions", "bounds", "seed"),
    *("output", "reduction", "budget", "tolerance"),
)
"""Settings that are arguments of `gamma` under the same name."""


class MeasureArguments(GammaArguments, total=False):
    """The arguments of `gamma` but the model and the points."""

    ball: str | Ball
    resume: Scores | PathLike | None
    checkpoint: PathLike | None
    progress: Progress


def arguments_of(scores: Scores) -> MeasureArguments:
    """What to hand to `gamma` to measure as `scores` were.

    >>> import numpy as np
    >>> scores = gamma(lambda x: np.sin(x[:, 0]), np.eye(3), radius=0.1)
    >>> arguments_of(scores)["ball"], arguments_of(scores)["radius"]
    ('antisimplex', 0.1)
    """
    settings = scores.settings
    arguments = settings.chosen(REPEATED)
    ball = ball_asked_for(settings.ball or "auto pairs")
    return cast(MeasureArguments, {**arguments, "ball": ball})


def ball_asked_for(name: str) -> str:
    """The name a ball is asked for by; it is turned and thinned anew by the other arguments."""
    return name.removeprefix("rotated ").removeprefix("sampled ").removesuffix(" singles")


def measured_like(
    baseline: Scores, model: object, data: object, **others: Unpack[MeasureArguments]
) -> Scores:
    """Gamma of a model, measured as a baseline was.

    With the baseline's radius, scale, ball, seed, moving columns and output the two are
    comparable, and at the same points they differ by the model alone.

    Parameters
    ----------
    baseline
        Scores whose settings are used.
    model, data
        Anything `as_model` takes, and rows, a DataFrame or a `regions.Region`.
    others
        Arguments of `gamma` that shall differ from the baseline's; what is left out is as it
        was there.

    Examples
    --------
    >>> import numpy as np
    >>> from anharmonic.gate import no_worse
    >>> data = np.random.default_rng(0).normal(size=(100, 3))
    >>> old = gamma(lambda x: np.sin(x[:, 0]), data)
    >>> print(no_worse(measured_like(old, lambda x: np.sin(2 * x[:, 0]), data), old).outcome)
    above
    """
    moving = baseline.settings.columns or None
    region = data if isinstance(data, Region) else points(data, moving=moving)
    arguments = cast(MeasureArguments, {**arguments_of(baseline), **others})
    return gamma(model, region, **arguments)
