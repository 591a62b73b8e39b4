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
"""Of a larger set of answers, when it is compared with a smaller one at equal numbers."""


class Deviation(NamedTuple):
    """Gamma of one prompt.

    Parameters
    ----------
    value
        The paper's, in the unit asked for. It grows with the noise of the mean, spread/N, so it
        is a number for so many answers: gammas of different N do not compare.
    error
        Of the value, as an estimate of `corrected`: noise and what N adds.
    squared
        The square that any number of answers would give on average; may be below 0. `corrected`
        is its root, which compares whatever N is.
    turns
        How many others there were.
    vector : (D,)
        Original less mean.
    noise
        The standard error over the others alone (jackknife); where they all agree, what one more
        answer like the original would make it: ten equal ones do not promise an eleventh.
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
        # sqrt(root² + step) − root, written so that nothing cancels where the step is small.
        return Estimate(root, step and step / (root + float(np.sqrt(root**2 + step))))


def deviation(original: Array, others: Array, unit: Unit = "sqrt1mcos") -> float:
    """Deviation of an embedding from the plain mean of others.

    Parameters
    ----------
    original : array (D,)
        The original answer's embedding.
    others : array (N, D)
        The other answers' embeddings.
    unit : "sqrt1mcos" or "angle"
        sqrt(1 − cos θ) as the paper's code has it, or θ in degrees.

    Examples
    --------
    >>> deviation(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 3.0]]))
    1.0
    >>> deviation(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, 3.0]]), unit="angle")
    90.0

    References
    ----------
    Harmonic LLMs are Trustworthy (arXiv 2404.19708).
    """
    centre, vectors = _checked_vectors(original, others, unit)
    return float(_distance(centre, _mean(centre, vectors), unit))


def jackknifed(original: Array, others: Array, unit: Unit = "sqrt1mcos") -> Deviation:
    """The deviation with its error and unbiased square, leaving each other out in turn.

    With a single other, nothing is known of the noise: errors and square are NaN.

    Parameters
    ----------
    original : array (D,)
        The original answer's embedding.
    others : array (N, D)
        The other answers' embeddings.
    unit : "sqrt1mcos" or "angle"
        See `deviation`.
    """
    centre, vectors = _checked_vectors(original, others, unit)
    mean, count = _mean(centre, vectors), len(vectors)
    value = float(_distance(centre, mean, unit))
    if count == 1:
        return Deviation(value, float("nan"), float("nan"), 1, centre - mean)
    # Means without one other each, (N, D).
    without = centre + (count * (mean - centre) - (vectors - centre)) / (count - 1)
    values = _distance(centre, without, unit)
    # Jackknife: variance = (N − 1)/N · Σ(value without one − their mean)².
    spread = np.sqrt(Moments.of(values).squares * (count - 1) / count)
    noise = max(float(spread), _error_with_one_more(centre, vectors, mean, value, unit))
    squared = _unbiased_square(centre, vectors, mean, without, unit)
    bias = value - np.sqrt(max(squared, 0.0))
    return Deviation(value, float(np.hypot(noise, bias)), squared, count, centre - mean, noise)


def _error_with_one_more(
    centre: Floats, vectors: Floats, mean: Floats, value: float, unit: Unit
) -> float:
    """The jackknife error of others that agree, were one more answer like the original among them.

    0 where they differ among themselves more than that one would make them.
    """
    share = len(vectors) / (len(vectors) + 1)
    # One more vector at a distance d from the mean of N adds d²·N/(N + 1) to the squares.
    if np.sum((vectors - mean) ** 2) > np.sum((centre - mean) ** 2) * share:
        return 0.0
    # With N equal others the jackknife of N + 1 is N/(N + 1) times the change of the value.
    return abs(value - float(_distance(centre, centre + (mean - centre) * share, unit))) * share


def _unbiased_square(
    centre: Floats, vectors: Floats, mean: Floats, without: Floats, unit: Unit
) -> float:
    """The square of the deviation from the mean of infinitely many, estimated from N answers.

    In cos θ = a·m/|m| the product has no bias, but E|m|² = |μ|² + spread/N. So |m|² less spread/N,
    the mean product of two different answers, stands for |μ|². A jackknife takes away what the
    root leaves of order 1/N; it needs three answers.
    """
    count = len(vectors)
    squares = np.sum((vectors - mean) ** 2, axis=1)
    whole = float(_squared(centre, mean, squares.sum(), count, unit))
    if count < 3:
        return whole
    # Σ|other − mean|² of the N − 1 that are left, around their own mean, (N,).
    rest = np.maximum(squares.sum() - squares * count / (count - 1), 0.0)
    parts = _squared(centre, without, rest, count - 1, unit)
    # Quenouille's correction: θ + (N − 1)·mean(θ − θ without one).
    return float(whole + (count - 1) * np.mean(whole - parts))


def _squared(centre: Floats, mean: Floats, squares: Array, count: int, unit: Unit) -> Array:
    """The squared deviation from means (…, D) of `count` others; `squares` is Σ|other − mean|²."""
    near = _distance(centre, mean, "sqrt1mcos") ** 2  # 1 − cos θ
    # Variance of the mean over |m|²: by that share |m|² is too large.
    noise = squares / (count - 1) / count / np.sum(mean**2, axis=-1)
    # Answers without anything in common have no mean to speak of: cos θ is at most doubled.
    near = near - (1 - near) * (np.maximum(1 - noise, 0.25) ** -0.5 - 1)
    if unit == "sqrt1mcos":
        return near
    # θ = 2·arcsin sqrt((1 − cos θ)/2); below 0 the odd continuation, by arcsinh.
    half = np.sqrt(np.abs(np.minimum(near, 2.0)) / 2)
    angle = np.where(near >= 0, np.arcsin(np.minimum(half, 1.0)), np.arcsinh(half))
    return np.copysign(np.degrees(2 * angle) ** 2, near)


def excess(gamma: Estimate, gamma0: Estimate) -> Estimate:
    """What perturbing adds to the model's own noise: the difference, its error by Pythagoras.

    Given the original answer, perturbed and repeated ones are independent. Both must stand on
    equally many answers; see `matched_excess`.

    Parameters
    ----------
    gamma, gamma0
        Of answers to perturbed prompts, and of repeated answers to the prompt itself.

    Examples
    --------
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

    Parameters
    ----------
    original : array (D,)
        The original answer's embedding.
    others : array (N, D)
        Those of answers to perturbed prompts.
    repeats : array (M, D)
        Those of repeated answers to the prompt itself.
    unit : "sqrt1mcos" or "angle"
        See `deviation`.
    """
    fewest = min(len(others), len(repeats))
    noises = [jackknifed(original, vectors, unit).noise for vectors in (others, repeats)]
    values = [_of_subsets(original, vectors, fewest, unit) for vectors in (others, repeats)]
    gamma, gamma0 = map(Estimate, values, noises)
    return excess(gamma, gamma0)


def _of_subsets(original: Array, others: Array, size: int, unit: Unit) -> float:
    """The mean deviation from the means of subsets of a size."""
    centre, vectors = _checked_vectors(original, others, unit)
    if len(vectors) == size:
        return float(_distance(centre, _mean(centre, vectors), unit))
    shares = _subset_weights(len(vectors), size)
    # (subsets, N) @ (N, D): one mean per subset.
    return float(np.mean(_distance(centre, centre + shares @ (vectors - centre), unit)))


@lru_cache(maxsize=32)
def _subset_weights(count: int, size: int) -> Floats:
    """Weights of subsets, (subsets, count): the same for every prompt, whatever was answered."""
    rng = generator(0, LanguageStream.MEAN_ANGLE, count, size)
    chosen = np.array([rng.permutation(count)[:size] for _ in range(SUBSETS)])
    shares = np.zeros((SUBSETS, count))
    np.put_along_axis(shares, chosen, 1 / size, axis=1)
    return shares


def at_fewer(value: Array, squared: Array, turns: Array, fewer: Array) -> Floats:
    """About what gammas of `turns` answers would be with fewer, where the answers are not kept.

    By E value² = squared + c/N.

    Parameters
    ----------
    value, squared, turns
        As in `Deviation`; numbers, or arrays of one shape.
    fewer
        The number of answers wanted instead of `turns`.
    """
    square = np.asarray(squared) + (np.asarray(value) ** 2 - squared) * turns / fewer
    same = np.asarray(turns) == np.asarray(fewer)
    return cast(Floats, np.where(same, value, np.sqrt(np.maximum(square, 0.0))))


def mean_known(values: Floats) -> Estimate:
    """The mean of the values that are there, with its standard error.

    Parameters
    ----------
    values : array (count,)
        NaN where there is none.
    """
    known = values[np.isfinite(values)]
    moments = Moments.of(known)
    return Estimate(float(moments.mean) if len(known) else float("nan"), float(moments.error))


def _checked_vectors(original: Array, others: Array, unit: str) -> tuple[Floats, Floats]:
    if unit not in ("sqrt1mcos", "angle"):
        raise SettingsError(f"no unit {unit!r}: choose 'sqrt1mcos' (the paper's) or 'angle'")
    centre, vectors = np.asarray(original, dtype=float), np.asarray(others, dtype=float)
    if vectors.ndim != 2 or not len(vectors) or centre.shape != vectors.shape[1:]:
        raise OutputError(
            f"an embedding {centre.shape} cannot be held against others {vectors.shape}: "
            "an embedder gives vectors of one size, (texts, D)"
        )
    if not (np.isfinite(centre).all() and np.isfinite(vectors).all()):
        raise OutputError("an embedding holds NaN or infinity: look at what the embedder got")
    return centre, vectors


def _mean(centre: Floats, vectors: Floats) -> Floats:
    """The plain mean; by differences, so that identical embeddings give exactly the original."""
    return cast(Floats, centre + (vectors - centre).mean(axis=0))


def _distance(centre: Floats, other: Floats, unit: Unit) -> Array:
    """How far a vector's direction is from those of others (…, D), accurate where it is near.

    Not `_core.reductions`' angle: that one scales each vector by the other's length, which has no
    chord of unit vectors to take sqrt(1 − cos θ) from, and rounds differently in the last digit.
    """
    # Both along an axis: only then are the lengths of equal vectors equal to the last bit.
    lengths = np.linalg.norm(centre, axis=-1), np.linalg.norm(other, axis=-1)
    if not lengths[0] or not np.all(lengths[1]):
        raise OutputError(
            "an embedding, or the mean of some, has no length, so it points nowhere: "
            "use an embedder that gives every text a direction"
        )
    first, second = centre / lengths[0], other / lengths[1][..., None]
    chord = np.linalg.norm(first - second, axis=-1)
    if unit == "sqrt1mcos":
        return chord / np.sqrt(2.0)  # 1 − cos θ is half the chord's square
    # Kahan's angle between unit vectors: accurate near 0° and near 180°.
    return np.degrees(2 * np.arctan2(chord, np.linalg.norm(first + second, axis=-1)))
