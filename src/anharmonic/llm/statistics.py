"""How far an answer is from the mean of the others, with its error: plain numpy."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, cast

import numpy as np

from anharmonic._core.estimate import Estimate
from anharmonic._core.protocols import Array, Floats
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic._core.streams import LanguageStream
from anharmonic.errors import OutputError, SettingsError

__all__ = [
    "Deviation",
    "Unit",
    "at_fewer",
    "deviation",
    "excess",
    "jackknifed",
    "matched_excess",
    "mean_known",
]

Unit = Literal["sqrt1mcos", "angle"]
"""sqrt(1 − cos θ), which the paper's code computes, or the angle θ in degrees."""


SUBSETS = 200
"""Of a larger set of answers, when it is held against a smaller one at equal numbers."""


class Deviation(NamedTuple):
    """Gamma of one prompt.

    - `value`: the paper's, in the unit asked for. It grows with the noise of the mean, spread/N,
      so it is a number for so many answers: gammas of different N do not compare.
    - `squared`: the square that any number of answers would give on average; may be below 0.
      `corrected` is its root, which compares whatever N is.
    - `error`: of the value, as an estimate of that: noise and what N adds.
    - `noise`: the standard error over the others alone (jackknife); where they all agree, what
      one more answer like the original would make it: ten equal ones do not promise an eleventh.
    - `turns`: how many others there were. `vector` (D,): original less mean.
    """

    value: float
    error: float
    squared: float
    turns: int
    vector: Floats
    noise: float = float("nan")

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, self.error)

    @property
    def corrected(self) -> Estimate:
        """Gamma without what the noise of N answers adds.

        Its error is that of the square, 2·value·noise, taken through the root.
        """
        root = float(np.sqrt(np.maximum(self.squared, 0.0)))
        step = 2 * self.value * self.noise
        return Estimate(root, step and step / (root + float(np.sqrt(root**2 + step))))


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

    With a single other, nothing is known of the noise: errors and square are NaN.
    """
    one, many = _checked(original, others, unit)
    mean, count = _mean(one, many), len(many)
    value = float(_apart(one, mean, unit))
    if count == 1:
        return Deviation(value, float("nan"), float("nan"), 1, one - mean)
    without = one + (count * (mean - one) - (many - one)) / (count - 1)
    values = _apart(one, without, unit)
    spread = np.sqrt(np.sum((values - values.mean()) ** 2) * (count - 1) / count)
    noise = max(float(spread), _one_more(one, many, mean, value, unit))
    squared = _unbiased_square(one, many, mean, without, unit)
    bias = value - np.sqrt(max(squared, 0.0))
    return Deviation(value, float(np.hypot(noise, bias)), squared, count, one - mean, noise)


def _one_more(one: Floats, many: Floats, mean: Floats, value: float, unit: Unit) -> float:
    """The jackknife error of others that agree, were one more answer like the original among them.

    0 where they differ among themselves more than that one would make them.
    """
    share = len(many) / (len(many) + 1)
    if np.sum((many - mean) ** 2) > np.sum((one - mean) ** 2) * share:
        return 0.0
    return abs(value - float(_apart(one, one + (mean - one) * share, unit))) * share


def _unbiased_square(one: Floats, many: Floats, mean: Floats, without: Floats, unit: Unit) -> float:
    """The square of the deviation from the mean of infinitely many, as N answers tell it.

    In cos θ = a·m/|m| the product has no bias, but E|m|² = |μ|² + spread/N. So |m|² less spread/N,
    the mean product of two different answers, stands for |μ|². A jackknife takes away what the
    root leaves of order 1/N; it needs three answers.
    """
    count = len(many)
    apart = np.sum((many - mean) ** 2, axis=1)
    whole = float(_squared(one, mean, apart.sum(), count, unit))
    if count < 3:
        return whole
    rest = np.maximum(apart.sum() - apart * count / (count - 1), 0.0)
    parts = _squared(one, without, rest, count - 1, unit)
    return float(whole + (count - 1) * np.mean(whole - parts))


def _squared(one: Floats, mean: Floats, apart: Array, count: int, unit: Unit) -> Array:
    """The squared deviation from means (…, D) of `count` others, Σ|other − mean|² `apart`."""
    near = _apart(one, mean, "sqrt1mcos") ** 2  # 1 − cos θ
    noise = apart / (count - 1) / count / np.sum(mean**2, axis=-1)
    # Answers without anything in common have no mean to speak of: cos θ is at most doubled.
    near = near - (1 - near) * (np.maximum(1 - noise, 0.25) ** -0.5 - 1)
    if unit == "sqrt1mcos":
        return near
    half = np.sqrt(np.abs(np.minimum(near, 2.0)) / 2)
    angle = np.where(near >= 0, np.arcsin(np.minimum(half, 1.0)), np.arcsinh(half))
    return np.copysign(np.degrees(2 * angle) ** 2, near)


def excess(gamma: Estimate, gamma0: Estimate) -> Estimate:
    """What perturbing adds to the model's own noise: the difference, its error by Pythagoras.

    Given the original answer, perturbed and repeated ones are independent. Both must stand on
    equally many answers; see `matched_excess`.

    >>> excess(Estimate(0.5, 0.3), Estimate(0.1, 0.4))
    Estimate(value=0.4, error=0.5)
    """
    return Estimate(gamma.value - gamma0.value, float(np.hypot(gamma.error, gamma0.error)))


def matched_excess(
    original: Array, others: Array, repeats: Array, unit: Unit = "sqrt1mcos"
) -> Estimate:
    """The excess at equal numbers of answers, so that what N adds cancels.

    Of the larger set the mean over subsets as large as the smaller is taken: where perturbing
    does nothing, both have the same law, and the excess is 0 on average.
    """
    fewest = min(len(others), len(repeats))
    found = [jackknifed(original, each, unit) for each in (others, repeats)]
    values = [_of_subsets(original, each, fewest, unit) for each in (others, repeats)]
    first, second = (Estimate(value, each.noise) for value, each in zip(values, found, strict=True))
    return excess(first, second)


def _of_subsets(original: Array, others: Array, size: int, unit: Unit) -> float:
    one, many = _checked(original, others, unit)
    if len(many) == size:
        return float(_apart(one, _mean(one, many), unit))
    shares = _shares(len(many), size)
    return float(np.mean(_apart(one, one + shares @ (many - one), unit)))


@lru_cache(maxsize=32)
def _shares(count: int, size: int) -> Floats:
    """Weights of subsets, (subsets, count): the same for every prompt, whatever was answered."""
    rng = generator(0, LanguageStream.MEAN_ANGLE, count, size)
    chosen = np.array([rng.permutation(count)[:size] for _ in range(SUBSETS)])
    shares = np.zeros((SUBSETS, count))
    np.put_along_axis(shares, chosen, 1 / size, axis=1)
    return shares


def at_fewer(value: Array, squared: Array, turns: Array, fewer: Array) -> Floats:
    """About what gammas of `turns` answers would be with fewer, for want of the answers.

    E value² = squared + c/N.
    """
    square = np.asarray(squared) + (np.asarray(value) ** 2 - squared) * turns / fewer
    same = np.asarray(turns) == np.asarray(fewer)
    return cast(Floats, np.where(same, value, np.sqrt(np.maximum(square, 0.0))))


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
