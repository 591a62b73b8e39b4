"""Where a distribution ends, from maxima of blocks: reverse Weibull fits, many at once.

A block's maximum y lies below the end a, and a − y follows a Weibull law of scale s and shape c
(Fisher and Tippett): P(Y ≤ y) = exp(−((a − y)/s)^c).
Maximum likelihood over location, scale and shape is done by profile: for each shape of a grid the
best location of a grid, then zoomed in on. So no start can be unlucky, and nothing diverges.

A shape costs most of the precision and says much the same everywhere in a model, so it is shared:
the one that suits all fits best together (as floods of many rivers are fitted). A fit whose own
maxima speak clearly against it keeps its own shape. Shapes are held between 1, where the
likelihood has no maximum below, and 10, beyond which the end runs away; so an end is at most
some ten spreads beyond the largest maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, kolmogorov

from anharmonic._core.protocols import Floats, Integers

__all__ = ["Ends", "State", "fit_reverse_weibull", "level"]

SHAPES = np.geomspace(1.0, 10.0, 13)
"""The grid of c."""
OFFSETS = np.linspace(np.log(1e-5), np.log(30.0), 24)
"""The grid of log(a − largest maximum), in spreads of the maxima."""
ZOOMS = 3
"""How often the grid is made finer around its best offset, threefold each time."""
OWN = 0.001
"""How rarely any fit of a run may keep its own shape by chance (chi-squared, one freedom)."""
REJECTED = 0.01
"""Kolmogorov and Smirnov's probability below which a fit is refused."""
FLAT = 1e-6
"""The spread of maxima, as a share of the largest, up to which they are all the same."""
CHUNK = 1 << 20
"""Likelihoods' terms held at once."""


class State(IntEnum):
    """How the largest slope around a point was found.

    `shared` and `own`: a reverse Weibull fit, with the shape of all fits or its own; `fallback`:
    the fit was refused; `exact`: all maxima were the same; `masked`: there is no slope; `none`: no
    target; `climbed`: gradient ascent met a larger one; `jumps`: the outputs jump.
    """

    shared = 0
    own = 1
    fallback = 2
    exact = 3
    masked = 4
    none = 5
    climbed = 6
    jumps = 7


@dataclass(frozen=True)
class Ends:
    """Ends (fits,) with standard errors, shapes, how well the law fits, and how they were found.

    `agreement` is Kolmogorov and Smirnov's probability.
    """

    values: Floats
    errors: Floats
    shapes: Floats
    agreement: Floats
    states: Integers


def fit_reverse_weibull(maxima: Floats, weights: Floats | None = None) -> Ends:
    """The ends of many distributions from maxima of blocks, (fits, blocks).

    `weights` (fits,) is how much each counts towards the shared shape, below 1 for fits that
    share their samples. Maxima that are all the same are the end themselves. Where the law is
    refused (Kolmogorov and Smirnov, below 1%), the end is the largest maximum and as much again
    as it is above the second (Robson and Whitlock, 1964).

    >>> random = np.random.default_rng(0)
    >>> blocks = random.beta(1, 2, size=(40, 100, 32)).max(axis=2)  # 1 is the end
    >>> bool(abs(np.median(fit_reverse_weibull(blocks).values) - 1) < 0.02)
    True
    """
    count = len(maxima)
    top, spread = maxima.max(axis=1), np.ptp(maxima, axis=1)
    flat = level(maxima)
    ends = Ends(
        top.copy(),
        np.where(flat, spread, 0.0),
        np.full(count, np.nan),
        np.full(count, np.nan),
        np.full(count, int(State.exact)),
    )
    rest = np.flatnonzero(~flat)
    if len(rest):
        # In units of each fit's spread, from its largest maximum: all fits share one grid.
        below = (maxima[rest] - top[rest, None]) / spread[rest, None]
        share = np.ones(len(rest)) if weights is None else weights[rest]
        fits = _fit_scaled(below, share)
        ends.values[rest] += fits.values * spread[rest]
        ends.errors[rest] = fits.errors * spread[rest]
        ends.shapes[rest], ends.agreement[rest] = fits.shapes, fits.agreement
        ends.states[rest] = fits.states
    return ends


def level(maxima: Floats) -> NDArray[np.bool_]:
    """Whether maxima (…, blocks) are all the same, rounding aside."""
    flat: NDArray[np.bool_] = np.ptp(maxima, axis=-1) <= FLAT * np.abs(maxima.max(axis=-1))
    return flat


def _fit_scaled(below: Floats, weights: Floats) -> Ends:
    """Fits of maxima (fits, blocks) that lie between -1 and 0; ends are above 0."""
    # Profile log-likelihood of every shape: (fits, shapes).
    likely = np.stack(
        [_best_offsets(below, np.full(len(below), shape))[1] for shape in SHAPES], axis=1
    )
    shared, shape_error = _peak(weights @ likely)
    # Wilks: twice the gain of a shape of its own is chi-squared with one degree of freedom.
    gain = likely.max(axis=1) - likely[:, np.abs(np.log(SHAPES / shared)).argmin()]
    # The smallest of many bounds is what users look at, so chance has as many tries as fits.
    own = 2 * gain > chdtri(1, OWN / len(below))
    single = np.array([_peak(profile)[0] for profile in likely]) if own.any() else likely[:, 0]
    shapes = np.where(own, single, shared)
    offsets = _best_offsets(below, shapes)[0]
    errors = _errors(below, shapes, offsets)
    # The shape's own uncertainty moves the end along the profile: the delta method, with the
    # derivative of the end by log c from a shape 10% larger.
    moved = _best_offsets(below, np.clip(shapes * 1.1, SHAPES[0], SHAPES[-1] * 1.1))[0]
    slope = (moved - offsets) / np.log(1.1)
    errors = np.hypot(errors, slope * np.where(own, 0.3, shape_error))
    agreement = _agreement(below, shapes, offsets)
    refused = agreement < REJECTED
    # Robson and Whitlock's end: 2·largest − second largest, where the largest is 0 here.
    second = -np.sort(below, axis=1)[:, -2]
    states = np.where(own, int(State.own), int(State.shared))
    return Ends(
        np.where(refused, second, offsets),
        np.where(refused, np.maximum(second, errors), errors),
        shapes,
        agreement,
        np.where(refused, int(State.fallback), states),
    )


def _peak(likely: Floats) -> tuple[float, float]:
    """The likeliest shape of a profile over the grid (shapes,), and the error of its logarithm."""
    # Three points of the grid around the largest make a parabola in log c; its curvature is the
    # observed information, and its vertex the shape.
    best = int(likely.argmax())
    step = float(np.log(SHAPES[1] / SHAPES[0]))
    inner = min(max(best, 1), len(SHAPES) - 2)
    before, here, after = likely[inner - 1 : inner + 2]
    curvature = float(before - 2 * here + after) / step**2
    error = 1 / np.sqrt(-curvature) if curvature < 0 else 1.0
    if best in (0, len(SHAPES) - 1):
        return float(SHAPES[best]), min(error, 1.0)
    shift = float(before - after) / (2 * curvature * step) if curvature < 0 else 0.0
    return float(SHAPES[best] * np.exp(np.clip(shift, -step, step))), min(error, 1.0)


def _best_offsets(below: Floats, shapes: Floats) -> tuple[Floats, Floats]:
    """For each fit's shape the likeliest offset of the end above the largest, and how likely."""
    offsets, likely = np.empty(len(below)), np.empty(len(below))
    step = max(1, CHUNK // (below.shape[1] * len(OFFSETS)))
    for begin in range(0, len(below), step):
        part = slice(begin, begin + step)
        offsets[part], likely[part] = _zoom_in(below[part], shapes[part])
    return offsets, likely


def _zoom_in(below: Floats, shapes: Floats) -> tuple[Floats, Floats]:
    """The same for a chunk of fits: the best of a grid, then of finer ones around it."""
    rows = np.arange(len(below))
    # Logarithms of offsets, (fits, offsets).
    grid = np.broadcast_to(OFFSETS, (len(below), len(OFFSETS)))
    step = OFFSETS[1] - OFFSETS[0]
    for zoom in range(ZOOMS + 1):
        likely = _log_likelihood(below, shapes, np.exp(grid))
        best = likely.argmax(axis=1)
        centre = grid[rows, best]
        if zoom < ZOOMS:
            # Seven offsets from one neighbour of the best to the other.
            grid = centre[:, None] + step * np.linspace(-1, 1, 7)
            step /= 3
    return np.exp(centre), likely[rows, best]


def _log_likelihood(below: Floats, shapes: Floats, offsets: Floats) -> Floats:
    """Of fits (fits, blocks) with a shape each, at offsets (fits, offsets): (fits, offsets).

    The likeliest scale is taken, s^c = mean (a − y)^c, at which the log-likelihood is
    n (log c − c log s − 1) + (c − 1) Σ log(a − y).
    """
    shape = shapes[:, None]
    # (fits, offsets, blocks)
    logs = np.log(offsets[:, :, None] - below[:, None, :])
    powers = np.exp(shape[:, :, None] * logs)
    log_scale = np.log(powers.mean(axis=2)) / shape
    count = below.shape[1]
    likely = count * (np.log(shape) - shape * log_scale - 1) + (shape - 1) * logs.sum(axis=2)
    return cast(Floats, likely)


def _scaled(below: Floats, shapes: Floats, offsets: Floats) -> tuple[Floats, Floats, Floats]:
    """Distances a − y (fits, blocks), each fit's scale s (fits, 1), and ((a − y)/s)^c."""
    away = offsets[:, None] - below
    shape = shapes[:, None]
    scale = np.mean(away**shape, axis=1, keepdims=True) ** (1 / shape)
    return away, scale, (away / scale) ** shape


def _errors(below: Floats, shapes: Floats, offsets: Floats) -> Floats:
    """Standard errors of ends at known shapes, right for other laws too (Huber's sandwich)."""
    away, scale, power = _scaled(below, shapes, offsets)
    c = shapes[:, None]
    # Scores, the log-likelihood's derivatives by a and by s: (fits, blocks).
    by_end = (c - 1) / away - c * power / away
    by_scale = (c / scale) * (power - 1)
    # The Hessian in (a, s), 2 × 2 for every fit.
    end_end = np.sum(-(c - 1) / away**2 - c * (c - 1) * power / away**2, axis=1)
    end_scale = np.sum(c**2 * power / (away * scale), axis=1)
    scale_scale = np.sum((c - c * (c + 1) * power) / scale**2, axis=1)
    determinant = end_end * scale_scale - end_scale**2
    # A singular one, of a flat likelihood, says nothing: then the error is 0 here.
    determinant = np.where(determinant == 0, np.inf, determinant)
    # The sandwich H⁻¹ (Σ ggᵀ) H⁻¹: the end's row of H⁻¹ times every block's score g, squared.
    moves = (scale_scale[:, None] * by_end - end_scale[:, None] * by_scale) / determinant[:, None]
    errors = np.sqrt(np.sum(moves**2, axis=1))
    # Near shape 2 and below the likelihood is not smooth, and what decides is how far below the
    # end the largest of so many maxima lies.
    gap = scale[:, 0] * below.shape[1] ** (-1 / shapes)
    return cast(Floats, np.where(shapes < 2.5, np.maximum(errors, gap), errors))


def _agreement(below: Floats, shapes: Floats, offsets: Floats) -> Floats:
    """Kolmogorov and Smirnov's probability of a worse fit, (fits,).

    Parameters were fitted to the same maxima, so it is too large: a fit that is refused is bad.
    """
    _, _, power = _scaled(below, shapes, offsets)
    # The fitted distribution function at the maxima, against the empirical one's steps.
    levels = np.sort(np.exp(-power), axis=1)
    count = below.shape[1]
    ranks = np.arange(count) / count
    distance = np.maximum(levels - ranks, ranks + 1 / count - levels).max(axis=1)
    return cast(Floats, kolmogorov(distance * np.sqrt(count)))
