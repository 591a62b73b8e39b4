"""Measure another model the way some scores were measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack, cast

from anharmonic._core.checkpoints import PathLike
from anharmonic._core.progress import Progress
from anharmonic._core.protocols import Ball
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError
from anharmonic.measures.compare import GammaArguments
from anharmonic.measures.gamma.measure import gamma
from anharmonic.measures.over_data.asking import BALL, names_rows
from anharmonic.measures.over_data.metric import GAMMA_DATA, DataSettings
from anharmonic.measures.over_data.weights import Given, Weights, restored_weights
from anharmonic.regions import Region, points, unmoved
from anharmonic.scores import Scores

__all__ = [
    "MeasureArguments",
    "arguments_of",
    "ball_asked_for",
    "ball_of",
    "measured_like",
    "require_same_measure",
]

REPEATED = (
    *("radius", "scale", "rotations", "directions", "bounds", "seed"),
    *("output", "reduction", "budget", "tolerance"),
)
"""Settings that are arguments of `gamma` under the same name."""


class MeasureArguments(GammaArguments, total=False):
    """The arguments of `gamma` but the model and the points."""

    ball: str | Ball | Weights
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
    return cast(MeasureArguments, {**_repeated(settings), "ball": ball_of(settings)})


def ball_of(settings: Settings) -> str | Weights:
    """The ball to ask for: by its name, or weights of other rows with their own settings."""
    if isinstance(settings, DataSettings):
        return restored_weights(settings.weights, dict(settings.weights_options))
    if settings.kinds:
        return "auto pairs" if settings.paired else "auto singles"
    return ball_asked_for(settings.ball or "auto pairs")


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
    settings, ball = baseline.settings, others.get("ball")
    require_same_measure(baseline, ball)
    if isinstance(settings, DataSettings):
        _check_rows(baseline.metric, settings, others)
        region = unmoved(data)
        others["ball"] = _same_weights(settings, ball)
    else:
        region = data if isinstance(data, Region) else _same_columns(settings, data)
        others.setdefault("ball", ball_of(settings))
    arguments = cast(MeasureArguments, {**_repeated(settings), **others})
    return gamma(model, region, **arguments)


def _same_columns(settings: Settings, data: object) -> Region:
    """The data with the baseline's columns moving, each as the kind that it was there."""
    region = points(data, moving=settings.columns or None)
    if not settings.kinds:
        return replace(region, plain=True)
    if "own" in settings.kinds:
        raise SettingsError(
            "the baseline moved a column by a function, which is not in its settings: measure "
            "with gamma(…, kinds=…) instead"
        )
    return replace(region, told=settings.told_kinds())


def require_same_measure(baseline: Scores, ball: object) -> None:
    """Refuse a ball on spheres for a baseline over data, and the other way round.

    Parameters
    ----------
    baseline, ball
        Scores, and what is asked for beside them; None where it is to be theirs.
    """
    settings = baseline.settings
    over_rows = isinstance(ball, Weights) or names_rows(ball)
    if ball is not None and over_rows == settings.moves:
        raise SettingsError(
            f"the baseline was measured with the ball {settings.ball!r}, which {ball!r} cannot be "
            "compared with: leave the ball out, or make a new baseline"
        )


def _repeated(settings: Settings) -> dict[str, object]:
    """All that is the same for another model, but the ball."""
    facts = settings.chosen(REPEATED)
    if settings.kinds:
        # Units of a table come from its reference, and its ball is chosen for it.
        facts.pop("scale", None)
    # Rows are compared by the same columns, whatever another model may read.
    return facts if settings.moves else {**facts, "moving": list(settings.columns)}


def _check_rows(metric: str, settings: DataSettings, others: MeasureArguments) -> None:
    """Refuse a baseline that gamma over data cannot be held against."""
    if metric != GAMMA_DATA.name:
        raise SettingsError(
            f'the baseline holds {metric}: make one with gamma(…, ball="data") '
            "(anharmonic gamma --ball data --out)"
        )
    if settings.referenced != (others.get("reference") is not None):
        raise SettingsError(
            "the baseline weighs reference rows: give the same ones as reference= (--reference)"
            if settings.referenced
            else "the baseline weighs its own rows: leave reference= (--reference) out"
        )


def _same_weights(settings: DataSettings, ball: object) -> str | Ball | Weights:
    """The baseline's weights with their settings; refused where others are asked for."""
    if isinstance(ball, Given) and settings.weights == Given.name:
        return ball
    weights = ball_of(settings)
    # "data" alone leaves the weights open, and a name their settings.
    if ball is None or ball in (BALL, settings.ball) or ball == weights:
        return weights
    raise SettingsError(
        f"the baseline was measured with {weights}, not with {ball!r}: leave the ball out, or "
        "make a new baseline"
    )
