"""Whether rows err independently of each other, so that the error of a mean over them is right.

For each dimension, ball and model: the variance of the mean deviation over seeds, as a multiple of
what the points' own errors say (`ball_error`²). 1 is right; above, rows that were turned alike err
alike. 60 seeds know a variance to 18%. Then how often the region's 95% interval of changed labels
holds the truth, beside how often it would with every point's exact share: what the points
themselves do to an interval is not the ball's doing. Bars: every ratio within 0.5–1.7 and
their mean within 0.9–1.1; every coverage at most 0.03 below the exact one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import betainc

import anharmonic as ah
from anharmonic._core.statistics import Moments

POINTS, SEEDS = 200, 60
DIMENSIONS = (6, 7, 8, 10, 12, 16, 20, 60)
BALLS = ("auto singles", "auto pairs", "antisimplex", "cross")
REPETITIONS = 150


def models(dimension: int) -> dict[str, Callable[[Any], Any]]:
    """A step, a ridge, a sum of powers and a network: one direction, axes, many directions."""
    random = np.random.default_rng(dimension)
    inner, outer = random.normal(size=(dimension, 32)) / np.sqrt(dimension), random.normal(size=32)
    ridge = random.normal(size=dimension) / np.sqrt(dimension)
    return {
        "step": lambda x: (x @ ridge > 0.2).astype(float),
        "ridge": lambda x: np.cos(2 * (x @ ridge)),
        "powers": lambda x: (x**4).sum(axis=1),
        "network": lambda x: np.tanh(2 * (x @ inner)) @ outer,
    }


def singles(dimension: int) -> Any:
    """What "auto" takes where even parts dominate."""
    whole = ah.balls.simplex(dimension)
    return whole if whole.count <= 12 else ah.balls.orthonormal(dimension, 12)


def ratio(model: Callable[[Any], Any], dimension: int, name: str) -> float:
    """Variance of the mean over seeds, as a multiple of the stated one."""
    points = np.random.default_rng(dimension).normal(size=(POINTS, dimension))
    ball = singles(dimension) if name == "auto singles" else name
    runs = [
        ah.gamma(
            model,
            points,
            radius=1.0,
            scale=None,
            ball=ball,
            rotations=2,
            seed=seed,
            noise="ignore",
        )
        for seed in range(SEEDS)
    ]
    stated = np.mean([run.ball_error**2 for run in runs])
    return float(np.var([run.signed.mean() for run in runs], ddof=1) / stated)


def covered(dimension: int, ball: str) -> tuple[float, float]:
    """How often the region's interval of a step's changed labels holds the mean: ours, exact."""
    model = ah.as_model(lambda x: x[:, 0] > 0, output="onehot", classes=[False, True])
    radius = 0.5
    truth = radius * ah.scores.mean_coordinate(dimension) / 2
    hits = np.zeros((REPETITIONS, 2))
    for seed in range(REPETITIONS):
        points = np.random.default_rng((5, seed)).uniform(-1, 1, size=(500, dimension))
        scores = ah.gamma(
            model, points, radius=radius, scale=None, ball=ball, seed=seed, noise="ignore"
        )
        height = np.minimum(np.abs(points[:, 0]) / radius, 1.0)
        exact = betainc((dimension - 1) / 2, 0.5, 1 - height**2) / 2
        both = scores.interval(), Moments.of(exact).interval()
        hits[seed] = [low <= truth <= high for low, high in both]
    ours, best = hits.mean(axis=0).tolist()
    return ours, best


def main(wanted: Sequence[str] = ()) -> bool:
    """All dimensions, or those named."""
    dimensions = [int(each) for each in wanted] or DIMENSIONS
    found = []
    print(f"variance of the mean over {POINTS} rows, as a multiple of the stated one")
    print(f"{'n':>4} {'ball':14}" + "".join(f"{name:>10}" for name in models(2)))
    for dimension in dimensions:
        for ball in BALLS:
            ratios = [ratio(model, dimension, ball) for model in models(dimension).values()]
            found += ratios
            print(f"{dimension:4} {ball:14}" + "".join(f"{each:10.2f}" for each in ratios))
    lost = []
    print("coverage of the region's 95% interval of labels (with exact shares)")
    for dimension in (8, 20, 60):
        for ball in BALLS[1:]:
            ours, best = covered(dimension, ball)
            lost.append(best - ours)
            print(f"{dimension:4} {ball:14}{ours:8.3f} ({best:.3f})", flush=True)
    middle = float(np.mean(found))
    good = min(found) >= 0.5 and max(found) <= 1.7 and 0.9 <= middle <= 1.1
    print(f"ratios {min(found):.2f}–{max(found):.2f}, mean {middle:.2f}")
    good &= max(lost) <= 0.03
    print(f"bar: {'met' if good else 'MISSED'}")
    return good


if __name__ == "__main__":
    raise SystemExit(not main(sys.argv[1:]))
