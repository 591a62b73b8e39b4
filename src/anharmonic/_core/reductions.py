"""From a vector of deviations to one number per point.

A reduction either picks a column of the outputs before anything is averaged, or combines
the averaged deviations of all columns afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from array_api_compat import array_namespace

from anharmonic._core.protocols import Array, Floats, Kind
from anharmonic.errors import OutputError, SettingsError

__all__ = ["Reduction", "chosen_reduction", "combined", "is_additive", "picked"]

Reduction = str | int | Callable[[Floats], Floats]
"""A name, a column's number, or a function from deviations (points, columns) to (points,)."""
NAMES = ("norm", "predicted", "angle")


def chosen_reduction(reduction: Reduction | None, kind: Kind) -> Reduction:
    """The default is the length of the deviation; for labels, the share that changed."""
    if reduction is None:
        return "predicted" if kind == "onehot" else "norm"
    if isinstance(reduction, str) and reduction not in NAMES:
        raise SettingsError(
            f"no reduction {reduction!r}: choose {', '.join(NAMES)}, a column's number, "
            "or a function of the deviations (points, columns)"
        )
    return reduction


def is_additive(reduction: Reduction | None) -> bool:
    """Whether a score is a sum of signed shares, so that features can each be given theirs.

    The length of a deviation is (its projection on itself), and so is a single column; an angle
    and an unknown function are not.

    >>> [is_additive(reduction) for reduction in ("norm", "predicted", 0, "angle", len)]
    [True, True, True, False, False]
    """
    return not callable(reduction) and reduction != "angle"


def picked(reduction: Reduction, centres: Array, outputs: Array) -> Array:
    """The columns that count: outputs (points, …, columns) of points with `centres`."""
    width = centres.shape[-1]
    if width == 1 or callable(reduction) or reduction in ("norm", "angle"):
        return outputs
    if reduction == "predicted":
        xp = array_namespace(outputs)
        # The centre's class, (points, 1, …, 1), for every neighbour (points, …, 1).
        column = xp.argmax(centres, axis=-1).reshape((-1,) + (1,) * (outputs.ndim - 1))
        columns = xp.broadcast_to(column, (*outputs.shape[:-1], 1))
        return xp.take_along_axis(outputs, columns, axis=-1)
    column_number = int(reduction)
    if not -width <= column_number < width:
        raise SettingsError(f"the model has {width} outputs: column {column_number} is not there")
    return outputs[..., column_number % width][..., None]


def combined(reduction: Reduction, deviations: Floats, centres: Floats) -> Floats:
    """One signed number for each deviation (points, …, columns kept by `picked`)."""
    if callable(reduction):
        flat = np.asarray(reduction(deviations.reshape(-1, deviations.shape[-1])), dtype=float)
        if flat.shape != (int(np.prod(deviations.shape[:-1])),):
            raise OutputError(
                f"the reduction made {flat.shape} from {deviations.shape}: "
                "it must give one number for each row of deviations"
            )
        return flat.reshape(deviations.shape[:-1])
    if reduction == "angle":
        # A deviation is centre less mean, so the mean is centre less deviation.
        return _angle(centres, centres - deviations)
    if deviations.shape[-1] == 1:
        return deviations[..., 0]
    return cast(Floats, np.sqrt(np.sum(deviations**2, axis=-1)))


def _angle(one: Floats, other: Floats) -> Floats:
    """The angle between vectors (…, columns) to (…,), accurate for small angles too.

    Kahan's formula: 2·atan2(‖a/‖a‖ − b/‖b‖‖, ‖a/‖a‖ + b/‖b‖‖), multiplied through by ‖a‖·‖b‖.
    """
    lengths = np.linalg.norm(one, axis=-1), np.linalg.norm(other, axis=-1)
    first = one * lengths[1][..., None]
    second = other * lengths[0][..., None]
    apart = np.linalg.norm(first - second, axis=-1)
    together = np.linalg.norm(first + second, axis=-1)
    return cast(Floats, 2 * np.arctan2(apart, together))
