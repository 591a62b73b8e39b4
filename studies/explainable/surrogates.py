"""What "explainable" may mean at a row: how good, and how steady, its usual explanations are.

A local surrogate is a straight line fitted to the model's answers near the row; it explains well
where it predicts answers that it was not fitted to. An attribution explains well where it stays
what it is when it is made again, or at a row hardly different. Each is a distance in the units of
the answers, and a share: that of the variance that the line leaves, or of the attribution's length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anharmonic._core.protocols import Floats, Integers
from studies.explainable.answering import Answering

__all__ = ["TARGETS", "lime", "shapley_moves", "slopes_move", "surrogate"]

TARGETS = tuple(
    f"{what}, {unit}"
    for what in (
        "line within r",
        "line within 2r",
        "LIME's line",
        "LIME again",
        "Shapley values moved",
        "slopes moved",
    )
    for unit in ("absolute", "relative")
)
FITTED, TESTED = 100, 100
LIME_FITTED, LIME_TESTED, LIME_WIDTH, LIME_RIDGE = 300, 200, 0.75, 1.0
MOVED = 4
"""Rows beside each row at which its attribution is made again."""
ORDERS = 5
"""Random orders of the columns, each also taken backwards, of the Shapley values."""
FLAT = 1e-12
"""A variance below which a model is constant there, and any explanation of it exact."""

Pair = tuple[Floats, Floats]
"""A figure per row in the answers' units, and as a share."""


class Line(NamedTuple):
    """Straight lines at points: slopes (points, width) about middles, where their level is."""

    slopes: Floats
    middle: Floats
    level: Floats

    def at(self, steps: Floats) -> Floats:
        """What they say at steps (points, count, width): (points, count)."""
        shifted = steps - self.middle[:, None]
        return np.asarray(self.level[:, None] + np.einsum("pkw,pw->pk", shifted, self.slopes))


def surrogate(ask: Answering, radius: float, random: np.random.Generator) -> tuple[Pair, Floats]:
    """Errors of a line fitted within a radius, on fresh answers; and its slopes per unit."""
    count = max(FITTED, 3 * (ask.width + 1))
    line = _line(ask, radius, count, random)
    steps = _normal(ask, radius, TESTED, random)
    return _errors(ask.around(steps), line.at(steps), np.ones(steps.shape[:2])), line.slopes


def _line(ask: Answering, radius: float, count: int, random: np.random.Generator) -> Line:
    steps = _normal(ask, radius, count, random)
    weights = np.ones(steps.shape[:2])
    return _fit(steps, ask.around(steps), weights, 1e-9 * radius**2)


def _normal(ask: Answering, radius: float, count: int, random: np.random.Generator) -> Floats:
    """Steps of root mean square length `radius`, (points, count, width)."""
    draws = random.normal(size=(len(ask.rows), count, ask.width))
    return np.asarray(draws * radius / np.sqrt(ask.width))


def _fit(steps: Floats, answers: Floats, weights: Floats, ridge: float) -> Line:
    """Weighted ridge regression at every point."""
    total = weights.sum(axis=1)
    middle = np.einsum("pk,pkw->pw", weights, steps) / total[:, None]
    level = (weights * answers).sum(axis=1) / total
    shifted = steps - middle[:, None]
    grams = np.einsum("pk,pkv,pkw->pvw", weights, shifted, shifted)
    grams += ridge * np.eye(steps.shape[2])
    moments = np.einsum("pk,pkw->pw", weights * (answers - level[:, None]), shifted)
    slopes = np.linalg.solve(grams, moments[..., None])[..., 0]
    return Line(slopes, middle, level)


def _errors(answers: Floats, said: Floats, weights: Floats) -> Pair:
    """Root mean square error, and the share of variance left, 0 where there is none."""
    total = weights.sum(axis=1)
    left = (weights * (answers - said) ** 2).sum(axis=1) / total
    level = (weights * answers).sum(axis=1) / total
    variance = (weights * (answers - level[:, None]) ** 2).sum(axis=1) / total
    share = np.divide(left, variance, out=np.zeros_like(left), where=variance > FLAT)
    return np.sqrt(left), np.minimum(share, 10.0)


def lime(ask: Answering, random: np.random.Generator) -> tuple[Pair, Pair]:
    """LIME as its package does tables: a standard deviation away, weighted, made twice.

    The errors of the line, and how far two made from other draws are apart.
    """
    count = max(LIME_FITTED, 4 * ask.width)
    lines = [_weighted(ask, count, random) for _ in range(2)]
    steps, weights = _lime_steps(ask, LIME_TESTED, random)
    errors = _errors(ask.around(steps), lines[0].at(steps), weights)
    return errors, _apart(lines[0].slopes, lines[1].slopes[:, None])


def _weighted(ask: Answering, count: int, random: np.random.Generator) -> Line:
    steps, weights = _lime_steps(ask, count, random)
    return _fit(steps, ask.around(steps), weights, LIME_RIDGE)


def _lime_steps(ask: Answering, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    steps = random.normal(size=(len(ask.rows), count, ask.width))
    # The kernel's width is 0.75·√n, and weights are the root of its exponential.
    lengths = (steps**2).sum(axis=2)
    return steps, np.exp(-lengths / (LIME_WIDTH**2 * ask.width) / 2)


def _apart(one: Floats, others: Floats) -> Pair:
    """Mean distance of vectors (points, width) from others beside them, and its share."""
    distance = np.linalg.norm(others - one[:, None], axis=2).mean(axis=1)
    length = np.linalg.norm(one, axis=1)
    share = np.divide(distance, length, out=np.zeros_like(distance), where=length > np.sqrt(FLAT))
    return distance, np.minimum(share, 10.0)


def _beside(ask: Answering, radius: float, random: np.random.Generator) -> list[Answering]:
    """The same model around rows a radius away."""
    steps = random.normal(size=(len(ask.rows), MOVED, ask.width))
    steps *= radius / np.linalg.norm(steps, axis=2, keepdims=True)
    places = ask.places(steps)
    return [
        Answering(ask.model, places[:, at], ask.units, ask.moving, ask.spread, ask.classes)
        for at in range(MOVED)
    ]


def slopes_move(
    ask: Answering, radius: float, slopes: Floats, random: np.random.Generator
) -> tuple[Pair, Floats]:
    """How far the slopes of lines a radius away are from the row's, in all and per column."""
    count = max(FITTED, 3 * (ask.width + 1))
    others = np.stack(
        [_line(other, radius, count, random).slopes for other in _beside(ask, radius, random)],
        axis=1,
    )
    return _apart(slopes, others), np.abs(others - slopes[:, None]).mean(axis=1)


def shapley_moves(
    ask: Answering, radius: float, background: Floats, random: np.random.Generator
) -> tuple[Pair, Floats, Floats]:
    """How far Shapley values a radius away are from the row's, in all and per column.

    The same orders and background rows serve all places, so that what moves is the attribution
    and not its noise. Also the row's own values (points, width).
    """
    orders = [random.permutation(ask.width) for _ in range(ORDERS)]
    both = [order for each in orders for order in (each, each[::-1])]
    drawn = background[random.integers(len(background), size=len(both))]
    own = _shapley(ask, both, drawn)
    others = np.stack(
        [_shapley(other, both, drawn) for other in _beside(ask, radius, random)], axis=1
    )
    return _apart(own, others), np.abs(others - own[:, None]).mean(axis=1), own


def _shapley(ask: Answering, orders: list[Integers], background: Floats) -> Floats:
    """Mean gain as the row's columns replace a background row's one by one."""
    gains = np.zeros((len(ask.rows), ask.width))
    for order, row in zip(orders, background, strict=True):
        places = np.repeat(ask.rows[:, None, :], ask.width + 1, axis=1)
        for step, _ in enumerate(order):
            # Before this step the columns that come later still have the background's values.
            later = ask.moving[order[step:]]
            places[:, step, later] = row[later]
        gains[:, order] += np.diff(ask.at(places), axis=1)
    return gains / len(orders)
