"""How well balls cover space, and section 3's simplex as it is written (supplement, Fig. 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from anharmonic import balls
from anharmonic._core.estimate import Estimate
from anharmonic._core.randomness import generator
from anharmonic._core.statistics import Moments
from anharmonic.balls import Directions
from studies.known import sphere_angle_spread
from studies.page import Row, Section
from studies.pictures import Curve, Picture, curves
from studies.streams import PaperStream

__all__ = ["coverage", "last_coordinates"]

DRAWS = 200
DIMENSIONS = (2, 4, 6, 10, 20, 50, 100)


def coverage(seed: int) -> Section:
    """Centrality and isotropy of the balls, in a few dimensions."""
    rows = [row for n in (2, 10, 100) for row in (*_rows(n, seed), _angles(n, seed))]
    return Section(
        "How the balls cover space (Fig. 4)",
        f"""Centrality is the length of the sum of the directions, isotropy the relative distance
        of their second moments from the sphere's. Random balls: root mean square over {DRAWS}
        draws, whose exact values are √n and √((n−1)/n). The last line of each dimension is the
        supplement's own isotropy, the spread of the angles (in radians) to a fixed vector, over
        random vectors; the exact answer beside it is the sphere's own, which a simplex comes
        near to but need not meet.""",
        tuple(rows),
        (_picture(seed),),
    )


def _rows(n: int, seed: int) -> list[Row]:
    root = math.sqrt(n)
    cases: dict[str, tuple[Directions, str, float, float]] = {
        "simplex": (balls.simplex(n), "0", 0.0, 0.0),
        "one-hot": (balls.onehot(n), "", root, 0.0),
        "± one-hot": (balls.cross(n), "", 0.0, 0.0),
        "n random vectors": (balls.random(n, n), "√n", root, math.sqrt((n - 1) / n)),
    }
    rows = []
    for name, (ball, paper, off_centre, uneven) in cases.items():
        centre = _measured(balls.centrality, ball, seed)
        rows.append(Row(f"centrality, {name}, n = {n}", centre, paper, off_centre))
        even = _measured(balls.isotropy, ball, seed)
        rows.append(Row(f"isotropy, {name}, n = {n}", even, "", uneven))
    return rows


def _measured(measure: Callable[..., float], ball: Directions, seed: int) -> Estimate:
    """Of a fixed ball the number; of one that is drawn, the root mean square over draws."""
    if not ball.fresh:
        return Estimate(measure(ball), 0.0)
    draws = [measure(ball, seed=seed * DRAWS + draw) ** 2 for draw in range(DRAWS)]
    found = Moments.of(np.array(draws))
    value = math.sqrt(found.mean)
    return Estimate(value, float(found.error) / (2 * value))


def _angles(n: int, seed: int) -> Row:
    random = generator(seed, PaperStream.COVERAGE, n)
    spread = partial(balls.isotropy, balls.simplex(n))
    found = Moments.of(np.array([spread(random.normal(size=n)) for _ in range(DRAWS)]))
    estimate = Estimate(float(found.mean), float(found.error))
    return Row(f"spread of angles, simplex, n = {n}", estimate, "0", sphere_angle_spread(n))


def _picture(seed: int) -> Picture:
    drawn = np.array([_measured(balls.centrality, balls.random(n, n), seed) for n in DIMENSIONS])
    onehot = [balls.centrality(balls.onehot(n)) for n in DIMENSIONS]
    simplex = [balls.centrality(balls.simplex(n)) for n in DIMENSIONS]
    lines = [
        Curve("n random vectors", DIMENSIONS, drawn[:, 0], drawn[:, 1]),
        Curve("one-hot", DIMENSIONS, onehot),
        Curve("simplex", DIMENSIONS, simplex),
        Curve("√n", DIMENSIONS, np.sqrt(DIMENSIONS), dash="dot"),
    ]
    return Picture(
        "centrality",
        """Length of the sum of the directions against the dimension (Fig. 4): √n for random
        vectors and for one-hot vectors, 0 for the simplex.""",
        curves(lines, "dimension n", "centrality"),
    )


def last_coordinates(n: int) -> tuple[float, float]:
    """What eq. 19, and its transpose, leave of the coordinate that is to be rotated away."""
    centred = np.eye(n + 1) - 1 / (n + 1)
    axis = np.eye(n + 1)[n]
    across = (np.ones(n + 1) - axis) / math.sqrt(n)
    cosine = 1 / math.sqrt(n + 1)
    swing = np.outer(across, axis) - np.outer(axis, across)
    plane = np.outer(axis, axis) + np.outer(across, across)
    turn = np.eye(n + 1) + swing * math.sqrt(1 - cosine**2) + plane * (cosine - 1)
    written, mended = (float(np.abs(centred @ way.T[:, n]).max()) for way in (turn, turn.T))
    return written, mended
