"""How far an answer is from the mean of the others, with its error: plain numpy."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

import numpy as np

from anharmonic.errors import OutputError, SettingsError
from anharmonic.moments import Estimate, Moments
from anharmonic.protocols import Array, Floats

__all__ = ["Deviation", "Unit", "deviation", "excess", "jackknifed", "mean_known"]

Unit = Literal["sqrt1mcos", "angle"]
"""sqrt(1 − cos θ), which the paper's code computes, or the angle θ in degrees."""


class Deviation(NamedTuple):
    """Gamma of one prompt.

    - `value`: in the unit asked for. `error`: its standard error over the others (jackknife).
    - `squared`: the value's square without the upward bias of noise; may be below 0.
    - `turns`: how many others there were. `vector` (D,): original less mean.
    """

    value: float
    error: float
    squared: float
    turns: int
    vector: Floats

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, self.error)


def deviation(original: Array, others: Array, unit: Unit = "sqrt1mcos") -> float:
    """Deviation of an embedding (D,) from the plain mean of others (N, D).

    >>> deviation(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 3.0]]))
    1.0
    >>> deviation(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 3.0]]), unit="angle")
    90.0
    """
    one, many = _checked(original, others, unit)
    return float(_apart(one, _mean(one, many), unit))


def jackknifed(original: Array, others: Array, unit: Unit = "sqrt1mcos") -> Deviation:
    """The deviation with its error and unbiased square, leaving each other out in turn.

    With a single other, nothing is known of the noise: error and square are NaN.
    """
    one, many = _checked(original, others, unit)
    mean, count = _mean(one, many), len(many)
    value = float(_apart(one, mean, unit))
    if count == 1:
        return Deviation(value, float("nan"), float("nan"), 1, one - mean)
    without = one + (count * (mean - one) - (many - one)) / (count - 1)
    values = _apart(one, without, unit)
    spread = np.sum((values - values.mean()) ** 2) * (count - 1) / count
    # No bias of order 1/N, as for gamma of any other model.
    squared = count * value**2 - (count - 1) * float(np.mean(values**2))
    return Deviation(value, float(np.sqrt(spread)), squared, count, one - mean)


def excess(gamma: Estimate, gamma0: Estimate) -> Estimate:
    """What perturbing adds to the model's own noise: the difference, its error by Pythagoras.

    Given the original answer, perturbed and repeated ones are independent.

    >>> excess(Estimate(0.5, 0.3), Estimate(0.1, 0.4))
    Estimate(value=0.4, error=0.5)
    """
    return Estimate(gamma.value - gamma0.value, float(np.hypot(gamma.error, gamma0.error)))


def mean_known(values: Floats) -> Estimate:
    """The mean of the values that are there, with its standard error."""
    known = values[np.isfinite(values)]
    found = Moments.of(known)
    return Estimate(float(found.mean) if len(known) else float("nan"), float(found.error))


def _checked(original: Array, others: Array, unit: str) -> tuple[Floats, Floats]:
    if unit not in ("sqrt1mcos", "angle"):
        raise SettingsError(f"no unit {unit!r}: choose 'sqrt1mcos' (the paper's) or 'angle'")
    one, many = np.asarray(original, dtype=float), np.asarray(others, dtype=float)
    if many.ndim != 2 or not len(many) or one.shape != many.shape[1:]:
        raise OutputError(
            f"an embedding {one.shape} cannot be held against others {many.shape}: "
            "an embedder gives vectors of one size, (texts, D)"
        )
    if not (np.isfinite(one).all() and np.isfinite(many).all()):
        raise OutputError("an embedding holds NaN or infinity: look at what the embedder got")
    return one, many


def _mean(one: Floats, many: Floats) -> Floats:
    """The plain mean; by differences, so that identical embeddings give exactly the original."""
    return cast(Floats, one + (many - one).mean(axis=0))


def _apart(one: Floats, other: Floats, unit: Unit) -> Array:
    """How far a vector's direction is from those of others (…, D), accurate where it is near."""
    # Both along an axis: only then are the lengths of equal vectors equal to the last bit.
    lengths = np.linalg.norm(one, axis=-1), np.linalg.norm(other, axis=-1)
    if not lengths[0] or not np.all(lengths[1]):
        raise OutputError(
            "an embedding, or the mean of some, has no length, so it points nowhere: "
            "use an embedder that gives every text a direction"
        )
    first, second = one / lengths[0], other / lengths[1][..., None]
    chord = np.linalg.norm(first - second, axis=-1)
    if unit == "sqrt1mcos":
        return chord / np.sqrt(2.0)  # 1 − cos θ is half the chord's square
    return np.degrees(2 * np.arctan2(chord, np.linalg.norm(first + second, axis=-1)))
