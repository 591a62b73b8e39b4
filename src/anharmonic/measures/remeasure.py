"""Measure another model the way some scores were measured."""

from __future__ import annotations

from typing import Any, Unpack, cast

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.progress import Progress
from anharmonic.measures.compare import GammaArguments
from anharmonic.measures.gamma.measure import gamma
from anharmonic.regions import Region, points
from anharmonic.scores import Scores

__all__ = ["MeasureArguments", "arguments_of", "ball_asked_for", "measured_like"]

REPEATED = (
    *("radius", "scale", "rotations", "directions", "bounds", "seed"),
    *("output", "reduction", "budget", "tolerance"),
)


class MeasureArguments(GammaArguments, total=False):
    """The arguments of `gamma` but the model and the points."""

    radius: Any
    ball: Any
    scale: Any
    reference: Any
    seed: int
    resume: Scores | PathLike | None
    checkpoint: PathLike | None
    progress: Progress


def arguments_of(scores: Scores) -> MeasureArguments:
    """What to hand to `gamma` to measure as `scores` were.

    >>> import numpy as np
    >>> known = gamma(lambda x: np.sin(x[:, 0]), np.eye(3), radius=0.1)
    >>> arguments_of(known)["ball"], arguments_of(known)["radius"]
    ('antisimplex', 0.1)
    """
    known = scores.settings
    arguments = known.chosen(REPEATED)
    ball = ball_asked_for(known.ball or "auto pairs")
    return cast(MeasureArguments, {**arguments, "ball": ball})


def ball_asked_for(name: str) -> str:
    """The name a ball is asked for by; it is turned and thinned anew by the other arguments."""
    return name.removeprefix("rotated ").removeprefix("sampled ").removesuffix(" singles")


def measured_like(
    baseline: Scores, model: Any, data: Any, **others: Unpack[MeasureArguments]
) -> Scores:
    """Gamma of `model` at `data`, measured as the baseline was, but for what `others` say.

    With the baseline's radius, scale, ball, seed, moving columns and output the two are
    comparable, and at the same points they differ by the model alone.

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
