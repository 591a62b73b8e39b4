"""How much one changed label adds to a score of labels, so that a boundary can be read from it.

Over a flat boundary the average share of changed labels is r·E|u₁|·A/V (supplement, section 2, in
n dimensions). A score counts that share in units of its own: 1 for the predicted class's column
of one-hot labels, √2 for the length over all columns, and for two labels as numbers how far they
lie apart. Whatever is no multiple of the share is refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from anharmonic._core.protocols import Floats
from anharmonic._core.settings import Settings
from anharmonic.errors import SettingsError

__all__ = ["label_step", "mean_coordinate"]

UNIFORM = ("rotated", "random")
"""What the names of balls begin with that lie uniformly on the sphere."""


def label_step(settings: Settings, outputs: Floats) -> float:
    """What a score of labels rises by when every label on the sphere changes.

    Parameters
    ----------
    settings
        Of the scores: their kind of output, reduction and classes decide it.
    outputs
        The model's at the points, (points,) or (points, columns), for two labels as numbers.

    >>> label_step(Settings(kind="onehot", reduction="predicted"), np.eye(2))
    1.0
    """
    kind, classes = settings.kind, settings.classes
    binary = len(classes) == 2
    if not (kind == "onehot" or (kind == "label" and binary)):
        raise SettingsError(
            "the boundary's area is read from labels: measure with output='onehot' "
            "(or output='label' for two classes)"
        )
    _check_sphere(settings)
    reduction = settings.reduction
    one_column = kind == "label" or reduction == "predicted"
    # A changed label moves its column from 1 to 0: by 1, or two columns by 1 each, √2 together.
    if one_column and reduction in ("norm", "predicted", 0, -1):
        return 1.0 if kind == "onehot" else _label_distance(settings, outputs)
    if kind == "onehot" and reduction == "norm":
        return math.sqrt(2)
    if kind == "onehot" and isinstance(reduction, int) and binary:
        return 1.0
    raise SettingsError(
        f"reduction {reduction!r} is no share of changed labels, from which a boundary's area is "
        "read: measure with reduction='predicted'"
    )


def _check_sphere(settings: Settings) -> None:
    """Refuse scores whose neighbours do not lie evenly on the whole sphere."""
    ball = settings.ball or UNIFORM[0]
    if not ball.startswith(UNIFORM):
        raise SettingsError(
            f"the ball {ball!r} was not rotated, and how it lies to the boundary is not known: "
            'measure with ball="auto"'
        )
    if settings.clipped:
        raise SettingsError(
            f"bounds moved {settings.clipped:.0%} of the neighbours nearer, so that they found "
            "less boundary than there is: measure without bounds="
        )


def _label_distance(settings: Settings, outputs: Floats) -> float:
    """How far apart two labels are as numbers: themselves, or positions where they are text."""
    codes = settings.codes or _codes_from_names(settings.classes, outputs)
    return abs(float(codes[1]) - float(codes[0]))


def _codes_from_names(classes: Sequence[str], outputs: Floats) -> list[float]:
    """The numbers behind two classes in files that keep their names alone."""
    booleans = {"False": 0.0, "True": 1.0}
    try:
        codes = [booleans[name] if name in booleans else float(name) for name in classes]
    except ValueError:
        return [0.0, 1.0]
    finite = outputs[np.isfinite(outputs)]
    # Outputs that are none of the numbers were positions: "3" and "7" may have been text.
    return codes if np.isin(finite, codes).all() else [0.0, 1.0]


def mean_coordinate(dimension: int) -> float:
    """E|u₁| over the unit sphere: how far a direction reaches along a fixed one, on average.

    >>> round(mean_coordinate(3), 12)
    0.5
    """
    # Γ(n/2) / (√π · Γ((n+1)/2)), by logarithms because Γ overflows from n = 342 on.
    logarithm = gammaln(dimension / 2) - gammaln((dimension + 1) / 2)
    return float(np.exp(logarithm) / np.sqrt(np.pi))
